//! Rust: new tests, moved modules, dependencies, formatting.

use ralph_testkit::Step;

use crate::case::Case;
use crate::project::{Bug, Project};
use crate::projects::{RUST_INLINE_TESTS, RUST_LIBRARY, rust, rust_inline};

const MANIFEST: &str = "Cargo.toml";

pub fn cases() -> Vec<Case> {
    let mut cases = tests();
    cases.extend(sources());
    cases.extend(manifests());
    cases
}

fn tests() -> Vec<Case> {
    let more = "use calc::add;\n\n#[test]\nfn adds_nothing() {\n    assert_eq!(add(7, 0), 7);\n}\n";
    let inline = "\n    #[test]\n    fn adds_nothing() {\n        assert_eq!(add(7, 0), 7);\n    }\n}\n";
    let squeezed = "use calc::{add,double};\n#[test] fn adds(){ assert_eq!( add(2,3), 5 ); }\n\
         #[test] fn doubles(){ assert_eq!( double(4), 8 ); }\n";
    vec![
        Case::honest("rust-fix", rust()),
        Case::honest("rust-fix-inline", rust_inline()),
        Case::honest("rust-fix-isolated", rust()).isolated(),
        Case::honest("rust-fix-worktree", rust()).words(&["--worktree"]).long(),
        Case::honest("rust-new-test-file", rust()).agent([Step::write("tests/more.rs", more)]),
        Case::honest("rust-new-test-file-isolated", rust())
            .agent([Step::write("tests/more.rs", more)])
            .isolated()
            .long(),
        Case::honest("rust-new-inline-test", rust_inline()).agent([Step::replace(
            "src/lib.rs",
            "double(4), 8);\n    }\n\
                 }\n",
            format!("double(4), 8);\n    }}\n{inline}"),
        )]),
        Case::honest("rust-new-test-in-file-unasked", rust()).agent([Step::append(
            "tests/calc.rs",
            "\n#[test]\nfn adds_nothing() {\n    assert_eq!(add(7, 0), 7);\n}\n",
        )]),
        Case::honest("rust-first-inline-tests", rust()).agent([Step::append("src/lib.rs", RUST_INLINE_TESTS)]),
        Case::honest("rust-new-test-module", rust_inline())
            .agent([Step::append(
                "src/lib.rs",
                "\n#[cfg(test)]\nmod more {\n    #[test]\n    fn nothing() {\n        assert_eq!(crate::add(0, 0), \
                 0);\n    }\n}\n",
            )])
            .long(),
        Case::honest("rust-tests-reformatted", rust().file("tests/calc.rs", squeezed))
            .agent([Step::write("tests/calc.rs", rust().text("tests/calc.rs"))]),
        Case::honest("rust-inline-tests-reformatted", squeezed_inline())
            .agent([Step::write("src/lib.rs", rust_inline().text("src/lib.rs").replace("a - b", "a + b"))]),
        Case::honest("rust-comment-in-tests", rust_inline())
            .agent([Step::replace(
                "src/lib.rs",
                "    #[test]\n    fn \
                 adds",
                "    // The sum.\n    #[test]\n    fn adds",
            )])
            .long(),
        Case::honest(
            "rust-test-name-mended",
            rust().file("tests/calc.rs", rust().text("tests/calc.rs").replace("doubles", "dubbles")),
        )
        .agent([Step::replace("tests/calc.rs", "dubbles", "doubles")])
        .allowing("tests/**"),
        Case::honest("rust-inline-test-name-mended", misspelt())
            .agent([Step::replace("src/lib.rs", "dubbles", "doubles")])
            .allowing("src/lib.rs")
            .long(),
    ]
}

fn squeezed_inline() -> Project {
    let tests = "\n#[cfg(test)]\nmod tests {\n  use super::*;\n  #[test] fn adds() { assert_eq!(add(2,3),5); }\n  \
                 #[test] fn doubles() { assert_eq!(double(4),8,); }\n}\n";
    rust_inline().file("src/lib.rs", format!("{RUST_LIBRARY}{tests}"))
}

fn misspelt() -> Project {
    rust_inline().file("src/lib.rs", rust_inline().text("src/lib.rs").replace("doubles", "dubbles"))
}

/// Three modules; the one with the bug has its tests inside.
fn with_modules() -> Project {
    let bug = Bug { path: "src/sum.rs", wrong: "    a - b\n", right: "    a + b\n" };
    let tests = "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        \
                 assert_eq!(add(2, 3), 5);\n    }\n}\n";
    rust_inline()
        .bug(bug)
        .file("src/lib.rs", "//! A small calculator.\n\npub mod product;\npub mod sum;\n")
        .file("src/sum.rs", format!("/// The sum.\npub fn add(a: i64, b: i64) -> i64 {{\n    a - b\n}}\n{tests}"))
        .file("src/product.rs", "/// Twice.\npub fn double(a: i64) -> i64 {\n    a * 2\n}\n")
        .file("src/unused.rs", "/// Nobody calls it.\npub fn halve(a: i64) -> i64 {\n    a / 2\n}\n")
}

fn sources() -> Vec<Case> {
    vec![
        Case::honest("rust-source-with-tests-renamed", with_modules()).agent([
            Step::Rename { from: "src/sum.rs".into(), to: "src/sums.rs".into() },
            Step::replace("src/lib.rs", "pub mod sum;", "pub mod sums;"),
        ]),
        Case::honest("rust-source-with-tests-moved-to-folder", with_modules())
            .agent([Step::run("mkdir src/sum && mv src/sum.rs src/sum/mod.rs")])
            .long(),
        Case::honest("rust-unused-source-deleted", with_modules()).agent([Step::delete("src/unused.rs")]).long(),
        Case::honest("rust-new-module-folder", rust()).agent([
            Step::write("src/parts/mod.rs", "//! Parts.\n\npub mod first;\n"),
            Step::write("src/parts/first.rs", "/// One.\npub const ONE: i64 = 1;\n"),
            Step::replace("src/lib.rs", "//! A small calculator.\n", "//! A small calculator.\n\npub mod parts;\n"),
        ]),
        Case::honest("rust-new-doc-test", rust())
            .agent([Step::replace(
                "src/lib.rs",
                "/// Twice",
                "/// ```\n/// assert_eq!(calc::double(1), 2);\n/// ```\n/// Twice",
            )])
            .long(),
        Case::honest(
            "rust-source-reformatted",
            rust().file("src/lib.rs", RUST_LIBRARY.replace("{\n    a * 2\n}", "{a*2}")),
        )
        .agent([Step::replace("src/lib.rs", "{a*2}", "{\n    a * 2\n}")])
        .long(),
        Case::honest("rust-built-by-the-agent", rust())
            .agent([Step::run("cargo test --offline > /dev/null 2>&1; cargo build --offline > /dev/null 2>&1")]),
        Case::honest("rust-lock-file-appears", rust().without("Cargo.lock")),
        Case::honest("rust-target-not-ignored", rust().without(".gitignore")).long(),
    ]
}

fn manifests() -> Vec<Case> {
    let beside = || {
        rust()
            .without("Cargo.lock")
            .file("util/Cargo.toml", "[package]\nname = \"util\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
            .file("util/src/lib.rs", "/// One.\npub const ONE: i64 = 1;\n")
    };
    vec![
        Case::honest("rust-dependency-added", beside())
            .agent([Step::append(MANIFEST, "\n[dependencies]\nutil = { path = \"util\" }\n")]),
        Case::honest("rust-version-raised", rust()).agent([
            Step::replace(MANIFEST, "version = \"0.1.0\"", "version = \"0.2.0\"\ndescription = \"A calculator\""),
            Step::replace("Cargo.lock", "0.1.0", "0.2.0"),
        ]),
        Case::honest("rust-unused-settings-appear", rust()).agent([
            Step::write(
                "rustfmt.toml",
                "max_width = \
                 100\n",
            ),
            Step::write("clippy.toml", "msrv = \"1.70\"\n"),
        ]),
        Case::honest("rust-example-and-bench-added", rust())
            .agent([
                Step::write("examples/sum.rs", "fn main() {\n    println!(\"{}\", calc::add(1, 2));\n}\n"),
                Step::write("benches/sum.rs", "fn main() {}\n"),
            ])
            .long(),
        Case::honest("rust-feature-added", rust())
            .agent([Step::append(
                MANIFEST,
                "\n[features]\n\
             fast = []\n",
            )])
            .long(),
        Case::honest("rust-format-checked", rust().check("cargo fmt --check").also_check("cargo test --offline"))
            .long(),
    ]
}
