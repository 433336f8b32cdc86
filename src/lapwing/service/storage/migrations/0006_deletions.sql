-- Epochs that a collector found at their end, or kept long enough: which finding it was, and the time
-- it read.
CREATE TABLE deletions (
    epoch INTEGER PRIMARY KEY,
    mark INTEGER NOT NULL,
    seen INTEGER NOT NULL
);
