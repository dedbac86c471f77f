//! What imports are called.

use super::*;

fn named(text: &str, module: &str, part: &str) -> Option<String> {
    Bindings::of(text, &[module])?.named(&[part])
}

#[test]
fn parts_are_found_under_their_local_names() {
    let cases = [
        ("import { describe, it as check } from 'vitest'", "it", Some("check")),
        ("import {\n  it,\n  expect,\n} from \"vitest\";", "expect", Some("expect")),
        ("const { it: check, expect } = require(\"vitest\");", "it", Some("check")),
        ("const it = require('vitest').it", "it", Some("it")),
        ("import { type Mock, it } from 'vitest'", "it", Some("it")),
        ("import { describe } from 'vitest'", "it", None),
    ];
    for (text, part, expected) in cases {
        assert_eq!(named(text, "vitest", part).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_module_as_a_whole_has_a_name() {
    let cases = [
        ("import assert from 'assert'", Some("assert")),
        ("import * as check from 'assert'", Some("check")),
        ("import { strict as assert } from 'assert'", Some("assert")),
        ("import check, { equal } from 'assert'", Some("check")),
        ("const assert = require('assert').strict", Some("assert")),
        ("import { equal } from 'assert'", None),
    ];
    for (text, expected) in cases {
        assert_eq!(Bindings::of(text, &["assert"]).unwrap().whole.as_deref(), expected, "{text}");
    }
}

#[test]
fn other_modules_and_types_are_not_imported() {
    for text in ["import type { A } from 'vitest'", "import 'vitest'", "// vitest", "import { it } from './vitest'"] {
        assert_eq!(Bindings::of(text, &["vitest"]), None, "{text}");
    }
}
