-- Texts that a survey said to people before they were changed, and until when it did. The text of
-- today stands in the survey's document; a survey whose text never changed has no row here.
CREATE TABLE notices (
    survey BIGINT NOT NULL,
    version BIGINT NOT NULL,
    until BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (survey, version)
);
