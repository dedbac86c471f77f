//! The tables, as steps that only ever add. A step that was released is never edited.

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::board::tables::TABLES;
use crate::error::{Error, Result};

/// Which SQL a database speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// What brings a database from one schema to the next.
pub(crate) struct Step {
    /// The schema after this step.
    version: u32,
    statements: &'static [&'static str],
    /// What rows of the schema before need. SQLite only: no PostgreSQL database held rows before schema 5.
    rows: &'static [&'static str],
}

impl Step {
    pub(crate) const fn version(&self) -> u32 {
        self.version
    }
}

/// All steps, oldest first. Money in micro-dollars, times in milliseconds since 1970, ids and hashes as text.
pub(crate) const STEPS: &[Step] = &[
    Step {
        version: 1,
        statements: &[
            "CREATE TABLE schema (version BIGINT NOT NULL PRIMARY KEY)",
            "CREATE TABLE loops (
                id TEXT NOT NULL PRIMARY KEY,
                workspace TEXT NOT NULL,
                objective TEXT NOT NULL,
                agent TEXT NOT NULL,
                skill TEXT,
                status TEXT NOT NULL,
                reason TEXT,
                iterations BIGINT NOT NULL DEFAULT 0,
                cost_micros BIGINT NOT NULL DEFAULT 0,
                verified BOOLEAN NOT NULL DEFAULT FALSE,
                started_at BIGINT NOT NULL,
                updated_at BIGINT NOT NULL,
                finished_at BIGINT,
                pid BIGINT,
                head_seq BIGINT NOT NULL,
                head_hash TEXT NOT NULL,
                summary TEXT
            )",
            "CREATE INDEX loops_by_start ON loops (started_at)",
            "CREATE INDEX loops_by_workspace ON loops (workspace, started_at)",
            "CREATE TABLE events (
                loop TEXT NOT NULL REFERENCES loops (id),
                seq BIGINT NOT NULL,
                at BIGINT NOT NULL,
                version BIGINT NOT NULL,
                kind TEXT NOT NULL,
                payload TEXT NOT NULL,
                hash TEXT NOT NULL,
                PRIMARY KEY (loop, seq)
            )",
            // `settled` is null until the attempt ended: until then its reservation counts against the day.
            "CREATE TABLE budget (
                day TEXT NOT NULL,
                loop TEXT NOT NULL REFERENCES loops (id),
                attempt BIGINT NOT NULL,
                reserved BIGINT NOT NULL,
                settled BIGINT,
                PRIMARY KEY (loop, attempt)
            )",
            "CREATE INDEX budget_by_day ON budget (day)",
        ],
        rows: &[],
    },
    Step {
        version: 2,
        statements: &[
            "CREATE TABLE stops (
                loop TEXT NOT NULL PRIMARY KEY REFERENCES loops (id),
                how TEXT NOT NULL,
                at BIGINT NOT NULL
            )",
            "CREATE TABLE trusted (
                hash TEXT NOT NULL,
                path TEXT NOT NULL,
                at BIGINT NOT NULL,
                PRIMARY KEY (hash, path)
            )",
        ],
        rows: &[],
    },
    Step {
        version: 3,
        statements: &[
            // No type and no key beside the batch: what is put here is already known to be broken.
            "CREATE TABLE quarantined (
                loop TEXT NOT NULL,
                batch BIGINT NOT NULL,
                seq BIGINT,
                at BIGINT,
                version BIGINT,
                kind TEXT,
                payload TEXT,
                hash TEXT
            )",
            "CREATE INDEX quarantined_by_loop ON quarantined (loop, batch)",
        ],
        rows: &[],
    },
    Step {
        version: 4,
        statements: &[
            // Loops that share one budget have the same pool.
            "ALTER TABLE budget ADD COLUMN pool TEXT",
            "CREATE INDEX budget_by_pool ON budget (pool)",
        ],
        rows: &[],
    },
    Step {
        version: 5,
        statements: &[
            // `loops` holds runs of every kind since this step.
            "ALTER TABLE loops ADD COLUMN kind TEXT NOT NULL DEFAULT 'loop'",
            "ALTER TABLE loops ADD COLUMN parent TEXT",
            "ALTER TABLE loops ADD COLUMN origin TEXT",
            "ALTER TABLE loops ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0",
            "CREATE INDEX loops_by_origin ON loops (origin, started_at)",
            "CREATE INDEX loops_by_parent ON loops (parent)",
        ],
        rows: &[
            // Until then `summary` held both as JSON; nothing reads or writes that column any more.
            "UPDATE loops SET origin = json_extract(summary, '$.origin'), parent = json_extract(summary, '$.race')
                WHERE CASE WHEN summary IS NULL THEN FALSE ELSE json_valid(summary) END",
        ],
    },
    Step {
        version: 6,
        statements: &[
            "ALTER TABLE loops ADD COLUMN host TEXT",
            "ALTER TABLE loops ADD COLUMN boot TEXT",
            "ALTER TABLE loops ADD COLUMN lease_until BIGINT",
            "ALTER TABLE loops ADD COLUMN certificate TEXT",
            // `began_at` is null until the agent is about to start, `cost_micros` while the cost is not known.
            "CREATE TABLE attempts (
                loop TEXT NOT NULL REFERENCES loops (id),
                attempt BIGINT NOT NULL,
                at BIGINT NOT NULL,
                host TEXT NOT NULL,
                boot TEXT NOT NULL,
                metering TEXT NOT NULL,
                began_at BIGINT,
                cost_micros BIGINT,
                PRIMARY KEY (loop, attempt)
            )",
            "CREATE TABLE artifacts (
                loop TEXT NOT NULL REFERENCES loops (id),
                name TEXT NOT NULL,
                kind TEXT NOT NULL,
                iteration BIGINT,
                attempt BIGINT,
                sha256 TEXT NOT NULL,
                bytes BIGINT NOT NULL,
                at BIGINT NOT NULL,
                PRIMARY KEY (loop, name)
            )",
        ],
        rows: &[],
    },
    Step { version: 7, statements: TABLES, rows: &[] },
    Step {
        version: 8,
        statements: &[
            "CREATE TABLE reminders (
                id TEXT NOT NULL PRIMARY KEY,
                message TEXT NOT NULL,
                due_at BIGINT NOT NULL,
                created_at BIGINT NOT NULL
            )",
            "CREATE INDEX reminders_by_time ON reminders (due_at)",
        ],
        rows: &[],
    },
    Step {
        version: 9,
        statements: &[
            // Content of artifacts, where several servers share the database. A file is complete once part 0 is there.
            "CREATE TABLE artifact_parts (
                loop TEXT NOT NULL REFERENCES loops (id),
                sha256 TEXT NOT NULL,
                part BIGINT NOT NULL,
                content BYTEA NOT NULL,
                at BIGINT NOT NULL,
                PRIMARY KEY (loop, sha256, part)
            )",
            "CREATE INDEX artifact_parts_by_time ON artifact_parts (at)",
        ],
        rows: &[],
    },
    Step { version: 10, statements: &["ALTER TABLE loops ADD COLUMN grade TEXT"], rows: &[] },
    Step {
        version: 11,
        statements: &[
            // What users tell a run. The journal says up to which number the run was told.
            "CREATE TABLE hints (
                loop TEXT NOT NULL REFERENCES loops (id),
                number BIGINT NOT NULL,
                at BIGINT NOT NULL,
                text TEXT NOT NULL,
                PRIMARY KEY (loop, number)
            )",
        ],
        rows: &[],
    },
    // The token that a task was claimed with: no other token of a worker writes under the lease.
    Step { version: 12, statements: &["ALTER TABLE tasks ADD COLUMN claimed_with TEXT"], rows: &[] },
    // The token of a worker that an agent belongs to: another one cannot claim what is offered to it.
    Step { version: 13, statements: &["ALTER TABLE agents ADD COLUMN token TEXT"], rows: &[] },
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
        all.extend(step.statements.iter().map(|statement| statement.into_sql_str()));
        if dialect == Dialect::Sqlite {
            all.extend(step.rows.iter().map(|statement| statement.into_sql_str()));
        }
        let note = format!("INSERT INTO schema (version) VALUES ({})", step.version);
        all.push(AssertSqlSafe(note).into_sql_str());
    }
    all
}
