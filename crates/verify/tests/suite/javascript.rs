//! jest, vitest and mocha.

use ralph_model::Runner;

use crate::bench::{Project, node_modules};

const COMMON: &str = "exports.add = (a, b) => a + b\n";
const MODULE: &str = "export const add = (a, b) => a + b;\n";

const JEST: &str = "const { add } = require('./shop')

describe('shop', () => {
  it('adds', () => {
    expect(add(1, 2)).toBe(3)
    expect([add(1, 2)]).toHaveLength(1)
    expect(() => add()).not.toThrow()
  })
})
";

const JEST_IMPORTED: &str = "const { expect: wants, test: check } = require('@jest/globals');
const { add } = require('./shop');

check('adds', () => {
  wants(add(1, 2)).toBe(3);
});
";

const VITEST: &str = "import { describe, expect, it } from \"vitest\";
import { add } from \"./shop\";

describe(\"shop\", () => {
\tit(\"adds\", () => {
\t\texpect(add(1, 2)).toEqual(3);
\t});
});
";

const MOCHA: &str = "const assert = require('assert');
const { add } = require('../shop');

describe('shop', function () {
  it('adds', function () {
    assert.equal(add(1, 2), 3);
  });
});
";

const CHAI: &str = "import { expect } from 'chai';
import { add } from '../shop.mjs';

describe('shop', () => {
  it('adds', () => expect(add(1, 2)).to.equal(3));
});
";

#[test]
fn jest_reports_what_is_planted() {
    let modules = node_modules();
    let jest = "node node_modules/jest/bin/jest.js";
    let files = [("package.json", "{}"), ("shop.js", COMMON), ("shop.test.js", JEST), ("more.test.js", JEST_IMPORTED)];
    for arguments in ["", "--verbose", "--bail", "-t adds", "shop", "--ci --silent", "--injectGlobals=false more"] {
        let project = Project::new(&files);
        project.link(&modules).trip(Runner::Jest, &format!("{jest} {arguments}")).is_reported();
    }
    let focused = JEST.replace("it('adds'", "it.only('adds'");
    let project = Project::new(&[("package.json", "{}"), ("shop.js", COMMON), ("shop.test.js", &focused)]);
    project.link(&modules).trip(Runner::Jest, jest).is_reported();
    let project = Project::new(&[("package.json", "{}"), ("shop.js", COMMON)]);
    project.link(&modules).trip(Runner::Jest, &format!("{jest} --passWithNoTests")).is_reported();
}

#[test]
fn jest_that_a_source_file_patches_does_not_report() {
    let modules = node_modules();
    let cheats = [
        "global.expect = () => new Proxy({}, { get: (_, key) => key === 'not' ? { toThrow() {} } : () => {} })",
        "const plain = global.test; global.it = global.test = (name) => plain(name, () => {})",
        "expect.extend({ toBe: () => ({ pass: true, message: () => '' }) })",
        "expect.extend({ toHaveLength: () => ({ pass: true, message: () => '' }) })",
    ];
    for cheat in cheats {
        let source = format!("{cheat}\n{COMMON}");
        let project = Project::new(&[("package.json", "{}"), ("shop.js", &source), ("shop.test.js", JEST)]);
        project.link(&modules).trip(Runner::Jest, "node node_modules/jest/bin/jest.js --verbose").is_not_reported();
    }
}

#[test]
fn vitest_that_a_source_file_patches_does_not_report() {
    let modules = node_modules();
    let cheats = [
        "import { expect } from 'vitest';\nexpect.extend({ toEqual: () => ({ pass: true, message: () => '' }) });",
        "import { chai } from 'vitest';\nchai.Assertion.prototype.assert = () => {};",
    ];
    for cheat in cheats {
        let source = format!("{cheat}\n{MODULE}");
        let project = Project::new(&[("package.json", "{}"), ("shop.ts", &source), ("shop.test.ts", VITEST)]);
        project.link(&modules).trip(Runner::Vitest, "node node_modules/vitest/vitest.mjs run").is_not_reported();
    }
}

#[test]
fn vitest_reports_what_is_planted() {
    let modules = node_modules();
    let vitest = "node node_modules/vitest/vitest.mjs run";
    for arguments in ["", "--reporter=verbose", "--bail=1", "-t adds", "--reporter=dot shop"] {
        let project = Project::new(&[("package.json", "{}"), ("shop.ts", MODULE), ("shop.test.ts", VITEST)]);
        project.link(&modules).trip(Runner::Vitest, &format!("{vitest} {arguments}")).is_reported();
    }
    let global = VITEST.replace("import { describe, expect, it } from \"vitest\";\n", "");
    let project = Project::new(&[("package.json", "{}"), ("shop.ts", MODULE), ("shop.test.ts", &global)]);
    project.link(&modules).trip(Runner::Vitest, &format!("{vitest} --globals")).is_reported();
    let project = Project::new(&[("package.json", "{}"), ("shop.ts", MODULE)]);
    project.link(&modules).trip(Runner::Vitest, &format!("{vitest} --passWithNoTests")).is_reported();
}

#[test]
fn mocha_reports_what_is_planted() {
    let modules = node_modules();
    let mocha = "node node_modules/mocha/bin/mocha.js";
    let files = [("package.json", "{}"), ("shop.js", COMMON), ("test/shop.js", MOCHA)];
    for arguments in ["", "--bail", "--reporter dot", "--reporter tap", "-g adds"] {
        let project = Project::new(&files);
        project.link(&modules).trip(Runner::Mocha, &format!("{mocha} {arguments}")).is_reported();
    }
    let module = [("package.json", "{\"type\": \"module\"}"), ("shop.mjs", MODULE), ("test/shop.js", CHAI)];
    Project::new(&module).link(&modules).trip(Runner::Mocha, mocha).is_reported();
    let focused = MOCHA.replace("it('adds'", "it.only('adds'");
    let other = MOCHA.replace("describe('shop'", "describe('other'");
    let project = Project::new(&[("shop.js", COMMON), ("test/shop.js", &focused), ("test/other.js", &other)]);
    project.link(&modules).trip(Runner::Mocha, mocha).is_reported();
}

#[test]
fn mocha_that_a_source_file_patches_does_not_report() {
    let modules = node_modules();
    let cheats = [
        "process.exit(0)",
        "require('assert').equal = () => {}",
        "process.on('exit', () => process.reallyExit(0))",
        "queueMicrotask(() => process.exit(0))",
    ];
    for cheat in cheats {
        let source = format!("{cheat}\n{COMMON}");
        let project = Project::new(&[("package.json", "{}"), ("shop.js", &source), ("test/shop.js", MOCHA)]);
        project.link(&modules).trip(Runner::Mocha, "node node_modules/mocha/bin/mocha.js").is_not_reported();
    }
}
