-- Texts that a survey said to people before they were changed, and until when it did. The text of
-- today stands in the survey's document; a survey whose text never changed has no row here.
CREATE TABLE notices (
    survey INTEGER NOT NULL,
    version INTEGER NOT NULL,
    until INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (survey, version)
) WITHOUT ROWID;

-- How many texts the survey had before the one that an epoch asks: the text of today when these are
-- all in the table above.
ALTER TABLE epochs ADD COLUMN text_version INTEGER NOT NULL DEFAULT 0;
