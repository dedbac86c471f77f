//! Leaves out of a tree what changes nothing. Judges nothing.

use super::Source;

impl Source<'_> {
    /// Leaves out what formatters put in and take out: a comma before a closing bracket, braces around the only expression of
    /// a closure or match arm of Rust.
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
        if self.language.extensions.contains(&"py") {
            self.drop_hints(at);
        }
        let holder = self.nodes[parent].kind;
        if kind == "block" && matches!(holder, "match_arm" | "closure_expression") && self.nodes[at].children.len() == 3
        {
            let inner = self.nodes[at].children[1];
            let inner_kind = self.nodes[inner].kind;
            let is_expression = !inner_kind.ends_with("statement")
                && !inner_kind.ends_with("declaration")
                && !inner_kind.ends_with("item");
            if is_expression && let Some(place) = self.nodes[parent].children.iter().position(|child| *child == at) {
                self.nodes[parent].children[place] = inner;
                self.nodes[inner].parent = parent;
            }
        }
    }

    /// Leaves out types of parameters and results in Python that call nothing: they change nothing.
    fn drop_hints(&mut self, at: usize) {
        let (kind, parent) = (self.nodes[at].kind, self.nodes[at].parent);
        let is_plain =
            |at: usize| !self.walk(at).any(|node| matches!(self.nodes[node].kind, "call" | "lambda" | "await"));
        let children = self.nodes[at].children.clone();
        match (kind, children.as_slice()) {
            ("typed_parameter", [name, _, hint]) if self.nodes[*name].kind == "identifier" && is_plain(*hint) => {
                let name = *name;
                let place = self.nodes[parent].children.iter().position(|child| *child == at);
                if let Some(place) = place {
                    self.nodes[parent].children[place] = name;
                    self.nodes[name].parent = parent;
                }
            }
            // In a class a type may say that there is a field.
            ("assignment", [name, colon, hint, equals, value])
                if self.raw(*colon) == ":" && is_plain(*hint) && !self.is_in_class_body(at) =>
            {
                self.nodes[at].children = vec![*name, *equals, *value];
            }
            // Formatters wrap what is too long for a line.
            ("parenthesized_expression", [_, inner, _])
                if matches!(self.nodes[parent].kind, "assert_statement" | "return_statement" | "assignment") =>
            {
                let inner = *inner;
                if let Some(place) = self.nodes[parent].children.iter().position(|child| *child == at) {
                    self.nodes[parent].children[place] = inner;
                    self.nodes[inner].parent = parent;
                }
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
            _ => {}
        }
    }

    /// Whether a statement of Python stands directly in a class.
    fn is_in_class_body(&self, at: usize) -> bool {
        let mut blocks = self.ancestors(at).skip(1).filter(|up| self.nodes[*up].kind == "block");
        blocks.next().is_some_and(|block| self.nodes[self.nodes[block].parent].kind == "class_definition")
    }
}
