//! Which parts of an assertion decide, what they expect, and whether a change of that leaves no doubt. Changes nothing.

use super::tables::{Table, compared};
use super::{Edit, Shows, changed_literal, far_literal, swapped};
use crate::pattern::Pattern;
use crate::syntax::{Source, marks};

/// One condition of an assertion that has to hold.
pub(super) struct Condition<'a> {
    pub(super) at: usize,
    /// The parts of it that decide.
    pub(super) judged: Vec<usize>,
    text: &'a str,
}

/// The conditions of an assertion: `a == 1 and b == 2` has two.
pub(super) fn conditions<'a>(source: &Source<'a>, at: usize) -> Vec<Condition<'a>> {
    let judged = judged(source, at);
    let parts = match judged.as_slice() {
        [only] if source.nodes[at].kind != "if_statement" => conjuncts(source, *only),
        _ => Vec::new(),
    };
    if parts.len() < 2 {
        return vec![Condition { at, judged, text: source.raw(at) }];
    }
    parts.into_iter().map(|part| Condition { at, judged: vec![part], text: source.raw(part) }).collect()
}

fn conjuncts(source: &Source<'_>, at: usize) -> Vec<usize> {
    let node = &source.nodes[at];
    let named: Vec<usize> = node.children.iter().copied().filter(|child| source.nodes[*child].is_named).collect();
    let joins = node.children.iter().any(|child| matches!(source.raw(*child), "and" | "&&"));
    match (node.kind, named.as_slice()) {
        ("parenthesized_expression", [inner]) => conjuncts(source, *inner),
        ("boolean_operator" | "binary_expression" | "binary", [left, right]) if joins => {
            conjuncts(source, *left).into_iter().chain(conjuncts(source, *right)).collect()
        }
        _ => vec![at],
    }
}

/// The last literal of a condition that is given to what is tested, and the one that is expected of it: the last, or the first
/// where another says how near a value has to be.
pub(super) fn literals(source: &Source<'_>, condition: &Condition<'_>) -> (Option<usize>, Option<usize>) {
    let (mut input, mut expected) = (None, Vec::new());
    for part in &condition.judged {
        for literal in source.marked(*part, marks::LITERAL).filter(|at| !is_inside_string(source, *at)) {
            let is_option = |up: usize| source.nodes[up].kind == "keyword_argument";
            if source.ancestors(literal).take_while(|up| *up != condition.at).any(is_option) {
                continue;
            }
            if is_computed(source, &condition.judged, *part, literal) {
                input = Some(literal)
            } else {
                expected.push(literal)
            }
        }
    }
    let expected = if is_nearly(source, condition) { expected.first() } else { expected.last() };
    (input, expected.copied())
}

/// Whether a literal is given to a call, or chooses an element.
fn is_computed(source: &Source<'_>, judged: &[usize], part: usize, literal: usize) -> bool {
    let around = source.ancestors(literal).take_while(|up| !judged.contains(up)).chain([part]);
    let is_index = |up: usize| {
        ["subscript", "subscript_expression", "element_reference", "index_expression"].contains(&source.nodes[up].kind)
    };
    around.into_iter().any(|up| is_call(source, up) || is_index(up))
}

/// The first change of a condition, which leaves everything but what is expected as it is; and what that shows. Rows are changed
/// elsewhere.
pub(super) fn expectation(
    source: &Source<'_>,
    test: usize,
    condition: &Condition<'_>,
    tables: &[Table<'_>],
    seed: u64,
) -> (Vec<Edit>, Shows) {
    if let Some(edit) = ordering(source, condition) {
        return (vec![edit], Shows::Value);
    }
    if denies(source, condition) {
        return (Vec::new(), Shows::LikelyValue);
    }
    let membership = membership(source, condition, seed);
    if !membership.is_empty() {
        return (membership, Shows::Value);
    }
    let Condition { at, judged, text } = condition;
    let (_, expected) = literals(source, condition);
    let value = |is_sure: bool| if is_sure { Shows::Value } else { Shows::LikelyValue };
    match expected {
        Some(literal) if is_nearly(source, condition) => {
            (far_literal(source, literal).into_iter().collect(), value(is_expected(source, judged, literal)))
        }
        Some(literal) => {
            let is_sure = is_equality(text) && is_expected(source, judged, literal);
            (changed_literal(source, literal, seed).into_iter().collect(), value(is_sure))
        }
        None if compared(source, test, judged, tables, seed).is_some() => (Vec::new(), value(is_equality(text))),
        None => {
            let is_equal = is_equality(text);
            if let Some(edit) = constant(source, condition) {
                return (vec![edit], value(is_equal));
            }
            if let Some(edit) = bound(source, test, judged, seed) {
                return (vec![edit], value(is_equal));
            }
            let pair = if is_equal { paired(source, *at, judged) } else { None };
            // Without a pair the rows are changed: their last literals may be what is given to the code.
            let shows = if pair.is_some() { Shows::OtherKind } else { Shows::LikelyValue };
            (pair.into_iter().collect(), shows)
        }
    }
}

/// Expects another constant of the same type, which the file names elsewhere: `Token::Minus` for `Token::Plus`.
fn constant(source: &Source<'_>, condition: &Condition<'_>) -> Option<Edit> {
    static NAMED: Pattern = Pattern::new(r"\b([A-Z]\w*(?:(?:::|\.)\w+)*?(?:::|\.))([A-Z]\w*)\b");
    let named = |text: &str, offset: usize| -> Vec<(String, usize, usize)> {
        let found = NAMED.captures_iter(text).filter_map(|found| {
            let (prefix, name) = (found.get(1)?, found.get(2)?);
            let goes_on = text[name.end()..].starts_with(['(', '{', ':', '.', '!', '[', '<']);
            (!goes_on).then(|| (prefix.as_str().to_owned(), offset + name.start(), offset + name.end()))
        });
        found.collect()
    };
    let (first, last) = (condition.judged.first()?, condition.judged.last()?);
    let (start, end) = (source.nodes[*first].start, source.nodes[*last].end);
    let is_free = |from: usize| {
        let leaf = condition.judged.iter().flat_map(|part| source.walk(*part).map(move |at| (*part, at)));
        let mut leaf = leaf.filter(|(_, at)| source.is_leaf(*at) && source.nodes[*at].start == from);
        leaf.next().is_some_and(|(part, at)| !is_computed(source, &condition.judged, part, at))
    };
    let (prefix, from, to) =
        named(source.text.get(start..end)?, start).into_iter().rfind(|(_, from, _)| is_free(*from))?;
    let own = &source.text[from..to];
    let all = named(source.text, 0);
    let other = all.iter().find(|(of, from, to)| *of == prefix && source.text[*from..*to] != *own)?;
    Some(Edit { start: from, end: to, text: source.text[other.1..other.2].to_owned() })
}

/// Turns a comparison of size round: a value that is greater is not less or equal.
fn ordering(source: &Source<'_>, condition: &Condition<'_>) -> Option<Edit> {
    const ORDERS: [&str; 4] = ["<", ">", "<=", ">="];
    const SYMBOLS: [(&str, &str); 2] = [(":<", ":>="), (":>", ":<=")];
    const JUDGES: [&str; 4] = ["assertGreater", "assertLess", "assertGreaterEqual", "assertLessEqual"];
    let judge = source.marked(condition.at, marks::JUDGE).find(|judge| JUDGES.contains(&source.raw(*judge)));
    if let Some(edit) = judge.and_then(|judge| swapped(source, judge, &super::OPPOSITES)) {
        return Some(Edit { text: edit.text.trim().to_owned(), ..edit });
    }
    let symbols = condition.judged.iter().copied().filter(|at| source.nodes[*at].kind == "simple_symbol");
    // `assert_operator sum, :>, 4` of Ruby.
    if let Some(edit) = symbols.filter_map(|at| swapped(source, at, &SYMBOLS)).next() {
        return Some(Edit { text: edit.text.trim().to_owned(), ..edit });
    }
    let operators: Vec<usize> =
        condition.judged.iter().flat_map(|part| source.marked(*part, marks::OPERATOR)).collect();
    let is_own = |at: &usize| condition.judged.contains(&source.nodes[*at].parent);
    // In a macro of Rust only the tokens are known: `<` may begin a list of types.
    let is_only = |at: &usize| condition.judged.contains(at) && operators.len() == 1;
    let is_order = |at: &&usize| ORDERS.contains(&source.raw(**at)) && (is_own(at) || is_only(at));
    swapped(source, *operators.iter().find(is_order)?, &super::OPERATORS)
}

/// Whether a condition says what something is not: then it may as well not be another value.
pub(super) fn denies(source: &Source<'_>, condition: &Condition<'_>) -> bool {
    let is_judge = |at: usize| {
        let name = source.raw(at);
        name == "not" || super::OPPOSITES.iter().any(|(_, opposite)| *opposite == name)
    };
    let is_unequal = |at: usize| {
        condition.judged.contains(&source.nodes[at].parent)
            && matches!(source.raw(at), "!=" | "!==" | "is not" | "not in")
            // Where it holds, the test fails.
            && source.nodes[condition.at].kind != "if_statement"
    };
    source.marked(condition.at, marks::JUDGE).any(is_judge)
        || condition.judged.iter().flat_map(|part| source.marked(*part, marks::OPERATOR)).any(is_unequal)
}

/// Looks for something that is not there, or in a list of other things.
fn membership(source: &Source<'_>, condition: &Condition<'_>, seed: u64) -> Vec<Edit> {
    let named = |at: usize| -> Vec<usize> {
        source.nodes[at].children.iter().copied().filter(|child| source.nodes[*child].is_named).collect()
    };
    let is_in = |at: usize| {
        let mut operators = source.marked(at, marks::OPERATOR).filter(|operator| source.nodes[*operator].parent == at);
        source.nodes[at].kind == "comparison_operator" && operators.all(|operator| source.raw(operator) == "in")
    };
    let judges = |name: &str| source.marked(condition.at, marks::JUDGE).any(|judge| source.raw(judge) == name);
    let is_plain = |at: usize| source.has(at, marks::LITERAL);
    let is_negated = OPPOSITE.iter().any(|word| condition.text.contains(word));
    let sides = match condition.judged.as_slice() {
        [only] if is_in(*only) => named(*only),
        [item, list, ..] if judges("assertIn") || judges("assertContains") || judges("assertStringContainsString") => {
            [*item, *list]
                .map(|side| match (source.nodes[side].kind, named(side).as_slice()) {
                    ("argument", [inner]) => *inner,
                    _ => side,
                })
                .to_vec()
        }
        [list, item, ..] if judges("assert_includes") => vec![*item, *list],
        // `expect(list).toContainEqual(5)`
        [item] if is_plain(*item) && !is_negated && (judges("toContainEqual") || judges("toContain")) => {
            return far_literal(source, *item).into_iter().collect();
        }
        _ => return predicate(source, condition).into_iter().collect(),
    };
    let [item, list] = sides.as_slice() else { return Vec::new() };
    let of_list = named(*list);
    let is_list = matches!(source.nodes[*list].kind, "list" | "tuple" | "set" | "array");
    let changed = match (is_plain(*item), is_list && of_list.iter().all(|at| is_plain(*at))) {
        (true, false) if !is_plain(*list) => vec![*item],
        (false, true) => of_list,
        _ => return Vec::new(),
    };
    let edits: Vec<Edit> = changed
        .iter()
        .filter_map(|at| far_literal(source, *at).or_else(|| changed_literal(source, *at, seed)))
        .collect();
    if edits.len() == changed.len() { edits } else { Vec::new() }
}

/// Asks whether a text begins, ends or has something else: `assert name.startswith('a')`.
fn predicate(source: &Source<'_>, condition: &Condition<'_>) -> Option<Edit> {
    const PREDICATES: [&str; 13] = [
        ".includes(",
        ".has(",
        ".startsWith(",
        ".endsWith(",
        ".containsKey(",
        ".startswith(",
        ".endswith(",
        ".starts_with(",
        ".ends_with(",
        ".start_with?(",
        ".end_with?(",
        ".include?(",
        ".contains(",
    ];
    let [first, ..] = condition.judged.as_slice() else { return None };
    // A macro of Rust ends with its own bracket.
    let last = *condition.judged.iter().rfind(|at| source.raw(**at) != ")")?;
    let text = source.text.get(source.nodes[*first].start..source.nodes[last].end)?;
    let literal = condition.judged.iter().flat_map(|part| source.marked(*part, marks::LITERAL)).last()?;
    let node = &source.nodes[literal];
    let is_asked = PREDICATES.iter().any(|name| source.text[..node.start].ends_with(name));
    // Nothing is done with the answer.
    let is_whole =
        text.ends_with(&format!("{})", source.raw(literal))) && !text.starts_with('!') && !text.starts_with("not ");
    let compares = condition.judged.iter().flat_map(|part| source.marked(*part, marks::OPERATOR)).next().is_some();
    (is_asked && is_whole && !compares).then(|| far_literal(source, literal))?
}

/// Changes the literal of a name that the test gives a value to and compares with, and does nothing else with.
fn bound(source: &Source<'_>, test: usize, judged: &[usize], seed: u64) -> Option<Edit> {
    const BINDS: [&str; 6] = [
        "assignment",
        "variable_declarator",
        "let_declaration",
        "short_var_declaration",
        "assignment_expression",
        "init_declarator",
    ];
    let is_name = |at: &usize| matches!(source.nodes[*at].kind, "identifier" | "variable_name");
    // What comes third is a message; in a macro of Rust each token is a part.
    let is_macro = judged.first().is_some_and(|at| source.nodes[source.nodes[*at].parent].kind == "token_tree");
    let sides = judged.iter().take(if is_macro { usize::MAX } else { 2 }).flat_map(|part| source.walk(*part));
    let name = sides.filter(|at| is_name(at) && is_side(source, judged, *at)).last().map(|at| source.raw(at))?;
    let is_it = |at: &usize| is_name(at) && source.raw(*at) == name;
    let binds = |at: &usize| {
        BINDS.contains(&source.nodes[*at].kind) && source.walk(*at).find(is_name).is_some_and(|first| is_it(&first))
    };
    let definition = source.walk(test).find(binds)?;
    let value = source.marked(definition, marks::LITERAL).filter(|at| !is_inside_string(source, *at)).last()?;
    let is_used_once = source.walk(test).filter(is_it).filter(|at| !is_message(source, test, *at)).count() == 2;
    let is_value = !source.ancestors(value).take_while(|up| *up != definition).any(|up| is_call(source, up));
    (is_used_once && is_value).then(|| changed_literal(source, value, seed))?
}

/// Whether a node is in what a test says of a failure.
pub(super) fn is_message(source: &Source<'_>, test: usize, at: usize) -> bool {
    const SAYING: [&str; 7] = ["Errorf", "Fatalf", "Error", "Fatal", "Logf", "Log", "subTest"];
    let says = |up: usize| {
        let callee = source.raw(up).split('(').next().unwrap_or_default();
        matches!(source.nodes[up].kind, "call_expression" | "call")
            && SAYING.iter().any(|name| callee.ends_with(&format!(".{name}")))
    };
    source.ancestors(at).take_while(|up| *up != test).any(says)
}

/// Whether a node is a call, or the arguments of one, that computes something: what starts with a capital makes a value.
pub(super) fn is_call(source: &Source<'_>, at: usize) -> bool {
    let node = &source.nodes[at];
    let callee = match node.kind {
        "call"
        | "call_expression"
        | "method_invocation"
        | "function_call_expression"
        | "member_call_expression"
        | "scoped_call_expression" => {
            let lists = ["argument_list", "arguments"];
            let own = node.children.iter().find(|child| lists.contains(&source.nodes[**child].kind));
            let end = own.map_or(node.end, |list| source.nodes[*list].start);
            &source.text[node.start..end]
        }
        // In a macro of Rust: a name and what is in parentheses after it.
        "token_tree" => {
            let siblings = &source.nodes[node.parent].children;
            let place = siblings.iter().position(|sibling| *sibling == at).unwrap_or(0);
            match place.checked_sub(1).and_then(|before| siblings.get(before)) {
                Some(before) if source.nodes[*before].kind == "identifier" => source.raw(*before),
                _ => return false,
            }
        }
        _ => return false,
    };
    let name = callee.trim_end().rsplit(['.', ':', '>', ' ', ')']).next().unwrap_or_default();
    // In Go a capital letter says that it is public.
    let makes_value = name.starts_with(|first: char| first.is_uppercase()) && source.language.extensions != ["go"];
    !matches!(name, "approx" | "new") && !makes_value
}

/// Words of assertions that compare for equality, and of those that do not quite.
const EQUAL: [&str; 26] = [
    "called_with(",
    "called_once_with(",
    "any_call(",
    "CalledWith(",
    "DeepEqual(",
    "toMatchObject(",
    "toHaveProperty(",
    "toHaveLength(",
    "toBe(",
    "toEqual(",
    "toStrictEqual(",
    "assertEqual(",
    "assertEquals(",
    "assertSame(",
    "assert_eq!(",
    "assert_equal",
    "trictEqual(",
    "deepEqual(",
    ".equal(",
    ".Equal(",
    ".equals(",
    ".same(",
    ".is(",
    " == ",
    " === ",
    " eq(",
];
const NEARLY: [&str; 8] = ["Almost", "approx", "Close", "closeTo(", "Delta", "in_delta", "in_epsilon", "be_within"];
const OPPOSITE: [&str; 2] = ["not", "!="];

fn is_equality(text: &str) -> bool {
    EQUAL.iter().any(|name| text.contains(name)) && !NEARLY.iter().chain(&OPPOSITE).any(|name| text.contains(name))
}

/// Whether an assertion compares for a value that may differ a little.
fn is_nearly(source: &Source<'_>, condition: &Condition<'_>) -> bool {
    // `assertEquals(1.5, half(3), 0.001)` of Java.
    let has_delta = || {
        let is_number = |at: &usize| source.raw(*at).starts_with(|c: char| c.is_ascii_digit());
        condition.judged.len() == 3
            && condition.judged.last().is_some_and(is_number)
            && condition.text.contains("assertEquals(")
    };
    (NEARLY.iter().any(|name| condition.text.contains(name)) || has_delta())
        && !OPPOSITE.iter().any(|name| condition.text.contains(name))
}

/// Whether a node is one side of the comparison that an assertion makes, or one of its arguments.
pub(super) fn is_side(source: &Source<'_>, judged: &[usize], at: usize) -> bool {
    let parent = source.nodes[at].parent;
    judged.contains(&at)
        || judged.contains(&parent)
            && ["comparison_operator", "binary_expression", "argument"].contains(&source.nodes[parent].kind)
}

/// Whether a literal is what something is compared with, or is in a list or table that is.
fn is_expected(source: &Source<'_>, judged: &[usize], literal: usize) -> bool {
    // What holds a literal and is another value with another one in it.
    const COMPOSITE: [&str; 13] = [
        "list",
        "tuple",
        "set",
        "dictionary",
        "pair",
        "array",
        "object",
        "hash",
        "array_creation_expression",
        "array_element_initializer",
        "parenthesized_expression",
        "unary_operator",
        // In a macro of Rust; those of calls are no expected values.
        "token_tree",
    ];
    let is_approx = |at: usize| source.nodes[at].kind == "call" && source.raw(at).contains("approx(");
    let mut up = literal;
    while !is_side(source, judged, up) {
        let parent = source.nodes[up].parent;
        let is_value = COMPOSITE.contains(&source.nodes[parent].kind)
            || is_approx(parent)
            || is_approx(source.nodes[parent].parent);
        if !is_value || parent == up {
            return false;
        }
        up = parent;
    }
    true
}

/// Puts the name that something is compared with into a pair, which equals nothing that is no pair with the same name in it.
pub(super) fn paired(source: &Source<'_>, at: usize, judged: &[usize]) -> Option<Edit> {
    let (open, close) = match source.language.extensions {
        extensions if extensions.contains(&"py") => ("(", ", 7)"),
        extensions if extensions.contains(&"js") || extensions.contains(&"rb") => ("[", ", 7]"),
        _ => return None,
    };
    let is_name = |at: &usize| source.nodes[*at].kind == "identifier" && is_side(source, judged, *at);
    // What comes third is a message.
    let name = judged.iter().take(2).flat_map(|part| source.walk(*part)).filter(is_name).last()?;
    let node = &source.nodes[name];
    is_equality(source.raw(at)).then(|| Edit {
        start: node.start,
        end: node.end,
        text: format!("{open}{}{close}", source.raw(name)),
    })
}

/// The parts of an assertion that decide, without a message.
pub(super) fn judged(source: &Source<'_>, at: usize) -> Vec<usize> {
    let node = &source.nodes[at];
    let named = |at: usize| -> Vec<usize> {
        source.nodes[at].children.iter().copied().filter(|child| source.nodes[*child].is_named).collect()
    };
    match node.kind {
        "assert_statement" => named(at).into_iter().take(1).collect(),
        "if_statement" => {
            let head: Vec<usize> =
                named(at).into_iter().take_while(|child| source.nodes[*child].kind != "block").collect();
            head.last().and_then(|condition| unequal(source, *condition)).unwrap_or(head)
        }
        "with_statement" => Vec::new(),
        _ => {
            let lists = ["argument_list", "arguments", "token_tree"];
            let Some(list) = outer_arguments(source, at, &lists) else { return named(at) };
            let parts: Vec<usize> = match source.nodes[list].kind {
                "token_tree" => {
                    let one = source.raw(at).trim_start().starts_with("assert!")
                        || source.raw(at).trim_start().starts_with("debug_assert!");
                    first_groups(source, list, if one { 1 } else { 2 })
                }
                _ => named(list),
            };
            let is_text = |at: &usize| {
                let text = source.raw(*at);
                source.nodes[*at].kind.contains("string")
                    || text.starts_with(['"', '\'', '`'])
                    || ["sprintf(", "String.format("].iter().any(|format| text.starts_with(format))
            };
            let is_list = source.nodes[list].kind != "token_tree";
            if says_message_first(source, at, &parts, &is_text) {
                return parts[1..].to_vec();
            }
            let without = if is_list && parts.len() >= 3 && parts.last().is_some_and(is_text) {
                &parts[..parts.len() - 1]
            } else if is_list && parts.len() == 2 && is_text(&parts[1]) && takes_condition(source.raw(at)) {
                &parts[..1]
            } else {
                &parts[..]
            };
            without.to_vec()
        }
    }
}

/// Whether an assertion of Java begins with its message, as before JUnit 5.
fn says_message_first(source: &Source<'_>, at: usize, parts: &[usize], is_text: &dyn Fn(&usize) -> bool) -> bool {
    const ONE: [&str; 4] = ["assertTrue", "assertFalse", "assertNull", "assertNotNull"];
    if source.language.extensions != ["java"] || source.text.contains("org.junit.jupiter") {
        return false;
    }
    let callee = source.raw(at).split('(').next().unwrap_or_default().trim();
    let takes_one = ONE.contains(&callee.rsplit('.').next().unwrap_or(callee));
    parts.first().is_some_and(is_text) && parts.len() >= if takes_one { 2 } else { 3 }
}

/// What a condition of Go compares that holds where two things differ: `!reflect.DeepEqual(got, want)`.
fn unequal(source: &Source<'_>, condition: usize) -> Option<Vec<usize>> {
    let text = source.raw(condition);
    let callee = text.strip_prefix('!')?.split('(').next()?;
    let is_equal =
        callee.ends_with("DeepEqual") || matches!(callee, "bytes.Equal" | "slices.Equal" | "maps.Equal" | "cmp.Equal");
    let list = outer_arguments(source, condition, &["argument_list"]).filter(|_| is_equal)?;
    Some(source.nodes[list].children.iter().copied().filter(|child| source.nodes[*child].is_named).take(2).collect())
}

/// The arguments of the outermost call: of `expect(a).toBe(3)` those of `toBe`.
pub(super) fn outer_arguments(source: &Source<'_>, at: usize, lists: &[&str]) -> Option<usize> {
    let children = &source.nodes[at].children;
    let own = children.iter().rev().copied().find(|child| lists.contains(&source.nodes[*child].kind));
    own.or_else(|| {
        children
            .iter()
            .find_map(|child| (source.nodes[*child].is_named).then(|| outer_arguments(source, *child, lists))?)
    })
}

/// The first arguments of a macro.
pub(super) fn first_groups(source: &Source<'_>, list: usize, count: usize) -> Vec<usize> {
    let mut commas = 0;
    let inside = source.nodes[list].children.iter().copied().skip(1);
    inside
        .take_while(|child| {
            commas += usize::from(source.raw(*child) == ",");
            commas < count
        })
        .filter(|child| source.raw(*child) != ",")
        .collect()
}

/// Whether an assertion takes a condition and a message.
pub(super) fn takes_condition(text: &str) -> bool {
    let callee = text.trim_start().split('(').next().unwrap_or_default();
    let last = callee.rsplit(['.', '>', ':']).next().unwrap_or_default();
    matches!(
        last,
        "assert"
            | "ok"
            | "assertTrue"
            | "assertFalse"
            | "isTrue"
            | "isFalse"
            | "True"
            | "False"
            | "true"
            | "false"
            | "notOk"
            | "assertIsNone"
            | "assertIsNotNone"
            | "assertNull"
            | "assertNotNull"
    )
}

pub(super) fn is_inside_string(source: &Source<'_>, at: usize) -> bool {
    source.ancestors(at).skip(1).any(|up| matches!(source.nodes[up].kind, "interpolation" | "template_substitution"))
}
