"""Types of the store: surveys, epochs, uploads, and the words for their states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lapwing.protocol.messages.batch import ALREADY as ALREADY
from lapwing.protocol.messages.batch import STORED as STORED
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.problems import Problem

SurveyState = Literal["draft", "published", "retired"]
EpochState = Literal["planned", "open", "grace", "closed"]
UploadRule = Literal["open", "tokens"]
Role = Literal["admin", "analyst", "monitor"]


@dataclass(frozen=True)
class StoredSurvey:
    """A survey, and what its collector has decided about it.

    fingerprint: 64 hex digits.
    document: The survey's canonical JSON, as devices get it.
    minimum: Reports below which nothing is shown, at least 1.
    upload: People who may report: everybody, or holders of an unused token.
    retention_days: How long an epoch's reports are kept after it has closed. None: until they are
        deleted.
    """

    fingerprint: str
    document: bytes
    state: SurveyState = "draft"
    minimum: int = 1000
    upload: UploadRule = "open"
    retention_days: int | None = None


class FormerNotice(NamedTuple):
    """A text that a survey said to people before it was changed."""

    until: int
    """Seconds since 1970."""
    text: Mapping[str, str]
    """As `Survey.notice`. Empty when it said nothing."""


@dataclass(frozen=True)
class StoredEpoch:
    """A stretch of time in which a survey is answered once.

    state: Rules for judging uploads. It only ever goes forward, so that a clock which jumps back
        cannot open again what was closed.
    opens, closes: Seconds since 1970 (UTC). None: by hand.
    grace_seconds: How long after it closes what devices still hold is taken.
    text_version: How many texts the survey had before the one that people are asked in it.
    """

    name: str
    state: EpochState = "planned"
    opens: int | None = None
    closes: int | None = None
    grace_seconds: int = 0
    text_version: int = 0


class Upload(NamedTuple):
    """A batch on its way into the store."""

    survey: str
    """Fingerprint."""
    epoch: str
    id: bytes
    """16 bytes, drawn by the device."""
    batch: Batch
    token: bytes | None = None
    """SHA-256 of the upload token, where one was sent."""


Verdict = Literal["stored", "already stored"] | Problem
"""What became of an upload."""


class Outcome(NamedTuple):
    """A verdict, with the position and the reason of reports that were refused (the first 100)."""

    verdict: Verdict
    refused: tuple[tuple[int, str], ...] = ()


class Total(NamedTuple):
    """Reports of one segment ("other": of none) in one epoch."""

    epoch: str
    segment: str
    reports: int


class Look(NamedTuple):
    """Public view of an epoch at one time."""

    epoch: int
    """A number that no other epoch has or will have: one that is imported again has another."""
    reports: Mapping[str, int]
    """Of each segment, also of those that are hidden. "other": of none."""
    visible: frozenset[str]
    """The segments that may be shown. Whether the whole may be, its minimum says."""
    hour: int | None = None
    """The hour in which the look was taken, in seconds since 1970. None: final."""
    complete: bool = True
    """Whether a final look has all reports: it leaves out too few since the look before."""

    @property
    def total(self) -> int:
        """Reports of all segments."""
        return sum(self.reports.values())

    @property
    def final(self) -> bool:
        """Whether the epoch has closed."""
        return self.hour is None


class FirstLook(NamedTuple):
    """The first of two looks at the clock that find an epoch kept long enough."""

    mark: int
    """A number that no other look has."""
    time: int
    """What the clock said, in seconds since 1970."""


class Refused(NamedTuple):
    """Uploads of one epoch ("": of none that exists) that were refused for one reason."""

    epoch: str
    reason: str
    number: int


class AccessToken(NamedTuple):
    """Access rights, by the hash of a token, never the token."""

    digest: bytes
    """SHA-256 of the token."""
    role: Role
    label: str
    last_use: int | None = None
    """The day of its last use, in days since 1970. None: never."""


class UploadTokens(NamedTuple):
    """Upload tokens of one survey, counted."""

    unused: int
    used: int
