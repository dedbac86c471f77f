-- What users tell a run. The journal says up to which number the run was told.
CREATE TABLE hints (
    loop TEXT NOT NULL REFERENCES loops (id),
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (loop, number)
);
