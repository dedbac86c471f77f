//! Manifests: what is honest, what is not, and what the check then runs on.

use super::*;

fn texts(commands: &[&str]) -> Vec<Expanded> {
    let text = |command: &&str| Expanded { text: (*command).to_owned(), from: None, folder: String::new() };
    commands.iter().map(text).collect()
}

fn compare(path: &str, before: &str, now: &str, command: &str) -> Parts {
    let texts = texts(&[command]);
    compare_parts(path, before.as_bytes(), Some(now.as_bytes()), &Rest { texts: &texts, others: &NoOthers })
}

/// Each case: what is replaced by what, and which parts are then named; none for honest work.
fn table(path: &str, before: &str, command: &str, cases: &[(&str, &str, &str)]) {
    for (from, to, named) in cases {
        let now = before.replacen(from, to, 1);
        assert_ne!(now, before, "{from}");
        match compare(path, before, &now, command) {
            Parts::Untouched => assert!(named.is_empty(), "{from} -> {to} should be noticed"),
            Parts::Tampered { what, restored } => {
                assert_eq!(what.join(" "), *named, "{from} -> {to}");
                let restored = String::from_utf8(restored).unwrap();
                assert_eq!(compare(path, before, &restored, command), Parts::Untouched, "{restored}");
            }
            other => panic!("{other:?}"),
        }
    }
}

const PACKAGE: &str = r#"{
  "name": "a",
  "version": "1.0.0",
  "scripts": {
    "test": "jest",
    "lint": "eslint .",
    "dev": "vite"
  },
  "jest": { "testEnvironment": "node" },
  "exports": { "import": "./a.mjs", "default": "./a.js" },
  "workspaces": ["one"],
  "dependencies": { "left-pad": "^1.0.0", "own": "file:./own" },
  "devDependencies": { "jest": "^29.0.0" }
}
"#;

#[test]
fn package_json() {
    table(
        "package.json",
        PACKAGE,
        "npm test && npm run verify",
        &[
            ("1.0.0", "2.0.0", ""),
            (r#""^29.0.0""#, r#""^30.0.0""#, ""),
            (r#""^1.0.0""#, r#""1.2.3", "new": "github:a/b""#, ""),
            (r#""vite""#, r#""vite --host""#, ""),
            (r#""lint""#, r#""build": "tsc", "lint""#, ""),
            (r#"["one"]"#, r#"["one", "two"]"#, ""),
            (r#""name": "a""#, r#""type": "module", "name": "a""#, "type"),
            (r#""jest","#, r#""jest --passWithNoTests || true","#, "scripts.test"),
            ("\"test\": \"jest\",\n", "", "scripts.test"),
            (r#""eslint .""#, r#""true""#, "scripts.lint"),
            (r#""lint""#, r#""pretest": "node patch.js", "lint""#, "scripts.pretest"),
            (r#""lint""#, r#""posttest": "true", "lint""#, "scripts.posttest"),
            (r#""lint""#, r#""verify": "true", "lint""#, "scripts.verify"),
            (r#""lint""#, r#""preverify": "true", "lint""#, "scripts.preverify"),
            (r#""node" }"#, r#""node", "testPathIgnorePatterns": ["a"] }"#, "jest"),
            (r#""node" }"#, r#""node" }, "babel": { "plugins": ["./evil"] }"#, "babel"),
            (r#""node" }"#, r##""node" }, "imports": { "#a": "./fake.js" }"##, "imports"),
            (r#"["one"]"#, "[]", "workspaces"),
            (r#""^29.0.0""#, r#""file:./fake""#, "devDependencies.jest"),
            (r#""^29.0.0""#, r#""npm:fake-jest@1""#, "devDependencies.jest"),
            (r#""^1.0.0""#, r#""git+https://example.org/a""#, "dependencies.left-pad"),
            (r#""^1.0.0""#, r#""someone/left-pad""#, "dependencies.left-pad"),
            ("file:./own", "file:./other", "dependencies.own"),
            (r#""^1.0.0","#, r#""^1.0.0", "mocha": "link:./fake","#, "dependencies.mocha"),
            (r#""workspaces""#, r#""overrides": { "expect": "file:./fake" }, "workspaces""#, "overrides.expect"),
            (r#""workspaces""#, r#""overrides": { "expect": "29.1.0" }, "workspaces""#, ""),
            // The last of two by the same name counts.
            (r#""lint""#, r#""test": "true", "lint""#, "scripts.test"),
        ],
    );
    // The order of conditions is kept.
    let now = PACKAGE.replace("\"jest\",", "\"true\",");
    let Parts::Tampered { restored, .. } = compare("package.json", PACKAGE, &now, "npm test") else { panic!() };
    let restored = String::from_utf8(restored).unwrap();
    assert!(restored.find("import").unwrap() < restored.find("default").unwrap(), "{restored}");
}

#[test]
fn a_script_that_a_command_uses_counts_whatever_its_name() {
    let now = PACKAGE.replace("\"vite\"", "\"true\"");
    assert_eq!(compare("package.json", PACKAGE, &now, "npm test"), Parts::Untouched);
    assert!(matches!(compare("package.json", PACKAGE, &now, "npm run dev"), Parts::Tampered { .. }));
}

const CARGO: &str = r#"[package]
name = "a"
version = "0.1.0"

[dependencies]
serde = "1"
own = { path = "../own" }

[dev-dependencies]
proptest = { version = "1", default-features = false }

[[test]]
name = "it"
path = "tests/it.rs"

[workspace]
members = ["one", "two"]

[workspace.dependencies]
regex = "1"

[profile.dev]
debug = 1

[lints.clippy]
unwrap_used = "warn"
"#;

#[test]
fn cargo_toml() {
    table(
        "Cargo.toml",
        CARGO,
        "cargo test",
        &[
            ("0.1.0", "0.2.0\"\ndescription = \"x", ""),
            ("serde = \"1\"", "serde = { version = \"2\", features = [\"derive\"] }", ""),
            ("serde = \"1\"\n", "", ""),
            ("serde = \"1\"", "serde = \"1\"\nnew = { path = \"new\" }", ""),
            ("\"one\"", "\"one\", \"three\"", ""),
            ("debug = 1", "debug = 2\nopt-level = 1", ""),
            ("[profile.dev]", "[profile.release]\nlto = true\n\n[profile.dev]", ""),
            ("[workspace]", "[[test]]\nname = \"more\"\n\n[workspace]", ""),
            ("[workspace]", "[[bin]]\nname = \"b\"\npath = \"src/b.rs\"\n\n[workspace]", ""),
            ("[workspace]", "[lib]\npath = \"src/lib.rs\"\n\n[workspace]", ""),
            ("[workspace]", "[features]\nx = []\n\n[workspace]", ""),
            ("serde = \"1\"", "serde = { path = \"fake\" }", "dependencies.serde"),
            ("serde = \"1\"", "serde = { git = \"https://example.org\" }", "dependencies.serde"),
            ("serde = \"1\"", "serde = { version = \"1\", package = \"fake\" }", "dependencies.serde"),
            ("serde = \"1\"", "serde = \"1\"\npretty_assertions = { path = \"x\" }", "dependencies.pretty_assertions"),
            ("../own", "../fake", "dependencies.own"),
            ("proptest = {", "proptest = { path = \"x\",", "dev-dependencies.proptest"),
            ("regex = \"1\"", "regex = { path = \"x\" }", "workspace.dependencies.regex"),
            ("name = \"a\"", "name = \"a\"\nautotests = false", "package.autotests"),
            ("name = \"a\"", "name = \"a\"\nbuild = \"evil.rs\"", "package.build"),
            ("path = \"tests/it.rs\"", "path = \"tests/it.rs\"\nharness = false", "test"),
            ("path = \"tests/it.rs\"", "path = \"tests/none.rs\"", "test"),
            ("[[test]]\nname = \"it\"\npath = \"tests/it.rs\"\n", "", "test"),
            ("[workspace]", "[[test]]\nname = \"other\"\nharness = false\n\n[workspace]", "test"),
            ("[workspace]", "[[test]]\nname = \"other\"\npath = \"tests/none.rs\"\n\n[workspace]", "test"),
            ("[workspace]", "[[bin]]\nname = \"a\"\npath = \"src/main.rs\"\ntest = false\n\n[workspace]", "bin"),
            ("[workspace]", "[lib]\ntest = false\n\n[workspace]", "lib.test"),
            ("[workspace]", "[lib]\nname = \"other\"\n\n[workspace]", "lib.name"),
            ("[workspace]", "[lib]\ndoctest = false\n\n[workspace]", "lib.doctest"),
            ("[workspace]", "[lib]\npath = \"src/fake.rs\"\n\n[workspace]", "lib.path"),
            ("[workspace]", "[patch.crates-io]\nserde = { path = \"x\" }\n\n[workspace]", "patch"),
            ("[workspace]", "[replace]\n\"serde:1.0.0\" = { path = \"x\" }\n\n[workspace]", "replace"),
            ("\"one\", ", "", "workspace.members"),
            ("members", "exclude = [\"one\"]\nmembers", "workspace.exclude"),
            ("members", "default-members = [\"one\"]\nmembers", "workspace.default-members"),
            ("debug = 1", "debug-assertions = false", "profile.dev"),
            ("[profile.dev]", "[profile.test]\npanic = \"abort\"\n\n[profile.dev]", "profile.test"),
            ("\"warn\"", "\"allow\"", "lints"),
        ],
    );
}

const PYPROJECT: &str = r#"[project]
name = "a"
version = "1"
dependencies = ["requests", "numpy"]

[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.pytest.ini_options]
testpaths = ["tests"]

[tool.mypy]
strict = true

[tool.poetry.dependencies]
flask = "1"
"#;

#[test]
fn pyproject_toml() {
    table(
        "pyproject.toml",
        PYPROJECT,
        "pytest && ruff check",
        &[
            ("version = \"1\"", "version = \"2\"", ""),
            ("\"requests\"", "\"requests\", \"flask\"", ""),
            ("[tool.mypy]", "[tool.black]\nline-length = 100\n\n[tool.mypy]", ""),
            ("flask = \"1\"", "flask = \"2\"", ""),
            ("[\"tests\"]", "[\"none\"]", "tool.pytest"),
            ("[\"tests\"]", "[\"tests\"]\naddopts = \"--deselect a\"", "tool.pytest"),
            ("[tool.mypy]", "[tool.coverage.run]\nplugins = [\"evil\"]\n\n[tool.mypy]", "tool.coverage"),
            ("[tool.mypy]", "[tool.tox]\nx = 1\n\n[tool.mypy]", "tool.tox"),
            ("[tool.mypy]", "[tool.hatch.envs.test]\nx = 1\n\n[tool.mypy]", "tool.hatch.envs"),
            ("[tool.mypy]", "[tool.poe.tasks]\ntest = \"true\"\n\n[tool.mypy]", "tool.poe"),
            ("[tool.mypy]", "[tool.ruff]\nexclude = [\"*\"]\n\n[tool.mypy]", "tool.ruff"),
            ("[tool.mypy]", "[tool.uv.sources]\nnumpy = { path = \"fake\" }\n\n[tool.mypy]", "tool.uv.sources.numpy"),
            (
                "[tool.mypy]",
                "[project.entry-points.pytest11]\nx = \"a.b\"\n\n[tool.mypy]",
                "project.entry-points.pytest11",
            ),
            ("strict = true", "strict = false", "tool.mypy"),
            ("flask = \"1\"", "flask = { path = \"fake\" }", "tool.poetry.dependencies.flask"),
            ("[\"setuptools\"]", "[\"setuptools\"]\nbackend-path = [\".\"]", "build-system.backend-path"),
            ("setuptools.build_meta", "evil", "build-system.build-backend"),
        ],
    );
}

const SETUP: &str =
    "[metadata]\nname = a\n\n[tool:pytest]\ntestpaths = tests\naddopts =\n    -v\n\n[options]\npackages = find:\n";

#[test]
fn setup_cfg() {
    table(
        "setup.cfg",
        SETUP,
        "pytest",
        &[
            ("name = a", "name = b", ""),
            ("testpaths = tests", "# a comment\n\ntestpaths = tests  ", ""),
            ("packages = find:", "packages = find:\ninstall_requires = x", ""),
            ("tests", "none", "[tool:pytest]"),
            ("    -v\n", "    -v\n    --deselect a\n", "[tool:pytest]"),
            ("[tool:pytest]\ntestpaths = tests\naddopts =\n    -v\n", "", "[tool:pytest]"),
            ("[options]", "[aliases]\ntest = true\n\n[options]", "[aliases]"),
            ("[options]", "[options.entry_points]\npytest11 = x\n\n[options]", "[options.entry_points]"),
            ("[options]", "[coverage:run]\nplugins = x\n\n[options]", "[coverage:run]"),
            ("[options]", "[tool:pytest]\naddopts = -k none\n\n[options]", "[tool:pytest]"),
        ],
    );
}

const GO_MOD: &str = "module example.org/a\n\ngo 1.22\n\nrequire (\n\texample.org/b v1.0.0\n\texample.org/c v1.0.0 // indirect\n)\n\nreplace example.org/c => ../c\n";

#[test]
fn go_mod() {
    table(
        "go.mod",
        GO_MOD,
        "go test ./...",
        &[
            ("b v1.0.0", "b v1.2.0", ""),
            ("go 1.22", "go 1.23", ""),
            ("b v1.0.0\n", "b v1.0.0\n\texample.org/new v1.0.0\n", ""),
            ("=> ../c\n", "=> ../c\nreplace example.org/new => ../new\n", ""),
            ("replace example.org/c => ../c\n", "replace (\n\texample.org/c => ../c\n)\n", ""),
            ("=> ../c", "=> ../fake", "replace example.org/c"),
            ("replace example.org/c => ../c\n", "", "replace example.org/c"),
            ("=> ../c\n", "=> ../c\nreplace example.org/b => ./fake\n", "replace example.org/b"),
            (
                "replace example.org/c",
                "replace (\n\texample.org/b => ./fake\n)\nreplace example.org/c",
                "replace example.org/b",
            ),
            ("module example.org/a", "module example.org/z", "module"),
        ],
    );
}

#[test]
fn what_cannot_be_read_counts_as_a_whole() {
    for (path, before) in [("package.json", PACKAGE), ("Cargo.toml", CARGO), ("pyproject.toml", PYPROJECT)] {
        let Parts::Tampered { what, restored } = compare(path, before, "{ [", "x") else { panic!("{path}") };
        assert_eq!(restored, before.as_bytes(), "{path}");
        assert!(what[0].contains("no longer parses"), "{what:?}");
        let whole = compare(path, "{ [", before, "x");
        assert_eq!(whole, Parts::Tampered { what: vec!["the file".to_owned()], restored: b"{ [".to_vec() }, "{path}");
    }
    let unknown = compare("what.ever", "a", "b", "x");
    assert_eq!(unknown, Parts::Tampered { what: vec!["the file".to_owned()], restored: b"a".to_vec() });
    let rest = Rest { texts: &[], others: &NoOthers };
    let not_text = compare_parts("Cargo.toml", b"\xff", Some(b"\xfe"), &rest);
    assert!(matches!(not_text, Parts::Tampered { restored, .. } if restored == b"\xff"));
}

#[test]
fn deleted_manifests_come_back() {
    let rest = Rest { texts: &[], others: &NoOthers };
    for (path, before) in [
        ("package.json", PACKAGE),
        ("Cargo.toml", CARGO),
        ("pyproject.toml", PYPROJECT),
        ("setup.cfg", SETUP),
        ("go.mod", GO_MOD),
    ] {
        let gone = Parts::Gone { restored: before.as_bytes().to_vec() };
        assert_eq!(compare_parts(path, before.as_bytes(), None, &rest), gone, "{path}");
    }
    assert_eq!(compare_parts("setup.cfg", b"[metadata]\nname = a\n", None, &rest), Parts::Untouched);
    assert_eq!(compare_parts("pyproject.toml", b"[project]\nname = 'a'\n", None, &rest), Parts::Untouched);
}
