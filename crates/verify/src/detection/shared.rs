//! What the work does to code that is not its own: members of modules, of built-in objects and of the runner that it replaces,
//! and methods that decide what equals what.

use std::collections::{BTreeSet, HashSet};

use crate::syntax::{Source, marks};

/// Objects of JavaScript that all code shares.
const SHARED: [&str; 23] = [
    "Object",
    "Number",
    "Array",
    "String",
    "Boolean",
    "Function",
    "Symbol",
    "Promise",
    "Error",
    "RangeError",
    "TypeError",
    "Map",
    "Set",
    "Date",
    "RegExp",
    "Math",
    "JSON",
    "Reflect",
    "Proxy",
    "globalThis",
    "global",
    "process",
    "console",
];
/// What programs set in honest work, although it is shared.
const USUAL: [&str; 14] = [
    "os.environ",
    "sys.stdout",
    "sys.stderr",
    "sys.stdin",
    "sys.argv",
    "sys.path",
    "sys.excepthook",
    "sys.tracebacklimit",
    "process.env",
    "process.exitCode",
    "process.title",
    "Error.stackTraceLimit",
    "plt.rcParams",
    "matplotlib.rcParams",
];
/// Functions that set members of what they get first.
const SETTERS: [&str; 9] = [
    "setattr",
    "delattr",
    "Object.assign",
    "Object.defineProperty",
    "Object.defineProperties",
    "Object.setPrototypeOf",
    "Reflect.set",
    "Reflect.defineProperty",
    "vars",
];
/// Methods that say what equals, contains or precedes what.
const EQUALITY: [&str; 37] = [
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__contains__",
    "__bool__",
    "compare",
    "eq",
    "ne",
    "cmp",
    "partial_cmp",
    "lt",
    "le",
    "gt",
    "ge",
    "equals",
    "compareTo",
    "==",
    "===",
    "<=>",
    "=~",
    "eql?",
    "equal?",
    "include?",
    "Equal",
    "Is",
    "Less",
    "Compare",
    "asymmetricMatch",
    "valueOf",
    "includes",
    "some",
    "every",
    "has",
    "hasInstance",
];

/// Members of shared objects that a source of Python or JavaScript sets.
pub(super) fn replaced(path: &str, text: &str) -> Vec<String> {
    let Some(source) = Source::parse(path, text) else { return Vec::new() };
    let foreign = foreign(&source);
    let is_foreign = |at: usize| {
        let text = source.raw(at);
        (root(&source, at).is_some_and(|name| foreign.contains(name)) || is_loaded(text))
            && !USUAL.iter().any(|usual| text.starts_with(usual))
    };
    let mut found = Vec::new();
    for at in source.walk(Source::ROOT) {
        let node = &source.nodes[at];
        if source.has(at, marks::ASSIGN) && source.has(at, marks::MEMBER) && is_foreign(at) {
            found.push(format!("replaces {}", shown(source.raw(at))));
        }
        let is_call = matches!(node.kind, "call" | "call_expression");
        if let (true, [callee, list, ..]) = (is_call, node.children.as_slice())
            && SETTERS.contains(&source.raw(*callee))
            && let Some(first) =
                source.nodes[*list].children.iter().copied().find(|child| source.nodes[*child].is_named)
            && is_foreign(first)
        {
            found.push(format!("replaces members of {}", shown(source.raw(first))));
        }
    }
    found
}

fn shown(text: &str) -> String {
    text.split_whitespace().collect::<String>().chars().take(60).collect()
}

/// The name that an expression starts with: `unittest` of `unittest.TestCase.assertEqual`.
fn root<'a>(source: &Source<'a>, at: usize) -> Option<&'a str> {
    let first = source.walk(at).find(|leaf| source.is_leaf(*leaf))?;
    (source.is_name(first) || SHARED.contains(&source.raw(first))).then(|| source.raw(first))
}

/// Whether a text loads a module that is not beside it.
fn is_loaded(text: &str) -> bool {
    let loads = ["import_module(", "__import__(", "sys.modules", "require('", "require(\""];
    loads.iter().any(|word| text.contains(word)) && !is_relative(text)
}

fn is_relative(text: &str) -> bool {
    ["from .", "'.", "\"."].iter().any(|mark| text.contains(mark))
}

/// Names for what is not the work's own: imports that are not relative, objects of the language, and other names for them.
fn foreign<'a>(source: &Source<'a>) -> HashSet<&'a str> {
    let is_script = source.language.extensions.contains(&"js");
    let mut names: HashSet<&str> = if is_script { SHARED.into() } else { HashSet::from(["__builtins__", "builtins"]) };
    for at in source.walk(Source::ROOT) {
        let (kind, text) = (source.nodes[at].kind, source.raw(at));
        let is_import = matches!(kind, "import_statement" | "import_from_statement");
        let is_binding = matches!(kind, "assignment" | "variable_declarator");
        if !is_import && !is_binding {
            continue;
        }
        let loads = is_loaded(text);
        let value = source.nodes[at].children.iter().rev().copied().find(|child| source.nodes[*child].is_named);
        let is_alias = || {
            value.is_some_and(|value| {
                matches!(
                    source.nodes[value].kind,
                    "attribute" | "member_expression" | "identifier" | "subscript" | "subscript_expression"
                ) && root(source, value).is_some_and(|name| names.contains(name))
            })
        };
        if (is_import && !is_relative(text)) || (is_binding && (loads || is_alias())) {
            names.extend(
                source.marked(at, marks::DEFINED).filter(|name| source.is_name(*name)).map(|name| source.raw(name)),
            );
            let left = source.nodes[at].children.first().filter(|left| is_binding && source.is_name(**left));
            names.extend(left.map(|name| source.raw(*name)));
        }
    }
    names
}

/// Whether a source has a method that decides what equals what, and did not have it like that.
#[must_use]
pub fn decides_equality(path: &str, before: Option<&str>, now: &str) -> bool {
    let methods = |text: &str| -> Option<BTreeSet<String>> {
        let source = Source::parse(path, text)?;
        // `def ==` of Ruby has the name one deeper.
        let method = |at: usize| match source.nodes[at].parent {
            up if source.nodes[up].kind == "operator" => source.nodes[up].parent,
            up => up,
        };
        let is_named = |at: &usize| {
            let kind = source.nodes[method(*at)].kind;
            let defines = ["function", "method", "pair", "definition", "signature", "computed"];
            let name = source.raw(*at);
            let is_set = match kind {
                "assignment" => name.starts_with("__"),
                "keyword_argument" => matches!(name, "compare" | "eq"),
                _ => defines.iter().any(|word| kind.contains(word)),
            };
            is_set && EQUALITY.contains(&name)
        };
        let leaves = source.walk(Source::ROOT).filter(|at| source.is_leaf(*at)).filter(is_named);
        Some(leaves.map(|at| source.tokens(method(at)).join(" ")).collect())
    };
    let Some(new) = methods(now) else { return false };
    let old = before.and_then(methods).unwrap_or_default();
    new.iter().any(|method| !old.contains(method))
}
