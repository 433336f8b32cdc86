"""The way of an upload, from its first byte to its answer.

It is written by hand and comes before the framework, which would take as much time as all the
rest. A batch is answered after it is on disk. Refused uploads are counted.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import Struct

from lapwing.errors import BatchError, NotStoredError, StoreError
from lapwing.protocol.messages.batch import JSON_MEDIA_TYPE, LARGEST_JSON, MEDIA_TYPE, Batch
from lapwing.protocol.messages.problems import Problem
from lapwing.service.catalog import Catalog, KeptSurvey
from lapwing.service.counters import Counters
from lapwing.service.logs import Log
from lapwing.service.problem_answers import ProblemError, problem_of
from lapwing.service.receiving import ClientGoneError, Receive, Receiving, Scope, Send, closing
from lapwing.service.security import UPLOAD_PREFIX, bearer, hash_of
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import STORED, Outcome, Refused, Upload
from lapwing.service.storage.writer import Writer

LOOKS_APART = 0.5
"""Seconds between two looks, however many ask: made-up names must not keep the database busy."""


class SecondLook:
    """Reads what the store holds, once for all who wait for it.

    load: Reads it.
    """

    def __init__(self, load: Callable[[], Awaitable[None]]) -> None:
        self._load = load
        self._next: asyncio.Task[None] | None = None
        self._begun = -LOOKS_APART

    async def wait_for_look(self) -> None:
        """Return after a look that began when this was called, or later.

        Raises ProblemError when the store cannot be asked now.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._look())
            self._next.add_done_callback(_seen)
        # One who goes away does not end it for the others.
        await asyncio.shield(self._next)

    async def _look(self) -> None:
        clock = asyncio.get_running_loop().time
        try:
            await asyncio.sleep(max(0.0, self._begun + LOOKS_APART - clock()))
        finally:
            self._next = None  # who comes from now on needs a later one
        self._begun = clock()
        await self._load()


def _seen(task: asyncio.Task[None]) -> None:
    """Look at trouble that nobody waits for any more. The next upload sees it again."""
    if not task.cancelled():
        task.exception()


class Refusals:
    """Counts in memory until they are stored.

    A crash loses the last few seconds of them, which no result depends on. Writing each at once
    would let whoever sends nonsense keep the disk busy.
    """

    def __init__(self) -> None:
        self._counted: Counter[tuple[str, str, str]] = Counter()

    def add(self, survey: str, epoch: str, reason: str) -> None:
        """Count one.

        survey: One that exists.
        epoch: One that exists, or "".
        reason: The word of a problem.
        """
        self._counted[survey, epoch, reason] += 1

    def store(self, store: Store) -> None:
        """Store them, and begin again. Batches that cannot be stored now are kept."""
        counted, self._counted = self._counted, Counter()
        by_survey: dict[str, list[Refused]] = {}
        for (survey, epoch, reason), number in counted.items():
            by_survey.setdefault(survey, []).append(Refused(epoch, reason, number))
        while by_survey:
            survey, rows = by_survey.popitem()
            try:
                store.add_refused(survey, rows)
            except NotStoredError:
                continue  # the survey, or its epoch, was deleted meanwhile
            except BaseException:
                by_survey[survey] = rows
                for name, kept in by_survey.items():
                    self._counted.update({(name, r.epoch, r.reason): r.number for r in kept})
                raise


OPEN_TO_ALL = (b"access-control-allow-origin", b"*")
"""A survey may be answered from any page. Nothing of a visitor is sent along (no credentials)."""

READ_AT_ONCE = 2**16
"""Bytes of a packed batch that are read in less than a millisecond."""

_SHOWN_TO_PAGES = (b"access-control-expose-headers", b"retry-after, date")
"""Without it, a script of another page could not see when to come again, and how long it waited."""

_PACKED = MEDIA_TYPE.encode()
_JSON = JSON_MEDIA_TYPE.encode()
_TYPE_JSON = (b"content-type", b"application/json")

_DETAILS = {
    Problem.CHANGED: "an id stands for one batch. Retry with the same bytes, and send another "
    "batch under "
    "its own id",
    Problem.OTHER_TEXT: "the epoch asks people a different text from the one the upload names. "
    "Drop the batch",
    Problem.DAMAGED: "the checksum of the batch is wrong. Keep the batch, and send it again",
    Problem.UNKNOWN_SURVEY: "the collector has no survey with this fingerprint. Keep the batch: "
    "the survey may be "
    "added",
    Problem.UNKNOWN_EPOCH: "the survey has no epoch with this name. Keep the batch: it may be "
    "added",
    Problem.SURVEY_DELETED: "the survey was deleted. Drop the batch",
    Problem.EPOCH_DELETED: "the epoch was deleted. Drop the batch",
    Problem.NOT_OPEN: "the epoch has not opened. Send the same bytes when it opens",
    Problem.CLOSED: "the epoch takes no more reports. Drop the batch",
    Problem.UPLOAD_TOKEN_NEEDED: "the upload token does not belong to this survey",
    Problem.UPLOAD_TOKEN_USED: "an upload token is valid for one batch, which may be sent again",
    Problem.REFUSED: "no report of the batch was counted. Reports must come from the survey's "
    "own randomizer",
}


_PAST = (
    "by the collector's clock the epoch has ended, but it has not closed yet. Keep the batch, "
    "and send it again"
)


class Address(NamedTuple):
    """Contents of an upload's path."""

    survey: str
    epoch: str
    id: str


def address_of(path: str) -> Address | None:
    """Return what a path says. None when it is not that of a batch.

    >>> address_of("/v1/surveys/ab/epochs/2026-12/batches/00")
    Address(survey='ab', epoch='2026-12', id='00')
    """
    parts = path.split("/")
    if len(parts) != 8 or parts[1] != "v1" or parts[6] != "batches":
        return None
    return Address(parts[3], parts[5], parts[7]) if (parts[2], parts[4]) == _BETWEEN else None


_BETWEEN = ("surveys", "epochs")

_TEXTS = re.compile(rb"(?:^|&)text=([^&]*)")
_HASH = re.compile(rb"[0-9a-f]{64}")


def text_of(query: bytes) -> bytes | None:
    """Return what an upload names as its text in its query. None: it names none.

    >>> text_of(b""), text_of(b"text=0123"), text_of(b"q=1&text=0123")
    (None, b'0123', b'0123')
    """
    if query.startswith(b"text=") and b"&" not in query:
        return query[5:]
    return b"&".join(_TEXTS.findall(query)) if _TEXTS.search(query) else None


def _other_text(text: bytes) -> ProblemError:
    """Return the problem of a text that is not the one of the epoch."""
    if not _HASH.fullmatch(text):  # a proxy may have changed it on its way
        detail = "text must be the fingerprint of one text: 64 hex digits"
        return ProblemError(Problem.DAMAGED, detail)
    return ProblemError(Problem.OTHER_TEXT, _DETAILS[Problem.OTHER_TEXT])


class UploadPath:
    """Takes batches of reports.

    refusals: Counts what is refused.
    pool: Where large batches are read, so that small ones do not wait for them.
    retry_seconds: The wait that a busy collector tells a device.
    holds: Returns whether the store has the batch of a survey, an epoch and an id.
    look: Where other collectors change the same database.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        writer: Writer,
        pool: Executor,
        receiving: Receiving,
        refusals: Refusals,
        counters: Counters,
        log: Log,
        retry_seconds: int,
        holds: Callable[[str, str, bytes], Awaitable[bool]],
        look: SecondLook | None = None,
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._pool = pool
        self._receiving = receiving
        self._refusals = refusals
        self._counters = counters
        self._log = log
        self._retry = retry_seconds
        self._holds = holds
        self._look = look
        self._json_turn = asyncio.Lock()
        self._now: Callable[[], float] = time.perf_counter

    async def answer(self, address: Address, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one upload, and answer when it is stored or refused."""
        try:
            started, reports, outcome = await self._taken(address, scope, receive)
        except ProblemError as problem:
            self._count(problem, address)
            await send_problem(send, problem, OPEN_TO_ALL, _SHOWN_TO_PAGES, *closing(scope))
            return
        except ClientGoneError:
            return
        except Exception as error:
            self._log.defect(error)
            defect = ProblemError(Problem.DEFECT, "please report it. Keep the batch")
            self._counters.uploads[500, defect.problem.value] += 1
            await send_problem(send, defect, OPEN_TO_ALL)
            return
        new = outcome.verdict == STORED
        status = 201 if new else 200
        self._counters.uploads[status, outcome.verdict] += 1
        self._counters.reports += reports if new else 0
        self._counters.storing.add(self._now() - started)
        self._log.count_upload(address.survey, address.epoch, outcome.verdict)
        body = (
            f'{{"batch":"{address.id}","reports":{reports},"state":"{outcome.verdict}"}}'.encode()
        )
        length = (b"content-length", str(len(body)).encode())
        headers = [_TYPE_JSON, length, OPEN_TO_ALL]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _taken(
        self, address: Address, scope: Scope, receive: Receive
    ) -> tuple[float, int, Outcome]:
        """Return when the last byte came, how many reports it had, and what became of it."""
        text = text_of(scope["query_string"])
        batch_id = _id_of(address)
        try:
            kept = self._place(address, text)
        except ProblemError as problem:
            kept = await self._place_again(address, text, batch_id, problem)
        if batch_id is None:
            raise ProblemError(
                Problem.MALFORMED, "the id of a batch must be 32 lowercase hex digits"
            )
        token = media_type = None
        headers = scope["headers"]
        for name, value in headers:
            if name == b"content-type":
                media_type = value
            elif name == b"authorization" and kept.invited_only:
                token = value
        packed = media_type == _PACKED
        if not packed and _plain(media_type) != _JSON:
            packed = _plain(media_type) == _PACKED
            if not packed:
                raise ProblemError(
                    Problem.MEDIA_TYPE, f"a batch must be {MEDIA_TYPE} or {JSON_MEDIA_TYPE}"
                )
        token_hash = _invited(token) if kept.invited_only else None
        if packed:
            held = partial(self._holds, address.survey, address.epoch, batch_id)
            body = await self._receiving.body(receive, headers, held=held)
        else:
            advice = f"Send a batch of more than {LARGEST_JSON:,} bytes as {MEDIA_TYPE}"
            body = await self._receiving.body(receive, headers, largest=LARGEST_JSON, advice=advice)
        started = self._now()
        read = partial(_read, body, kept, packed=packed, survey=address.survey)
        if not packed:
            async with self._json_turn:
                await asyncio.sleep(0)  # one in each round of the loop, so that others go between
                batch = read()
        elif len(body) <= READ_AT_ONCE:
            batch = read()
        else:
            with self._receiving.holding(len(body)):
                batch = await asyncio.get_running_loop().run_in_executor(self._pool, read)
        del body, read  # the batch has its own bytes, and may wait for the disk
        if token_hash is not None and batch.reports > 1:
            raise ProblemError(
                Problem.REFUSED,
                "an upload token stands for one person, so its batch must contain one report, "
                f"got {batch.reports}",
            )
        upload = Upload(address.survey, address.epoch, batch_id, batch, token_hash)
        try:
            outcome = await self._writer.submit(upload)
        except StoreError as error:
            raise problem_of(error, retry_seconds=self._retry) from None
        if isinstance(outcome.verdict, Problem):
            raise _refused(outcome.verdict, outcome.refused)
        return started, batch.reports, outcome

    def _place(self, address: Address, text: bytes | None) -> KeptSurvey:
        """Return the survey of an upload. A ProblemError where its epoch takes no reports of it."""
        kept = self._catalog.get(address.survey)
        epoch = None if kept is None else kept.epochs.get(address.epoch)
        if kept is None or epoch is None or kept.stored.state == "draft":
            gone = self._catalog.deleted(address.survey, address.epoch)
            unknown = kept is None or kept.stored.state == "draft"
            never = Problem.UNKNOWN_SURVEY if unknown else Problem.UNKNOWN_EPOCH
            raise ProblemError(gone or never, _DETAILS[gone or never])
        if epoch.state == "closed":
            raise ProblemError(Problem.CLOSED, _DETAILS[Problem.CLOSED])
        if epoch.state == "planned":
            raise ProblemError(
                Problem.NOT_OPEN, _DETAILS[Problem.NOT_OPEN], retry_after=60 * self._retry
            )
        if kept.past.get(address.epoch) == "closed":
            raise ProblemError(Problem.NOT_OPEN, _PAST, retry_after=60 * self._retry)
        # From here on no text of the survey changes before the epoch closes.
        if text is not None and text != kept.text_of(epoch).encode():
            raise _other_text(text)
        return kept

    async def _place_again(
        self, address: Address, text: bytes | None, batch_id: bytes | None, problem: ProblemError
    ) -> KeptSurvey:
        """Return the survey of an upload for which there was no place at first.

        Another collector may have made it. A batch that is stored has its place in an epoch that
        ended since: its sender did not hear the answer.
        """
        known = problem.problem.final and problem.problem is not Problem.OTHER_TEXT
        if self._look is not None and not known:
            await self._look.wait_for_look()
            try:
                return self._place(address, text)
            except ProblemError as again:
                problem = again
        kept = self._catalog.get(address.survey)
        if kept is None or batch_id is None:
            raise problem
        ended = problem.problem is Problem.CLOSED or address.epoch in kept.past
        if ended and await self._holds(address.survey, address.epoch, batch_id):
            return kept
        raise problem

    def _count(self, problem: ProblemError, address: Address) -> None:
        word = problem.problem.value
        self._counters.uploads[problem.status, word] += 1
        kept = self._catalog.get(address.survey)
        # Names that nobody gave are never kept.
        epoch = address.epoch if kept is not None and address.epoch in kept.epochs else ""
        self._log.count_upload("" if kept is None else address.survey, epoch, word)
        # What is not final is sent again, and then stored.
        if kept is not None and problem.problem.final:
            self._refusals.add(address.survey, epoch, word)


def _id_of(address: Address) -> bytes | None:
    """Return the id of a batch. None when it is not 32 hex digits in lower case."""
    try:
        batch_id = bytes.fromhex(address.id) if len(address.id) == 32 else b""
    except ValueError:
        return None
    return batch_id if len(batch_id) == 16 and batch_id.hex() == address.id else None


def _plain(media_type: bytes | None) -> bytes:
    """Return a media type without its parameters."""
    return b"" if media_type is None else media_type.partition(b";")[0].strip().lower()


def _invited(header: bytes | None) -> bytes:
    token = bearer(header, prefix=UPLOAD_PREFIX)
    if token is None:
        raise ProblemError(
            Problem.UPLOAD_TOKEN_NEEDED,
            "this survey takes reports from invited devices only. Send an upload token as "
            "Authorization: Bearer lwu_...",
        )
    return hash_of(token)


class _JsonShape(Struct, forbid_unknown_fields=True):
    """What a batch in JSON looks like. :meth:`Batch.from_json` reads it."""

    survey: str
    reports: list[str]
    segment: str | None = None


_SHAPE = msgspec.json.Decoder(_JsonShape)

_EXPLAINED = 2**10
"""Bytes of a body in JSON up to which it is said what exactly is wrong, which takes longer."""


def _check_shape(body: bytes) -> None:
    """Refuse what is no batch at all, in a tenth of the time that reading it would take."""
    try:
        _SHAPE.decode(body)
    except (msgspec.MsgspecError, ValueError):
        if len(body) > _EXPLAINED:
            raise BatchError(
                'a batch in JSON must be an object of "survey", "reports" (a list of '
                'strings of hex digits) and "segment" (a string or null). It is not'
            ) from None


def _read(body: bytes, kept: KeptSurvey, *, packed: bool, survey: str) -> Batch:
    """Return the batch in a body. A ProblemError when it is none, or another survey's."""
    try:
        if not packed:
            _check_shape(body)
        read = Batch.from_bytes if packed else Batch.from_json
        batch = read(body, segments=kept.survey.segments)
    except BatchError as error:
        if packed and not Batch.intact(body):  # a proxy may cut a body off
            raise ProblemError(Problem.DAMAGED, _DETAILS[Problem.DAMAGED]) from None
        more = {"reports": _positions(error.refused)} if error.refused else {}
        raise ProblemError(Problem.MALFORMED, str(error), more=more) from None
    if batch.survey != survey:
        raise ProblemError(
            Problem.MALFORMED,
            "the survey of the batch differs from that of the address. Send it to its own address",
        )
    return batch


def _refused(problem: Problem, refused: tuple[tuple[int, str], ...]) -> ProblemError:
    more = {"reports": _positions(refused)} if refused else {}
    return ProblemError(problem, _DETAILS[problem], more=more)


def _positions(refused: tuple[tuple[int, str], ...]) -> list[dict[str, int | str]]:
    return [{"position": position, "reason": reason} for position, reason in refused]


async def send_problem(
    send: Send, problem: ProblemError, *headers: tuple[bytes, bytes], bodiless: bool = False
) -> None:
    """Answer with a problem document.

    send: Of the request.
    headers: Further ones.
    bodiless: Whether the request was a HEAD.
    """
    body = problem.body()
    lines = [*problem.headers(), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": problem.status, "headers": lines})
    await send({"type": "http.response.body", "body": b"" if bodiless else body})
