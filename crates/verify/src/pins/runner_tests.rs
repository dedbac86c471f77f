use super::*;
use crate::pins::testing::Little;
use crate::pins::words::commands;

fn runners(text: &str) -> Vec<Runner> {
    let starts: Vec<Simple> =
        commands(text, "").into_iter().flat_map(|simple| [simple.clone(), simple.inner()]).collect();
    of(
        &starts,
        &Little::new(&[
            ("Rakefile", "RSpec::Core::RakeTask.new(:spec)\n"),
            ("test/cart.py", "import unittest\nif __name__ == '__main__':\n    unittest.main()\n"),
            ("test/cart.rb", "require \"minitest/autorun\"\n"),
            ("test/cart.js", "const test = require(\"tape\");\n"),
            ("app.py", ""),
        ]),
    )
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
        ("bundle exec rspec spec", &[Runner::Rspec]),
        ("bundle exec rake", &[Runner::Rspec]),
        ("bin/rails test", &[Runner::Minitest]),
        ("ruby -Ilib test/cart.rb", &[Runner::Minitest]),
        ("php vendor/bin/phpunit", &[Runner::Phpunit]),
        ("./vendor/bin/phpunit --testdox", &[Runner::Phpunit]),
        ("php artisan test", &[Runner::Phpunit]),
        ("./mvnw -q verify", &[Runner::Junit]),
        ("mvn compile", &[]),
        ("./gradlew :app:test", &[Runner::Junit]),
        ("dotnet test --no-build", &[Runner::Dotnet]),
        ("ctest --test-dir build", &[Runner::Ctest]),
        ("deno test -A", &[Runner::Deno]),
        ("bun test", &[Runner::Bun]),
        ("npx ava", &[Runner::Ava]),
        ("node node_modules/ava/entrypoints/cli.mjs", &[Runner::Ava]),
        ("tape 'test/*.js' | tap-spec", &[Runner::Tape]),
        ("node test/cart.js", &[Runner::Tape]),
        ("bats test", &[Runner::Bats]),
        ("python manage.py test shop", &[Runner::Unittest]),
        ("python3 -W error test/cart.py", &[]),
        ("python3 test/cart.py", &[Runner::Unittest]),
        ("cargo test && cargo test --doc", &[Runner::CargoTest]),
    ] {
        assert_eq!(runners(text), wanted, "{text}");
    }
}

#[test]
fn every_runner_has_a_name_of_its_own() {
    let names: std::collections::HashSet<&str> = Runner::ALL.iter().map(|runner| runner.name()).collect();
    assert_eq!(names.len(), Runner::ALL.len());
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
