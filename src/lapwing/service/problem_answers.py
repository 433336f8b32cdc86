"""Answers that say what is wrong: a problem document each, under a word that does not change.

The words are those of :class:`lapwing.protocol.messages.problems.Problem`. No text repeats a value
that was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from lapwing.errors import LapwingError, NotStoredError, StoreBusyError, StoreError, StoreFullError
from lapwing.protocol.messages.problems import PREFIX, Problem

Count = Annotated[int, Meta(ge=0)]

MEDIA_TYPE = b"application/problem+json"


class RefusedReport(TypedDict):
    """A report that was refused, by its place in the batch."""

    position: Count
    reason: str


class ProblemDocument(TypedDict):
    """A problem (RFC 9457). No string in it repeats a value that was sent."""

    type: Annotated[str, Meta(pattern="^urn:lapwing:problem:[a-z-]+$")]
    title: str
    status: int
    detail: str
    reports: NotRequired[list[RefusedReport]]
    minimum: NotRequired[int]


class ProblemError(Exception):
    """An answer that says what is wrong.

    detail: The rule, the received value, and the fix. No value that was sent.
    more: Further members of the document, such as the positions of refused reports.
    retry_after: Seconds.
    headers: Further headers.
    """

    def __init__(
        self,
        problem: Problem,
        detail: str,
        *,
        more: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(f"{problem}: {detail}")
        self.problem = problem
        self.detail = detail
        self.more = dict(more or {})
        self.retry_after = retry_after
        self._headers = headers

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(self.problem.status)

    def body(self) -> bytes:
        """Return the problem document."""
        document = {
            "type": PREFIX + self.problem.value,
            "title": self.problem.sentence,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        return msgspec.json.encode(document)

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the answer, but for its length."""
        found = [(b"content-type", MEDIA_TYPE), (b"cache-control", b"no-store"), *self._headers]
        if self.retry_after is not None:
            found.append((b"retry-after", str(self.retry_after).encode()))
        if self.status == HTTPStatus.UNAUTHORIZED:
            found.append((b"www-authenticate", b"Bearer"))
        return found


def malformed(detail: str) -> ProblemError:
    """Return the problem of a request that cannot be read."""
    return ProblemError(Problem.MALFORMED_REQUEST, detail)


def problem_of(error: LapwingError, *, retry_seconds: int) -> ProblemError:
    """Return how an error of the store is answered.

    retry_seconds: The wait to tell a client that may try again.
    """
    if isinstance(error, NotStoredError):
        return ProblemError(
            Problem.UNKNOWN_EPOCH, "the survey or epoch was deleted in the meantime"
        )
    if isinstance(error, StoreBusyError):
        return ProblemError(
            Problem.BUSY,
            "too many uploads wait. Send the same bytes again later",
            retry_after=retry_seconds,
        )
    if isinstance(error, StoreFullError):
        return ProblemError(
            Problem.FULL, "the disk is full. Try again later", retry_after=10 * retry_seconds
        )
    if isinstance(error, StoreError):
        return ProblemError(
            Problem.NOT_READY,
            "the database is busy or unreachable. Try again",
            retry_after=retry_seconds,
        )
    return ProblemError(Problem.STATE, str(error))
