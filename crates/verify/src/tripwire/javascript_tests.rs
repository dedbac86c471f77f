//! Where tests go in files of JavaScript, and how they look there.

use super::*;
use crate::tripwire::plant::File;

fn calls(command: &str, runner: Runner) -> Calls {
    Calls::read(runner, &[command], &[])
}

fn planted(runner: Runner, path: &str, text: &str) -> Option<String> {
    planted_with(runner, path, text, "")
}

fn planted_with(runner: Runner, path: &str, text: &str, command: &str) -> Option<String> {
    let project = Project::default();
    let planted = plant(path, text.as_bytes(), runner, &project, &calls(command, runner), &mut Names::new(1))?;
    let text = String::from_utf8(planted.content).unwrap();
    for mark in &planted.marks {
        assert_eq!(text.matches(mark.as_str()).count(), 1, "{text}");
        assert!(!text.contains(&crate::tripwire::names::message(mark)), "{text}");
    }
    Some(text)
}

#[test]
fn globals_are_used_under_the_names_that_the_file_uses() {
    let text = planted(Runner::Jest, "a.test.js", "it('a', () => {\n  expect(1).toBe(1);\n});\n").unwrap();
    assert!(text.contains("});\n\nit('"), "{text}");
    assert!(text.contains(").toBe('fine');") && text.contains("throw new Error(`"), "{text}");
    assert!(!text.contains("import") && !text.contains("require"), "{text}");
    let text = planted(Runner::Jest, "a.test.js", "test(\"a\", () => {\n\texpect(1).toBe(1)\n})").unwrap();
    assert!(text.contains("})\n\ntest(\"") && text.contains("\n\texpect(`") && !text.contains(';'), "{text}");
}

#[test]
fn imported_names_are_used_and_missing_ones_imported() {
    let text = "import { expect as wants, test as check } from \"vitest\";\ncheck(\"a\", () => {});\n";
    let text = planted(Runner::Vitest, "a.test.ts", text).unwrap();
    assert!(text.contains("\ncheck(\"") && text.contains("  wants(`"), "{text}");
    assert_eq!(text.matches("import").count(), 1, "{text}");
    let text =
        planted(Runner::Vitest, "a.test.ts", "import { test } from \"vitest\";\ntest(\"a\", () => {});\n").unwrap();
    assert!(text.contains("import { expect as "), "{text}");
    let text =
        planted(Runner::NodeTest, "a.test.js", "const test = require('node:test')\ntest('a', () => {})\n").unwrap();
    assert!(text.contains("= require('node:assert')\n") && text.contains("\ntest('"), "{text}");
}

#[test]
fn the_object_that_a_file_asserts_with_is_used() {
    let strict = "import assert from 'node:assert/strict';\nimport test from 'node:test';\ntest('a', () => {});\n";
    let text = planted(Runner::NodeTest, "a.test.mjs", strict).unwrap();
    assert!(text.contains("assert.equal(`") && text.matches("import").count() == 2, "{text}");
    let parts =
        "import { equal, ok as sure } from 'node:assert';\nimport test from 'node:test';\ntest('a', () => {});\n";
    let text = planted(Runner::NodeTest, "a.test.mjs", parts).unwrap();
    assert!(text.contains("  equal(`") && text.contains("  sure(false, `") && !text.contains("strictEqual"), "{text}");
    let chai = "const { expect } = require('chai');\ndescribe('a', () => { it('b', () => {}); });\n";
    let text = planted(Runner::Mocha, "test/a.js", chai).unwrap();
    assert!(text.contains("expect(`") && text.contains(").to.equal('fine');"), "{text}");
}

#[test]
fn matchers_that_a_file_uses_are_tried() {
    let text = "test('a', () => {\n  expect([1]).toHaveLength(1);\n  expect(1).not.toBeNull();\n});\n";
    let text = planted(Runner::Jest, "a.test.js", text).unwrap();
    assert!(text.contains(").toHaveLength(7);") && text.contains("`).toBeNull();"), "{text}");
    assert!(!text.contains("toMatchObject"), "{text}");
}

#[test]
fn focused_files_get_focused_tests() {
    let text = planted(Runner::Jest, "a.test.js", "describe.only('a', () => { it('b', () => {}); });\n").unwrap();
    assert!(text.contains("\nit.only('"), "{text}");
    assert!(has_only(b"fit('a', () => {})") && !has_only(b"outfit('a'); list.only(1)"));
}

#[test]
fn a_filter_is_part_of_the_name() {
    let text = planted_with(Runner::Jest, "a.test.js", "test('adds', () => {});\n", "jest -t adds").unwrap();
    assert!(text.contains("\ntest('adds_"), "{text}");
}

#[test]
fn files_of_other_runners_and_helpers_are_left_alone() {
    assert!(
        planted(Runner::Jest, "a.spec.ts", "import { test } from '@playwright/test';\ntest('a', () => {});\n")
            .is_none()
    );
    assert!(planted(Runner::NodeTest, "a.test.js", "import test from 'ava';\ntest('a', t => t.pass());\n").is_none());
    assert!(planted(Runner::Jest, "test/helper.js", "exports.help = () => {};\n").is_none());
    assert!(planted(Runner::Jest, "a.test.d.ts", "test('a', () => {});\n").is_none());
    assert!(planted(Runner::Jest, "__fixtures__/a.test.js", "test('a', () => {});\n").is_none());
    let own = "function test() {}\nfunction it() {}\ntest('a');\n";
    assert!(planted(Runner::Jest, "a.test.js", own).is_none());
}

#[test]
fn the_runner_of_a_file_is_the_one_that_it_imports() {
    let all = [Runner::Jest, Runner::Vitest, Runner::NodeTest];
    assert_eq!(runner_of(b"import { it } from 'vitest'", &all), Some(Runner::Vitest));
    assert_eq!(runner_of(b"const { it } = require('node:test')", &all), Some(Runner::NodeTest));
    assert_eq!(runner_of(b"it('a', () => {})", &all), Some(Runner::Jest));
    assert_eq!(runner_of(b"it('a', () => {})", &[Runner::Pytest]), None);
}

#[test]
fn new_files_stand_where_the_command_looks() {
    let made = |runner: Runner, command: &str, kind: &str| {
        let manifest = format!("{{\"type\": \"{kind}\"}}");
        let file = File { path: "package.json", content: manifest.as_bytes() };
        let project = Project::read(&[&file]);
        fresh(runner, &project, &calls(command, runner), &mut Names::new(1))
            .map(|(path, planted)| (path, String::from_utf8(planted.content).unwrap()))
    };
    let ends = |runner, command, end: &str| {
        let path = made(runner, command, "module").unwrap().0;
        assert!(path.ends_with(end), "{path}");
        path
    };
    ends(Runner::Jest, "jest", ".test.js");
    assert!(ends(Runner::Mocha, "mocha", ".js").starts_with("test/"));
    assert!(ends(Runner::Mocha, "mocha 'spec/**/*.spec.js'", ".spec.js").starts_with("spec/"));
    assert!(ends(Runner::NodeTest, "node --test test/", ".test.js").starts_with("test/"));
    assert_eq!(made(Runner::NodeTest, "node --test test/a.test.js", "module"), None);
    assert!(made(Runner::Mocha, "mocha", "module").unwrap().1.contains("import "));
    assert!(made(Runner::Mocha, "mocha", "commonjs").unwrap().1.contains("require("));
}
