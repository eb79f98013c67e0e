-- Times are microseconds since 1970 in UTC, 0 for none; JSON is text; yes and no are 1 and 0.
-- +goose Up
CREATE TABLE classes (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    code TEXT NOT NULL UNIQUE,
    zone TEXT NOT NULL,
    state TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    scoreboard INTEGER NOT NULL,
    may_drive INTEGER NOT NULL,
    steering TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    revision BIGINT NOT NULL
);
CREATE INDEX classes_token ON classes (token_hash);

CREATE TABLE people (
    id TEXT PRIMARY KEY,
    class TEXT NOT NULL REFERENCES classes (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    alias TEXT NOT NULL,
    joined BIGINT NOT NULL,
    seen BIGINT NOT NULL,
    hand BIGINT NOT NULL,
    place TEXT NOT NULL,
    merged TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    revision BIGINT NOT NULL,
    UNIQUE (class, name_key)
);
CREATE INDEX people_token ON people (token_hash);

CREATE TABLE progress (
    person TEXT PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE,
    data BLOB NOT NULL
);

CREATE TABLE results (
    id TEXT PRIMARY KEY,
    class TEXT NOT NULL REFERENCES classes (id) ON DELETE CASCADE,
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    exercise TEXT NOT NULL,
    status TEXT NOT NULL,
    points INTEGER NOT NULL,
    max_points INTEGER NOT NULL,
    verified INTEGER NOT NULL,
    late INTEGER NOT NULL,
    engine TEXT NOT NULL,
    digest TEXT NOT NULL,
    source TEXT NOT NULL,
    sent BIGINT NOT NULL,
    received BIGINT NOT NULL,
    report BLOB NOT NULL,
    work BLOB NOT NULL
);
CREATE INDEX results_class ON results (class, exercise);
CREATE INDEX results_person ON results (person);

CREATE TABLE deadlines (
    class TEXT NOT NULL REFERENCES classes (id) ON DELETE CASCADE,
    exercise TEXT NOT NULL,
    due BIGINT NOT NULL,
    penalty INTEGER NOT NULL,
    PRIMARY KEY (class, exercise)
);

CREATE TABLE extensions (
    class TEXT NOT NULL REFERENCES classes (id) ON DELETE CASCADE,
    exercise TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    due BIGINT NOT NULL,
    PRIMARY KEY (class, exercise, person)
);
CREATE INDEX extensions_person ON extensions (person);

CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    class TEXT NOT NULL REFERENCES classes (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    choices TEXT NOT NULL,
    lab TEXT NOT NULL,
    knobs TEXT NOT NULL,
    asked BIGINT NOT NULL,
    ended BIGINT NOT NULL
);
CREATE INDEX questions_class ON questions (class);

CREATE TABLE answers (
    question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    choice INTEGER NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (question, person)
);
CREATE INDEX answers_person ON answers (person);

-- A session without a person is the instructor's.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    class TEXT NOT NULL REFERENCES classes (id) ON DELETE CASCADE,
    person TEXT REFERENCES people (id) ON DELETE CASCADE,
    server TEXT NOT NULL,
    lab TEXT NOT NULL,
    knobs TEXT NOT NULL,
    dir TEXT NOT NULL,
    started BIGINT NOT NULL
);
CREATE INDEX sessions_class ON sessions (class);
CREATE INDEX sessions_person ON sessions (person);
CREATE INDEX sessions_server ON sessions (server);

CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    class TEXT NOT NULL REFERENCES classes (id) ON DELETE CASCADE,
    at BIGINT NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    about TEXT NOT NULL
);
CREATE INDEX audit_class ON audit (class, at);

-- +goose Down
DROP TABLE audit;
DROP TABLE sessions;
DROP TABLE answers;
DROP TABLE questions;
DROP TABLE extensions;
DROP TABLE deadlines;
DROP TABLE results;
DROP TABLE progress;
DROP TABLE people;
DROP TABLE classes;
