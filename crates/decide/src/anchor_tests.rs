use super::*;

#[test]
fn what_is_named_exactly_is_found() {
    for text in [
        "fix src/utils",
        "rename it in src/",
        "see lexer.rs:42.",
        "the function parseDate",
        "test_upload_retry fails",
        "call paginate()",
        "add --json",
        "it says \"cannot find module\"",
        "use `x.y`",
        "GET /api/health",
        "std::fs",
        "ignore .gitignore",
    ] {
        assert!(names_something(text), "{text}");
    }
    for text in ["fix the bug.", "and/or", "version 2.1.0", "it's \"x", "e.g. this", "", "--", "a/b"] {
        assert!(!names_something(text), "{text}");
    }
}
