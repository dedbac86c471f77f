//! `node --test`.

use ralph_model::Runner;

use crate::bench::Project;

const SOURCE: &str = "export const add = (a, b) => a + b;\n";

const TEST: &str = "import assert from 'node:assert';
import { test } from 'node:test';
import { add } from './shop.mjs';

test('adds', () => {
  assert.strictEqual(add(1, 2), 3);
});
";

const COMMON: &str = "const { describe, it } = require(\"node:test\");
const { equal } = require(\"node:assert/strict\");
const { add } = require(\"./shop.js\");

describe(\"shop\", () => {
    it(\"adds\", () => equal(add(1, 2), 3));
});
";

#[test]
fn what_is_planted_is_reported() {
    for command in ["node --test", "node --test --test-reporter=tap", "node --test --test-reporter=dot shop.test.mjs"] {
        let project = Project::new(&[("shop.mjs", SOURCE), ("shop.test.mjs", TEST)]);
        project.trip(Runner::NodeTest, command).is_reported();
    }
    let common = "exports.add = (a, b) => a + b;\n";
    let project = Project::new(&[("package.json", "{}"), ("shop.js", common), ("shop.test.js", COMMON)]);
    project.trip(Runner::NodeTest, "node --test").is_reported();
    project.trip(Runner::NodeTest, "node --test --test-name-pattern=adds").is_reported();
}

#[test]
fn a_file_that_only_throws_is_a_test_too() {
    let script = "const assert = require('assert')\nassert(require('./shop.js').add(1, 2) === 3)\n";
    let source = "exports.add = (a, b) => a + b;\n";
    let project = Project::new(&[("shop.js", source), ("test/shop.test.js", &script.replace("./shop", "../shop"))]);
    project.trip(Runner::NodeTest, "node --test").is_reported();
}

#[test]
fn a_project_without_tests_gets_a_new_one() {
    let project = Project::new(&[("shop.mjs", SOURCE), ("package.json", "{\"type\": \"module\"}")]);
    let tripped = project.trip(Runner::NodeTest, "node --test");
    assert!(tripped.plants.iter().all(|plant| plant.is_new));
    tripped.is_reported();
}

#[test]
fn cheats_in_a_source_file_show() {
    let cheats = [
        "process.exit(0);",
        "import assert from 'node:assert';\nassert.strictEqual = () => {};",
        "import assert from 'node:assert';\nassert.equal = () => {};",
        "queueMicrotask(() => process.exit(0));",
    ];
    for cheat in cheats {
        let source = format!("{cheat}\n{SOURCE}");
        let project = Project::new(&[("shop.mjs", &source), ("shop.test.mjs", TEST)]);
        project.trip(Runner::NodeTest, "node --test").is_not_reported();
    }
}
