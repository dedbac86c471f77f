-- `loops` holds runs of every kind since this step.
ALTER TABLE loops ADD COLUMN kind TEXT NOT NULL DEFAULT 'loop';
ALTER TABLE loops ADD COLUMN parent TEXT;
ALTER TABLE loops ADD COLUMN origin TEXT;
ALTER TABLE loops ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
CREATE INDEX loops_by_origin ON loops (origin, started_at);
CREATE INDEX loops_by_parent ON loops (parent);
