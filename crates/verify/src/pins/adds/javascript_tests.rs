use super::super::tests::Table;

const JEST: Table = Table {
    path: "src/calc.test.ts",
    before: r#"import { add } from './calc'

let calc
const one = 1

test('adds', () => {
  expect(add(one, 2)).toBe(3)
})

describe('calc', () => {
  beforeEach(() => {
    calc = new Calc()
  })

  it('is empty', () => {
    const result = `${size(calc)}`
    expect(result).toBe('0')
  })
})
"#,
};
const NODE: Table = Table {
    path: "calc.test.js",
    before: "'use strict';\nconst test = require('node:test');\nconst { add } = require('./calc');\n\ntest('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n",
};

#[test]
fn new_tests_and_what_they_need_are_welcome() {
    JEST.welcome(&[
        JEST.before.to_owned(),
        JEST.before.replace("'", "\"").replace(")\n", ");\n"),
        JEST.start("import fs, { readFileSync as read } from 'node:fs'\nimport * as path from 'node:path'\nimport type { A } from './a'\n"),
        JEST.swap("import { add }", "import { add, subtract }"),
        JEST.swap("import { add }", "import {\n  add,\n  divide as div,\n}"),
        JEST.swap("    expect(result).toBe('0')\n  })\n", "    expect(result).toBe('0')\n  })\n\n  it('is full', () => {\n    const result = calc.fill()\n    calc = new Calc(3)\n    calc.size = 3\n    expect(result).toBe(1)\n  })\n"),
        JEST.swap("  it('is empty'", "  const limit = 3\n\n  it('is full', function () {\n  })\n\n  it('is empty'"),
        JEST.swap("test('adds'", "test('zero', () => {})\n\n// first\ntest('adds'"),
    ]);
    JEST.welcome(
        &[
            "test('zero', async () => {\n  const half = (add(1, 2) / 2) / 3\n  expect(/a[/]b/.test('a/b')).toBe(true)\n})",
            "it.each([[1, 2], [3, 4]])('adds %i', (a, b) => {\n  expect(add(a, b)).toBeDefined()\n})",
            "test.each`a | b\n${1} | ${2}`('adds $a', ({ a, b }) => {})",
            "describe.each([1])('with %i', (n) => {\n  beforeEach(() => {})\n  it('adds', () => {})\n})",
            "describe('more', () => {\n  let total\n  beforeEach(() => {\n    total = 0\n  })\n  test('adds', () => {\n    total += add(1, 2)\n  })\n})",
            "test.skip('later', () => {})",
            "xit('later', () => {})",
            "test.todo('later')",
            "function helper(a: number): Promise<number> {\n  return a\n}",
            "async function helper() {\n}",
            "const helper = (a: number): number => a + 1",
            "const helper = async a => {\n  return a\n}",
            "const helper = function () {\n}",
            "const helper: (a: number) => number = (a) => a",
            "const helper = () => ({ a: 1 })",
            "const cases = [{ a: 1, b: [-2, 'c', true, null] }] as const",
            "const limit: number = 3;",
            "class Fake {\n  read() {}\n}",
            "interface Shape {\n  a: number\n}",
            "type Pair = { a: number; b: string[] } | null",
            "test('typed', () => {\n  const fake: Calc = new Calc()\n  const list: Calc[] = []\n  fake.x = 1\n})",
            "test('mocked', () => {\n  const spy = jest.fn()\n  // eslint-disable-next-line no-console\n  vi.spyOn(console, 'log')\n})",
        ]
        .map(|text| JEST.end(&format!("\n{text}\n"))),
    );
    NODE.welcome(&[
        NODE.end("const { readFile } = require('fs').promises;\nconst os = require('os');\ntest('b', () => {});\n"),
        NODE.swap("{ add }", "{ add, subtract: minus }"),
    ]);
}

#[test]
fn what_was_there_stays_as_and_where_it_was() {
    JEST.refused(&[
        JEST.swap("  expect(add(one, 2)).toBe(3)", "  return\n  expect(add(one, 2)).toBe(3)"),
        JEST.swap("toBe(3)", "toBe(4)"),
        JEST.swap("test('adds'", "test.skip('adds'"),
        JEST.swap("test('adds'", "test.only('adds'"),
        JEST.swap("it('is empty'", "xit('is empty'"),
        JEST.swap("describe('calc'", "describe.skip('calc'"),
        JEST.swap("import { add }", "import { subtract }"),
        JEST.swap("import { add }", "import { subtract as add }"),
        JEST.swap("'./calc'", "'./fake'"),
        JEST.swap("const one = 1", "const one = 2"),
        JEST.swap("    calc = new Calc()\n", ""),
        JEST.swap("test('adds', () => {\n  expect(add(one, 2)).toBe(3)\n})\n", ""),
        JEST.swap("describe('calc', () => {", "describe('outer', () => { describe('calc', () => {") + "})\n",
        format!("describe.skip('all', () => {{\n{}}})\n", JEST.before),
        format!("if (false) {{\n{}}}\n", JEST.before),
        JEST.swap("test('adds'", "if (false)\ntest('adds'"),
        // Out of one block into another.
        JEST.swap("  it('is empty'", "})\ndescribe.skip('rest', () => {\n  it('is empty'"),
    ]);
    NODE.refused(&[
        NODE.start("const x = 1;\n"),
        NODE.swap("'use strict';\n", ""),
        NODE.swap("{ add }", "{ subtract: add }"),
        NODE.swap("{ add }", "{ add = () => 3 }"),
        NODE.swap("require('./calc')", "require('./fake')"),
    ]);
}

#[test]
fn names_that_were_used_are_not_defined_anew() {
    JEST.refused(
        &[
            "function add(a, b) {\n  return 3\n}",
            "function expect() {\n}",
            "async function size() {\n}",
            "const expect = () => ({ toBe() {} })",
            "class Calc {\n}",
            "const size = 3",
            "import { expect } from './fake'",
            "import expect from './fake'",
            "import * as expect from './fake'",
            "import { x, y as expect } from './fake'",
            "import expect, * as /* eslint-disable-line */ x from './fake'",
            "import { 'x' as expect } from './fake'",
            "const expect = require('./fake')",
            "const { expect } = require('./fake')",
            "const { x, y: expect } = require('./fake')",
            "const { x, y: [expect] } = require('./fake')",
            "const x = 1, expect = () => 1",
            "const x = () => 1, expect = () => 1",
            "test('adds', () => {})",
            "describe('calc', () => {})",
            "test.each([1])('adds', () => {})",
            "function Promise() {\n}",
            "class __awaiter {\n}",
        ]
        .map(|text| JEST.end(&format!("\n{text}\n"))),
    );
    JEST.refused(&[
        JEST.swap("  it('is empty'", "  const add = () => 3\n  it('is empty'"),
        JEST.swap("  it('is empty'", "  it('is empty', () => {})\n  it('is empty'"),
    ]);
}

#[test]
fn other_statements_are_refused() {
    let rows = [
        "expect = () => ({ toBe() {} })",
        "beforeEach(() => {})",
        "afterAll(() => {})",
        "jest.mock('./calc')",
        "vi.mock('./calc')",
        "mock.module('./calc')",
        "expect.extend({})",
        "import './evil'",
        "require('./evil')",
        "import('./evil')",
        "evil()",
        "describe.only('b', () => {})",
        "test.only('b', () => {})",
        "fit('b', () => {})",
        "fdescribe('b', () => {})",
        "describe['only']('b', () => {})",
        "test.concurrent.only('b', () => {})",
        "test('b', { only: true }, () => {})",
        "test('b', () => {}), evil()",
        "test('b', () => {}).then(evil)",
        "test('b', () => {})(evil)",
        "describe('b', () => {\n  it.only('c', () => {})\n})",
        "test.use({})",
        "test.beforeEach(() => {})",
        "if (true) {\n  test('b', () => {})\n}",
        "for (const a of [1]) {\n  test('b', () => {})\n}",
        "const x = evil()",
        "const x = (() => evil())()",
        "const x = (() => 1, evil())",
        "const x = function () {\n  evil()\n}()",
        "const x = () => {\n}\n(evil())",
        "const x = () => 1\n{\n  evil()\n}",
        "const x = () => y => {\n}\n(evil())",
        "const x = () => y\n!evil()",
        "const x = () => y\n~evil()",
        "const x = () => y\n++z",
        "const x = `${evil()}`",
        "const x = [evil()]",
        "const x = { a: evil }",
        "const x = [1][evil]",
        "const [x] = [1]",
        "const x = () => 1, y = evil()",
        "let x",
        "function () {\n}",
        "function x() {\n}\n(evil())",
        "function x() {} if (y) { evil() }",
        "class X {\n}\n[evil()]",
        "type X = Y\n(evil())",
        "type X = Y\n[expect] = [z]",
        "type X = Y\n{\n  expect = z\n}",
        "interface X {\n}\n(evil())",
        "export const x = 1",
        "export default 1",
        "'use strict'",
        "module.exports = {}",
        "// @ts-nocheck",
        "test('b', () => {})\n// @ts-nocheck",
        "/* istanbul ignore file */\ntest('b', () => {})",
        "test('b', () => {\n  /* eslint-disable */\n})",
    ];
    JEST.refused(&rows.map(|text| JEST.end(&format!("\n{text}\n"))));
    JEST.refused(&rows.map(|text| JEST.swap("  it('is empty'", &format!("  {text}\n  it('is empty'"))));
}

#[test]
fn new_code_leaves_alone_what_the_old_uses() {
    JEST.refused(
        &[
            "expect = fake",
            "add = fake",
            "one += 1",
            "add &&= fake",
            "size = fake",
            "[expect] = [fake]",
            "({ add } = fake)",
            "({ x: add } = fake)",
            "for (expect of fakes) {}",
            "c ? a : expect = fake",
            "add.call = fake",
            "expect.prototype.x = fake",
            "Calc.prototype.size = fake",
            "globalThis.expect = fake",
            "global['expect'] = fake",
            "Object.defineProperty(add, 'call', {})",
            "Object.keys = fake",
            "expect.extend({ toBe() {} })",
            "eval('x')",
            "vi.mock('./calc')",
            "jest.doMock('./calc')",
            "jest['mock']('./calc')",
            "test['o' + 'nly']('x', () => {})",
            "\\u0065xpect = fake",
            "еxpect(1)",
        ]
        .map(|line| JEST.end(&format!("\ntest('b', () => {{\n  {line}\n}})\n"))),
    );
    JEST.refused(&[JEST.end("import * as all from './calc'\ntest('b', () => {\n  all.add = fake\n})\n")]);
}

#[test]
fn what_could_be_text_or_code_is_refused() {
    // Each hides from JavaScript what is code to somebody who takes the slash for the other thing.
    JEST.refused(
        &[
            "const x = () => {} / 2; /*",
            "const f = (x) => { if (x) /`/.test(y); ` }",
            "const f = (x) => { x++ / 2; /1 }",
            "const f = (x) => { x.return / 2; /1 }",
            "const f = (x) => { x! / 2; /1 }",
            "const f = (x) => { 1. / 2; /1 }",
            "const f = (of) => { of / 2; /1 }",
            "const f = () => { a; /x/.test(y) }",
            "const f = () => `${a / b}`",
            "const f = () => [/[[a]/]",
            "const f = () => { a\n} <b>'</b>",
            "const f = () => { 1 <!-- x }",
            "const f = () => { x\n--> y\n}",
            "const f = () => <b>it's</b>",
        ]
        .map(|line| JEST.end(&format!("\n{line}\n"))),
    );
    JEST.welcome(
        &[
            "const f = (x) => (x + 1) / 2",
            "const f = (x) => x[0] / 2 / 3",
            "const f = (x) => !/[/\\]]x/g.test(x)",
            "const f = (x) => { return /a/ }",
            "const f = (x) => `${x} / ${x ? 'a' : \"b\"}`",
            "const f = (x: Map<string, Array<number>>) => x.y < 3",
        ]
        .map(|line| JEST.end(&format!("\n{line}\n"))),
    );
}

#[test]
fn nothing_comes_between_a_condition_and_its_statement() {
    for head in ["if (slow)", "for (const a of [1, 2])", "while (more())", "if (a) b()\nelse if (c)"] {
        let before = format!("{head}\n  test('a', () => {{}})\n");
        let now = format!("{head}\n  test('b', () => {{}})\ntest('a', () => {{}})\n");
        assert!(!super::super::only_adds_tests("a.test.js", before.as_bytes(), now.as_bytes()), "{now}");
    }
}

#[test]
fn what_follows_a_block_stays() {
    let table = Table { path: "a.test.js", before: "describe('a', () => {\n  it('b', () => {})\n}, 100)\n" };
    let more = "  it('b', () => {})\n  it('c', () => {})\n";
    table.welcome(&[table.swap("  it('b', () => {})\n", more)]);
    table.refused(&[table.swap("  it('b', () => {})\n", more).replace("100", "0")]);
}

#[test]
fn elements_are_not_understood_and_files_without_are() {
    let plain = Table { path: "a.test.tsx", before: "test('a', () => {})\n" };
    plain.welcome(&[plain.end("test('b', () => {})\n")]);
    plain.refused(&[plain.end("test('b', () => {\n  render(<App />)\n})\n")]);
}
