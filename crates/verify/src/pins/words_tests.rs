use proptest::prelude::*;

use super::*;

fn split(text: &str) -> Vec<String> {
    let show = |simple: Simple| match simple.folder.as_str() {
        "" => simple.words.join(" "),
        folder => format!("[{folder}] {}", simple.words.join(" ")),
    };
    commands(text, "").into_iter().map(show).collect()
}

#[test]
fn commands_are_told_apart() {
    for (text, wanted) in [
        ("npm test", &["npm test"][..]),
        ("a && b || c; d | e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]),
        ("cd web && npm test", &["[web] npm test"]),
        ("(cd web; a) && b", &["[web] a", "b"]),
        ("cd /abs && a", &["a"]),
        ("CI=1 A=b npm test", &["npm test"]),
        ("if [ -f x ]; then make; fi", &["[ -f x ]", "make", "fi"]),
        ("! grep x y", &["grep x y"]),
        ("echo 'a && b' \"c; d\"", &["echo a && b c; d"]),
        ("a # b && c\nd", &["a", "d"]),
        ("a $(b c) `d`", &["a $", "b c", "d"]),
        ("a \\\n  b", &["a b"]),
        ("a > log 2>&1 && b", &["a > log 2>&1", "b"]),
        ("a ${X:-b c} d", &["a ${X:-b c} d"]),
        ("", &[]),
        ("'unclosed", &["unclosed"]),
    ] {
        assert_eq!(split(text), wanted, "{text}");
    }
}

#[test]
fn what_only_starts_another_is_taken_away() {
    for (text, wanted) in [
        ("npx --yes jest --ci", "jest --ci"),
        ("npx -p typescript tsc", "tsc"),
        ("env -u HOME A=b pytest", "pytest"),
        ("timeout -k 5 60 cargo test", "cargo test"),
        ("uv run --with x pytest -q", "pytest -q"),
        ("poetry run python -m pytest", "pytest"),
        ("pnpm exec vitest run", "vitest run"),
        ("coverage run -m pytest", "pytest"),
        ("c8 mocha", "mocha"),
        ("cross-env A=b jest", "jest"),
        ("nice -n 5 timeout 9 make", "make"),
        ("npm test", "npm test"),
        ("npx", "npx"),
    ] {
        let simple = commands(text, "").remove(0).inner();
        assert_eq!(simple.words.join(" "), wanted, "{text}");
    }
    assert_eq!(commands("uv run --directory api pytest", "")[0].inner().folder, "api");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(text in r#"(?s)[a-z'"$(){}\\&|;<># \n=/.-]{0,60}"#) {
        for simple in commands(&text, "a/b") {
            let _ = simple.inner();
        }
    }
}
