"""What a store keeps and answers: the one contract of SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.tally import Tally

SurveyState = Literal["draft", "published", "retired"]
EpochState = Literal["planned", "open", "grace", "closed"]
UploadRule = Literal["open", "tokens"]
Role = Literal["analyst", "admin"]


@dataclass(frozen=True)
class StoredSurvey:
    """A survey, and what its collector has decided about it.

    Parameters
    ----------
    fingerprint : str
        64 hex digits.
    document : bytes
        The survey's canonical JSON, as devices get it.
    state : "draft", "published" or "retired"
    minimum : int
        Reports below which nothing is shown, at least 1.
    upload : "open" or "tokens"
        Who may report: everybody, or whoever has an unused token.
    retention_days : int, optional
        How long an epoch's reports are kept after it has closed; None: until they are deleted.
    """

    fingerprint: str
    document: bytes
    state: SurveyState = "draft"
    minimum: int = 1000
    upload: UploadRule = "open"
    retention_days: int | None = None


@dataclass(frozen=True)
class StoredEpoch:
    """A stretch of time in which a survey is answered once.

    Parameters
    ----------
    name : str
    state : "planned", "open", "grace" or "closed"
        What uploads are judged by. It only ever goes forward, so that a clock which jumps back
        cannot open again what was closed.
    opens, closes : int, optional
        Seconds since 1970 (UTC); None: by hand.
    grace_seconds : int
        How long after it closes what devices still hold is taken.
    """

    name: str
    state: EpochState = "planned"
    opens: int | None = None
    closes: int | None = None
    grace_seconds: int = 0


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


class Verdict(StrEnum):
    """What became of an upload; all but the first two are words of `Problem`."""

    STORED = "stored"
    ALREADY = "already stored"
    CHANGED = "batch-changed"
    UNKNOWN_SURVEY = "unknown-survey"
    UNKNOWN_EPOCH = "unknown-epoch"
    NOT_OPEN = "epoch-not-open"
    CLOSED = "epoch-closed"
    TOKEN_NEEDED = "upload-token-needed"
    TOKEN_USED = "upload-token-used"
    REFUSED = "reports-refused"


class Outcome(NamedTuple):
    """A verdict, with the position and the reason of reports that were refused (the first 100)."""

    verdict: Verdict
    refused: tuple[tuple[int, str], ...] = ()


class Total(NamedTuple):
    """Reports of one segment ("other": of none) in one epoch."""

    epoch: str
    segment: str
    reports: int


class Refused(NamedTuple):
    """Uploads of one epoch ("": of none that exists) that were refused for one reason."""

    epoch: str
    reason: str
    number: int


class AccessToken(NamedTuple):
    """Who may see or change what: the hash of a token, never the token."""

    digest: bytes
    """SHA-256 of the token."""
    role: Role
    label: str


class UploadTokens(NamedTuple):
    """Upload tokens of one survey, counted."""

    unused: int
    used: int


class Store(Protocol):
    """Surveys, epochs, tallies, and which batches they hold.

    Every method may be called from any thread. Writing waits for its turn; what a method has done
    is on disk when it returns. A survey or epoch that is not there raises NotStoredError, a disk
    that is full StoreFullError, any other trouble of the database StoreError: nothing of the call
    is then stored, or (when the connection broke while it was being stored) all of it.
    """

    def surveys(self) -> list[StoredSurvey]:
        """Return all surveys, in the order in which they came."""
        ...

    def add_survey(self, survey: StoredSurvey) -> bool:
        """Keep a survey; return False, and change nothing, when it is there already.

        Raises
        ------
        FormatError
            When the document is no survey, or another one than the fingerprint says.
        """
        ...

    def set_survey_state(self, survey: str, state: SurveyState) -> None:
        """Publish or retire a survey; ArgumentError when it would go back."""
        ...

    def delete_survey(self, survey: str) -> None:
        """Forget a survey and all that was collected for it.

        The names of its epochs are not given again, also when the survey comes back.
        """
        ...

    def epochs(self, survey: str) -> list[StoredEpoch]:
        """Return the epochs of a survey, in the order in which they came."""
        ...

    def epoch_number(self, survey: str, epoch: str) -> int:
        """Return a number that no other epoch has or will have.

        One that was deleted and imported again has another.
        """
        ...

    def put_epoch(self, survey: str, epoch: StoredEpoch) -> bool:
        """Keep an epoch, or change its times; return whether it is new.

        The state of one that exists is left alone. ArgumentError when the name is not legal or
        was that of an epoch that was deleted, or the epoch is closed.
        """
        ...

    def set_epoch_state(self, survey: str, epoch: str, state: EpochState) -> None:
        """Open or close an epoch; ArgumentError when it would go back.

        Closing is for ever: with the right to report goes the list of the batches that came.
        """
        ...

    def delete_epoch(self, survey: str, epoch: str) -> None:
        """Forget an epoch and all that was collected in it.

        Its name is not given again: what was sent to it would be counted a second time.
        """
        ...

    def store(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Store batches in one transaction, and return what became of each.

        What is reported as stored is on disk, counted once.
        """
        ...

    def tally(self, survey: str, epoch: str, *, segment: str | None = None) -> Tally:
        """Return the tally of an epoch, or of one of its segments ("other": of none).

        Raises
        ------
        ArgumentError
            When the survey has no such segment.
        """
        ...

    def totals(self, survey: str) -> list[Total]:
        """Return how many reports there are, by epoch and segment; those without any are absent."""
        ...

    def add_refused(self, survey: str, refused: Iterable[Refused]) -> None:
        """Add to the numbers of refused uploads."""
        ...

    def refused(self, survey: str) -> list[Refused]:
        """Return how many uploads were refused, by epoch and reason."""
        ...

    def add_upload_tokens(self, survey: str, digests: Iterable[bytes]) -> None:
        """Keep the SHA-256 of tokens, each good for one batch."""
        ...

    def upload_tokens(self, survey: str) -> UploadTokens:
        """Return how many upload tokens there are."""
        ...

    def add_access_token(self, token: AccessToken) -> None:
        """Keep the SHA-256 of a token of an analyst or admin."""
        ...

    def access_tokens(self) -> list[AccessToken]:
        """Return the hashes of all analysts' and admins' tokens."""
        ...

    def delete_access_token(self, digest: bytes) -> bool:
        """Forget a token; return whether it was there."""
        ...

    def fold(self, *, everything: bool = False) -> bool:
        """Count what waits to be counted, and drop what is no longer needed, some at a time.

        Return whether there may be more to do; call it again then. Answers are the same before
        and after. Without `everything` it is done when enough waits, and costs nothing before.
        """
        ...

    def export(self, survey: str) -> Iterator[bytes]:
        """Yield a survey, its epochs, tallies and batch list as of this moment, as a file."""
        ...

    def import_(self, chunks: Iterable[bytes]) -> str:
        """Keep what :meth:`export` yielded, all or nothing; return the survey's fingerprint.

        Raises
        ------
        FormatError
            When the file is not an export, of an unknown version or damaged.
        ArgumentError
            When the survey is there already.
        """
        ...

    def backup(self, path: Path) -> None:
        """Write a copy of everything, as of one moment, while reports keep coming."""
        ...

    def check(self) -> list[str]:
        """Return what is wrong with the database; empty when nothing is."""
        ...

    def discard(self) -> None:
        """Let go of the database after a failure; a file that it made goes with it."""
        ...

    def close(self) -> None:
        """Let go of the database; it can be opened again."""
        ...
