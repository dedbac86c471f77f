CREATE TABLE stops (
    loop TEXT NOT NULL PRIMARY KEY REFERENCES loops (id),
    how TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE TABLE trusted (
    hash TEXT NOT NULL,
    path TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (hash, path)
);
