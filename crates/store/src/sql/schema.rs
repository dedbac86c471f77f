//! The tables, as steps that only ever add. A step that was released is never edited.

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use crate::error::{Error, Result};

/// Which SQL a database speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// What brings a database from one schema to the next.
pub(crate) struct Step {
    version: u32,
    statements: &'static str,
    /// What rows of the schema before need. SQLite only: no PostgreSQL database held rows before schema 5.
    rows: &'static str,
}

impl Step {
    pub(crate) const fn version(&self) -> u32 {
        self.version
    }
}

/// All steps, oldest first. Money in micro-dollars, times in milliseconds since 1970, ids and hashes as text.
pub(crate) const STEPS: &[Step] = &[
    Step { version: 1, statements: include_str!("schema/1.sql"), rows: "" },
    Step { version: 2, statements: include_str!("schema/2.sql"), rows: "" },
    Step { version: 3, statements: include_str!("schema/3.sql"), rows: "" },
    Step { version: 4, statements: include_str!("schema/4.sql"), rows: "" },
    Step { version: 5, statements: include_str!("schema/5.sql"), rows: include_str!("schema/5.rows.sql") },
    Step { version: 6, statements: include_str!("schema/6.sql"), rows: "" },
    Step { version: 7, statements: include_str!("schema/7.sql"), rows: "" },
    Step { version: 8, statements: include_str!("schema/8.sql"), rows: "" },
    Step { version: 9, statements: include_str!("schema/9.sql"), rows: "" },
    Step { version: 10, statements: include_str!("schema/10.sql"), rows: "" },
    Step { version: 11, statements: include_str!("schema/11.sql"), rows: "" },
    Step { version: 12, statements: include_str!("schema/12.sql"), rows: "" },
    Step { version: 13, statements: include_str!("schema/13.sql"), rows: "" },
];

pub(crate) fn newest() -> u32 {
    STEPS.last().map_or(0, |step| step.version)
}

/// The schema that was found, where this program can use or migrate it.
pub(crate) fn check(place: &str, found: i64, known: u32) -> Result<u32> {
    let malformed =
        |_| Error::Malformed { place: place.to_owned(), column: "schema.version", value: found.to_string() };
    match u32::try_from(found).map_err(malformed)? {
        found if found > known => Err(Error::NewerSchema { place: place.to_owned(), found, known }),
        found => Ok(found),
    }
}

/// What a database with schema `found` lacks, for one transaction.
pub(crate) fn statements(found: u32, steps: &[Step], dialect: Dialect) -> Vec<SqlStr> {
    let mut all = Vec::new();
    for step in steps.iter().filter(|step| step.version > found) {
        all.push(step.statements.into_sql_str());
        if dialect == Dialect::Sqlite && !step.rows.is_empty() {
            all.push(step.rows.into_sql_str());
        }
        let note = format!("INSERT INTO schema (version) VALUES ({})", step.version);
        all.push(AssertSqlSafe(note).into_sql_str());
    }
    all
}
