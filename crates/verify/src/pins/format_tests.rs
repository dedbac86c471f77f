use proptest::prelude::*;

use super::*;

fn same(path: &str, before: &str, now: &str) -> bool {
    same_but_for_format(path, before.as_bytes(), now.as_bytes())
}

fn table(path: &str, alike: &[(&str, &str)], other: &[(&str, &str)]) {
    for (before, now) in alike {
        assert!(same(path, before, now), "{before}\n--- should be like\n{now}");
        assert!(same(path, now, before), "{now}\n--- should be like\n{before}");
    }
    for (before, now) in other {
        assert!(!same(path, before, now), "{before}\n--- should not be like\n{now}");
    }
}

#[test]
fn javascript() {
    table(
        "a.test.ts",
        &[
            (
                "test('a', () => {\n  expect(add(1, 2)).toBe(3)\n})\n",
                "test(\"a\", () => {\n    expect(add(1, 2)).toBe(3);\n});\n",
            ),
            ("f(a, b)", "f(\n  a,\n  b,\n)"),
            ("const a = [1, 2]", "const a = [\n  1,\n  2,\n];"),
            ("// old\nf()", "/* new */\nf() // more"),
            ("a = 'it\\'s'", "a = \"it's\""),
            ("let a = 1\nlet b = 2\n", "let a = 1;\nlet b = 2;\n"),
            ("a = b / c / d", "a = b / c/d"),
            ("a = /x\\/[/]y/g.test(b)", "a =   /x\\/[/]y/g.test( b )"),
            ("if (a) {\n  b()\n} else {\n  c()\n}", "if (a) {\n  b();\n}\nelse {\n  c();\n}"),
        ],
        &[
            ("test('a', f)", "test.skip('a', f)"),
            ("expect(a).toBe(3)", "expect(a).toBe(4)"),
            ("a = 'x y'", "a = 'x  y'"),
            ("a = `x y`", "a = `x  y`"),
            ("return a", "return\na"),
            ("a\n(b)", "a;\n(b)"),
            ("a\n[b]", "a;\n[b]"),
            ("[1, , ]", "[1, ]"),
            ("[,]", "[]"),
            ("f()", "// @ts-nocheck\nf()"),
            ("f()", "/* istanbul ignore next */\nf()"),
            ("f()", "/* eslint-disable */ f()"),
            ("f()", "/**\n * @jest-environment jsdom\n */\nf()"),
            ("/** @vitest-environment jsdom */ f()", "f()"),
            ("a = <b>x</b>", "a = <b> x </b>"),
            ("f()\ng()", "f() // g()"),
            ("f('a", "f('a "),
        ],
    );
    assert!(same("a.test.tsx", "f(<b c={d}/>)", "f( <b c={ d } /> )"));
}

#[test]
fn python() {
    table(
        "test_a.py",
        &[
            ("def test_a():\n  assert add(1,2)==3\n", "def test_a():\n    # why\n    assert add(1, 2) == 3\n"),
            ("x = f(a, b)\n", "x = f(\n    a,\n    b,\n)\n"),
            ("x = f(a)\n", "x = f(\n    a,\n)\n"),
            ("x = [a]\n", "x = [\n    a,\n]\n"),
            ("x = 'a'\n", "x = \"a\""),
            ("x = (1, 2)\n", "x = (1, 2,)\n"),
            ("a = 1\n\n\nb = 2\n", "a = 1\nb = 2\n"),
            ("x = 1 + \\\n    2\n", "x = 1 + 2\n"),
            ("if (a and\n    b):\n    c\n", "if (a and b):\n    c\n"),
            ("if a:\n\tb\n\tc\n", "if a:\n  b\n\n  c\n"),
        ],
        &[
            ("assert a == 3\n", "assert a == 4\n"),
            ("x = (1)\n", "x = (1,)\n"),
            ("return (a)\n", "return (a,)\n"),
            ("x[1]\n", "x[1,]\n"),
            ("if a:\n    b\n    c\n", "if a:\n    b\nc\n"),
            ("if a:\n    b\nelse:\n    c\n", "if a:\n    b\n    else:\n    c\n"),
            ("a\nb\n", "a b\n"),
            ("x = 'a b'\n", "x = 'a  b'\n"),
            ("x = '''a\n b'''\n", "x = '''a\nb'''\n"),
            ("x = r'a'\n", "x = 'a'\n"),
            ("x = 1\n", "x = 1  # type: ignore\n"),
            ("x = 1\n", "x = 1  # noqa\n"),
            ("x = 1\n", "x = 1  # pragma: no cover\n"),
            ("x = 'a' # y\n", "x = 'a # y'\n"),
            ("f(a\n", "f( a\n"),
            ("if a:\n    b\n", "if a:\n        b\n  c\n"),
        ],
    );
}

#[test]
fn go() {
    table(
        "a_test.go",
        &[
            ("func f() {\n\tg(a,b)\n}\n", "func f() {\n    g( a, b ) // why\n}\n"),
            ("x := []int{1, 2}\n", "x := []int{\n\t1,\n\t2,\n}\n"),
            ("import \"a\"\n\n\nvar b int\n", "import \"a\"\nvar b int\n"),
        ],
        &[
            ("a := 1\n", "a := 2\n"),
            ("s := \"a b\"\n", "s := \"a  b\"\n"),
            ("s := `a\nb`\n", "s := `a\n b`\n"),
            ("package a\n", "//go:build never\n\npackage a\n"),
            ("package a\n", "// +build never\n\npackage a\n"),
            ("func ExampleA() {\n\t// Output: 1\n}\n", "func ExampleA() {\n\t// Output: 2\n}\n"),
            ("func ExampleA() {\n\t// Output: 1\n}\n", "func ExampleA() {\n}\n"),
            ("return a\n", "return\na\n"),
            ("/* #define A 1 */\nimport \"C\"\n", "/* #define A 2 */\nimport \"C\"\n"),
        ],
    );
}

#[test]
fn rust_and_json() {
    table(
        "tests/a.rs",
        &[
            ("fn a(){f(1,2)}", "// x\nfn a() {\n    f(\n        1,\n        2,\n    )\n}\n"),
            (
                "fn a() { match b { C => { d() } E => f(|x| { x }), } }",
                "fn a() { match b { C => d(), E => { f(|x| x) } } }",
            ),
        ],
        &[
            ("fn a() { f(1) }", "fn a() { f(2) }"),
            ("fn a() {}", "#[ignore] fn a() {}"),
            ("fn a() { match b { C => { d(); } E => f() } }", "fn a() { match b { C => d(), E => f() } }"),
            ("fn a() { match b { C => {} E => f() } }", "fn a() { match b { C => E, E => f() } }"),
            ("fn a() { \"x y\" }", "fn a() { \"x  y\" }"),
            ("/// ```\n/// assert!(a());\n/// ```\nfn a() {}", "/// ```\n/// ```\nfn a() {}"),
        ],
    );
    table(
        "a.json",
        &[(r#"{"a":1,"b":[2]}"#, "{\n \"b\": [2],\n \"a\": 1\n}")],
        &[(r#"{"a":1}"#, r#"{"a":2}"#), ("[1,2]", "[2,1]"), ("{", "{ ")],
    );
}

#[test]
fn what_is_not_known_is_another() {
    assert!(same("a.yml", "a: 1", "a: 1"));
    assert!(!same("a.yml", "a: 1", "a:  1"));
    assert!(!same_but_for_format("a.py", b"\xff", b"\xff "));
}

#[test]
fn what_formatters_and_type_checkers_of_python_ask_for_is_the_same() {
    let before = "def test_a():\n    values = [1, 2]\n    assert add(values) == 3\n    return values\n";
    assert!(same("a.py", before, &before.replace("add(values) == 3", "(\n        add(values) == 3\n    )")));
    assert!(same("a.py", before, &before.replace("values = [", "values: list[int] = [")));
    assert!(!same("a.py", before, &before.replace("add(values) == 3", "(add(values) == 3, 'message')")));
    let class = "@dataclass\nclass A:\n    value = 3\n";
    assert!(!same("a.py", class, &class.replace("value =", "value: int =")));
}

#[test]
fn a_manifest_may_name_other_packages_and_nothing_else() {
    let pom = "<project>\n<dependencies>\n</dependencies>\n<build>\n</build>\n</project>\n";
    let cmake = "project(a C)\nadd_library(calc calc.c)\nadd_executable(calc_tests tests/calc.c)\nadd_test(NAME calc COMMAND calc_tests)\n";
    for (path, before, from, to, is_same) in [
        ("pom.xml", pom, "<dependencies>", "<dependencies>\n<dependency>\n<groupId>a.b</groupId>\n</dependency>", true),
        ("pom.xml", pom, "<build>", "<build>\n<testFailureIgnore>true</testFailureIgnore>", false),
        ("pom.xml", pom, "<dependencies>", "<dependencies>\n<systemPath>${basedir}/a.jar</systemPath>", false),
        ("app/build.gradle", "dependencies {\n}\n", "{", "{\n    implementation 'a:b:1.0'", true),
        ("app/build.gradle", "dependencies {\n}\n", "{", "{\n    implementation files('a.jar')", false),
        ("Gemfile", "gem 'rspec'\n", "gem 'rspec'", "gem 'rspec'\ngem \"rack\", \"~> 3.0\"", true),
        ("Gemfile", "gem 'rspec'\n", "'rspec'", "'rspec', path: 'mine'", false),
        (
            "composer.json",
            "{\n\"require\": {\n\"php\": \">=8\"\n}\n}\n",
            ">=8\"",
            ">=8\",\n\"monolog/monolog\": \"^3.0\"",
            true,
        ),
        ("CMakeLists.txt", cmake, "calc calc.c", "calc\n  calc.c\n  more.c", true),
        ("CMakeLists.txt", cmake, "COMMAND calc_tests", "COMMAND true", false),
        ("CMakeLists.txt", cmake, "project(a C)", "project(a C)\nadd_compile_definitions(NDEBUG)", false),
        ("CMakeLists.txt", cmake, "tests/calc.c", "more.c", false),
        ("notes.txt", "a\n", "a", "b", false),
    ] {
        let now = before.replace(from, to);
        assert_ne!(before, now);
        assert_eq!(same_but_for_packages(path, before.as_bytes(), now.as_bytes()), is_same, "{path}: {now}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(before in r#"(?s)[a-z'"`$(){}\[\]\\/*#;,<>=: \n\t.é0-9]{0,80}"#, now in r#"(?s)[a-z'"`$(){}\[\]\\/*#;,<> \n\t]{0,80}"#) {
        for path in ["a.rs", "a.js", "a.go", "a.py", "a.json"] {
            let _ = same(path, &before, &now);
        }
    }

    #[test]
    fn blanks_at_the_ends_of_lines_mean_nothing(lines in prop::collection::vec("x[a-z]{0,4}\\(y?\\)", 1..6)) {
        let before = lines.join("\n");
        let now = lines.join("   \n\n");
        for path in ["a.js", "a.go", "a.py"] {
            let whole = |lines: &str| match path {
                "a.go" => format!("package a\nfunc f() {{\n{lines}\n}}\n"),
                _ => lines.to_owned(),
            };
            prop_assert!(same(path, &whole(&before), &whole(&now)), "{path}\n{before}");
        }
    }
}
