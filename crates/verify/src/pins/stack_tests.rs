//! One table per kind of project: honest work is free, what a verdict depends on is not.

use crate::pins::testing::Little;
use ralph_model::Runner;

#[test]
fn a_rust_package() {
    let little = Little::new(&[
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {}\n"),
        ("src/inner/other.rs", ""),
        ("tests/it.rs", "#[test]\nfn a() {}\n"),
        ("tests/data/a.json", "{}"),
        ("benches/b.rs", ""),
        ("tools/odd.rs", "#[test]\nfn a() {}\n"),
        ("tools/plain.rs", "fn a() {}\n"),
        ("README.md", ""),
    ]);
    little.expect(
        "cargo test",
        "src/lib.rs Parts
         src/inner/other.rs Parts
         tests/it.rs Parts
         tests/data/a.json Frozen
         benches/b.rs Parts
         tools/odd.rs Parts
         tools/plain.rs -
         Cargo.toml Parts
         Cargo.lock -
         README.md -
         build.rs Steering
         src/build.rs Parts
         .cargo/config.toml Steering
         .cargo/config Steering
         .config/nextest.toml Steering
         rust-toolchain.toml Steering
         rust-toolchain Steering
         clippy.toml -
         target/debug/build/x/out/bindings.rs -
         target/package/a/build.rs -
         conftest.py -",
    );
    assert_eq!(little.ask(&["cargo test"]).runners, [Runner::CargoTest]);
}

#[test]
fn a_rust_workspace_pins_each_package() {
    let little = Little::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        ("crates/one/Cargo.toml", "[package]\nname = \"one\"\n"),
        ("crates/one/src/main.rs", "fn main() {}\n"),
        ("crates/one/tests/it.rs", ""),
        ("crates/one/build.rs", ""),
    ]);
    little.expect(
        "cargo nextest run",
        "crates/one/src/main.rs Parts
         crates/one/tests/it.rs Parts
         crates/one/tests/new.rs Parts
         crates/one/build.rs Steering
         crates/one/.cargo/config.toml Steering
         crates/one/Cargo.toml Parts
         crates/two/src/lib.rs -",
    );
}

#[test]
fn a_linter_is_steered_only_where_a_command_starts_it() {
    let little = Little::new(&[("Cargo.toml", ""), ("src/lib.rs", ""), (".eslintrc.json", "{}")]);
    little.expect("cargo test", "clippy.toml -\nrustfmt.toml -\n.eslintrc.json Frozen");
    little.expect("cargo clippy -- -D warnings && cargo fmt --check", "clippy.toml Steering\nrustfmt.toml Steering");
    let python = Little::new(&[("a.py", "")]);
    python.expect("ruff check . && mypy a.py", "ruff.toml Steering\nmypy.ini Steering\n.flake8 -");
    python.expect("pytest", "ruff.toml -\nmypy.ini -");
    let linted =
        Little::new(&[(".yamllint", ""), (".pre-commit-config.yaml", ""), ("node_list.js", ""), ("phpstan.neon", "")]);
    linted.expect(
        "pre-commit run -a && yamllint . && node run.js && npx phpstan",
        ".yamllint Frozen\n.pre-commit-config.yaml Frozen\nnode_list.js -\nphpstan.neon Frozen",
    );
    let java = Little::new(&[("pom.xml", ""), ("src/test/java/ATest.java", "")]);
    java.expect(
        "./mvnw -q test",
        ".mvn/maven.config Steering\nsrc/test/java/ATest.java Frozen\npom.xml Frozen\nother/pom.xml -",
    );
    let gradle = Little::new(&[("build.gradle.kts", ""), ("src/test/java/ATest.java", "")]);
    gradle.expect(
        "gradle test",
        "buildSrc/build.gradle Steering\nbuild.gradle.kts Frozen\nbuild.gradle Absent\nsettings.gradle Absent\napp/build.gradle -",
    );
    let ruby = Little::new(&[("spec/a_spec.rb", "")]);
    ruby.expect("bundle exec rspec", ".rspec Steering\nspec/a_spec.rb Frozen\nlib/rspec/core.rb Absent\nphpunit.xml -");
    ruby.expect("rake spec", "rakefile Steering\nRakefile.rb Steering\nrakelib/a.rake Steering");
    ruby.expect("rspec", "lib/set.rb Absent\nlib/cart/set.rb -\nrakelib/a.rake -");
    let php = Little::new(&[("tests/ATest.php", ""), ("src/A.php", ""), ("composer.json", "{}")]);
    php.expect(
        "vendor/bin/phpunit",
        "phpunit.xml Steering\ntests/ATest.php Frozen\ntests/Helper.php Frozen\nsrc/A.php -\ncomposer.json Frozen\nvendor/phpunit/a.php Installed",
    );
    let c = Little::new(&[("CMakeLists.txt", ""), ("src/calc.c", ""), ("tests/calc.c", "")]);
    c.expect(
        "ctest --test-dir build",
        "tests/calc.c Frozen\nCMakeLists.txt Frozen\nCTestCustom.cmake Steering\nsrc/calc.c -",
    );
}

#[test]
fn a_python_project() {
    let little = Little::new(&[
        ("pyproject.toml", ""),
        ("calc.py", ""),
        ("src/calc/core.py", ""),
        ("tests/test_calc.py", ""),
        ("tests/helpers.py", ""),
        ("tests/data/a.csv", ""),
        ("tests/random.py", ""),
        ("pkg/thing_test.py", ""),
        ("setup.cfg", ""),
    ]);
    little.expect(
        "python3 -m pytest -q",
        "calc.py -
         src/calc/core.py -
         tests/test_calc.py Frozen
         tests/test_new.py Frozen
         tests/helpers.py Frozen
         tests/data/a.csv Frozen
         pkg/thing_test.py Frozen
         pkg/thing.py -
         pyproject.toml Parts
         setup.cfg Parts
         conftest.py Steering
         tests/conftest.py Steering
         pkg/deep/conftest.py Steering
         pytest.ini Steering
         .pytest.ini Steering
         tox.ini Steering
         noxfile.py Steering
         .coveragerc -
         sitecustomize.py Steering
         usercustomize.py Steering
         evil.pth Steering
         pytest.py Absent
         pytest/__init__.py Absent
         _pytest/__init__.py Absent
         unittest.py Absent
         src/json.py Absent
         random.py Absent
         random.cpython-312-x86_64-linux-gnu.so Absent
         tests/json.py Absent
         tests/random.py Frozen
         pkg/pytest.py Absent
         calendar.py Modules
         queue.py Modules
         json/data.txt -
         calc/json.py -",
    );
    assert_eq!(little.ask(&["python3 -m pytest -q"]).runners, [Runner::Pytest]);
}

#[test]
fn a_module_that_is_there_already_is_ordinary_source() {
    let little = Little::new(&[("random.py", ""), ("test_a.py", "")]);
    little.expect("python3 -m unittest", "random.py Modules\nre.py Absent\ntest_a.py Frozen");
}

#[test]
fn sources_that_are_imported_by_their_folder_shadow_nothing() {
    let little = Little::new(&[("src/app.py", ""), ("tests/test_a.py", ""), ("tests/unit/test_b.py", "")]);
    little.expect(
        "pytest",
        "src/types.py Modules
         src/pytest.py Absent
         types.py Absent
         tests/types.py Absent
         tests/unit/types.py Absent",
    );
}

#[test]
fn a_new_setup_cfg_steers_pytest() {
    let little = Little::new(&[("a.py", "")]);
    little.expect("pytest", "setup.cfg Steering");
}

#[test]
fn a_virtual_environment_in_the_workspace() {
    let little = Little::new(&[("a.py", "")]).ignored(&[
        ".venv/pyvenv.cfg",
        ".venv/bin/pytest",
        ".venv/lib/python3.12/site-packages/pytest/__init__.py",
        ".venv/lib/python3.12/site-packages/numpy/conftest.py",
    ]);
    little.expect(
        ".venv/bin/pytest",
        ".venv/bin/pytest Installed
         .venv/bin/python Installed
         .venv/pyvenv.cfg Steering
         .venv/lib/python3.12/site-packages/pytest/__init__.py Installed
         .venv/lib/python3.12/site-packages/_pytest/runner.py Installed
         .venv/lib/python3.12/site-packages/pytest_cov/plugin.py Installed
         .venv/lib/python3.12/site-packages/evil.pth Steering
         .venv/lib/python3.12/site-packages/sitecustomize.py Steering
         .venv/lib/python3.12/site-packages/numpy/conftest.py Packages
         .venv/lib/python3.12/site-packages/numpy/tests/test_a.py Packages
         .venv/lib/python3.12/site-packages/requests/api.py Packages",
    );
}

#[test]
fn a_javascript_project() {
    let little = Little::new(&[
        ("package.json", r#"{"scripts": {"test": "jest"}}"#),
        ("src/a.js", ""),
        ("src/a.test.js", ""),
        ("src/__tests__/b.js", ""),
        ("src/__mocks__/c.js", ""),
        ("src/__snapshots__/a.test.js.snap", ""),
        ("test/helper.js", ""),
        ("tsconfig.json", "{}"),
        (".env.test", ""),
        ("vite.config.ts", ""),
    ])
    .ignored(&["node_modules/jest/package.json", "node_modules/@jest/core/index.js", "node_modules/.bin/jest"]);
    little.expect(
        "npm test",
        "src/a.js Modules
         src/a.test.js Frozen
         src/new.spec.tsx Frozen
         src/__tests__/b.js Frozen
         src/__mocks__/c.js Frozen
         src/__snapshots__/a.test.js.snap Frozen
         test/helper.js Frozen
         package.json Parts
         package-lock.json -
         jest.config.js Steering
         web/jest.config.mjs Steering
         vitest.config.ts Steering
         .mocharc.yml Steering
         babel.config.cjs Steering
         .babelrc Steering
         .swcrc Steering
         .npmrc Steering
         .yarnrc.yml Steering
         .pnpmfile.cjs Steering
         tsconfig.json Frozen
         tsconfig.build.json -
         .env.test Frozen
         .env -
         vite.config.ts -
         node_modules/jest/build/index.js Installed
         node_modules/jest-circus/run.js Installed
         node_modules/@jest/core/index.js Installed
         node_modules/.bin/jest Installed
         node_modules/.bin/sh Absent
         node_modules/left-pad/test/a.js Packages
         node_modules/left-pad/jest.config.js Packages
         node_modules/jest/node_modules/deep/index.js Installed
         node_modules/.cache/a.js -
         node_modules/.package-lock.json -
         node_modules/.pnpm/a@1/node_modules/a/index.js Packages
         src/node_modules/jest/index.js Absent
         src/node_modules/left-pad/index.js -",
    );
    assert_eq!(little.ask(&["npm test"]).runners, [Runner::Jest]);
}

#[test]
fn libraries_of_tests_may_be_in_scopes() {
    let little = Little::new(&[
        ("package.json", r#"{"scripts": {"test": "mocha"}}"#),
        (
            "test/a.js",
            "require('chai');\nrequire('@acme/matchers');\nrequire('@acme/data');\nrequire('@other/http');\n",
        ),
    ])
    .ignored(
        &["chai", "@acme/matchers", "@acme/data", "@other/http"]
            .map(|name| format!("node_modules/{name}/a.js"))
            .each_ref()
            .map(String::as_str),
    );
    little.expect(
        "npm test",
        "node_modules/chai/a.js Installed
         node_modules/@acme/matchers/a.js Installed
         node_modules/@acme/data/b.js Installed
         node_modules/@acme/else/a.js Packages
         node_modules/@other/http Installed
         test/node_modules/@acme/data/a.js Absent
         test/node_modules/@other/data/a.js -",
    );
}

#[test]
fn vitest_reads_the_configuration_of_vite() {
    let little = Little::new(&[("package.json", r#"{"scripts": {"test": "vitest run"}}"#)]);
    little.expect("pnpm test", "vite.config.ts Steering\nvitest.workspace.json Steering");
}

#[test]
fn what_tap_writes_is_no_setting_of_it() {
    let little = Little::new(&[("package.json", "{\"scripts\": {\"test\": \"tap\"}}"), ("test/a.js", "")]);
    little.expect(
        "npm test",
        ".taprc Steering
         .tap/plugins/a.js Steering
         .tap/processinfo/a.json -",
    );
}

#[test]
fn installing_a_runner_that_nobody_has_is_honest_work() {
    let little = Little::new(&[("package.json", r#"{"scripts": {"test": "jest"}}"#)]).without(&["jest"]);
    little.expect(
        "npm test",
        "node_modules/jest/index.js -
         node_modules/.bin/jest -
         node_modules/.bin/sh Absent",
    );
}

#[test]
fn a_go_module() {
    let little = Little::new(&[("go.mod", "module a\n"), ("a.go", ""), ("a_test.go", ""), ("pkg/testdata/x.txt", "")]);
    little.expect(
        "go test ./...",
        "a.go -
         a_test.go Frozen
         pkg/testdata/x.txt Frozen
         go.mod Parts
         go.sum -
         go.work Steering
         pkg/go.work Steering",
    );
    assert_eq!(little.ask(&["go test ./..."]).runners, [Runner::GoTest]);
}

#[test]
fn makefiles_and_their_like_steer_where_they_are_used() {
    let included =
        Little::new(&[("Makefile", "-include Makefile.local .depend\n.depend: a.c\n\tcc -M a.c > .depend\n")]);
    included.expect("make test", "Makefile.local Steering\n.depend -");
    let little = Little::new(&[("Makefile", "check:\n\ttrue\n"), ("justfile", "check:\n    true\n"), ("a.c", "")]);
    little.expect("make check", "Makefile Steering\nGNUmakefile Steering\nrules.mk Steering\njustfile -\na.c -");
    little.expect("just check", "justfile Steering\nMakefile -");
    little.expect("task check", "Taskfile.yml Steering\nMakefile -");
}

#[test]
fn data_shell_tests_and_continuous_integration_are_frozen() {
    let little = Little::new(&[
        ("tests.sh", ""),
        ("a.bats", ""),
        ("golden/out.txt", ""),
        ("lib/fixtures/a.json", ""),
        ("x.snap", ""),
        (".github/workflows/ci.yml", ""),
        (".gitlab-ci.yml", ""),
        ("run.sh", ""),
    ]);
    little.expect(
        "true",
        "tests.sh Frozen
         a.bats Frozen
         golden/out.txt Frozen
         lib/fixtures/a.json Frozen
         x.snap Frozen
         .github/workflows/ci.yml Frozen
         .gitlab-ci.yml Frozen
         run.sh -",
    );
}

#[test]
fn an_empty_folder_has_few_pins() {
    let little = Little::new(&[]);
    let answer = little.ask(&["true"]);
    assert!(answer.pins.iter().all(|pin| pin.glob.starts_with('!')), "{:?}", answer.pins);
    assert_eq!(answer.runners, []);
}

#[test]
fn tests_of_other_languages_are_frozen_by_place_and_name() {
    let little = Little::new(&[
        ("src/main/java/Add.java", ""),
        ("src/test/java/AddTest.java", ""),
        ("tests/add_spec.c", ""),
        ("spec/add_spec.rb", ""),
        ("lib/add.rb", ""),
    ]);
    little.expect(
        "./mvnw test",
        "src/test/java/AddTest.java Frozen
         tests/add_spec.c Frozen
         spec/add_spec.rb Frozen
         src/main/java/Add.java -
         lib/add.rb -",
    );
}

#[test]
fn what_tests_import_from_the_library_may_not_appear_beside_them_and_what_is_missing_may() {
    let little = Little::new(&[
        ("tests/test_a.py", "import filecmp\nfrom discount import price\nfrom assertpy import assert_that\n"),
        (".venv/pyvenv.cfg", ""),
    ]);
    little.expect(
        "python3 -m unittest",
        "filecmp.py Absent
         discount.py -
         calendar.py Modules
         .venv/lib/python3.11/site-packages/assertpy/__init__.py Installed",
    );
}

#[test]
fn vendored_modules_of_go_neither_appear_nor_change() {
    Little::new(&[("go.mod", ""), ("a_test.go", "")]).expect("go test ./...", "vendor/x/a.go Absent");
    Little::new(&[("go.mod", ""), ("vendor/modules.txt", "")]).expect("go test ./...", "vendor/x/a.go Packages");
}

#[test]
fn environments_of_python_wherever_they_lie_are_packages() {
    let little = Little::new(&[("services/api/test_a.py", "import unittest")]).ignored(&[
        "services/api/.env-3/pyvenv.cfg",
        "tracked/env/pyvenv.cfg",
        "services/env/pyvenv.cfg",
    ]);
    little.expect(
        "pytest",
        "services/env/lib/python3.12/site-packages/requests/api.py Packages
         services/env/lib/python3.12/site-packages/requests/__pycache__/api.pyc -
         services/env/lib/python3.12/site-packages/mine.dist-info/RECORD -
         services/env/lib/python3.12/site-packages/mine.dist-info/entry_points.txt Packages
         services/env/lib/python3.12/site-packages/pip/main.py -
         services/api/.env-3/lib/python3.12/site-packages/six.py Packages
         services/api/a.py -",
    );
    let tracked = Little::new(&[("a.test.js", ""), ("node_modules/mine/index.js", "")]);
    tracked.expect("jest", "node_modules/mine/index.js -");
}
