-- The day on which a token of a role was last used, in days since 1970; NULL: never.
ALTER TABLE access_tokens ADD COLUMN last_use INTEGER;
