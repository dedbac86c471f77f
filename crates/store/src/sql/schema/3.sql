-- No type and no key beside the batch: what is put here is already known to be broken.
CREATE TABLE quarantined (
    loop TEXT NOT NULL,
    batch BIGINT NOT NULL,
    seq BIGINT,
    at BIGINT,
    version BIGINT,
    kind TEXT,
    payload TEXT,
    hash TEXT
);
CREATE INDEX quarantined_by_loop ON quarantined (loop, batch);
