//! Reminders: who may send one that is due is decided here.

use ralph_model::Timestamp;

use crate::board::Reminder;
use crate::error::Result;
use crate::sql::session::{Session, values};

/// Those that are found at once.
const MAX_DUE: u32 = 100;

pub(super) async fn put(session: &mut Session<'_>, reminder: &Reminder) -> Result<()> {
    let row =
        "INSERT INTO reminders (id, message, due_at, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";
    let Reminder { id, message, due_at, created_at } = reminder;
    session.execute(row, values![id.as_str(), message.as_str(), *due_at, *created_at]).await?;
    Ok(())
}

pub(super) async fn due(session: &mut Session<'_>, at: Timestamp) -> Result<Vec<Reminder>> {
    let some = "SELECT id, message, due_at, created_at FROM reminders WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2";
    let rows = session.rows(some, values![at, MAX_DUE]).await?;
    let reminders = rows.iter().map(|row| {
        let (due_at, created_at) = (row.get("due_at").map(Timestamp)?, row.get("created_at").map(Timestamp)?);
        Ok(Reminder { id: row.get("id")?, message: row.get("message")?, due_at, created_at })
    });
    reminders.collect()
}

pub(super) async fn postpone(session: &mut Session<'_>, reminder: &Reminder, until: Timestamp) -> Result<bool> {
    let update = "UPDATE reminders SET due_at = $3 WHERE id = $1 AND due_at = $2";
    Ok(session.execute(update, values![reminder.id.as_str(), reminder.due_at, until]).await? > 0)
}

pub(super) async fn remove(session: &mut Session<'_>, id: &str) -> Result<bool> {
    Ok(session.execute("DELETE FROM reminders WHERE id = $1", values![id]).await? > 0)
}
