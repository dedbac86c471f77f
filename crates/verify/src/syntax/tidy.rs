//! Leaves out of a tree what changes nothing: what formatters put in and take out, types that are erased, docstrings, visibility of
//! tests. Judges nothing.

use super::Source;

/// Nodes of TypeScript that are erased before the code runs.
const ERASED: [&str; 5] =
    ["type_annotation", "type_arguments", "type_parameters", "type_predicate_annotation", "asserts_annotation"];
/// Annotations of Java that change nothing but what people are shown.
const SHOWN: [&str; 3] = ["@DisplayName", "@Tag", "@SuppressWarnings"];

impl Source<'_> {
    pub(super) fn tidy(&mut self, at: usize) {
        let (kind, parent) = (self.nodes[at].kind, self.nodes[at].parent);
        let children = &self.nodes[at].children;
        let text = |index: usize| {
            children.get(index).map_or("", |child| &self.text[self.nodes[*child].start..self.nodes[*child].end])
        };
        let count = children.len();
        let last = match text(count.wrapping_sub(1)) {
            ")" | "]" | "}" | ">" => count.wrapping_sub(2),
            _ => count.wrapping_sub(1),
        };
        let before = text(last.wrapping_sub(1));
        if text(last) == "," && last < count && kind != "subscript" && !matches!(before, "," | "[") {
            self.nodes[at].children.remove(last);
        }
        if matches!(kind, "import_spec_list" | "import_from_statement") {
            let mut kept = std::mem::take(&mut self.nodes[at].children);
            kept.retain(|child| !matches!(self.raw(*child), "(" | ")"));
            // In Go one import may be alone or in a list.
            let holder = if kind == "import_spec_list" { parent } else { at };
            self.nodes[parent].children.retain(|child| *child != at || holder == at);
            for child in &kept {
                self.nodes[*child].parent = holder;
            }
            self.nodes[holder].children.extend(kept);
        }
        match self.language.extensions[0] {
            "py" => self.tidy_python(at),
            "js" => self.tidy_javascript(at),
            "rs" => self.tidy_rust(at),
            "go" => self.tidy_go(at),
            "java" => self.tidy_java(at),
            "rb" if kind == "argument_list" => self.drop_marks(at, &["(", ")"]),
            "php" => self.tidy_php(at),
            _ => {}
        }
        if matches!(self.language.extensions[0], "py" | "js") {
            self.drop_parentheses(at);
        }
    }

    /// Puts a part of a node in its place. What a query says about the node then holds for the part.
    fn lift(&mut self, at: usize, inner: usize) {
        let parent = self.nodes[at].parent;
        if let Some(place) = self.nodes[parent].children.iter().position(|child| *child == at) {
            self.nodes[parent].children[place] = inner;
            self.nodes[inner].parent = parent;
            self.lifted.insert(at, inner);
        }
    }

    fn drop_marks(&mut self, at: usize, marks: &[&str]) {
        let mut kept = self.nodes[at].children.clone();
        kept.retain(|child| !marks.contains(&self.raw(*child)));
        if !kept.is_empty() {
            self.nodes[at].children = kept;
        }
    }

    fn drop_children(&mut self, at: usize, is_dropped: impl Fn(&Self, usize) -> bool) {
        let mut kept = std::mem::take(&mut self.nodes[at].children);
        kept.retain(|child| !is_dropped(self, *child));
        self.nodes[at].children = kept;
    }

    /// Formatters wrap what is too long for a line; the tree shows what belongs together.
    fn drop_parentheses(&mut self, at: usize) {
        let parent = self.nodes[at].parent;
        let [_, inner, _] = self.nodes[at].children[..] else { return };
        // A text alone would be an instruction, and a chain that may end early reaches as far as its parentheses.
        let is_needed = self.nodes[parent].kind == "expression_statement"
            || self.walk(inner).any(|part| self.nodes[part].kind == "optional_chain");
        if self.nodes[at].kind == "parenthesized_expression" && !is_needed {
            self.lift(at, inner);
        }
    }

    /// Braces around the only expression of a closure or match arm.
    fn tidy_rust(&mut self, at: usize) {
        let holder = self.nodes[self.nodes[at].parent].kind;
        let [_, inner, _] = self.nodes[at].children[..] else { return };
        let kind = self.nodes[inner].kind;
        let is_expression = !kind.ends_with("statement") && !kind.ends_with("declaration") && !kind.ends_with("item");
        if self.nodes[at].kind == "block" && matches!(holder, "match_arm" | "closure_expression") && is_expression {
            self.lift(at, inner);
        }
    }

    /// Copies of a loop's variable, which newer versions need no more.
    fn tidy_go(&mut self, at: usize) {
        let parent = self.nodes[at].parent;
        let [left, _, right] = self.nodes[at].children[..] else { return };
        let is_copy = self.nodes[at].kind == "short_var_declaration" && self.raw(left) == self.raw(right);
        if is_copy && self.nodes[parent].kind == "statement_list" {
            self.nodes[parent].children.retain(|child| *child != at);
        }
    }

    fn tidy_java(&mut self, at: usize) {
        let (kind, parent) = (self.nodes[at].kind, self.nodes[at].parent);
        if kind == "method_declaration" {
            self.drop_children(at, |source, child| source.nodes[child].kind == "throws");
        }
        if kind != "modifiers" {
            return;
        }
        self.drop_children(at, |source, child| {
            let text = source.raw(child);
            matches!(text, "public" | "final") || SHOWN.iter().any(|shown| text.split('(').next() == Some(*shown))
        });
        if self.nodes[at].children.is_empty() {
            self.nodes[parent].children.retain(|child| *child != at);
        }
    }

    fn tidy_php(&mut self, at: usize) {
        match self.nodes[at].kind {
            "array_creation_expression" => self.drop_marks(at, &["array", "(", ")", "[", "]"]),
            "class_declaration" => self.drop_children(at, |source, child| source.nodes[child].kind == "final_modifier"),
            "method_declaration" => {
                let parts = self.nodes[at].children.clone();
                let is_test = parts.iter().any(|part| {
                    self.nodes[*part].kind == "name" && self.raw(*part).to_ascii_lowercase().starts_with("test")
                });
                let colon = parts.iter().position(|part| self.raw(*part) == ":");
                let kept = parts.into_iter().enumerate().filter(|(index, part)| {
                    let is_type = colon.is_some_and(|colon| *index == colon || *index == colon + 1);
                    !is_type && (is_test || self.nodes[*part].kind != "static_modifier")
                });
                self.nodes[at].children = kept.map(|(_, part)| part).collect();
            }
            _ => {}
        }
    }

    fn tidy_javascript(&mut self, at: usize) {
        match (self.nodes[at].kind, self.nodes[at].children.as_slice()) {
            ("as_expression" | "satisfies_expression" | "non_null_expression", [inner, ..]) => {
                let inner = *inner;
                self.lift(at, inner);
            }
            (kind, _)
                if self.has_types
                    && (kind.contains("parameter")
                        || kind.contains("function")
                        || matches!(
                            kind,
                            "variable_declarator" | "call_expression" | "new_expression" | "method_definition"
                        )) =>
            {
                self.drop_children(at, |source, child| ERASED.contains(&source.nodes[child].kind));
            }
            _ => {}
        }
    }

    /// Docstrings without examples, types of parameters and results that call nothing, and `object` as the only base.
    fn tidy_python(&mut self, at: usize) {
        let kind = self.nodes[at].kind;
        let is_plain =
            |at: usize| !self.walk(at).any(|node| matches!(self.nodes[node].kind, "call" | "lambda" | "await"));
        let children = self.nodes[at].children.clone();
        match (kind, children.as_slice()) {
            ("block" | "module", _) => {
                let is_docstring = |child: usize| {
                    let node = &self.nodes[child];
                    node.kind == "expression_statement"
                        && node.children.len() == 1
                        && self.nodes[node.children[0]].kind == "string"
                        && self.nodes[node.children[0]].children.is_empty()
                        && !self.raw(child).contains(">>>")
                };
                let kept: Vec<usize> = children.into_iter().filter(|child| !is_docstring(*child)).collect();
                if !kept.is_empty() {
                    self.nodes[at].children = kept;
                }
            }
            ("typed_parameter", [name, _, hint]) if self.nodes[*name].kind == "identifier" && is_plain(*hint) => {
                self.lift(at, *name);
            }
            // In a class a type may say that there is a field.
            ("assignment", [name, colon, hint, equals, value])
                if self.raw(*colon) == ":" && is_plain(*hint) && !self.is_in_class_body(at) =>
            {
                self.nodes[at].children = vec![*name, *equals, *value];
            }
            ("typed_default_parameter", [name, _, hint, equals, value]) if is_plain(*hint) => {
                self.nodes[at].children = vec![*name, *equals, *value];
                self.nodes[at].kind = "default_parameter";
            }
            ("function_definition", _) => {
                let arrow = children.iter().position(|child| self.raw(*child) == "->");
                if let Some(arrow) = arrow.filter(|arrow| children.get(arrow + 1).is_some_and(|hint| is_plain(*hint))) {
                    self.nodes[at].children.drain(arrow..arrow + 2);
                }
            }
            ("class_definition", _) => {
                self.drop_children(at, |source, child| matches!(source.raw(child), "(object)" | "()"));
            }
            _ => {}
        }
    }

    /// Whether a statement of Python stands directly in a class.
    fn is_in_class_body(&self, at: usize) -> bool {
        let mut blocks = self.ancestors(at).skip(1).filter(|up| self.nodes[*up].kind == "block");
        blocks.next().is_some_and(|block| self.nodes[self.nodes[block].parent].kind == "class_definition")
    }
}
