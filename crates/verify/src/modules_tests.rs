use super::*;

#[test]
fn a_file_that_is_found_first_hides_another() {
    let there = ["src/calc.ts", "web/cart.jsx", "lib/sum/index.js", "calc.py", "shop/__init__.py", "ui/button.tsx"];
    let is_there = |file: &str| there.contains(&file);
    for (file, hidden) in [
        ("src/calc.js", Some("src/calc.ts")),
        ("src/calc.mjs", Some("src/calc.ts")),
        ("src/calc.tsx", None),
        ("src/calc.test.js", None),
        ("src/calc.d.ts", None),
        ("dist/calc.js", None),
        ("web/cart.js", Some("web/cart.jsx")),
        ("ui/button.ts", Some("ui/button.tsx")),
        ("lib/sum.js", Some("lib/sum/index.js")),
        ("lib/sum/index.ts", None),
        ("lib/sum/index.mjs", Some("lib/sum/index.js")),
        ("calc/__init__.py", Some("calc.py")),
        ("calc.cpython-312-x86_64-linux-gnu.so", Some("calc.py")),
        ("shop.so", Some("shop/__init__.py")),
        ("other/__init__.py", None),
        ("__init__.py", None),
        ("calc", None),
    ] {
        assert_eq!(hidden_by(file, &is_there).as_deref(), hidden, "{file}");
    }
}

#[test]
fn a_new_module_is_needed_where_an_import_at_the_top_leads_to_it() {
    let files = |files: &[(&str, &str)]| -> Vec<(String, String)> {
        files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect()
    };
    let old = "\"\"\"Exact.\n\nimport odd\n\"\"\"\nfrom shop.exact import add\n\ntry:\n    import fast\nexcept ImportError:\n    \
         fast = None\n\n\ndef never():\n    import late\n\n\nif False:\n    import idle\n";
    let new = files(&[
        ("shop/exact.py", "from . import deep\n"),
        ("shop/deep/__init__.py", ""),
        ("fast.py", ""),
        ("late.py", ""),
        ("idle.py", ""),
        ("odd.py", "import odder\n"),
        ("odder.py", ""),
        ("__init__.py", "import calc\n"),
    ]);
    let unneeded = unneeded_modules(&files(&[("calc.py", old)]), &new);
    assert_eq!(unneeded, ["__init__.py", "idle.py", "late.py", "odd.py", "odder.py"]);
}
