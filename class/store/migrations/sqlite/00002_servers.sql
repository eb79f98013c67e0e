-- +goose Up
-- The servers on this database, and where the others reach each. pin is the digest of its certificate.
CREATE TABLE servers (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    pin TEXT NOT NULL,
    seen BIGINT NOT NULL
);

-- What the servers know and nobody else.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
);

-- +goose Down
DROP TABLE secrets;
DROP TABLE servers;
