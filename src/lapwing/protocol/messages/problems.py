"""Problems of a request to a collector: one stable word for each, and what to do.

A device drops its batch at a final problem alone. At any other it keeps the same bytes and sends
them again. No text repeats a value that was sent.
"""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import Self

PREFIX = "urn:lapwing:problem:"
"""Before the word, in the `type` of a problem document."""


class Problem(StrEnum):
    """Problem of a request. A word is never changed once published.

    A member is the last word of a problem's type, and has its HTTP status and a sentence without
    its full stop.
    """

    status: HTTPStatus
    sentence: str

    def __new__(cls, word: str, status: int, sentence: str) -> Self:
        """Return a member. Its value is the word."""
        member = str.__new__(cls, word)
        member._value_, member.status, member.sentence = word, HTTPStatus(status), sentence
        return member

    MALFORMED = "malformed-batch", 400, "This is not a batch of reports"
    DAMAGED = "damaged-batch", 400, "The batch was damaged in transit. Send the same bytes again"
    UNKNOWN_SURVEY = "unknown-survey", 404, "The collector has no such survey"
    UNKNOWN_EPOCH = "unknown-epoch", 404, "The survey has no such epoch"
    CHANGED = (
        "batch-changed",
        409,
        "A batch with this id is already stored, with different bytes. A retry must send the same "
        "bytes",
    )
    OTHER_TEXT = "other-text", 409, "The epoch asks a different text from the one answered"
    CLOSED = "epoch-closed", 410, "The epoch is closed and takes no reports"
    EPOCH_DELETED = "epoch-deleted", 410, "The epoch was deleted and takes no reports"
    SURVEY_DELETED = "survey-deleted", 410, "The survey was deleted and takes no reports"
    TOO_LARGE = "too-large", 413, "The batch is too large. Send several smaller ones"
    MEDIA_TYPE = "unsupported-media-type", 415, "Send a batch in its own media type or as JSON"
    REFUSED = (
        "reports-refused",
        422,
        "Some reports cannot come from this survey. None was counted",
    )
    UPLOAD_TOKEN_NEEDED = (
        "upload-token-needed",
        401,
        "This survey takes reports with an upload token only",
    )
    UPLOAD_TOKEN_USED = (
        "upload-token-used",
        401,
        "This upload token has been used for another batch",
    )
    NOT_OPEN = "epoch-not-open", 425, "The epoch does not take reports now"
    BUSY = "busy", 429, "Too many uploads wait. Send the same bytes again later"
    NOT_READY = (
        "not-ready",
        503,
        "The collector cannot store reports now. Send the same bytes again later",
    )
    FULL = "disk-full", 507, "The collector's disk is full. Send the same bytes again later"

    HEADERS_TOO_LARGE = (
        "headers-too-large",
        431,
        "The request has too many headers, or they are too long",
    )

    # What only analysts, admins and passers-by meet.
    MALFORMED_REQUEST = "malformed-request", 400, "The request cannot be read"
    TOKEN_NEEDED = "token-needed", 401, "This needs a bearer token with a role"
    NOT_ALLOWED = "not-allowed", 403, "The token's role may not do this"
    TOO_FEW = "too-few-reports", 403, "There are too few reports to show this"
    NOT_WHILE_OPEN = "not-while-open", 403, "This is shown after the epoch has closed"
    UNKNOWN_SEGMENT = "unknown-segment", 404, "The survey has no such segment"
    NOTHING_HERE = "nothing-here", 404, "There is nothing at this address"
    UNKNOWN_TOKEN = "unknown-token", 404, "No token of a role has this id"
    TOKEN_STAYS = "token-stays", 409, "This token cannot be revoked now"
    METHOD = "wrong-method", 405, "This address does not support the method"
    STATE = "wrong-state", 409, "The state of the survey or epoch forbids this"
    EXISTS = "other-terms", 409, "The survey already exists, with other terms"
    SURVEY_REFUSED = "survey-refused", 422, "The survey cannot be used"
    CANNOT_BE_SAID = "cannot-be-said", 422, "These reports cannot answer this question"
    NO_RESULT = "no-result-now", 503, "No result is available now"
    DEFECT = "internal-error", 500, "This is a defect in the collector"

    @property
    def urn(self) -> str:
        """The type as it stands in a problem document."""
        return PREFIX + self.value

    @property
    def final(self) -> bool:
        """Whether a device drops the batch: no later answer to these bytes can be another one.

        Anything else waits, whoever said it: another problem, or a page of a proxy.
        """
        return self in _FINAL


_FINAL = {
    Problem.MALFORMED,
    Problem.CHANGED,
    Problem.OTHER_TEXT,
    Problem.REFUSED,
    Problem.CLOSED,
    Problem.EPOCH_DELETED,
    Problem.SURVEY_DELETED,
}

UPLOAD_PROBLEMS = tuple(Problem)[: list(Problem).index(Problem.MALFORMED_REQUEST)]
"""Those that a device can meet: all before the ones of analysts and admins."""
