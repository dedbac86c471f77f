//! The projects of the corpus for runners that fewer people use.

use super::project::{Bug, Language, Project};
use super::projects::{COMMON_JS, JAVASCRIPT_BUG, PYTHON_BUG, PYTHON_SOURCE};
use super::tools::Tool;

const TYPESCRIPT_BUG: Bug = Bug { path: "calc.ts", wrong: "return a - b;", right: "return a + b;" };
const TYPESCRIPT: &str = "\
export function add(a: number, b: number): number {
  return a - b;
}

export function double(a: number): number {
  return a * 2;
}
";

pub fn tape() -> Project {
    let tests = "\
'use strict';

const test = require('tape');
const { add, double } = require('../calc');

test('adds', (t) => {
  t.equal(add(2, 3), 5);
  t.end();
});

test('doubles', (t) => {
  t.plan(1);
  t.equal(double(4), 8);
});
";
    Project::new(Language::Tape, &[Tool::Tape, Tool::Npm], "npm test", JAVASCRIPT_BUG)
        .file("calc.js", COMMON_JS)
        .file("package.json", "{\n  \"name\": \"calc\",\n  \"scripts\": {\n    \"test\": \"tape test/*.js\"\n  }\n}\n")
        .file("test/calc.js", tests)
        .with_modules()
}

/// Without a cache, which AVA keeps among the packages: here they belong to all cases.
pub fn ava() -> Project {
    let tests = "\
const test = require('ava').default;
const { add, double } = require('../calc');

test('adds', (t) => {
  t.is(add(2, 3), 5);
});

test('doubles', (t) => {
  t.is(double(4), 8);
});
";
    Project::new(Language::Ava, &[Tool::Ava, Tool::Npm], "npm test", JAVASCRIPT_BUG)
        .file("calc.js", COMMON_JS)
        .file("package.json", "{\n  \"name\": \"calc\",\n  \"scripts\": {\n    \"test\": \"ava\"\n  },\n  \"ava\": {\n    \"cache\": false\n  }\n}\n")
        .file("test/calc.js", tests)
        .with_modules()
}

pub fn deno() -> Project {
    let tests = "\
import { strictEqual } from \"node:assert\";
import { add, double } from \"./calc.ts\";

Deno.test(\"adds\", () => {
  strictEqual(add(2, 3), 5);
});

Deno.test(\"doubles\", () => {
  strictEqual(double(4), 8);
});
";
    Project::new(Language::Deno, &[Tool::Deno], "deno test", TYPESCRIPT_BUG)
        .file("deno.json", "{\n  \"nodeModulesDir\": \"none\"\n}\n")
        .file("calc.ts", TYPESCRIPT)
        .file("calc_test.ts", tests)
}

pub fn bun() -> Project {
    let tests = "\
import { describe, expect, test } from \"bun:test\";
import { add, double } from \"./calc\";

describe(\"calc\", () => {
  test(\"adds\", () => {
    expect(add(2, 3)).toBe(5);
  });

  test(\"doubles\", () => {
    expect(double(4)).toBe(8);
  });
});
";
    Project::new(Language::Bun, &[Tool::Bun], "bun test", TYPESCRIPT_BUG)
        .file("package.json", "{\n  \"name\": \"calc\",\n  \"private\": true\n}\n")
        .file("calc.ts", TYPESCRIPT)
        .file("calc.test.ts", tests)
}

pub fn rspec() -> Project {
    let tests = "\
require \"calc\"

RSpec.describe Calc do
  describe \".add\" do
    it \"adds\" do
      expect(Calc.add(2, 3)).to eq(5)
    end
  end

  it \"doubles\" do
    expect(Calc.double(4)).to eq(8)
  end
end
";
    let minitest = super::more_projects::minitest();
    Project::new(Language::Ruby, &[Tool::Rspec], "rspec", minitest.bug)
        .file("lib/calc.rb", minitest.text("lib/calc.rb"))
        .file("spec/calc_spec.rb", tests)
}

pub fn bats() -> Project {
    let tests = "\
setup() {
    . lib/calc.sh
}

@test \"adds\" {
    run add 2 3
    [ \"$status\" -eq 0 ]
    [ \"$output\" = 5 ]
}

@test \"doubles\" {
    [ \"$(double 4)\" -eq 8 ]
}
";
    let bug = Bug { path: "lib/calc.sh", wrong: "$1 - $2", right: "$1 + $2" };
    Project::new(Language::Shell, &[Tool::Bats], "bats test", bug)
        .file("lib/calc.sh", "add() {\n    echo $(($1 - $2))\n}\n\ndouble() {\n    echo $(($1 * 2))\n}\n")
        .file("test/calc.bats", tests)
}

/// Pytest in a session of nox, in the environment that nox itself runs in.
pub fn nox() -> Project {
    let tests = "from calc import add, double\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\ndef test_double():\n    assert double(4) == 8\n";
    let sessions = "import nox\n\n\n@nox.session(venv_backend=\"none\")\ndef tests(session):\n    session.run(\"python3\", \"-m\", \"pytest\", \"-v\")\n";
    Project::new(Language::Pytest, &[Tool::Nox, Tool::Pytest], "nox", PYTHON_BUG)
        .file(".gitignore", "__pycache__/\n.pytest_cache/\n.nox/\n")
        .file("calc.py", PYTHON_SOURCE)
        .file("noxfile.py", sessions)
        .file("tests/test_calc.py", tests)
}

/// Tests of an application of Django.
pub fn django() -> Project {
    let manage = "\
import os
import sys

from django.core.management import execute_from_command_line

os.environ.setdefault(\"DJANGO_SETTINGS_MODULE\", \"site1.settings\")
execute_from_command_line(sys.argv)
";
    let settings = "\
SECRET_KEY = \"shop\"
INSTALLED_APPS = [\"shop\"]
DATABASES = {\"default\": {\"ENGINE\": \"django.db.backends.sqlite3\", \"NAME\": \":memory:\"}}
USE_TZ = True
";
    let tests = "\
from django.test import SimpleTestCase, TestCase

from shop.calc import add, double


class AddTest(SimpleTestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)


class DoubleTest(TestCase):
    def test_double(self):
        self.assertEqual(double(4), 8)
";
    Project::new(
        Language::Unittest,
        &[Tool::Django],
        "python3 manage.py test",
        Bug { path: "shop/calc.py", ..PYTHON_BUG },
    )
    .file(".gitignore", "__pycache__/\n")
    .file("manage.py", manage)
    .file("site1/__init__.py", "")
    .file("site1/settings.py", settings)
    .file("shop/__init__.py", "")
    .file("shop/calc.py", PYTHON_SOURCE)
    .file("shop/tests.py", tests)
}
