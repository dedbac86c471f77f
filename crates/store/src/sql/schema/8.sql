CREATE TABLE reminders (
    id TEXT NOT NULL PRIMARY KEY,
    message TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX reminders_by_time ON reminders (due_at);
