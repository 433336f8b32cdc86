"""A survey's state as a file: what `export` writes and `import` reads.

One JSON object a line: the survey, its epochs, the rows that are counted in them, their lists of
batches while they take reports, what was refused, the hashes of upload tokens, the names of epochs
that were deleted, what the survey said to people before; at the end, how many lines there were and
the SHA-256 of them all. A file that ends early is refused whole.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

from lapwing.documents import canonical, parse, require, require_format
from lapwing.errors import ArgumentError, FormatError, LapwingError, StoreError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.service.storage.counting import COUNTS, UPSERT, Counting, Row
from lapwing.service.storage.driver import Transaction
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
)
from lapwing.survey.survey import NOTICE, Survey

FORMAT = "lapwing-collector-state"
VERSION = 1

_LINES = 10_000
"""Batches or tokens in one line."""
_LONGEST = 64 * 2**20
"""Bytes of a line: a row of counts or of a log, in base64, is far shorter."""

_EPOCH_KEYS = EPOCH_COLUMNS.split(", ")
_KINDS = ("epoch", "rows", "batches", "refused", "upload_tokens", "ended", "notices")


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
        yield {"epoch": dict(zip(_EPOCH_KEYS, values, strict=True))}
        yield from _rows(transaction, epoch, counting)
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


def _rows(transaction: Transaction, epoch: int, counting: Counting) -> Iterator[dict[str, Any]]:
    for table, order in (("folded", "part"), ("deltas", "key")):
        keys = transaction.rows(
            f"SELECT segment, {order} FROM {table} WHERE epoch = ?1 ORDER BY segment, {order}",
            epoch,
        )
        for segment, number in keys:
            ((reports, form, body),) = transaction.rows(
                f"SELECT reports, form, body FROM {table}"
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
    """Keep the state of a survey; return its fingerprint.

    Raises
    ------
    FormatError
        When the file is not one of these, of an unknown version, or damaged.
    ArgumentError
        When the survey is there already.
    """
    lines = _checked(chunks)
    try:
        fingerprint = _kept(transaction, lines)
    except FormatError:
        raise
    except LapwingError as error:
        if isinstance(error, StoreError):
            raise
        raise FormatError(f"the file of a survey's state cannot be used: {error}") from None
    except (KeyError, TypeError, ValueError):
        raise FormatError("the file of a survey's state is damaged: a line is not legal") from None
    if fingerprint is None:
        raise ArgumentError("the survey already exists here; delete it first, or keep it")
    return fingerprint


def _kept(transaction: Transaction, lines: Iterator[dict[str, Any]]) -> str | None:
    head = next(lines)
    require_format(head, name=FORMAT, version=VERSION)
    keys = {"survey", "state", "minimum", "upload", "retention_days"}
    require(head, {"format", "version", *keys}, name="a survey's state")
    if head["state"] not in ("draft", "published", "retired"):
        raise FormatError("a survey's state must be draft, published or retired")
    document = canonical(head["survey"])
    counting = Counting(document)
    fingerprint = counting.survey.fingerprint
    others = [head[key] for key in ("state", "minimum", "upload", "retention_days")]
    survey = StoredSurvey(fingerprint, document, *others)
    check_survey(survey)
    key = insert_survey(transaction, survey)
    if key is None:
        return None
    epoch: int | None = None
    part = 0
    for line in lines:
        require(line, set(), name="a line of a survey's state", optional=_KINDS)
        ((kind, said),) = line.items()
        if kind == "epoch":
            require(said, set(_EPOCH_KEYS), name="an epoch")
            made = StoredEpoch(**said)
            check_epoch(made)
            epoch, part = insert_epoch(transaction, key, made), 0
        elif kind == "rows":
            _keep_row(transaction, _known(epoch), part, said, counting)
            part += 1
        elif kind == "batches":
            ids, digests = _parts(said["ids"], 16), _parts(said["digests"], 16)
            rows = [(_known(epoch), *pair) for pair in zip(ids, digests, strict=True)]
            transaction.many("INSERT INTO ledger (epoch, id, digest) VALUES (?1, ?2, ?3)", rows)
        elif kind == "refused":
            _keep_refused(transaction, key, said)
        elif kind == "ended":
            if not isinstance(said, list):
                raise FormatError("the names of deleted epochs must be a list")
            for name in said:
                check_epoch(StoredEpoch(name))
            end_names(transaction, fingerprint, said)
        elif kind == "notices":
            for one in said:
                insert_notice(transaction, key, _former_notice(counting.survey, one))
        else:
            tokens = [(key, bytes.fromhex(one), 0) for one in said["unused"]]
            tokens += [(key, bytes.fromhex(one), 1) for one in said["used"]]
            transaction.many(
                "INSERT INTO upload_tokens (survey, digest, used) VALUES (?1, ?2, ?3)", tokens
            )
    return fingerprint


def _former_notice(survey: Survey, said: Any) -> FormerNotice:
    require(said, {"until", "text"}, name="a former text of a survey")
    check_whole("until", said["until"], low=0, high=LATEST)
    silent = dict.fromkeys(NOTICE)
    return FormerNotice(said["until"], replace(survey, **{**silent, **said["text"]}).notice)


def _keep_row(
    transaction: Transaction, epoch: int, part: int, said: dict[str, Any], counting: Counting
) -> None:
    require(said, {"segment", "reports", "form", "body"}, name="rows of a survey's state")
    segment, body = counting.segment(said["segment"]), b64decode(said["body"], validate=True)
    row = Row(said["reports"], COUNTS if said["form"] == "counts" else 0, body)
    # Added up here already, so that a file of another survey's numbers is refused, not stored.
    try:
        right = type(row.reports) is int and counting.total([row]).total == row.reports
    except StoreError:
        right = False
    if not right:
        raise FormatError("rows of a survey's state are not as many reports of it as they say")
    if counting.is_log:
        transaction.run(UPSERT, epoch, segment, part, *row)
    else:
        transaction.run(
            "INSERT INTO deltas (epoch, segment, reports, form, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            epoch,
            segment,
            *row,
        )


def _keep_refused(transaction: Transaction, survey: int, said: dict[str, Any]) -> None:
    require(said, {"epoch", "reason", "number"}, name="refused uploads")
    epoch, reason, number = said["epoch"], said["reason"], said["number"]
    if not isinstance(epoch, str) or not isinstance(reason, str) or type(number) is not int:
        raise FormatError("refused uploads are an epoch, a reason and a number")
    check_whole("the number of refused uploads", number, low=0, high=LATEST)
    transaction.run(
        "INSERT INTO refused (survey, epoch, reason, number) VALUES (?1, ?2, ?3, ?4)",
        survey,
        epoch,
        reason,
        number,
    )


def _known(epoch: int | None) -> int:
    if epoch is None:
        raise FormatError("the file of a survey's state is damaged: rows before any epoch")
    return epoch


def _checked(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the documents of the lines; FormatError unless the last one fits those before it."""
    digest, count, end = sha256(), 0, None
    for line in _lines(chunks):
        if end is not None:
            raise FormatError("the file of a survey's state continues after its end")
        document = parse(line, name="a line of a survey's state")
        if "end" in document:
            end = document
            continue
        digest.update(line)
        count += 1
        yield document
    if end != {"end": {"lines": count, "sha256": digest.hexdigest()}}:
        raise FormatError(
            "the file of a survey's state is damaged or ends early; nothing was imported"
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
        raise FormatError("the list of batches is damaged")
    return [data[at : at + size] for at in range(0, len(data), size)]
