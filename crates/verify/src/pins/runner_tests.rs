use super::*;
use crate::pins::words::commands;

fn runners(text: &str) -> Vec<Runner> {
    let starts: Vec<Simple> =
        commands(text, "").into_iter().flat_map(|simple| [simple.clone(), simple.inner()]).collect();
    of(&starts)
}

#[test]
fn runners_are_known_by_the_words_that_start_them() {
    for (text, wanted) in [
        ("cargo test", &[Runner::CargoTest][..]),
        ("cargo +nightly t -p a", &[Runner::CargoTest]),
        ("cargo nextest run", &[Runner::Nextest]),
        ("cargo llvm-cov nextest", &[Runner::Nextest]),
        ("cargo build", &[]),
        ("pytest -q", &[Runner::Pytest]),
        ("uv run pytest", &[Runner::Pytest]),
        ("python3.12 -m pytest", &[Runner::Pytest]),
        (".venv/bin/python -m unittest discover", &[Runner::Unittest]),
        ("coverage run -m unittest", &[Runner::Unittest]),
        ("python -m coverage run -m pytest", &[Runner::Pytest]),
        ("python app.py", &[]),
        ("npx jest", &[Runner::Jest]),
        ("node --experimental-vm-modules node_modules/.bin/jest", &[Runner::Jest]),
        ("CI=true react-scripts test", &[Runner::Jest]),
        ("vitest run && mocha", &[Runner::Vitest, Runner::Mocha]),
        ("nyc mocha --exit", &[Runner::Mocha]),
        ("node --test", &[Runner::NodeTest]),
        ("tsx --test a.ts", &[Runner::NodeTest]),
        ("node app.js", &[]),
        ("go test ./... -run X", &[Runner::GoTest]),
        ("gotestsum -- ./...", &[Runner::GoTest]),
        ("go build ./...", &[]),
        ("make check", &[]),
        ("cargo test && cargo test --doc", &[Runner::CargoTest]),
    ] {
        assert_eq!(runners(text), wanted, "{text}");
    }
}

#[test]
fn every_runner_has_a_name_of_its_own() {
    use Runner::{CargoTest, GoTest, Jest, Mocha, Nextest, NodeTest, Pytest, Unittest, Vitest};
    let all = [CargoTest, Nextest, Pytest, Unittest, Jest, Vitest, Mocha, NodeTest, GoTest];
    let names: std::collections::HashSet<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn a_command_that_only_starts_a_runner() {
    for (command, runner) in [
        ("python3 -m unittest -v", Some(Runner::Unittest)),
        ("npx jest --ci", Some(Runner::Jest)),
        ("TZ=UTC cargo test", Some(Runner::CargoTest)),
        ("npm test", None),
        ("make && go test ./...", None),
        ("pytest | tee log", None),
    ] {
        assert_eq!(only_runner(command), runner, "{command}");
    }
}
