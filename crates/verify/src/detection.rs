//! Places in the work that behave differently where it is checked, or that lead out of the verified tree. Such work may be honest, so
//! that it is reported and lowers the grade. Reads texts; runs nothing.

mod shared;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ralph_model::TestLanguage;
use regex::Regex;
use toml::{Table, Value};

use crate::pattern::pattern;
use crate::pins::path;
use crate::selection::language_of;
use crate::syntax::Source;
pub use shared::decides_equality;

/// What a place shows, by the endings of the files in which it does.
const SIGNS: [(&[&str], &str); 9] = [
    (
        &["py", "pyi", "pyx"],
        concat!(
            r#"PYTEST_CURRENT_TEST|PYTEST_VERSION|__debug__|_getframe|inspect\.(?:stack|currentframe)\(|"#,
            r#"['"](?:_?pytest|unittest)['"]\s*in\s*sys\.modules|sys\.modules(?:\.get\(|\[)\s*['"](?:_?pytest|unittest|__main__)|"#,
            r#"(?m:^\s*(?:import|from)\s+(?:_pytest|pytest|unittest|doctest|_pydevd?)\b)|gc\.get_(?:objects|referrers)\(|"#,
            r#"\bbuiltins\b|__builtins__|['"](?:_?pytest|unittest)(?:\.\w+)*['"]|(?:import_module|__import__)\([^)\n]*\+|"#,
            r#"(?:extract|walk|format|print)_stack|findCaller|\bf_back\b|\btb_frame\b|_current_frames|getouterframes|__code__|"#,
            r#"\b_?sys\.(?:settrace|setprofile|monitoring|addaudithook|meta_path|path_hooks|path_importer_cache|modules(?:\[__name__\])?)|"#,
            r#"\bimport\s+sys\s+as\s+\w+|\bfrom\s+sys\s+import\s+[\w, ]+|\.(?:orig_)?argv\b(?:\[1:\])?|"#,
            r#"ctypes\.pythonapi|\bcompare\s*=\s*False|\btest_\w+\.py\b|\*\.py['"]"#
        ),
    ),
    (
        &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        concat!(
            r#"JEST_WORKER_ID|NODE_TEST_CONTEXT|VITEST(?:_\w+)?\b|import\.meta\.vitest|NODE_ENV['"\]]*\s*[=!]==?\s*['"`]test|"#,
            r#"typeof\s+(?:jest|describe|it|expect)\b|global(?:This)?\.(?:jest|describe|expect|it)\b|new Error\([^)]*\)\.stack|"#,
            r#"asymmetricMatch|jest\.asymmetricMatcher|Symbol\.(?:hasInstance|toPrimitive)|"#,
            r#"npm_lifecycle_\w+|execArgv|(?:capture|prepare)StackTrace|require\.cache|['"](?:@jest/globals|node:test|vitest|chai)['"]|"#,
            r#"(?:globalThis|global)\[|\w\.(?:test|spec)\.[cm]?[jt]sx?\b|"#,
            // Who started the program, and from where it is called.
            r#"['"`/|](?:jest|mocha|vitest|jasmine)\b|['"`|](?:ava|tape|uvu)['"`|]|process\.argv(?:0|\[[01]\]|\.(?:join|slice\(0))|"#,
            r#"require\.main\s*[;,.?\[)&|]|module\.(?:parent|children)\b|mainModule\b|Object\.(?:keys|entries|values)\(process\.env\)|"#,
            r#"['"`]test['"`][^\n]*NODE_ENV|(?:test|exec|includes|String)\([^()\n]*\.stack\b|=\s*[\w.()]+\.stack\s*[;,\n]|"#,
            // What is done with a text: a list, too, can be called `stack`.
            r#"\.stack\s*(?:(?:\?\.\s*)?\[\s*['"`]|\??\.\s*(?:split|match|search|substr|replace|starts|ends|to[A-Z]|trim|char|code|includes|indexOf|slice|concat))|"#,
            r#"\{\s*stack\b[^\n]*=\s*(?:new\s+)?\w*Error\(|"#,
            // Code from texts, the loader of Node, and objects of the language behind a value of theirs.
            r#"\beval\)?\s*\(|new\s+Function\(|[=(,]\s*Function\(|runIn(?:This|New)?Context|module\.constructor\b|require\.extensions|\._(?:load|compile|extensions)\b|"#,
            r#"getPrototypeOf\(\s*(?:[\['"`{(\d]|async|function)|[\])'"`]\s*\.(?:__proto__|constructor\.prototype)\b|"#,
            r#"(?:join|resolve|readFile|readFileSync|readdir|readdirSync)\([^)\n]*['"`/](?:tests?|specs?|__tests__)['"`/]"#
        ),
    ),
    (
        &["rs"],
        concat!(
            r"cfg!\s*\((?:not\()?(?:test|debug_assertions)|cfg\((?:not\((?:test|debug_assertions)|debug_assertions)|thread::current\(\)\.name|",
            r#"current_exe\(|var(?:_os)?\("(?:CARGO|RUST|NEXTEST)|link_section|panic::set_hook|"(?:[\w./]*/)?tests/[\w/]+\.rs"|"#,
            r#"=\s*(?:std::)?thread::current\(\)\s*;|thread::current\(\)\.id|env::args(?:_os)?\(\)\s*\.(?:next\(|nth\(0|any\()|"#,
            r#"Location::caller\(|Backtrace::(?:force_)?capture|env!\s*\(\s*"(?:CARGO_(?:MANIFEST|BIN|CRATE|TARGET)|NEXTEST)|"#,
            r#"cfg!\s*\([^)\n]*[(,]\s*test\b|cfg_attr\([^\n]*\btest\b[^\n]*\bpath\s*=|\b(?:no_mangle|export_name|global_asm)\b|"#,
            r#"#\[cfg\([^\n]*\btest\b[^\n]*\]\s*(?:\{|let\b|return\b|if\b|match\b|for\b|while\b|[\w:.]+\s*[(=])"#
        ),
    ),
    (
        &["go"],
        concat!(
            r#"testing\.Testing\(|\bflag\.(?:Lookup|CommandLine|NFlag|Visit(?:All)?|Parsed)\b|os\.Args(?:\[1:\])?|(?m:^\s*(?:_\s+)?"testing"\s*$)|import\s+"testing"|"#,
            r#"runtime\.Callers?\(|debug\.Stack\(|os\.Executable\(|go:linkname|Mprotect|_test\.go|\*\.go""#
        ),
    ),
    (
        &["c", "h", "cc", "cpp", "hpp"],
        concat!(
            r"\bNDEBUG\b|__OPTIMIZE__|\b(?:UNIT_)?TEST(?:S|ING)?\b.*$|program_invocation|__progname|/proc/self|__assert\w*|__wrap_\w+|",
            r"#\s*(?:undef|define)\s+assert\b|SIGABRT|sigaction|\bdlsym\b|\((?:constructor|destructor|weak|alias)\b"
        ),
    ),
    (
        &["rb"],
        concat!(
            r"Minitest|RSpec|caller(?:_locations)?\b|ObjectSpace|\$LOADED_FEATURES|Rails\.env\.test|_(?:spec|test)\.rb\b|",
            r"(?m:^\s*(?:class|module)\s+(?:Integer|Float|Numeric|String|Symbol|Array|Hash|Object|BasicObject|Kernel|Comparable|NilClass|TrueClass|FalseClass|Module)\s*$)|",
            r"const_get\([^)\n]*(?:\+|#\{|['\x22]\s+['\x22])|\.(?:prepend|(?:class|module)_(?:eval|exec)|define_method|alias_method)\b|\brefine\b|",
            r"(?m:^(?:class|module)\s+(?:::)?(?:IO|StringIO|Exception|StandardError|Proc|Method|UnboundMethod|Range|Set|Time|Thread|Process|Test|Struct|Regexp|MatchData|Enumerable|Rational|File|Dir|Marshal|Random|Class|Signal)\b)|",
            r"(?m:^\s*(?:class|module)\s+::[A-Z])|class\s*<<\s*[$A-Z]|\$std(?:out|err)\s*=[^=~]|\$std(?:out|err)\.(?:define_singleton|instance_eval|extend)|",
            r"def\s+(?:::)?(?:Kernel|Process|IO|File|Object|String|Integer|Float|Array|Hash|RubyVM\S*)\.|(?:send|public_send|__send__)\(?\s*:(?:define|alias|remove|undef)_method|",
            r"Test::Unit|TracePoint|set_trace_func|RubyVM|load_iseq|\bat_exit\b|\bexit!|\beval\(|Thread\.current\.backtrace|\bbacktrace(?:_locations)?\s*(?:\[|\(|&?\.(?:any|grep|first|find|select|detect|include|to_s|inspect))|",
            r"\$(?:0|PROGRAM_NAME)\s*(?:=~|\.)|(?:match\?|include\?)\(?\s*\$(?:0|PROGRAM_NAME)|ARGV\.(?:join|grep|to_s|inspect)|['\x22/](?:tests?|specs?)/[^'\x22\n]*\.rb"
        ),
    ),
    (
        &["php"],
        concat!(
            r"(?i-u:phpunit|pestphp)|debug_(?:print_)?backtrace\(|get_(?:included|required)_files|get_declared_classes|Test\.php\b|getTrace(?:AsString)?\(|",
            r"\$_SERVER\[['\x22](?:argv|argc|SCRIPT|PHP_SELF|_['\x22])|\$GLOBALS\[['\x22]argv|\$argv\b|\beval\(|stream_wrapper_|spl_autoload_register|",
            r"register_(?:shutdown|tick)_function|ob_start\(\s*[^)\s]"
        ),
    ),
    (
        &["java", "kt"],
        concat!(
            r#"getStackTrace\(|getAllStackTraces|printStackTrace\(\s*(?:new|\w)|org\.(?:junit|gradle|opentest4j)|surefire|StackWalker|"#,
            r#"sun\.java\.command|java\.class\.path|getInputArguments|(?:getProperty|getenv|forName)\([^)\n]*\+|\.java""#
        ),
    ),
    (&["sh", "bash"], r"\$PPID|/proc/\$"),
];
/// Folders that outlive a check and are no part of any tree.
const OUTSIDE: &str = r#"['"`](?:file://)?/(?:tmp|var/tmp|dev/shm)(?:/|['"`])|(?:expanduser|homedir)\(|['"`]~/|Path\.home\(\)|env::home_dir"#;
/// What Ralph itself sets for the checks that confirm a result.
const OWN: &str = r"PYTHONPYCACHEPREFIX|PYTHONHASHSEED|CARGO_BUILD_BUILD_DIR|RALPH_[A-Z]";
/// What the tests were before they were changed.
const HISTORY: &str =
    r#"['"`](?:git|show|cat-file)['"`]\s*,|\bgit (?:show|cat-file|stash|checkout)\b|\bHEAD:|['"`/]\.git['"`/]"#;
/// What honest programs do with such words, by a word that their files have.
const USUAL: [(&str, &str); 6] = [
    ("= this.stack;", ""),
    ("os.Args[1:]", "package main"),
    (".argv[1:]", "main"),
    ("sys.modules[__name__]", ""),
    ("_sys.modules[__name__]", ""),
    ("import sys as _sys", ""),
];
/// Words of a build constraint of Go that name a platform.
const PLATFORMS: [&str; 24] = [
    "linux", "darwin", "windows", "unix", "freebsd", "netbsd", "openbsd", "android", "ios", "js", "wasip1", "amd64",
    "arm64", "386", "arm", "wasm", "riscv64", "ppc64le", "s390x", "cgo", "ignore", "race", "gc", "purego",
];

/// What a changed file of the work shows that it did not show at the start, each once.
#[must_use]
pub fn signs(path: &str, before: Option<&str>, now: &str) -> Vec<String> {
    if path::name(path) == "Cargo.toml" {
        return features(before.unwrap_or_default(), now);
    }
    let ending = path::extension(path);
    let Some(signs) = signs_of(ending) else { return Vec::new() };
    let found = |text: &str| -> Vec<String> {
        let is_usual = |sign: &str| USUAL.iter().any(|(usual, word)| sign == *usual && text.contains(word));
        let found = signs.find_iter(text).map(|sign| sign.as_str()).filter(|sign| !is_usual(sign));
        let mut found: Vec<String> = found.map(shown).collect();
        if ending == "go" {
            found.extend(constraints(text));
        }
        found.extend(shared::replaced(path, text));
        found
    };
    let old = before.map(found).unwrap_or_default();
    let new = found(now);
    let count = |signs: &[String], sign: &String| signs.iter().filter(|other| *other == sign).count();
    let all: BTreeSet<String> = new.iter().filter(|sign| count(&new, sign) > count(&old, sign)).cloned().collect();
    all.into_iter().collect()
}

/// What shows in files with this ending. Built for each language when it is needed: all of them take longer than a small check.
fn signs_of(ending: &str) -> Option<&'static Regex> {
    static BUILT: [OnceLock<Regex>; SIGNS.len()] = [const { OnceLock::new() }; SIGNS.len()];
    let at = SIGNS.iter().position(|(endings, _)| endings.contains(&ending))?;
    Some(BUILT[at].get_or_init(|| pattern(&format!("{}|{OUTSIDE}|{OWN}|{HISTORY}", SIGNS[at].1))))
}

/// Builds what is needed to read the sources of a language, so that a verdict does not wait for it.
pub fn prepare(language: TestLanguage) {
    let endings = SIGNS.iter().filter_map(|(endings, _)| endings.first());
    for ending in endings.filter(|ending| language_of(ending) == Some(language)) {
        signs_of(ending);
        Source::parse(&format!("a.{ending}"), "");
    }
}

fn shown(sign: &str) -> String {
    sign.split_whitespace().collect::<Vec<_>>().join(" ").trim_matches(['"', '\'', '`', '(', '[']).to_owned()
}

/// Build constraints by something other than the platform.
fn constraints(text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| !line.starts_with("package "));
    let constraints =
        lines.filter_map(|line| line.strip_prefix("//go:build ").or_else(|| line.strip_prefix("// +build ")));
    let is_tag = |word: &&str| !word.is_empty() && !PLATFORMS.contains(word) && !word.starts_with("go1");
    let words = constraints.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.'));
    words.filter(is_tag).map(|tag| format!("build tag {tag}")).collect()
}

/// Features that a manifest asks for of packages beside it: Cargo builds those with them, in the checks as well.
fn features(before: &str, now: &str) -> Vec<String> {
    let asked = |text: &str| -> BTreeSet<String> {
        let Ok(table) = text.parse::<Table>() else { return BTreeSet::new() };
        let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
        let targets = table.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
        let tables =
            targets.filter_map(Value::as_table).chain([&table]).chain(table.get("workspace").and_then(Value::as_table));
        let dependencies =
            tables.flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table())).flatten();
        let is_beside = |value: &Value| value.get("path").is_some() || value.get("workspace").is_some();
        let named = |(name, value): (&String, &Value)| {
            let features = value.get("features").and_then(Value::as_array).into_iter().flatten();
            features.filter_map(Value::as_str).map(|feature| format!("feature {feature} of {name}")).collect::<Vec<_>>()
        };
        dependencies.filter(|(_, value)| is_beside(value)).flat_map(named).collect()
    };
    asked(now).difference(&asked(before)).cloned().collect()
}

#[cfg(test)]
#[path = "detection_tests.rs"]
mod tests;
