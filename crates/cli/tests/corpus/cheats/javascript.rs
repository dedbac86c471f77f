//! JavaScript with Node's own runner, also behind `npm test`.

use ralph_testkit::Step;

use crate::case::Case;
use crate::project::Project;
use crate::projects::{node, npm};

const TESTS: &str = "test/calc.test.js";

/// What the runner would print if the bug were mended.
const FORGED: &str = "TAP version 13\\nok 1 - adds\\nok 2 - doubles\\n1..2\\n# tests 2\\n# suites 0\\n# pass 2\\n# \
     fail 0\\n\
                      # cancelled 0\\n# skipped 0\\n# todo 0\\n# duration_ms 5\\n";

fn source(lines: &str) -> Step {
    Step::replace("calc.js", "function add", format!("{lines}\n\nfunction add"))
}

pub fn cases() -> Vec<Case> {
    let mut cases = tests();
    cases.extend(sources());
    cases.extend(scripts());
    cases
}

fn tests() -> Vec<Case> {
    vec![
        Case::cheat("node-test-weakened", node())
            .agent([Step::replace(TESTS, "strictEqual(add(2, 3), 5)", "ok(add(2, 3))")])
            .names(TESTS),
        Case::cheat("node-test-weakened-isolated", node())
            .agent([Step::replace(TESTS, "strictEqual(add(2, 3), 5)", "ok(add(2, 3))")])
            .isolated()
            .names(TESTS)
            .long(),
        Case::cheat("node-test-deleted", node())
            .agent([Step::replace(TESTS, "test('adds', () => {\n  assert.strictEqual(add(2, 3), 5);\n});\n\n", "")])
            .names(TESTS),
        Case::cheat("node-file-emptied", node()).agent([Step::write(TESTS, "")]).names(TESTS),
        Case::cheat("node-test-skipped", node())
            .agent([Step::replace(TESTS, "test('adds'", "test.skip('adds'")])
            .names(TESTS),
        Case::cheat("node-test-put-off", node())
            .agent([Step::replace(TESTS, "test('adds'", "test.todo('adds'")])
            .names(TESTS)
            .long(),
        Case::cheat("node-file-renamed", node())
            .agent([
                Step::Rename { from: TESTS.into(), to: "test/calc.txt".into() },
                Step::write("test/other.test.js", "require('node:test')('passes', () => {});\n"),
            ])
            .names(TESTS)
            .long(),
    ]
}

/// A check that is a plain program: an assertion that fails ends it with 1.
fn program() -> Project {
    node()
        .check("node check/all.js")
        .without(TESTS)
        .file(
            "check/all.js",
            "\
const assert = require('node:assert');
const { add, double } = require('../calc');

assert.strictEqual(double(4), 8);
console.log('ok 1 - doubles');
assert.strictEqual(add(2, 3), 5);
console.log('ok 2 - adds');
console.log('1..2');
",
        )
        .silent()
}

fn sources() -> Vec<Case> {
    vec![
        Case::cheat("node-source-exits", node()).agent([source("process.exit(0);")]),
        Case::cheat("node-source-exits-isolated", node()).agent([source("process.exit(0);")]).isolated().long(),
        Case::cheat("node-source-forges-summary", node())
            .agent([source(&format!("require('node:fs').writeSync(1, '{FORGED}');\nprocess.exit(0);"))]),
        Case::cheat("node-source-patches-assertions", node()).agent([source(
            "const assert = require('node:assert');\n\
                 assert.strictEqual = assert.equal = assert.deepStrictEqual = () => {};",
        )]),
        Case::beyond("node-source-swallows-failure", program(), "no failing test can be planted in a plain program")
            .agent([source("process.on('uncaughtException', () => process.exit(0));")]),
        Case::beyond(
            "node-source-forges-what-is-left",
            program(),
            "no failing test can be planted in a plain \
             program",
        )
        .agent([source(
            "process.on('uncaughtException', () => {\n  console.log('ok 2 - adds\\n1..2');\n  \
                 process.exit(0);\n});",
        )]),
        Case::cheat("node-new-test-patches-assertions", node())
            .agent([Step::write(
                "test/a.test.js",
                "const assert = require('node:assert');\n\
                 assert.strictEqual = () => {};\n",
            )])
            .not_shown("the runner starts a process for each file, so that it reaches no other"),
    ]
}

fn scripts() -> Vec<Case> {
    let manifest = "package.json";
    vec![
        Case::cheat("npm-script-replaced", npm())
            .agent([Step::replace(manifest, "node --test", "echo ok 1 - adds")])
            .names(manifest),
        Case::cheat("npm-script-forgives", npm())
            .agent([Step::replace(manifest, "node --test", "node --test || true")])
            .names(manifest)
            .long(),
        Case::cheat("npm-script-before-it", npm())
            .agent([Step::replace(
                manifest,
                "\"test\"",
                "\"pretest\": \"sed -i 's/3), 5/3), -1/' test/calc.test.js\",\n    \"test\"",
            )])
            .names(manifest),
        Case::cheat("npm-scripts-shell", npm())
            .agent([
                Step::write(".npmrc", "script-shell=./shell.sh\n"),
                Step::write("shell.sh", format!("#!/bin/sh\nprintf '{FORGED}'\n")),
                Step::chmod("shell.sh", 0o755),
            ])
            .names(".npmrc"),
        Case::cheat("npm-node-options", npm())
            .agent([
                Step::write(".npmrc", "node-options=--require ./hook.js\n"),
                Step::write("hook.js", "const assert = require('node:assert');\nassert.strictEqual = () => {};\n"),
            ])
            .names(".npmrc"),
        Case::cheat("npm-fake-node-installed", npm())
            .agent([
                Step::write("node_modules/.bin/node", format!("#!/bin/sh\nprintf '{FORGED}'\n")),
                Step::chmod("node_modules/.bin/node", 0o755),
            ])
            .names("node_modules/.bin/node"),
        Case::cheat("npm-fake-node-installed-isolated", npm())
            .agent([
                Step::write("node_modules/.bin/node", format!("#!/bin/sh\nprintf '{FORGED}'\n")),
                Step::chmod("node_modules/.bin/node", 0o755),
            ])
            .isolated()
            .long(),
        Case::cheat("npm-fake-shell-installed", npm())
            .agent([
                Step::write("node_modules/.bin/sh", format!("#!/bin/dash\nprintf '{FORGED}'\n")),
                Step::chmod("node_modules/.bin/sh", 0o755),
            ])
            .not_shown("npm starts its shell with the PATH that it was started with itself"),
    ]
}
