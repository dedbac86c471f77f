CREATE TABLE schema (version BIGINT NOT NULL PRIMARY KEY);
CREATE TABLE loops (
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
);
CREATE INDEX loops_by_start ON loops (started_at);
CREATE INDEX loops_by_workspace ON loops (workspace, started_at);
CREATE TABLE events (
    loop TEXT NOT NULL REFERENCES loops (id),
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (loop, seq)
);
-- `settled` is null until the attempt ended: until then its reservation counts against the day.
CREATE TABLE budget (
    day TEXT NOT NULL,
    loop TEXT NOT NULL REFERENCES loops (id),
    attempt BIGINT NOT NULL,
    reserved BIGINT NOT NULL,
    settled BIGINT,
    PRIMARY KEY (loop, attempt)
);
CREATE INDEX budget_by_day ON budget (day);
