use super::*;

fn ask(text: &str) -> Vec<String> {
    queries(&[Expanded { text: text.to_owned(), from: None, folder: String::new() }])
        .into_iter()
        .filter_map(|query| query.command)
        .collect()
}

fn parsed(runner: Runner, folder: &str, output: &str) -> Vec<String> {
    let query = Query { runner, folder: folder.to_owned(), command: None, is_npm_script: false };
    let tests = parse(&query, output, &["/w/calc".to_owned(), "/real/calc".to_owned()]);
    tests.into_iter().map(|(file, names)| format!("{file} {}", names.join(",")).trim_end().to_owned()).collect()
}

#[test]
fn runners_are_asked_with_the_words_of_the_check() {
    let collect = "--collect-only --verbosity=-1 --rootdir=. -p no:cacheprovider --color=no";
    assert_eq!(ask("pytest -k 'a or b' tests"), [format!("pytest -k 'a or b' tests {collect}")]);
    assert_eq!(ask("PYTHONPATH=src python3 -m pytest"), [format!("PYTHONPATH=src python3 -m pytest {collect}")]);
    assert_eq!(ask("coverage run -m pytest --junit-xml out.xml"), [format!("python3 -m pytest {collect}")]);
    assert_eq!(ask("npx jest --ci"), ["npx jest --ci --listTests"]);
    assert_eq!(ask("vitest run --coverage src"), ["vitest list src --filesOnly"]);
    assert_eq!(ask("vitest"), ["vitest list --filesOnly"]);
    assert_eq!(ask("nyc mocha -R dot 'spec/**/*.js'"), ["mocha 'spec/**/*.js' --dry-run --reporter json"]);
    assert_eq!(ask("cargo +nightly test -p a"), ["cargo +nightly metadata --no-deps --format-version=1 --offline"]);
    let go = ask("go test -race -tags=slow ./... -run X");
    assert!(go[0].starts_with("go list -e -f '{{$d") && go[0].ends_with("-tags=slow ./..."), "{go:?}");
}

#[test]
fn what_the_shell_computes_and_what_cannot_be_asked_is_not() {
    for text in ["pytest $ARGS", "pytest > out.txt", "ls", "node --test", "python3 -m unittest", "npm test -- -x"] {
        assert_eq!(ask(text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(ask("pytest 2>&1").len(), 1);
}

#[test]
fn answers_are_read() {
    let collected = "tests/test_a.py::test_one\ntests/test_a.py::test_one[1]\ntests/test_a.py::test_two[x::y z]\n\
                     tests/test_a.py::CartTest::test_three\n\nERROR tests/test_b.py - ImportError: x\n3 tests collected\n";
    assert_eq!(
        parsed(Runner::Pytest, "api", collected),
        ["api/tests/test_a.py test_one,test_two,CartTest::test_three", "api/tests/test_b.py"]
    );
    assert_eq!(
        parsed(Runner::Jest, "", "> jest\n/w/calc/checks/sum.js\n/real/calc/b.test.ts\n/other/c.test.js\n"),
        ["b.test.ts", "checks/sum.js"]
    );
    assert_eq!(parsed(Runner::Vitest, "", "[unit] src/a.test.ts\n"), ["src/a.test.ts"]);
    let mocha = "log\n{\n  \"stats\": {},\n  \"tests\": [{\"title\": \"adds\", \"file\": \"/w/calc/test/a.js\"}]\n}\n";
    assert_eq!(parsed(Runner::Mocha, "", mocha), ["test/a.js adds"]);
    let cargo = r#"{"packages":[{"targets":[{"kind":["lib"],"src_path":"/w/calc/src/lib.rs"},{"kind":["test"],"src_path":"/w/calc/checks/all.rs"}]}]}"#;
    assert_eq!(parsed(Runner::CargoTest, "", cargo), ["checks/all.rs"]);
    assert_eq!(parsed(Runner::GoTest, "", "/w/calc/a_test.go\n"), ["a_test.go"]);
}
