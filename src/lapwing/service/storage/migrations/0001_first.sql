-- Whole numbers as keys that are never given twice, so that what is left of a deleted epoch can be
-- told from what came later under its name.
CREATE TABLE surveys (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,
    document BLOB NOT NULL,
    state TEXT NOT NULL,
    minimum INTEGER NOT NULL,
    upload TEXT NOT NULL,
    retention_days INTEGER
);

CREATE TABLE epochs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    survey INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    opens INTEGER,
    closes INTEGER,
    grace_seconds INTEGER NOT NULL,
    UNIQUE (survey, name)
);

-- Which batches an epoch holds: an id that comes again is not counted again.
CREATE TABLE ledger (
    epoch INTEGER NOT NULL,
    id BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (epoch, id)
) WITHOUT ROWID;

-- What the latest transactions brought, one row for each group of reports.
CREATE TABLE deltas (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    epoch INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    reports INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body BLOB NOT NULL
);

CREATE INDEX deltas_by_group ON deltas (epoch, segment);

-- What was counted of them: one row of counts, or many of a log.
CREATE TABLE folded (
    epoch INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    part INTEGER NOT NULL,
    reports INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (epoch, segment, part)
);

-- Epochs that take no reports any more, whose list of batches is dropped a stretch at a time.
CREATE TABLE dropped (
    epoch INTEGER PRIMARY KEY
);

CREATE TABLE refused (
    survey INTEGER NOT NULL,
    epoch TEXT NOT NULL,
    reason TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, reason)
) WITHOUT ROWID;

CREATE TABLE upload_tokens (
    survey INTEGER NOT NULL,
    digest BLOB NOT NULL,
    used INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (survey, digest)
) WITHOUT ROWID;

CREATE TABLE access_tokens (
    digest BLOB NOT NULL PRIMARY KEY,
    role TEXT NOT NULL,
    label TEXT NOT NULL
);
