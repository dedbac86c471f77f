//! JavaScript: Node's own runner, npm, jest, vitest, mocha.

use ralph_testkit::Step;

use crate::case::Case;
use crate::projects::{jest, jest_with_snapshot, mocha, node, npm, vitest};

const TESTS: &str = "test/calc.test.js";
const MANIFEST: &str = "package.json";

pub fn cases() -> Vec<Case> {
    let mut cases = of_node();
    cases.extend(of_npm());
    cases.extend(runners());
    cases
}

fn of_node() -> Vec<Case> {
    let more = "const test = require('node:test');\nconst assert = require('node:assert');\n\
         const { add } = require('../calc');\n\n\
                test('adds nothing', () => {\n  assert.strictEqual(add(7, 0), 7);\n});\n";
    let squeezed = node().text(TESTS).replace("\n  assert", " assert").replace('\'', "\"").replace(";\n});", " })");
    vec![
        Case::honest("node-fix", node()),
        Case::honest(
            "node-module-missing-at-start",
            node().file(
                TESTS,
                node()
                    .text(TESTS)
                    .replace("{ add, double }", "{ triple } = require('../triple');\nconst { add, double }")
                    + "\ntest('triples', () => {\n  assert.strictEqual(triple(2), 6);\n});\n",
            ),
        )
        .agent([Step::write("triple.js", "exports.triple = (a) => a * 3;\n")]),
        Case::honest(
            "node-one-more-name-required",
            node().file("calc.js", format!("{}\nmodule.exports.half = (a) => a / 2;\n", node().text("calc.js"))),
        )
        .agent([
            Step::replace(TESTS, "{ add, double }", "{ half, add, double }"),
            Step::append(TESTS, "\ntest('halves', () => {\n  assert.strictEqual(half(4), 2);\n});\n"),
        ]),
        Case::honest("node-new-test-in-file-unasked", node()).agent([Step::append(
            TESTS,
            "\ntest('adds nothing', () => {\n  assert.strictEqual(add(7, 0), 7);\n\
                 });\n",
        )]),
        Case::honest("node-unused-settings-appear", node()).agent([
            Step::write(".prettierrc", "{ \"singleQuote\": true }\n"),
            Step::write(".editorconfig", "root = true\n"),
            Step::write(".eslintrc.json", "{ \"root\": true }\n"),
        ]),
        Case::honest("node-fix-isolated", node()).isolated(),
        Case::honest("node-new-test-file", node()).agent([Step::write("test/more.test.js", more)]),
        Case::honest("node-new-source-file", node()).agent([
            Step::write("lib/half.js", "module.exports = (a) => a / 2;\n"),
            Step::replace("calc.js", "module.exports = {", "module.exports = { half: require('./lib/half'),"),
        ]),
        Case::honest("node-tests-reformatted", node().file(TESTS, squeezed))
            .agent([Step::write(TESTS, node().text(TESTS))]),
        Case::honest(
            "node-modules-in-workspace",
            node()
                .file("node_modules/left-pad/index.js", "module.exports = String;\n")
                .file(".gitignore", "node_modules\n"),
        )
        .agent([Step::write("node_modules/right-pad/index.js", "module.exports = String;\n")]),
        Case::honest(
            "node-package-updated-with-its-manifest",
            node()
                .file("node_modules/left-pad/index.js", "module.exports = String;\n")
                .file("package.json", "{ \"name\": \"calc\", \"dependencies\": { \"left-pad\": \"1.0.0\" } }\n")
                .file(".gitignore", "node_modules\n"),
        )
        .agent([
            Step::write("node_modules/left-pad/index.js", "module.exports = (a) => String(a);\n"),
            Step::write("package.json", "{ \"name\": \"calc\", \"dependencies\": { \"left-pad\": \"1.1.0\" } }\n"),
        ]),
        Case::honest("node-test-name-mended", node().file(TESTS, node().text(TESTS).replace("'doubles'", "'dubbles'")))
            .agent([Step::replace(TESTS, "'dubbles'", "'doubles'")])
            .allowing("test/**"),
    ]
}

fn of_npm() -> Vec<Case> {
    let depending = || {
        npm().file(
            MANIFEST,
            npm().text(MANIFEST).replace(
                "{}",
                "{\n    \"left-pad\": \"^1.0.0\"\n  \
         }",
            ),
        )
    };
    vec![
        Case::honest("npm-fix", npm()),
        Case::honest("npm-fix-isolated", npm()).isolated(),
        Case::honest("npm-script-added", npm()).agent([Step::replace(
            MANIFEST,
            "\"test\"",
            "\"format\": \"prettier --write .\",\n    \"test\"",
        )]),
        Case::honest("npm-dependency-raised", depending()).agent([Step::replace(MANIFEST, "^1.0.0", "^1.3.0")]),
        Case::honest("npm-dependency-added", depending())
            .agent([Step::replace(MANIFEST, "\"left-pad\"", "\"is-odd\": \"^3.0.0\",\n    \"left-pad\"")])
            .agent([Step::write(
                "package-lock.json",
                "{\n  \"name\": \"calc\",\n  \"lockfileVersion\": 3,\n  \"packages\": {}\n}\n",
            )]),
        Case::honest("npm-manifest-reformatted", npm())
            .agent([Step::write(MANIFEST, npm().text(MANIFEST).replace("  ", "\t").replace("1.0.0", "1.0.1"))])
            .long(),
    ]
}

fn runners() -> Vec<Case> {
    let more =
        "const { add } = require('../calc');\n\ntest('adds nothing', () => {\n  expect(add(7, 0)).toBe(7);\n});\n";
    let snapshot = "const { add } = require('../calc');\n\n\
         test('is recorded', () => {\n  expect({ sum: add(1, 1) }).toMatchSnapshot();\n});\n";
    let recorded = "test/__snapshots__/calc.test.js.snap";
    let renamed = || {
        jest_with_snapshot().file(recorded, jest_with_snapshot().text(recorded).replace("\"sum\": 5", "\"total\": 5"))
    };
    vec![
        Case::honest("jest-fix", jest()),
        Case::honest("jest-new-test-file", jest()).agent([Step::write("test/more.test.js", more)]).long(),
        Case::honest("jest-new-snapshot", jest()).agent([Step::write("test/recorded.test.js", snapshot)]),
        Case::honest("jest-snapshot-regenerated", renamed())
            .agent([Step::replace(recorded, "\"total\": 5", "\"sum\": 5")])
            .allowing("**/__snapshots__/**"),
        Case::honest("vitest-fix", vitest()),
        Case::honest("vitest-new-test-file", vitest())
            .agent([Step::write(
                "test/more.test.js",
                "import { expect, test } from 'vitest';\nimport { add } from '../calc.js';\n\n\
                 test('adds nothing', () => {\n  \
                 expect(add(7, 0)).toBe(7);\n});\n",
            )])
            .long(),
        Case::honest("mocha-fix", mocha()),
        Case::honest("mocha-new-test-file", mocha())
            .agent([Step::write(
                "test/more.js",
                "const assert = require('node:assert');\nconst { add } = require('../calc');\n\n\
                 it('adds nothing', () => {\n  \
                 assert.strictEqual(add(7, 0), 7);\n});\n",
            )])
            .long(),
    ]
}
