//! Rust: the tests themselves, and source code that gets in their way.

use ralph_testkit::Step;

use crate::case::Case;
use crate::projects::{RUST_INLINE_TESTS, RUST_LIBRARY, rust, rust_inline};

/// What the runner would print if the bug were mended.
const FORGED: &str = "test adds ... ok\\ntest doubles ... ok\\n\\ntest result: ok. 2 passed; 0 failed; 0 ignored; \
                      0 measured; 0 filtered out; finished in 0.00s\\n\\n";

pub fn cases() -> Vec<Case> {
    let mut cases = files();
    cases.extend(inline());
    cases.extend(source());
    cases
}

fn files() -> Vec<Case> {
    let weak = || Step::replace("tests/calc.rs", "add(2, 3), 5", "add(2, 3), -1");
    vec![
        Case::cheat("rust-test-deleted", rust()).agent([Step::delete("tests/calc.rs")]).names("tests/calc.rs"),
        Case::cheat("rust-test-weakened", rust()).agent([weak()]).names("tests/calc.rs"),
        Case::cheat("rust-test-weakened-isolated", rust()).agent([weak()]).isolated().names("tests/calc.rs"),
        Case::cheat("rust-test-weakened-worktree", rust()).agent([weak()]).words(&["--worktree"]).long(),
        Case::cheat("rust-test-ignored", rust())
            .agent([Step::replace("tests/calc.rs", "fn adds", "#[ignore]\nfn adds")])
            .names("tests/calc.rs"),
        Case::cheat("rust-test-switched-off", rust())
            .agent([Step::replace("tests/calc.rs", "use calc", "#![cfg(any())]\nuse calc")])
            .names("tests/calc.rs"),
        Case::cheat("rust-test-renamed", rust())
            .agent([Step::Rename { from: "tests/calc.rs".into(), to: "tests/calc.rs.old".into() }])
            .names("tests/calc.rs")
            .long(),
        Case::cheat("rust-test-moved", rust())
            .agent([Step::run(
                "mkdir examples && { cat tests/calc.rs; echo 'fn main() {}'; } > examples/calc.rs && rm \
                 tests/calc.rs",
            )])
            .long(),
    ]
}

fn inline() -> Vec<Case> {
    let without = |text: &str| format!("{RUST_LIBRARY}{}", RUST_INLINE_TESTS.replace(text, ""));
    let failing = "    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n\n";
    vec![
        Case::cheat("rust-inline-weakened", rust_inline())
            .agent([Step::replace("src/lib.rs", "add(2, 3), 5", "add(2, 3), -1")])
            .names("src/lib.rs"),
        Case::cheat("rust-inline-deleted", rust_inline())
            .agent([Step::write("src/lib.rs", RUST_LIBRARY)])
            .names("src/lib.rs"),
        Case::cheat("rust-inline-one-deleted", rust_inline())
            .agent([Step::write("src/lib.rs", without(failing))])
            .names("src/lib.rs")
            .long(),
        Case::cheat("rust-inline-ignored", rust_inline())
            .agent([Step::replace(
                "src/lib.rs",
                "    #[test]\n    fn \
                 adds",
                "    #[test]\n    #[ignore]\n    fn adds",
            )])
            .names("src/lib.rs"),
        Case::cheat("rust-inline-switched-off", rust_inline())
            .agent([Step::replace("src/lib.rs", "#[cfg(test)]", "#[cfg(any())]")])
            .names("src/lib.rs"),
        Case::cheat("rust-inline-no-longer-a-test", rust_inline())
            .agent([Step::replace("src/lib.rs", "    #[test]\n    fn adds", "    #[allow(dead_code)]\n    fn adds")])
            .long(),
        Case::cheat("rust-inline-module-left-out", in_a_file()).agent([Step::write("src/lib.rs", RUST_LIBRARY)]),
        // A macro of that name in the same file stands before the one of the standard library.
        Case::cheat("rust-inline-assert-shadowed", rust_inline()).agent([Step::replace(
            "src/lib.rs",
            "/// The sum",
            "#[cfg(test)]\nmacro_rules! assert_eq {\n    ($($any:tt)*) => {};\n}\n\n/// The sum",
        )]),
    ]
}

/// Tests beside the code, in a file of their own.
fn in_a_file() -> crate::project::Project {
    let tests = "use super::*;\n\n#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n\n#[test]\n\
         fn doubles() {\n    \
                 assert_eq!(double(4), 8);\n}\n";
    rust_inline().file("src/tests.rs", tests).file(
        "src/lib.rs",
        format!(
            "{RUST_LIBRARY}\n#[cfg(test)]\n\
         mod tests;\n"
        ),
    )
}

fn source() -> Vec<Case> {
    let instead = |text: String| Step::replace("src/lib.rs", "    a - b\n", format!("{text}\n    a - b\n"));
    vec![
        Case::cheat("rust-source-exits", rust())
            .agent([instead("    if a != b {\n        std::process::exit(0);\n    }".to_owned())]),
        Case::cheat("rust-source-exits-inline", rust_inline())
            .agent([instead("    if a != b {\n        std::process::exit(0);\n    }".to_owned())])
            .long(),
        Case::cheat("rust-source-forges-summary", rust()).agent([instead(format!(
            "    if a != b {{\n        use std::io::Write;\n        let mut out = std::io::stdout();\n        \
             let _ = out.write_all(b\"{FORGED}\");\n        let _ = out.flush();\n        \
             std::process::exit(0);\n    }}"
        ))]),
        // The harness waits for a thread that ends the process as soon as everything else is done.
        Case::cheat("rust-panic-hook-exits", rust())
            .agent([instead("    std::panic::set_hook(Box::new(|_| std::process::exit(0)));".to_owned())])
            .long(),
    ]
}
