ALTER TABLE loops ADD COLUMN host TEXT;
ALTER TABLE loops ADD COLUMN boot TEXT;
ALTER TABLE loops ADD COLUMN lease_until BIGINT;
ALTER TABLE loops ADD COLUMN certificate TEXT;
-- `began_at` is null until the agent is about to start, `cost_micros` while the cost is not known.
CREATE TABLE attempts (
    loop TEXT NOT NULL REFERENCES loops (id),
    attempt BIGINT NOT NULL,
    at BIGINT NOT NULL,
    host TEXT NOT NULL,
    boot TEXT NOT NULL,
    metering TEXT NOT NULL,
    began_at BIGINT,
    cost_micros BIGINT,
    PRIMARY KEY (loop, attempt)
);
CREATE TABLE artifacts (
    loop TEXT NOT NULL REFERENCES loops (id),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    iteration BIGINT,
    attempt BIGINT,
    sha256 TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (loop, name)
);
