use super::*;

/// Files with their content, then the kinds of project and the commands that they suggest.
type Case = (&'static [(&'static str, &'static str)], &'static [Stack], &'static [&'static str]);

fn detected(files: &[(&str, &str)]) -> Detection {
    let root = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    detect(root.path())
}

#[test]
fn projects_are_known_by_their_files() {
    const NPM_DEFAULT: &str = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    let table: &[Case] = &[
        (&[], &[], &[]),
        (&[("README.md", "cargo test")], &[], &[]),
        (&[("Cargo.toml", "[package]")], &[Stack::Cargo], &["cargo test"]),
        (&[("Cargo.toml", "[workspace]\n")], &[Stack::Cargo], &["cargo test --workspace"]),
        (
            &[("Cargo.toml", "[package]"), (".config/nextest.toml", "")],
            &[Stack::Cargo],
            &["cargo nextest run", "cargo test"],
        ),
        (&[("package.json", r#"{"scripts":{"test":"jest"}}"#)], &[Stack::Npm], &["npm test"]),
        (&[("package.json", NPM_DEFAULT)], &[Stack::Npm], &[]),
        (&[("package.json", "not json")], &[Stack::Npm], &[]),
        (
            &[("package.json", r#"{"scripts":{"test":"vitest","lint":"eslint ."}}"#), ("pnpm-lock.yaml", "")],
            &[Stack::Pnpm],
            &["pnpm test", "pnpm run lint"],
        ),
        (&[("package.json", r#"{"scripts":{"test":"jest"}}"#), ("yarn.lock", "")], &[Stack::Yarn], &["yarn test"]),
        (&[("package.json", r#"{"scripts":{"test":"bun test"}}"#), ("bun.lock", "")], &[Stack::Bun], &["bun run test"]),
        (
            &[
                ("package.json", r#"{"packageManager":"pnpm@9.1.0","scripts":{"test":"jest"}}"#),
                ("package-lock.json", ""),
            ],
            &[Stack::Pnpm],
            &["pnpm test"],
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"jest --watch","test:ci":"jest --ci"}}"#)],
            &[Stack::Npm],
            &["npm run test:ci"],
        ),
        (&[("package.json", r#"{"scripts":{"test":"react-scripts test"}}"#)], &[Stack::Npm], &["CI=true npm test"]),
        (&[("package.json", r#"{"devDependencies":{"vitest":"4"}}"#)], &[Stack::Npm], &["npx vitest run"]),
        (&[("package.json", "{}"), ("test/cart.test.mjs", "")], &[Stack::Npm], &["node --test"]),
        (&[("pyproject.toml", "[tool.pytest.ini_options]\n")], &[Stack::Python], &["pytest"]),
        (
            &[("pyproject.toml", "[project]\nname = 'x'\n"), ("uv.lock", ""), ("tests/conftest.py", "")],
            &[Stack::Python],
            &["uv run pytest"],
        ),
        (&[("requirements-dev.txt", "pytest>=8\n"), ("tests/test_a.py", "")], &[Stack::Python], &["pytest"]),
        (&[("requirements.txt", "# no pytest here\npytest-cov-like==1\n")], &[Stack::Python], &[]),
        (&[("setup.cfg", "[tool:pytest]\n")], &[Stack::Python], &["pytest"]),
        (&[("test_a.py", "import unittest")], &[Stack::Python], &["python3 -m unittest discover"]),
        (&[("setup.py", ""), ("tests/test_a.py", "")], &[Stack::Python], &["python3 -m unittest discover -s tests"]),
        (
            &[("setup.py", ""), ("tests/test_a.py", ""), ("tests/__init__.py", "")],
            &[Stack::Python],
            &["python3 -m unittest discover"],
        ),
        (
            &[("test_a.py", "def test_a(): pass"), (".venv/bin/python", ""), (".venv/bin/pytest", "")],
            &[Stack::Python],
            &[".venv/bin/pytest"],
        ),
        (
            &[("requirements.txt", "pytest"), ("venv/bin/python", ""), ("venv/bin/pytest", ""), ("uv.lock", "")],
            &[Stack::Python],
            &["uv run pytest"],
        ),
        (
            &[("tests/test_a.py", "import unittest"), ("venv/bin/python", "")],
            &[Stack::Python],
            &["venv/bin/python -m unittest discover -s tests"],
        ),
        (&[("test_a.py", "async def test_a(): pass")], &[Stack::Python], &["pytest"]),
        (
            &[("manage.py", "from django.core import management"), ("requirements.txt", "django")],
            &[Stack::Python],
            &["python3 manage.py test"],
        ),
        (
            &[("manage.py", "import django"), (".venv/bin/python", ""), ("shop/tests.py", "")],
            &[Stack::Python],
            &[".venv/bin/python manage.py test"],
        ),
        (&[("go.mod", "module x")], &[Stack::Go], &["go test -v ./..."]),
        (&[("Makefile", "all:\n\tcc a.c\n")], &[Stack::Make], &[]),
        (&[("Makefile", ".PHONY: test\ntest: all\n\t./a\ncheck := 1\n")], &[Stack::Make], &["make test"]),
        (&[("GNUmakefile", "check test:\n\t./a\n")], &[Stack::Make], &["make test", "make check"]),
        (&[("build.gradle.kts", ""), ("gradlew", "")], &[Stack::Gradle], &["./gradlew test"]),
        (&[("build.gradle", "")], &[Stack::Gradle], &["gradle test"]),
        (&[("pom.xml", ""), ("mvnw", "")], &[Stack::Maven], &["./mvnw test"]),
        (&[("pom.xml", "")], &[Stack::Maven], &["mvn test"]),
        (
            &[("Makefile", "test:\n\tcargo test\n"), ("package.json", NPM_DEFAULT), ("Cargo.toml", "[package]")],
            &[Stack::Cargo, Stack::Make, Stack::Npm],
            &["cargo test", "make test"],
        ),
        (
            &[("package.json", r#"{"scripts":{"lint":"eslint ."}}"#), ("go.mod", "")],
            &[Stack::Go, Stack::Npm],
            &["go test -v ./...", "npm run lint"],
        ),
    ];
    for (files, stacks, commands) in table {
        let detection = detected(files);
        let found: Vec<&str> = detection.suggestions.iter().map(|suggestion| suggestion.command.as_str()).collect();
        assert_eq!((detection.stacks.as_slice(), found.as_slice()), (*stacks, *commands), "{files:?}");
        assert!(detection.suggestions.iter().all(|suggestion| !suggestion.why.is_empty()));
    }
}

#[test]
fn the_reason_names_the_file() {
    let detection = detected(&[("package.json", r#"{"scripts":{"test":"jest"}}"#)]);
    assert_eq!(detection.suggestions[0].why, "package.json has the script `test`: jest");
    let detection = detected(&[("package.json", r#"{"scripts":{"test":"jest\u001b[31m\nnext"}}"#)]);
    assert!(!detection.suggestions[0].why.contains(['\u{1b}', '\n']), "{}", detection.suggestions[0].why);
}

#[test]
fn a_folder_that_is_not_there_has_nothing() {
    assert_eq!(detect(Path::new("/nowhere/at/all")), Detection::default());
}
