-- The latest look at an epoch that takes reports: what was counted then is shown until the next one.
CREATE TABLE looks (
    epoch INTEGER PRIMARY KEY,
    hour INTEGER NOT NULL
);

CREATE TABLE look_segments (
    epoch INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    reports INTEGER NOT NULL,
    shown INTEGER NOT NULL,
    last_shown INTEGER NOT NULL,
    PRIMARY KEY (epoch, segment)
) WITHOUT ROWID;

-- 1: what the row counts is in the look.
ALTER TABLE folded ADD COLUMN look INTEGER NOT NULL DEFAULT 0;
