-- The board. A claim reads only `tasks_to_claim`: statements repeat the condition of that index, word for word, so that SQLite uses it.
-- `agent` is who the task is offered to or who works on it; `offered_to` survives a claim that ends without a result.
-- `queue` names everything that decides who may claim a task. `blocked_by` counts the tasks it waits for. Tags and
-- dependencies are JSON here and rows in tables of their own, which are only searched.
CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    request TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    agent TEXT,
    offered_to TEXT,
    queue TEXT NOT NULL,
    priority BIGINT NOT NULL,
    tags TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    blocked_by BIGINT NOT NULL,
    repo TEXT,
    base_ref TEXT,
    output TEXT,
    failure_reason TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    finished_at BIGINT,
    promise TEXT,
    iterations BIGINT NOT NULL,
    max_iterations BIGINT NOT NULL,
    checkpoint TEXT,
    plan_path TEXT,
    verification_command TEXT,
    max_cost_micros BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    verified BOOLEAN NOT NULL,
    run TEXT,
    worker_deaths BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    lease_until BIGINT,
    cancel_requested BOOLEAN NOT NULL,
    events BIGINT NOT NULL
);
CREATE INDEX tasks_to_claim ON tasks (queue, priority DESC, id)
    WHERE status IN ('unassigned', 'offered') AND blocked_by = 0;
-- Only a held task has a lease.
CREATE INDEX tasks_held ON tasks (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tasks_held_by_agent ON tasks (agent, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tasks_by_status ON tasks (status, id);
CREATE INDEX tasks_by_agent ON tasks (agent, id) WHERE agent IS NOT NULL;
CREATE TABLE task_tags (
    tag TEXT NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (tag, task)
);
CREATE INDEX task_tags_by_task ON task_tags (task);
CREATE TABLE task_dependencies (
    needs TEXT NOT NULL REFERENCES tasks (id),
    task TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (needs, task)
);
CREATE TABLE task_events (
    task TEXT NOT NULL REFERENCES tasks (id),
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (task, seq)
);
CREATE TABLE task_keys (
    name TEXT NOT NULL PRIMARY KEY,
    content TEXT NOT NULL,
    task TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX task_keys_by_time ON task_keys (at);
CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL
);
CREATE INDEX agents_by_time ON agents (last_seen_at);
-- Nothing marks an approval as expired: reading it does.
CREATE TABLE approvals (
    id TEXT NOT NULL PRIMARY KEY,
    run TEXT,
    task TEXT,
    action TEXT NOT NULL,
    why TEXT NOT NULL,
    status TEXT NOT NULL,
    comment TEXT,
    created_at BIGINT NOT NULL,
    answered_at BIGINT,
    expires_at BIGINT
);
CREATE INDEX approvals_by_time ON approvals (created_at, id);
CREATE INDEX approvals_pending ON approvals (created_at, id) WHERE status = 'pending';
CREATE TABLE schedules (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    cron TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    task TEXT NOT NULL,
    enabled BOOLEAN NOT NULL,
    next_at BIGINT,
    last_at BIGINT,
    last_task TEXT,
    created_at BIGINT NOT NULL
);
-- `task` and `epoch` are set for the token of one task, which goes with its lease.
CREATE TABLE tokens (
    hash TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    task TEXT,
    epoch BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX tokens_by_task ON tokens (task) WHERE task IS NOT NULL;
