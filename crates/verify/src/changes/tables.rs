//! The tables of a test, and which of their columns an assertion compares with. Changes the values in one column only.

use super::sides::{is_call, is_inside_string, is_message, is_side};
use super::{Edit, changed_literal};
use crate::syntax::{Source, marks};

/// A table that a test goes through.
pub(super) struct Table<'a> {
    rows: Vec<usize>,
    /// The names that its columns have in the test.
    columns: Vec<&'a str>,
    /// The name of a whole row, where columns are its fields: `tc` of `tc.want`.
    row: Option<&'a str>,
}

pub(super) fn tables<'a>(source: &Source<'a>, test: usize) -> Vec<Table<'a>> {
    let found = source.marked(test, marks::TABLE | marks::LOOP).filter_map(|table| {
        let body = if source.is_leaf(table) { named_table(source, test, table)? } else { table };
        let rows: Vec<usize> = named(source, body).filter(|row| !source.is_comment(*row)).collect();
        let (columns, row) = match source.language.extensions {
            ["go"] => range(source, table, body, &rows),
            _ => (names(source, test, table), None),
        };
        Some(Table { rows, columns, row })
    });
    found.collect()
}

/// Changes the column that a condition compares with, and that nothing else is done with; nothing where there is none.
pub(super) fn compared(
    source: &Source<'_>,
    test: usize,
    judged: &[usize],
    tables: &[Table<'_>],
    seed: u64,
) -> Option<Vec<Edit>> {
    let all = || judged.iter().flat_map(|part| source.walk(*part)).filter(|at| is_side(source, judged, *at));
    let is_free = |text: &str| {
        let uses = source.walk(test).filter(|at| source.raw(*at) == text && !is_message(source, test, *at));
        !uses.into_iter().any(|at| {
            source.ancestors(at).skip(1).take_while(|up| *up != test).any(|up| {
                // A comparison may be a call: `assertEqual(f(a), want)`.
                is_call(source, up)
                    && !judged.iter().any(|part| {
                        source.nodes[*part].start >= source.nodes[up].start
                            && source.nodes[*part].end <= source.nodes[up].end
                    })
            })
        })
    };
    tables.iter().find_map(|table| {
        let column = |at: usize| {
            let text = source.raw(at);
            let name = match table.row {
                Some(row) => text.strip_prefix(row)?.strip_prefix('.')?,
                None => text,
            };
            table.columns.iter().position(|column| *column == name).filter(|_| is_free(text))
        };
        let column = all().find_map(column)?;
        let edits: Vec<Edit> = table.rows.iter().filter_map(|row| table.edit(source, *row, column, seed)).collect();
        (!edits.is_empty()).then_some(edits)
    })
}

/// Changes the last value in every row.
pub(super) fn last_values(source: &Source<'_>, tables: &[Table<'_>], seed: u64) -> Vec<Edit> {
    tables.iter().flat_map(|table| &table.rows).filter_map(|row| last_value(source, *row, seed)).collect()
}

fn last_value(source: &Source<'_>, at: usize, seed: u64) -> Option<Edit> {
    // The name of a row is no value of it.
    let is_option = |literal: usize| {
        let within = source.ancestors(literal).take_while(|up| *up != at);
        within.into_iter().any(|up| {
            source.nodes[up].kind == "keyword_argument"
                && (source.raw(up).starts_with("id=") || source.raw(up).starts_with("marks="))
        })
    };
    let is_value = |literal: &usize| !is_inside_string(source, *literal) && !is_option(*literal);
    let literal = source.marked(at, marks::LITERAL).filter(is_value).last()?;
    changed_literal(source, literal, seed)
}

impl Table<'_> {
    /// Changes the last value of one column in a row.
    fn edit(&self, source: &Source<'_>, row: usize, column: usize, seed: u64) -> Option<Edit> {
        const LISTS: [&str; 6] = ["tuple", "list", "array", "literal_value", "argument_list", "array_initializer"];
        let is_pair = matches!(source.nodes[row].kind, "pair" | "keyed_element");
        let cells: Vec<usize> = match source.walk(row).find(|at| LISTS.contains(&source.nodes[*at].kind)) {
            // The keys of a map, unless both are named.
            _ if is_pair && self.columns.len() == 1 => named(source, row).take(1).collect(),
            _ if is_pair => named(source, row).collect(),
            _ if self.row.is_none() && self.columns.len() == 1 => vec![row],
            Some(list) => named(source, list)
                .filter(|at| !source.is_comment(*at) && source.nodes[*at].kind != "keyword_argument")
                .collect(),
            None => Vec::new(),
        };
        let is_keyed = self.row.is_some() && cells.iter().any(|cell| source.nodes[*cell].kind == "keyed_element");
        let cell = match is_keyed {
            true => cells
                .iter()
                .copied()
                .find(|cell| named(source, *cell).next().is_some_and(|key| source.raw(key) == self.columns[column])),
            false if cells.len() == self.columns.len() => cells.get(column).copied(),
            false if column + 1 == self.columns.len() => cells.last().copied(),
            false => None,
        };
        let cell = cell?;
        let value = if is_keyed { named(source, cell).last()? } else { cell };
        last_value(source, value, seed)
    }
}

fn named(source: &Source<'_>, at: usize) -> impl DoubleEndedIterator<Item = usize> {
    source.nodes[at].children.iter().copied().filter(|child| source.nodes[*child].is_named)
}

/// The list that a table has as its name, where the test itself or the file defines it and nothing else goes through it.
fn named_table(source: &Source<'_>, test: usize, name: usize) -> Option<usize> {
    let name = source.raw(name);
    let is_defined = |at: &usize| source.raw(*at) == name && source.has(*at, marks::DEFINED | marks::ASSIGN);
    let defined = source.walk(test).find(is_defined).or_else(|| source.walk(Source::ROOT).find(is_defined))?;
    let definition =
        source.ancestors(defined).skip(1).find(|up| source.nodes[*up].end > source.nodes[defined].end + 3)?;
    let is_list = |at: &usize| {
        source.nodes[*at].start > source.nodes[defined].end
            && matches!(
                source.nodes[*at].kind,
                "list"
                    | "tuple"
                    | "dictionary"
                    | "array"
                    | "literal_value"
                    | "array_expression"
                    | "array_creation_expression"
            )
    };
    source.walk(definition).find(is_list)
}

/// The names that the columns of a table have in a test: those that a parametrisation or a loop gives, or its parameters.
fn names<'a>(source: &Source<'a>, test: usize, table: usize) -> Vec<&'a str> {
    let identifiers = |at: usize| -> Vec<&'a str> {
        let names = source.walk(at).filter(|at| source.is_leaf(*at) && source.nodes[*at].kind == "identifier");
        names.map(|name| source.raw(name)).collect()
    };
    let within = source.nodes[table].parent;
    let first = named(source, within).next().filter(|first| *first != table);
    if let ("argument_list", Some(first)) = (source.nodes[within].kind, first) {
        let is_text = |at: &usize| source.nodes[*at].kind == "string";
        let texts: Vec<usize> = source.walk(first).filter(is_text).collect();
        let names = texts.into_iter().flat_map(|text| source.raw(text).trim_matches(['\'', '"']).split(','));
        return names.map(str::trim).collect();
    }
    if source.has(table, marks::LOOP) {
        let head = source.ancestors(table).find(|up| source.nodes[*up].kind.starts_with("for"));
        return head.and_then(|head| named(source, head).next()).map(identifiers).unwrap_or_default();
    }
    let parameters = source.walk(test).find(|at| source.nodes[*at].kind.contains("parameters"));
    parameters.map(identifiers).unwrap_or_default()
}

/// The columns of a table of Go: the fields of its type, in their order, or key and value of a map; and the name of a row.
fn range<'a>(source: &Source<'a>, table: usize, body: usize, rows: &[usize]) -> (Vec<&'a str>, Option<&'a str>) {
    let clause = source.ancestors(table).find(|up| source.nodes[*up].kind == "range_clause");
    let Some(left) = clause.and_then(|clause| named(source, clause).next()) else { return (Vec::new(), None) };
    let given: Vec<&str> = named(source, left).map(|name| source.raw(name)).collect();
    if rows.first().is_some_and(|row| source.nodes[*row].kind == "keyed_element") {
        return (given, None);
    }
    let Some(row) = given.get(1).copied() else { return (Vec::new(), None) };
    let own = source.nodes[source.nodes[body].parent].children.iter().copied().find(|child| *child != body);
    let is_struct = |at: &usize| source.nodes[*at].kind == "struct_type";
    let of_name = || {
        let name = source.walk(own?).filter(|at| source.nodes[*at].kind == "type_identifier").last()?;
        let is_it = |at: &usize| {
            source.nodes[*at].kind == "type_spec"
                && named(source, *at).next().is_some_and(|it| source.raw(it) == source.raw(name))
        };
        source.walk(Source::ROOT).find(is_it).and_then(|spec| source.walk(spec).find(is_struct))
    };
    let Some(fields) = own.and_then(|own| source.walk(own).find(is_struct)).or_else(of_name) else {
        // Rows that are plain values.
        return (vec![row], None);
    };
    let is_field = |at: &usize| source.nodes[*at].kind == "field_declaration";
    let declared = source.walk(fields).filter(is_field).flat_map(|field| named(source, field));
    let columns = declared.filter(|at| source.nodes[*at].kind == "field_identifier").map(|at| source.raw(at));
    (columns.collect(), Some(row))
}
