-- Names of epochs that were deleted. With an epoch goes its list of batches, so another one of the
-- same name would take the same batches again. By fingerprint: a survey may be deleted, and come
-- back.
CREATE TABLE ended (
    fingerprint TEXT NOT NULL,
    epoch TEXT NOT NULL,
    PRIMARY KEY (fingerprint, epoch)
) WITHOUT ROWID;
