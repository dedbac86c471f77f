//! Tables of TOML: values by path, read and put back.

use toml::{Table, Value};

pub(super) struct Comparison {
    pub(super) before: Table,
    pub(super) now: Table,
    pub(super) what: Vec<String>,
    /// As now, with the pinned parts put back.
    pub(super) restored: Table,
}

impl Comparison {
    pub(super) fn new(before: Table, now: Table) -> Self {
        Self { before, restored: now.clone(), now, what: Vec::new() }
    }

    /// The value at a path has to be as it was, also where there was none.
    pub(super) fn pin(&mut self, path: &[&str]) {
        if get(&self.before, path) != get(&self.now, path) {
            self.put_back(path);
        }
    }

    /// Notes that the value at a path is not as it was, and puts the old one back.
    pub(super) fn put_back(&mut self, path: &[&str]) {
        self.what.push(path.join("."));
        let old = get(&self.before, path).cloned();
        set(&mut self.restored, path, old);
    }

    pub(super) fn text(&self, before: &str) -> String {
        toml::to_string(&self.restored).unwrap_or_else(|_| before.to_owned())
    }
}

pub(super) fn get<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (last, folders) = path.split_last()?;
    let mut table = table;
    for name in folders {
        table = table.get(*name)?.as_table()?;
    }
    table.get(*last)
}

pub(super) fn set(table: &mut Table, path: &[&str], value: Option<Value>) {
    match (path, value) {
        ([], _) => {}
        ([name], Some(value)) => {
            table.insert((*name).to_owned(), value);
        }
        ([name], None) => {
            table.remove(*name);
        }
        ([name, rest @ ..], value) => {
            if value.is_none() && !table.contains_key(*name) {
                return;
            }
            let entry = table.entry((*name).to_owned()).or_insert_with(|| Value::Table(Table::new()));
            if !entry.is_table() {
                *entry = Value::Table(Table::new());
            }
            if let Some(inner) = entry.as_table_mut() {
                set(inner, rest, value);
            }
        }
    }
}

/// Names in a table at a path; empty when there is none.
pub(super) fn keys(table: &Table, path: &[&str]) -> Vec<String> {
    get(table, path).and_then(Value::as_table).map(|table| table.keys().cloned().collect()).unwrap_or_default()
}
