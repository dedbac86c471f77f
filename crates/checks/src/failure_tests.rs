use super::*;

#[test]
fn lines_weigh_what_they_say() {
    for (weight, lines) in [
        (
            Weight::Sharp,
            &[
                "test tests::discount ... FAILED",
                "tests::discount --- FAILED",
                "error[E0308]: mismatched types",
                "a.c:1:44: error: 'rate' undeclared",
                "a.ts(1,7): error TS2322: Type 'string' is not assignable",
                "E       AssertionError: discount is wrong",
                "KeyError: 'price'",
                "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
                "--- FAIL: TestDiscount (0.00s)",
                "    cart_test.go:9: got 90",
                "not ok 2 - discount",
                "  ● cart › discount",
                "        FAIL [   0.086s] (3/6) shop tests::discount",
                "java.lang.IllegalStateException: no rate",
                "sh: 1: crago: command not found",
                "Segmentation fault",
            ][..],
        ),
        (
            Weight::Blunt,
            &[
                "  left: 90",
                "    Expected: 80",
                "90 !== 80",
                "connection refused",
                "no such file here: No such file or directory",
            ],
        ),
        (
            Weight::Summary,
            &[
                "test result: FAILED. 2 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.08s",
                "Tests:       2 failed, 2 passed, 4 total",
                "FAILED (failures=2, errors=1)",
                "  2 failing",
                "make: *** [Makefile:4: a] Error 1",
                "error: test failed, to rerun pass `--lib`",
                "error: 3 targets failed:",
                "Found 2 errors in the same file, starting at: a.ts:1",
            ],
        ),
        (
            Weight::None,
            &[
                "test tests::error_handling_works ... ok",
                "ok 3 - fails on errors",
                "✓ reports errors",
                "   Compiling error-chain v0.12.4",
                "    > 3 |   expect(failed).toBe(error);",
                "   1: core::panicking::panic_fmt",
                "      at Object.error (cart.test.js:3:46)",
                "warning: unused variable: `error`",
                "a.c:1:30: warning: this may fail",
                "==================== FAILURES ====================",
                "",
                "hello",
            ],
        ),
    ] {
        for line in lines {
            assert_eq!(Classifier::default().weigh(line), weight, "{line}");
        }
    }
}

#[test]
fn a_message_is_known_by_the_line_before_it() {
    let mut classifier = Classifier::default();
    assert_eq!(classifier.weigh("thread 'a' panicked at src/lib.rs:3:5:"), Weight::Sharp);
    assert_eq!(classifier.weigh("boom"), Weight::Blunt);
    assert_eq!(classifier.weigh("boom"), Weight::None);
    for line in ["Traceback (most recent call last):", "  File \"a.py\", line 1", "    boom()"] {
        assert_eq!(classifier.weigh(line), Weight::None, "{line}");
    }
    assert_eq!(classifier.weigh("shop.Boom: no"), Weight::Sharp);
    classifier.weigh("  + expected - actual");
    assert_eq!(classifier.weigh("  -90"), Weight::Blunt);
    assert_eq!(classifier.weigh("  same"), Weight::None);
    assert_eq!(classifier.weigh("  +80"), Weight::Blunt);
}
