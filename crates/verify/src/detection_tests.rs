use super::*;

fn found(path: &str, before: &str, now: &str) -> Vec<String> {
    signs(path, Some(before), now)
}

#[test]
fn work_that_can_tell_that_it_is_checked_is_seen() {
    for (path, text, sign) in [
        ("calc.py", "if 'pytest' in sys.modules:\n", "pytest' in sys.modules"),
        ("calc.py", "import os\nos.environ.get('PYTEST_CURRENT_TEST')\n", "PYTEST_CURRENT_TEST"),
        ("calc.py", "sys.path.insert(0, '/tmp/x')\n", "/tmp/"),
        ("calc.py", "from unittest import TestCase\n", "from unittest"),
        ("calc.py", "import_module('unit' + 'test')\n", "import_module('unit' +"),
        ("calc.py", "lines = traceback.extract_stack()\n", "extract_stack"),
        ("calc.py", "text = open('tests/test_calc.py')\n", "test_calc.py"),
        ("calc.py", "run('git show HEAD~1')\n", "git show"),
        ("calc.py", "sys.meta_path.insert(0, Finder)\n", "sys.meta_path"),
        ("calc.py", "for module in list(_sys.modules.values()):\n", "_sys.modules"),
        ("calc.py", "if any('pyte' in word for word in s.argv):\n", ".argv"),
        ("calc.py", "import sys as s\n", "import sys as s"),
        ("calc.py", "test.__code__ = f\n", "__code__"),
        ("calc.py", "names = glob('*/*.py')\n", "*.py"),
        ("calc.go", "first := os.Args[1:]\n", "os.Args[1:]"),
        ("calc.go", "if flag.NFlag() > 0 {\n", "flag.NFlag"),
        ("Calc.java", "System.getProperty(\"java.class.path\");\n", "java.class.path"),
        ("Calc.java", "Class.forName(\"org.ju\" + \"nit.Test\");\n", "forName(\"org.ju\" +"),
        ("calc.js", "Object.is = () => true;\n", "replaces Object.is"),
        ("calc.js", "const judge = require('assert');\njudge[name] = f;\n", "replaces judge[name]"),
        ("calc.js", "Object.assign(require('assert'), { equal });\n", "replaces members of require('assert')"),
        ("calc.js", "Number.prototype.toString = () => '5';\n", "replaces Number.prototype.toString"),
        ("calc.js", "class A { static [Symbol.hasInstance]() {} }\n", "Symbol.hasInstance"),
        ("src/lib.rs", "std::env::current_exe()\n", "current_exe"),
        ("src/lib.rs", "std::env::var(\"CARGO_PKG_NAME\")\n", "var(\"CARGO"),
        ("calc.c", "void __assert_fail(const char *a);\n", "__assert_fail"),
        ("lib/calc.rb", "class Integer\n", "class Integer"),
        ("calc.js", "if (process.env.NODE_ENV === 'test') {}\n", "NODE_ENV === 'test"),
        ("src/lib.rs", "if cfg!(debug_assertions) { a + b }\n", "cfg!(debug_assertions"),
        ("src/lib.rs", "#[cfg(not(test))]\nfn add() {}\n", "cfg(not(test"),
        ("calc_fast.go", "//go:build fast\n\npackage calc\n", "build tag fast"),
        ("calc.go", "import \"testing\"\n", "import \"testing"),
        ("calc.c", "#ifndef NDEBUG\n", "NDEBUG"),
        ("lib/calc.rb", "defined?(Minitest)\n", "Minitest"),
        ("src/Calc.php", "class_exists('PHPUnit\\Framework\\TestCase')", "PHPUnit"),
        ("calc.js", "if (/mocha|other/.test(name)) {}\n", "/mocha"),
        ("calc.js", "const tested = process.argv[1].includes('bin');\n", "process.argv[1]"),
        ("calc.js", "const root = require.main.filename;\n", "require.main."),
        ("calc.js", "while (m.parent) m = module.parent;\n", "module.parent"),
        ("calc.js", "const probe = new Error('here');\nconst where = probe.stack;\n", "= probe.stack;"),
        ("calc.js", "const { stack } = new Error('here');\n", "{ stack } = new Error"),
        ("calc.js", "const line = probe.stack.split('\\n')[1];\n", ".stack.split"),
        ("calc.js", "(0, eval)('x');\n", "eval)"),
        ("calc.js", "require.extensions['.js'] = load;\n", "require.extensions"),
        ("calc.js", "const text = Object.getPrototypeOf('');\n", "getPrototypeOf"),
        ("calc.js", "[].__proto__.every = () => true;\n", "].__proto__"),
        ("calc.ts", "readdirSync(join(root, 'tests'))\n", "readdirSync(join(root, 'tests"),
        (
            "calc.js",
            "const on = ['test', 'ci'].includes(process.env.NODE_ENV);\n",
            "test', 'ci'].includes(process.env.NODE_ENV",
        ),
        ("src/lib.rs", "include_str!(\"../tests/calc.rs\")\n", "../tests/calc.rs"),
        ("src/lib.rs", "std::panic::Location::caller().file()\n", "Location::caller"),
        ("src/lib.rs", "let thread = std::thread::current();\n", "= std::thread::current();"),
        ("src/lib.rs", "fn add() {\n    #[cfg(test)]\n    return a + b;\n}\n", "#[cfg(test)] return"),
        ("src/lib.rs", "#[cfg_attr(test, path = \"exact.rs\")]\nmod sums;\n", "cfg_attr(test, path ="),
        ("src/lib.rs", "#[unsafe(no_mangle)]\nfn bcmp() {}\n", "no_mangle"),
        ("lib/calc.rb", "class ::Integer\n", "class ::I"),
        ("lib/calc.rb", "class << $stdout\n", "class << $"),
        ("lib/calc.rb", "here = RuntimeError.new.tap { raise _1 } rescue $!.backtrace.first\n", "backtrace.first"),
        ("lib/calc.rb", "TracePoint.trace(:call) {}\n", "TracePoint"),
        ("lib/calc.rb", "File.read('test/calc_data.rb')\n", "test/calc_data.rb"),
        ("lib/calc.rb", "at_exit { $? }\n", "at_exit"),
        ("src/Calc.php", "(new \\Exception())->getTrace()", "getTrace"),
        ("src/Calc.php", "$_SERVER[\"argv\"][0]", "$_SERVER[\"argv"),
        ("src/Calc.php", "stream_wrapper_unregister('file')", "stream_wrapper_"),
        ("src/Calc.php", "ob_start('forged')", "ob_start"),
    ] {
        assert_eq!(found(path, "", text), [sign], "{text}");
        assert_eq!(found(path, text, text), Vec::<String>::new(), "it was there: {text}");
    }
}

#[test]
fn the_signs_of_every_language_can_be_built() {
    for ending in SIGNS.iter().flat_map(|(endings, _)| endings.iter()) {
        assert_eq!(found(&format!("calc.{ending}"), "", "RALPH_HOME\n"), ["RALPH_H"], "{ending}");
    }
}

#[test]
fn ordinary_work_shows_nothing() {
    for (path, text) in [
        ("calc.py", "import sys\n\n\ndef add(a, b):\n    return a + b\n"),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {}\n#[cfg(feature = \"std\")]\nfn a() {}\n"),
        ("calc.py", "import sys\n\n\ndef main():\n    run(sys.argv[1:])\n\n\nthis = sys.modules[__name__]\n"),
        ("main.go", "package main\n\nfunc main() {\n\trun(os.Args[1:])\n}\n"),
        ("calc_linux.go", "//go:build linux && amd64\n\npackage calc\n"),
        ("calc.js", "const mode = process.env.NODE_ENV === 'production';\n"),
        ("calc.js", "process.env.TZ = 'UTC';\nexports.add = add;\nfunction Cart() {}\nCart.prototype.size = 1;\n"),
        (
            "calc.js",
            "import { settings } from './settings.js';\nsettings.size = 2;\nconst { add } = require('./sum');\n",
        ),
        ("calc.py", "import os\nfrom . import settings\n\nos.environ['TZ'] = 'UTC'\nsettings.SIZE = 2\nself.os = os\n"),
        ("lib/calc.rb", "puts Calc.add(1, 2) if __FILE__ == $PROGRAM_NAME\n"),
        ("calc.js", "if (require.main === module) main();\nconsole.error(error.stack);\nprocess.argv.slice(2);\n"),
        ("src/lib.rs", "#[cfg(all(test, feature = \"std\"))]\nmod tests {}\n#[track_caller]\nfn at() {}\n"),
        ("src/lib.rs", "#[cfg_attr(test, derive(Debug))]\nstruct A;\n#[cfg(test)]\nfn helper() {}\n"),
        ("lib/calc.rb", "module Calc\n  class Set\n  end\n  log(error.backtrace.join(\"\\n\"))\nend\n"),
        (
            "calc.js",
            "this.stack.push(a);\nconst top = parser.stack[parser.stack.length - 1];\nconst all = this.stack;\n",
        ),
        ("src/Calc.php", "ob_start();\nset_error_handler($handler);\n"),
        ("notes.md", "/tmp/x and PYTEST_CURRENT_TEST\n"),
        ("Cargo.toml", "[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n"),
    ] {
        assert_eq!(found(path, "", text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn features_of_packages_beside_it_are_named() {
    let manifest = "[dependencies]\ncalc = { path = \"../calc\", features = [\"exact\"] }\n";
    assert_eq!(signs("extra/Cargo.toml", None, manifest), ["feature exact of calc"]);
    assert_eq!(found("extra/Cargo.toml", manifest, manifest), Vec::<String>::new());
}

#[test]
fn methods_that_decide_what_equals_what_are_seen_when_they_change() {
    for (path, before, now) in [
        (
            "a.py",
            "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n",
            "class A:\n    def __eq__(self, other):\n        return True\n",
        ),
        ("a.py", "", "class A(int):\n    __eq__ = lambda self, other: True\n"),
        ("a.py", "x: int\n", "x: int = field(compare=False)\n"),
        ("a.rs", "", "impl PartialEq for A {\n    fn eq(&self, _: &Self) -> bool {\n        true\n    }\n}\n"),
        ("A.java", "", "class A {\n  public boolean equals(Object other) {\n    return true;\n  }\n}\n"),
        ("a.rb", "", "class A\n  def ==(other)\n    true\n  end\nend\n"),
        ("a.go", "", "package a\n\nfunc (a A) Equal(b A) bool { return true }\n"),
        ("a.js", "", "exports.list = () => ({ includes: () => true });\n"),
    ] {
        assert!(decides_equality(path, Some(before), now), "{now}");
        assert!(!decides_equality(path, Some(now), &format!("{now}\n")), "it was there: {now}");
    }
    assert!(!decides_equality("a.py", None, "if a.includes(b) or a == b:\n    eq = 3\n"));
}
