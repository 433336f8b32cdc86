-- Whole numbers as keys that are never given twice, so that what is left of a deleted epoch can be
-- told from what came later under its name.
CREATE TABLE surveys (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    document BYTEA NOT NULL,
    state TEXT NOT NULL,
    minimum BIGINT NOT NULL,
    upload TEXT NOT NULL,
    retention_days BIGINT
);

CREATE TABLE epochs (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    survey BIGINT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    opens BIGINT,
    closes BIGINT,
    grace_seconds BIGINT NOT NULL,
    UNIQUE (survey, name)
);

-- Which batches an epoch holds: an id that comes again is not counted again.
CREATE TABLE ledger (
    epoch BIGINT NOT NULL,
    id BYTEA NOT NULL,
    digest BYTEA NOT NULL,
    PRIMARY KEY (epoch, id)
);

-- What the latest transactions brought, one row for each group of reports.
CREATE TABLE deltas (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch BIGINT NOT NULL,
    segment BIGINT NOT NULL,
    reports BIGINT NOT NULL,
    form BIGINT NOT NULL,
    body BYTEA NOT NULL
);

CREATE INDEX deltas_by_group ON deltas (epoch, segment);

-- What was counted of them: one row of counts, or many of a log.
CREATE TABLE folded (
    epoch BIGINT NOT NULL,
    segment BIGINT NOT NULL,
    part BIGINT NOT NULL,
    reports BIGINT NOT NULL,
    form BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (epoch, segment, part)
);

-- Epochs that take no reports any more, whose list of batches is dropped a stretch at a time.
CREATE TABLE dropped (
    epoch BIGINT PRIMARY KEY
);

CREATE TABLE refused (
    survey BIGINT NOT NULL,
    epoch TEXT NOT NULL,
    reason TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (survey, epoch, reason)
);

CREATE TABLE upload_tokens (
    survey BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    used BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (survey, digest)
);

CREATE TABLE access_tokens (
    digest BYTEA NOT NULL PRIMARY KEY,
    role TEXT NOT NULL,
    label TEXT NOT NULL
);
