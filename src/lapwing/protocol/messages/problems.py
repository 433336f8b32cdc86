"""What may be wrong with a request to a collector: one stable word for each, and what to do.

A device that gets one of these drops its batch, unless the problem passes: then it keeps the same
bytes and sends them again.
"""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus

PREFIX = "urn:lapwing:problem:"
"""Before the word, in the `type` of a problem document."""


class Problem(StrEnum):
    """The last word of a problem's type; never changed once published."""

    MALFORMED = "malformed-batch"
    UNKNOWN_SURVEY = "unknown-survey"
    UNKNOWN_EPOCH = "unknown-epoch"
    CHANGED = "batch-changed"
    CLOSED = "epoch-closed"
    TOO_LARGE = "too-large"
    MEDIA_TYPE = "unsupported-media-type"
    REFUSED = "reports-refused"
    TOKEN_NEEDED = "upload-token-needed"
    TOKEN_USED = "upload-token-used"
    NOT_OPEN = "epoch-not-open"
    BUSY = "busy"
    NOT_READY = "not-ready"
    FULL = "disk-full"

    @property
    def urn(self) -> str:
        """The type as it stands in a problem document."""
        return PREFIX + self.value

    @property
    def status(self) -> HTTPStatus:
        """The HTTP status that goes with it."""
        return _STATUS[self]

    @property
    def sentence(self) -> str:
        """What to tell people (the `title` of a problem document), without its full stop."""
        return _SENTENCES[self]

    @property
    def passes(self) -> bool:
        """Whether a device keeps the bytes and sends them again later."""
        return self.status == 429 or self.status == 425 or self.status >= 500


_STATUS = {
    Problem.MALFORMED: HTTPStatus.BAD_REQUEST,
    Problem.UNKNOWN_SURVEY: HTTPStatus.NOT_FOUND,
    Problem.UNKNOWN_EPOCH: HTTPStatus.NOT_FOUND,
    Problem.CHANGED: HTTPStatus.CONFLICT,
    Problem.CLOSED: HTTPStatus.GONE,
    Problem.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Problem.MEDIA_TYPE: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    Problem.REFUSED: HTTPStatus.UNPROCESSABLE_ENTITY,
    Problem.TOKEN_NEEDED: HTTPStatus.UNAUTHORIZED,
    Problem.TOKEN_USED: HTTPStatus.UNAUTHORIZED,
    Problem.NOT_OPEN: HTTPStatus.TOO_EARLY,
    Problem.BUSY: HTTPStatus.TOO_MANY_REQUESTS,
    Problem.NOT_READY: HTTPStatus.SERVICE_UNAVAILABLE,
    Problem.FULL: HTTPStatus.INSUFFICIENT_STORAGE,
}

_SENTENCES = {
    Problem.MALFORMED: "This is no batch of reports",
    Problem.UNKNOWN_SURVEY: "The collector has no such survey",
    Problem.UNKNOWN_EPOCH: "The survey has no such epoch",
    Problem.CHANGED: "A batch of this id is stored with other bytes; a retry sends the same ones",
    Problem.CLOSED: "The epoch is closed and takes no reports",
    Problem.TOO_LARGE: "The batch is too large; send several smaller ones",
    Problem.MEDIA_TYPE: "A batch is sent in its own media type or as JSON",
    Problem.REFUSED: "Some reports cannot have been made by this survey; none was counted",
    Problem.TOKEN_NEEDED: "This survey takes reports with an upload token only",
    Problem.TOKEN_USED: "This upload token has been used for another batch",
    Problem.NOT_OPEN: "The epoch is not open yet",
    Problem.BUSY: "Too many uploads wait; send the same bytes again later",
    Problem.NOT_READY: "The collector cannot store now; send the same bytes again later",
    Problem.FULL: "The collector's disk is full; send the same bytes again later",
}
