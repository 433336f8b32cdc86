"""A survey's state as a file: what `export` writes and `import` reads.

One JSON object a line. First come the survey, its epochs, their shown looks and counted rows, and
their lists of batches while they take reports. Then come refused uploads, the hashes of upload
tokens, the names of deleted epochs, and earlier texts of the survey. The last line has the number
of lines and the SHA-256 of them all. A file that ends early is refused whole.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from typing import Any

from lapwing.documents import canonical, parse, require, require_format, require_plain
from lapwing.errors import ArgumentError, FormatError, LapwingError, StoreError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.messages.batch import NO_SEGMENT
from lapwing.protocol.messages.tally import CountTally
from lapwing.service.storage.counting import COUNTS, UPSERT, Counting, Row
from lapwing.service.storage.driver import Transaction
from lapwing.service.storage.looks import SegmentLook, keep_look, kept_look, kept_parts
from lapwing.service.storage.store import FormerNotice, StoredEpoch, StoredSurvey
from lapwing.service.storage.survey_rows import (
    EPOCH_COLUMNS,
    LATEST,
    SURVEY_COLUMNS,
    check_epoch,
    check_survey,
    end_names,
    ended_names,
    former_notices,
    insert_epoch,
    insert_notice,
    insert_survey,
    text_version,
)
from lapwing.survey.survey import NOTICE

FORMAT = "lapwing-collector-state"
VERSION = 1

_LINES = 10_000
"""Batches or tokens in one line."""
_LONGEST = 64 * 2**20
"""Bytes of a line: a row of counts or of a log, in base64, is far shorter."""

_EPOCH_KEYS = EPOCH_COLUMNS.split(", ")
_TEXT = "text_version"
"""The key of an epoch that is absent of the first text."""
_KINDS = ("epoch", "look", "rows", "batches", "refused", "upload_tokens", "ended", "notices")

_REASON = re.compile(r"[a-z][a-z-]{0,99}")
_HASH = re.compile(r"[0-9a-f]{64}")


def exported(transaction: Transaction, survey: str, counting: Counting) -> Iterator[bytes]:
    """Yield the state of a survey, a line at a time."""
    digest, lines = sha256(), 0
    for document in _documents(transaction, survey, counting):
        line = json.dumps(document, separators=(",", ":")).encode() + b"\n"
        digest.update(line)
        lines += 1
        yield line
    end = {"end": {"lines": lines, "sha256": digest.hexdigest()}}
    yield json.dumps(end, separators=(",", ":")).encode() + b"\n"


def _documents(
    transaction: Transaction, survey: str, counting: Counting
) -> Iterator[dict[str, Any]]:
    ((key, _, document, state, minimum, upload, days),) = transaction.rows(
        f"SELECT key, {SURVEY_COLUMNS} FROM surveys WHERE fingerprint = ?1", survey
    )
    yield {
        "format": FORMAT,
        "version": VERSION,
        "survey": json.loads(bytes(document)),
        "state": state,
        "minimum": minimum,
        "upload": upload,
        "retention_days": days,
    }
    epochs = transaction.rows(
        f"SELECT key, {EPOCH_COLUMNS} FROM epochs WHERE survey = ?1 ORDER BY key", key
    )
    for epoch, *values in epochs:
        said = dict(zip(_EPOCH_KEYS, values, strict=True))
        yield {"epoch": {key: value for key, value in said.items() if key != _TEXT or value}}
        look = kept_look(transaction, epoch, counting)
        if look is not None:
            parts = kept_parts(transaction, epoch, counting)
            segments = {name: part._asdict() for name, part in parts.items()}
            yield {"look": {"hour": look.hour, "segments": segments}}
        yield from _rows(transaction, epoch, counting, looked=look is not None)
        if values[1] != "closed":
            yield from _batches(transaction, epoch)
    for name, reason, number in transaction.rows(
        "SELECT epoch, reason, number FROM refused WHERE survey = ?1 ORDER BY epoch, reason", key
    ):
        yield {"refused": {"epoch": name, "reason": reason, "number": int(number)}}
    after = b""
    while rows := transaction.rows(
        "SELECT digest, used FROM upload_tokens WHERE survey = ?1 AND digest > ?2"
        " ORDER BY digest LIMIT ?3",
        key,
        after,
        _LINES,
    ):
        yield {
            "upload_tokens": {
                "unused": [bytes(one).hex() for one, used in rows if not used],
                "used": [bytes(one).hex() for one, used in rows if used],
            }
        }
        after = bytes(rows[-1][0])
    if ended := ended_names(transaction, survey):
        yield {"ended": ended}
    if former := former_notices(transaction, key):
        yield {"notices": [one._asdict() for one in former]}


def _rows(
    transaction: Transaction, epoch: int, counting: Counting, *, looked: bool
) -> Iterator[dict[str, Any]]:
    for table, order, in_look in (("folded", "part", "look"), ("deltas", "key", "0")):
        keys = transaction.rows(
            f"SELECT segment, {order} FROM {table} WHERE epoch = ?1 ORDER BY segment, {order}",
            epoch,
        )
        for segment, number in keys:
            ((reports, form, body, look),) = transaction.rows(
                f"SELECT reports, form, body, {in_look} FROM {table}"
                f" WHERE epoch = ?1 AND segment = ?2 AND {order} = ?3",
                epoch,
                segment,
                number,
            )
            yield {
                "rows": {
                    "segment": counting.label(segment),
                    "reports": int(reports),
                    "form": "counts" if form == COUNTS else "records",
                    "body": _text(body),
                    **({"look": True} if looked and look else {}),
                }
            }


def _batches(transaction: Transaction, epoch: int) -> Iterator[dict[str, Any]]:
    after = b""
    while rows := transaction.rows(
        "SELECT id, digest FROM ledger WHERE epoch = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        epoch,
        after,
        _LINES,
    ):
        yield {
            "batches": {
                "ids": _text(b"".join(bytes(row[0]) for row in rows)),
                "digests": _text(b"".join(bytes(row[1]) for row in rows)),
            }
        }
        after = bytes(rows[-1][0])


def imported(transaction: Transaction, chunks: Iterable[bytes]) -> str:
    """Keep the state of a survey. Return its fingerprint.

    Raises FormatError when the file is not one of these, of an unknown version or damaged, or holds
    what no collector can have written. The message names the line.
    Raises ArgumentError when the survey is there already.
    """
    kept: _Import | None = None
    for number, document in _checked(chunks):
        try:
            if kept is None:
                kept = _Import(transaction, document)
            else:
                kept.take(document)
        except (LapwingError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, StoreError | _ExistsError):
                raise
            known = isinstance(error, LapwingError)
            reason = str(error) if known else "a collector does not write such a line"
            raise FormatError(
                f"line {number} of the file of a survey's state cannot be used: {reason}. Nothing "
                "was imported"
            ) from None
    if kept is None:
        raise FormatError(
            "the file of a survey's state contains no survey, only its end. Export it again"
        )
    kept.check_end()
    return kept.fingerprint


class _ExistsError(ArgumentError):
    """The survey is there already, whatever else the file holds."""


@dataclass
class _Filling:
    """An epoch whose lines are being read, and what they have held so far."""

    key: int
    name: str
    state: str
    rows: int = 0
    reports: int = 0
    batches: int = 0
    last: bytes = b""
    """Id of the last batch. The ids ascend, so that none is there twice."""
    look: Counter[str] | None = None
    """Reports of each segment at the look that is shown, less those of the rows so far."""


class _Import:
    """A survey that is being read, a line at a time, into a transaction."""

    def __init__(self, transaction: Transaction, head: dict[str, Any]) -> None:
        require_format(head, name=FORMAT, version=VERSION)
        keys = {"survey", "state", "minimum", "upload", "retention_days"}
        require(head, {"format", "version", *keys}, name="a survey's state")
        if head["state"] not in ("draft", "published", "retired"):
            raise FormatError(
                "a survey's state must be draft, published or retired. Export the survey again"
            )
        document = canonical(head["survey"])
        self._transaction = transaction
        self._counting = Counting(document)
        self.fingerprint = self._counting.survey.fingerprint
        others = [head[key] for key in ("state", "minimum", "upload", "retention_days")]
        survey = StoredSurvey(self.fingerprint, document, *others)
        check_survey(survey)
        key = insert_survey(transaction, survey)
        if key is None:
            raise _ExistsError("the survey already exists here. Delete it first, or keep it")
        self._key = key
        self._epochs: dict[str, _Filling] = {}
        self._epoch: _Filling | None = None
        self._refused: set[tuple[str, str]] = set()
        self._token = b""
        self._text = 0
        self._once: set[str] = set()

    def take(self, line: dict[str, Any]) -> None:
        """Keep what a line after the first one says."""
        require(line, set(), name="a line of a survey's state", optional=_KINDS)
        require_plain(line, name="a line of a survey's state")
        ((kind, said),) = line.items()
        if kind in ("ended", "notices"):
            if kind in self._once or not isinstance(said, list):
                raise FormatError(f"{kind} must be one list, in one line. Export the survey again")
            self._once.add(kind)
        getattr(self, f"_take_{kind}")(said)

    def check_end(self) -> None:
        """Raise FormatError unless all lines together are a state that a collector can have."""
        for epoch in self._epochs.values():
            self._check_filled(epoch)
        if self._text > text_version(self._transaction, self._key):
            raise FormatError(
                "the file of a survey's state lacks a text that people were asked. Export the "
                "survey again"
            )

    def _take_epoch(self, said: Any) -> None:
        require(said, {*_EPOCH_KEYS} - {_TEXT}, name="an epoch", optional=[_TEXT])
        made = StoredEpoch(**said)
        check_epoch(made)
        if made.name in self._epochs:
            raise FormatError("an epoch with this name came before")
        key = insert_epoch(self._transaction, self._key, made)
        self._epoch = self._epochs[made.name] = _Filling(key, made.name, made.state)
        self._text = max(self._text, made.text_version)

    def _filled(self) -> _Filling:
        if self._epoch is None:
            raise FormatError("an epoch must come first. Export the survey again")
        return self._epoch

    def _take_look(self, said: Any) -> None:
        require(said, {"hour", "segments"}, name="a look")
        epoch, counting = self._filled(), self._counting
        labels = {*counting.segments, counting.label(NO_SEGMENT)}
        require(said["segments"], labels, name="the segments of a look")
        if epoch.look is not None or epoch.rows or epoch.state == "planned":
            raise FormatError(
                "only an opened epoch may have a look, which comes before its rows. Export the "
                "survey again"
            )
        check_whole("hour", said["hour"], low=0, high=LATEST)
        parts = {}
        for name, one in said["segments"].items():
            require(one, set(SegmentLook.__annotations__), name="a segment of a look")
            part = parts[name] = SegmentLook(**one)
            check_whole("reports", part.reports, low=0, high=LATEST)
            check_whole("last_shown", part.last_shown, low=0, high=part.reports)
            if part.visible is not (part.visible and part.last_shown == part.reports):
                raise FormatError(
                    "a segment that a look shows must be shown with its reports. "
                    "Export the survey again"
                )
        epoch.look = Counter({name: part.reports for name, part in parts.items()})
        keep_look(self._transaction, epoch.key, counting, parts, said["hour"])

    def _take_rows(self, said: Any) -> None:
        keys = {"segment", "reports", "form", "body"}
        require(said, keys, name="rows of a survey's state", optional=["look"])
        epoch, counting = self._filled(), self._counting
        if said["form"] not in ("counts", "records"):
            raise FormatError(
                'the form of rows must be "counts" or "records". Export the survey again'
            )
        segment, body = counting.segment(said["segment"]), b64decode(said["body"], validate=True)
        row = Row(said["reports"], COUNTS if said["form"] == "counts" else 0, body)
        # Added up here already, so that a file of another survey's numbers is refused, not stored.
        try:
            tally = counting.total([row])
            if type(row.reports) is not int or not 1 <= row.reports == tally.total:
                raise FormatError(
                    "rows must contain the stated number of reports, at least one. Export the "
                    "survey again"
                )
        except StoreError:
            raise FormatError(
                "rows must be counts or records of this survey's size. Export the survey again"
            ) from None
        if isinstance(tally, CountTally):
            counting.survey.randomizer.channel.check(tally)
        epoch.reports += row.reports
        if epoch.reports > LATEST:
            raise FormatError(
                f"an epoch must have at most {LATEST} reports. Export the survey again"
            )
        looked = said.get("look", False)
        if looked:
            if looked is not True or epoch.look is None:
                raise FormatError("rows of a look must come after it. Export the survey again")
            epoch.look[said["segment"]] -= row.reports
        if counting.is_log or looked:
            place = (epoch.key, segment, epoch.rows)
            self._transaction.run(UPSERT, *place, *row)
            self._transaction.run(
                "UPDATE folded SET look = ?4 WHERE epoch = ?1 AND segment = ?2 AND part = ?3",
                *place,
                int(looked),
            )
        else:
            self._transaction.run(
                "INSERT INTO deltas (epoch, segment, reports, form, body)"
                " VALUES (?1, ?2, ?3, ?4, ?5)",
                epoch.key,
                segment,
                *row,
            )
        epoch.rows += 1

    def _take_batches(self, said: Any) -> None:
        require(said, {"ids", "digests"}, name="batches of a survey's state")
        epoch = self._filled()
        ids, digests = _parts(said["ids"], 16), _parts(said["digests"], 16)
        epoch.last = _ascending([epoch.last, *ids], "ids of batches")
        epoch.batches += len(ids)
        rows = [(epoch.key, *pair) for pair in zip(ids, digests, strict=True)]
        self._transaction.many("INSERT INTO ledger (epoch, id, digest) VALUES (?1, ?2, ?3)", rows)

    def _check_filled(self, epoch: _Filling) -> None:
        where = f"epoch {epoch.name} of the file of a survey's state cannot be used: "
        if epoch.state == "planned" and (epoch.reports or epoch.batches):
            raise FormatError(f"{where}it has not opened, so it cannot have reports")
        if epoch.state == "closed" and epoch.batches:
            raise FormatError(f"{where}it is closed, so it has no list of batches")
        if epoch.look is not None and any(epoch.look.values()):
            raise FormatError(
                f"{where}its look must have the same number of reports as its rows. Export the "
                "survey again"
            )
        takes = epoch.state in ("open", "grace")
        if takes and not min(epoch.reports, 1) <= epoch.batches <= epoch.reports:
            raise FormatError(
                f"{where}it must list the batches of its reports: at least one, and at most one "
                "per report. Export the survey again"
            )

    def _take_refused(self, said: Any) -> None:
        require(said, {"epoch", "reason", "number"}, name="refused uploads")
        epoch, reason, number = said["epoch"], said["reason"], said["number"]
        if not isinstance(epoch, str) or not isinstance(reason, str):
            raise FormatError(
                "refused uploads must name an epoch and a reason. Export the survey again"
            )
        if epoch:
            check_epoch(StoredEpoch(epoch))
        if not _REASON.fullmatch(reason) or (epoch, reason) in self._refused:
            raise FormatError(
                "a reason for refused uploads must be a word that occurs once. Export the "
                "survey again"
            )
        check_whole("the number of refused uploads", number, low=0, high=LATEST)
        self._refused.add((epoch, reason))
        self._transaction.run(
            "INSERT INTO refused (survey, epoch, reason, number) VALUES (?1, ?2, ?3, ?4)",
            self._key,
            epoch,
            reason,
            number,
        )

    def _take_upload_tokens(self, said: Any) -> None:
        require(said, {"unused", "used"}, name="upload tokens")
        texts = [(one, used) for used, key in enumerate(("unused", "used")) for one in said[key]]
        if not all(isinstance(one, str) and _HASH.fullmatch(one) for one, _ in texts):
            raise FormatError("an upload token must be 64 hex digits. Export the survey again")
        tokens = sorted((bytes.fromhex(one), used) for one, used in texts)
        self._token = _ascending([self._token, *(one for one, _ in tokens)], "upload tokens")
        self._transaction.many(
            "INSERT INTO upload_tokens (survey, digest, used) VALUES (?1, ?2, ?3)",
            [(self._key, *token) for token in tokens],
        )

    def _take_ended(self, said: list[Any]) -> None:
        for name in said:
            check_epoch(StoredEpoch(name))
        if len(set(said)) != len(said):
            raise FormatError("a deleted epoch must be named once. Export the survey again")
        end_names(self._transaction, self.fingerprint, said)

    def _take_notices(self, said: list[Any]) -> None:
        silent = dict.fromkeys(NOTICE)
        for one in said:
            require(one, {"until", "text"}, name="a former text of a survey")
            check_whole("until", one["until"], low=0, high=LATEST)
            notice = replace(self._counting.survey, **{**silent, **one["text"]}).notice
            insert_notice(self._transaction, self._key, FormerNotice(one["until"], notice))


def _ascending(found: list[bytes], name: str) -> bytes:
    """Return the last one. FormatError unless each is greater than the one before."""
    if any(one >= other for one, other in pairwise(found)):
        raise FormatError(f"{name} must ascend without repetition. Export the survey again")
    return found[-1]


def _checked(chunks: Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and document of each line. FormatError unless the last fits those before it."""
    digest, count, end = sha256(), 0, None
    for number, line in enumerate(_lines(chunks), 1):
        if end is not None:
            raise FormatError("the file of a survey's state continues after its end")
        document = parse(line, name=f"line {number} of the file of a survey's state")
        if "end" in document:
            end = document
            continue
        digest.update(line)
        count += 1
        yield number, document
    if end != {"end": {"lines": count, "sha256": digest.hexdigest()}}:
        raise FormatError(
            "the file of a survey's state is damaged or ends early. Nothing was imported"
        )


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
        if len(rest) > _LONGEST:
            raise FormatError("a line of the file is too long for a survey's state")
    if rest:
        yield rest


def _text(body: Any) -> str:
    return b64encode(bytes(body)).decode("ascii")


def _parts(text: str, size: int) -> list[bytes]:
    data = b64decode(text, validate=True)
    if len(data) % size:
        raise FormatError("the list of batches is damaged. Export the survey again")
    return [data[at : at + size] for at in range(0, len(data), size)]
