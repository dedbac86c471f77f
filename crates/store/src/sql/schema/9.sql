-- Content of artifacts, where several servers share the database. A file is complete once part 0 is there.
CREATE TABLE artifact_parts (
    loop TEXT NOT NULL REFERENCES loops (id),
    sha256 TEXT NOT NULL,
    part BIGINT NOT NULL,
    content BYTEA NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (loop, sha256, part)
);
CREATE INDEX artifact_parts_by_time ON artifact_parts (at);
