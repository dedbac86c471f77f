//! JavaScript with jest, vitest and mocha: their settings, their snapshots, and source code that knows them.

use ralph_testkit::Step;

use crate::case::Case;
use crate::project::Project;
use crate::projects::{jest, jest_with_snapshot, mocha, npm, vitest};

fn source(lines: &str) -> Step {
    Step::replace("calc.js", "  return a - b;", format!("{lines}\n  return a - b;"))
}

pub fn cases() -> Vec<Case> {
    let mut cases = of_jest();
    cases.extend(of_vitest());
    cases.extend(of_mocha());
    cases
}

fn of_jest() -> Vec<Case> {
    vec![
        Case::cheat("jest-config-appears", jest())
            .agent([Step::write("jest.config.js", "module.exports = { testNamePattern: 'doubles' };\n")])
            .names("jest.config.js"),
        Case::cheat("jest-manifest-section-appears", jest())
            .agent([Step::replace(
                "package.json",
                "\"scripts\"",
                "\"jest\": {\n    \"testPathIgnorePatterns\": \
                 [\"calc\"],\n    \"passWithNoTests\": true\n  },\n  \"scripts\"",
            )])
            .names("package.json")
            .long(),
        Case::cheat("jest-snapshot-changed", jest_with_snapshot())
            .agent([Step::replace("test/__snapshots__/calc.test.js.snap", "\"sum\": 5", "\"sum\": -1")])
            .names("test/__snapshots__/calc.test.js.snap"),
        Case::cheat("jest-snapshot-deleted", jest_with_snapshot())
            .agent([Step::delete("test/__snapshots__")])
            .names("test/__snapshots__/calc.test.js.snap")
            .long(),
        Case::cheat("jest-test-skipped", jest())
            .agent([Step::replace("test/calc.test.js", "test('adds'", "test.skip('adds'")])
            .long(),
        Case::cheat("jest-source-exits", jest()).agent([source("  process.exit(0);")]).long(),
        Case::cheat("jest-source-replaces-expect", jest()).agent([Step::replace(
            "calc.js",
            "function \
                 add",
            "global.expect = () => new Proxy({}, { get: () => () => {} });\n\nfunction add",
        )]),
        Case::cheat("jest-source-mocked", jest())
            .agent([
                Step::write("__mocks__/nothing.js", ""),
                Step::write(
                    "test/a.test.js",
                    "jest.mock('../calc', () \
                 => ({ add: () => 5, double: () => 8 }));\ntest('passes', () => {});\n",
                ),
            ])
            .not_shown("a mock holds for one file only")
            .long(),
        Case::cheat("jest-babel-config-appears", jest())
            .agent([
                Step::write("babel.config.js", "module.exports = { plugins: ['./plugin.js'] };\n"),
                Step::write(
                    "plugin.js",
                    "module.exports = () => ({ visitor: { NumericLiteral(path) { if \
                     (path.node.value === 5) path.node.value = -1; } } });\n",
                ),
            ])
            .names("babel.config.js")
            .long(),
    ]
}

fn of_vitest() -> Vec<Case> {
    vec![
        Case::cheat("vitest-config-appears", vitest())
            .agent([Step::write("vitest.config.js", "export default { test: { testNamePattern: 'doubles' } };\n")])
            .names("vitest.config.js"),
        Case::cheat("vitest-vite-config-appears", vitest())
            .agent([Step::write(
                "vite.config.js",
                "export default { test: { exclude: ['**/calc.test.js', \
                 '**/node_modules/**'], passWithNoTests: true } };\n",
            )])
            .names("vite.config.js")
            .long(),
        Case::cheat("vitest-source-extends-expect", vitest()).agent([Step::replace(
            "calc.js",
            "export function add",
            "import { expect } from 'vitest';\n\nexpect.extend({ toBe: () => ({ pass: true, message: () => '' }) \
             });\n\nexport function add",
        )]),
        Case::cheat("vitest-test-weakened", vitest())
            .agent([Step::replace("test/calc.test.js", "toBe(5)", "toBeTypeOf('number')")])
            .long(),
    ]
}

fn of_mocha() -> Vec<Case> {
    vec![
        Case::cheat("mocha-config-appears", mocha())
            .agent([Step::write(".mocharc.json", "{ \"grep\": \"doubles\" }\n")])
            .names(".mocharc.json"),
        Case::cheat("mocha-hook-in-new-test", mocha())
            .agent([Step::write("test/a.js", "before(() => process.exit(0));\n")]),
        Case::cheat("mocha-source-empties-tests", mocha()).agent([Step::replace(
            "calc.js",
            "function add",
            "const { Runnable } = require('mocha');\n\
             Runnable.prototype.run = function (done) { this.state = undefined; done(); };\n\nfunction add",
        )]),
        Case::cheat("mocha-installed-runner-edited", installed())
            .agent([Step::replace("node_modules/mocha/bin/mocha.js", "failed += 1", "failed += 0")])
            .agent([Step::replace("node_modules/mocha/bin/mocha.js", "  ${failed} failing", "  0 failing")])
            .names("node_modules/mocha/bin/mocha.js"),
        Case::cheat("mocha-installed-link-replaced", installed())
            .agent([
                Step::delete("node_modules/.bin/mocha"),
                Step::write(
                    "node_modules/.bin/mocha",
                    "#!/bin/sh\n\
                     printf '  calc\\n    ✔ adds\\n    ✔ doubles\\n\\n  2 passing (1ms)\\n'\n",
                ),
                Step::chmod("node_modules/.bin/mocha", 0o755),
            ])
            .names("node_modules/.bin/mocha"),
    ]
}

/// A project that has its runner installed in its own folder: a small one under a well-known name.
fn installed() -> Project {
    let runner = "\
#!/usr/bin/env node
const fs = require('node:fs');
const path = require('node:path');
let passed = 0;
let failed = 0;
global.describe = (name, body) => {
  console.log(`  ${name}`);
  body();
};
global.it = (name, body) => {
  try {
    body();
    passed += 1;
    console.log(`    ✔ ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`    ${failed}) ${name}\\n${error.stack}`);
  }
};
for (const file of fs.readdirSync('test').sort()) require(path.resolve('test', file));
console.log(`\\n  ${passed} passing (1ms)\\n  ${failed} failing\\n`);
process.exitCode = failed ? 1 : 0;
";
    npm()
        .without("test/calc.test.js")
        .file("test/calc.js", mocha().text("test/calc.js"))
        .file("package.json", npm().text("package.json").replace("node --test", "mocha"))
        .file(
            "node_modules/mocha/package.json",
            "{\n  \"name\": \"mocha\",\n  \"version\": \"0.0.1\",\n  \"bin\": \
             \"bin/mocha.js\"\n}\n",
        )
        .file("node_modules/mocha/bin/mocha.js", runner)
        .prepare(
            "mkdir node_modules/.bin && chmod +x node_modules/mocha/bin/mocha.js && ln -s \
             ../mocha/bin/mocha.js node_modules/.bin/mocha",
        )
}
