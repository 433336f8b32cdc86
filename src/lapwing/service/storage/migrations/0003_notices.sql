-- Texts that a survey said to people before they were changed, and until when it did. The text of
-- today stands in the survey's document; a survey whose text never changed has no row here.
CREATE TABLE notices (
    survey INTEGER NOT NULL,
    version INTEGER NOT NULL,
    until INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (survey, version)
) WITHOUT ROWID;
