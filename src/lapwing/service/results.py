"""Results on request: decoded in another process, kept, and shown only of enough reports.

:meth:`Results.document` is what the pages draw. :meth:`Results.content` the same as a table or a
picture.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypedDict, TypeVar

from msgspec import Meta

from lapwing.errors import NotStoredError, StoreError
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.problems import Problem
from lapwing.protocol.messages.tally import Tally
from lapwing.results.answer_documents import PROBABILITIES
from lapwing.results.rounding import count_text
from lapwing.results.uncertainty import Target
from lapwing.service.catalog import KeptSurvey
from lapwing.service.counters import Counters
from lapwing.service.decoding_orders import (
    DecodingAnswer,
    Defect,
    Form,
    Key,
    Material,
    Missing,
    Order,
    RefusedOrder,
    Wanted,
)
from lapwing.service.decoding_process import DecodingFailedError, DecodingProcess
from lapwing.service.problem_answers import Count, ProblemError, malformed, problem_of
from lapwing.service.settings import Settings
from lapwing.service.storage.looks import last_look, rests
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import Look
from lapwing.service.survey_life import to_text
from lapwing.service.typed_bodies import Moment

Found = TypeVar("Found")

Looks = dict[tuple[str, str], Look]
"""By survey and epoch."""

_ATTEMPTS = 5
"""To read what a look showed, before another one is taken."""

_LARGEST_KEPT = 2**22
"""Bytes of a picture or a table that is kept."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Questions about an epoch of a survey.

    segment: A segment of the survey, or "other" for reports without one. None: all together.
    against: Another epoch, to compare with.
    against_segment: Another segment, to compare with.
    target: Of a comparison: the population from which both groups were drawn, or the respondents.
    level: Of all intervals, in (0, 1).
    ranges: The ends of each, in the unit of the values. "" is open. The end belongs to a range that
        belongs to the bins.
    probabilities: Of quantiles.
    start: From where quantiles on a circle are counted.
    asks: Questions of :mod:`lapwing.questions` as strings. Without one those of the survey.
    quantiles_of, draws: Of a survey of two attributes, as in an order.
    together: Other surveys about the same distribution, each with an epoch of it: one answer of
        all.
    """

    epoch: str
    segment: str | None = None
    against: str | None = None
    against_segment: str | None = None
    target: Target = "population"
    level: float = 0.95
    ranges: tuple[tuple[str, str], ...] = ()
    probabilities: tuple[float, ...] = PROBABILITIES
    start: str | None = None
    asks: tuple[str, ...] = ()
    quantiles_of: str | None = None
    draws: bool = False
    together: tuple[tuple[KeptSurvey, str], ...] = ()

    @property
    def compares(self) -> bool:
        """Whether two are compared."""
        return self.against is not None or self.against_segment is not None


class _MovedError(Exception):
    """A new look was taken while the last one was to be read."""


class Results:
    """Decodes what is asked for, in processes of their own.

    pool: Where the store is asked.
    clock: Returns seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        *,
        pool: Executor,
        settings: Settings,
        counters: Counters,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._clock = clock
        self._pool = pool
        self._counters = counters
        self._retry = settings.retry_seconds
        self._processes = [
            DecodingProcess(seconds=settings.decode_seconds) for _ in range(settings.decoders)
        ]
        self._askers = ThreadPoolExecutor(settings.decoders, thread_name_prefix="lapwing-asker")
        self._most = settings.kept_results
        self._kept: OrderedDict[Order, DecodingAnswer] = OrderedDict()
        self._asked: dict[Order, asyncio.Task[DecodingAnswer]] = {}

    def start(self) -> None:
        """Start the processes. They get ready while the collector receives already."""
        for process in self._processes:
            self._askers.submit(process.start)

    def stop(self) -> None:
        """End the processes. Callers that wait for a result are told to retry."""
        for process in self._processes:
            process.stop()
        self._askers.shutdown(wait=True)

    async def document(self, kept: KeptSurvey, question: Question) -> dict[str, Any]:
        """Return what the reports say, as JSON values.

        Raises ProblemError when too few reported, or there is no such epoch or segment. When the
        reports cannot say it. When decoding takes too long.
        """
        looks: Looks = {}
        order, made = await self._made(kept, question, "json", looks)
        warnings = list(made.warnings)
        head: dict[str, Any] = {
            "survey": order.key.survey,
            "name": kept.survey.name,
            "epoch": order.key.epoch,
            "segment": order.key.segment,
            "notice": dict(kept.notice_of(kept.epochs[order.key.epoch])),
        }
        head["look"] = self._told(kept, order.key, looks)
        if order.against is not None:
            head |= {
                "against": order.against.epoch,
                "against_segment": order.against.segment,
                "against_look": self._told(kept, order.against, looks),
            }
            against = kept.notice_of(kept.epochs[order.against.epoch])
            if against != head["notice"]:
                warnings.append(
                    f"epoch {order.against.epoch} asked people a different text from epoch "
                    f"{order.key.epoch}"
                )
        if order.together:
            surveys = {other.stored.fingerprint: other for other, _ in question.together}
            head["together"] = [
                {
                    "survey": each.survey,
                    "epoch": each.epoch,
                    "look": self._told(surveys[each.survey], each, looks),
                }
                for each in order.together
            ]
        return {**head, **made.content, "warnings": warnings}

    def _told(self, kept: KeptSurvey, key: Key, looks: Looks) -> LookDocument:
        look = looks[key.survey, key.epoch]
        return look_document(look, kept, key.epoch, now=self._clock())

    async def look(self, kept: KeptSurvey, epoch: str) -> Look | None:
        """Return the public view of an epoch, or None while nothing is shown."""
        fingerprint = kept.stored.fingerprint
        return await self._apart(lambda: self._store.look(fingerprint, epoch, now=self._clock()))

    async def content(self, kept: KeptSurvey, question: Question, form: Form) -> bytes:
        """Return the same as a table ("csv") or a picture ("svg", "png")."""
        _, made = await self._made(kept, question, form, {})
        content: str | bytes = made.content
        return content.encode() if isinstance(content, str) else content

    async def alarm(self, kept: KeptSurvey, epoch: str, segment: str | None) -> dict[str, Any]:
        """Return whether honest devices could have sent the reports, as JSON values.

        Raises ProblemError as of :meth:`document`. Also of a randomizer whose reports cannot be
        told from fabricated ones ("cannot-be-said").
        """
        _, made = await self._made(kept, Question(epoch=epoch, segment=segment), "alarm", {})
        found: dict[str, Any] = made.content
        return found

    async def tally(self, kept: KeptSurvey, epoch: str, segment: str | None) -> Tally:
        """Return the tally of an epoch or a segment, where enough reported."""
        for _ in range(_ATTEMPTS):
            tally = await self._read(await self._key(kept, epoch, segment, {}))
            if tally is not None:
                return tally
        raise self._moved()

    async def _read(self, key: Key) -> Tally | None:
        """Return the tally of a key that may be shown. None when a new look was taken meanwhile."""
        tally = await self._apart(
            lambda: self._store.tally(key.survey, key.epoch, segment=key.segment, shown=True)
        )
        return tally if tally.total == key.reports else None

    def _moved(self) -> ProblemError:
        return ProblemError(
            Problem.NO_RESULT, "new looks keep being taken. Ask again", retry_after=self._retry
        )

    async def _apart(self, work: Callable[[], Found]) -> Found:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except (StoreError, NotStoredError) as error:
            raise problem_of(error, retry_seconds=self._retry) from None

    async def _made(
        self, kept: KeptSurvey, question: Question, form: Wanted, looks: Looks
    ) -> tuple[Order, DecodingAnswer]:
        """Return an order and its answer, all of it from the same looks, which `looks` then has."""
        for _ in range(_ATTEMPTS):
            looks.clear()
            order = await self._order(kept, question, form, looks)
            made = self._kept.get(order)
            if made is not None:
                self._kept.move_to_end(order)
                return order, made
            task = self._asked.get(order)
            if task is None:
                surveys = {
                    one.stored.fingerprint: one
                    for one in (kept, *(other for other, _ in question.together))
                }
                documents = {key: surveys[key.survey].document_of(key.epoch) for key in order.keys}
                task = asyncio.create_task(self._decoded(documents, order))
                self._asked[order] = task
                task.add_done_callback(partial(self._finished, order))
            try:
                # One who goes away does not end it for the others.
                return order, await asyncio.shield(task)
            except _MovedError:
                continue
        raise self._moved()

    def _finished(self, order: Order, task: asyncio.Task[DecodingAnswer]) -> None:
        self._asked.pop(order, None)
        if task.cancelled() or task.exception() is not None:
            return
        made = task.result()
        # Posterior draws take megabytes. The decoding process keeps what they are written from.
        small = isinstance(made.content, dict) or len(made.content) <= _LARGEST_KEPT
        if small and not order.draws:
            self._kept[order] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    async def _order(
        self, kept: KeptSurvey, question: Question, form: Wanted, looks: Looks
    ) -> Order:
        if question.together and (question.compares or question.segment is not None):
            raise malformed(
                "surveys decoded together have no segments and no comparisons. Leave out both"
            )
        if question.against not in (None, question.epoch) and kept.survey.answers != "fresh":
            raise ProblemError(
                Problem.CANNOT_BE_SAID,
                "reports of this survey are about a person's first value, even if it changed. "
                "So a difference would show only people who joined or left",
            )
        key = await self._key(kept, question.epoch, question.segment, looks)
        together = await self._together(key, question, looks)
        pair = kept.survey.randomizer.domain.name == Product.name
        if question.asks and question.compares and not pair:
            raise malformed("a comparison has fixed answers. Leave out ask")
        against, people = None, "same"
        if question.compares:
            epoch = question.against or question.epoch
            segment = question.against_segment
            if segment is None and question.against_segment is None:
                segment = question.segment
            against = await self._key(kept, epoch, segment, looks)
            if against == key:
                raise malformed("compare with another epoch or another segment")
            # Nobody is in two segments of one epoch. Anybody may be in two epochs, and those of a
            # segment are among everybody.
            if epoch == question.epoch and None not in (segment, question.segment):
                people = "different"
        return Order(
            key,
            against,
            "different" if people == "different" else "same",
            question.target,
            form,
            question.level,
            question.ranges,
            question.probabilities,
            ", ".join(dict.fromkeys([kept.survey.name, *_named(question.together)])),
            _names(key, against),
            together,
            question.start,
            question.asks,
            question.quantiles_of,
            question.draws,
        )

    async def _together(self, key: Key, question: Question, looks: Looks) -> tuple[Key, ...]:
        """Return the keys of the tallies that are decoded with one, each of which may be shown."""
        found = [await self._key(other, epoch, None, looks) for other, epoch in question.together]
        if len({key, *found}) <= len(found):
            raise malformed("together= lists an epoch of a survey twice. List each epoch once")
        return tuple(found)

    async def _key(self, kept: KeptSurvey, epoch: str, segment: str | None, looks: Looks) -> Key:
        """Return the key of a tally, or raise the problem that it may not be shown."""
        if epoch not in kept.epochs:
            raise ProblemError(Problem.UNKNOWN_EPOCH, "the survey has no epoch with this name")
        if segment is not None:
            place = place_of(segment, kept.segments)
            if place is None:
                raise ProblemError(
                    Problem.UNKNOWN_SEGMENT, "the survey has no segment with this name"
                )
            segment = kept.segments[place]
        fingerprint, minimum = kept.stored.fingerprint, kept.stored.minimum
        look = looks.get((fingerprint, epoch)) or await self.look(kept, epoch)
        answers = kept.survey.answers
        if look is None and rests(kept.epochs[epoch], self._clock(), answers=answers):
            raise ProblemError(
                Problem.NOT_WHILE_OPEN,
                "no first look is taken before the epoch opens, during its last tenth or in "
                "its grace period. Results come after it has closed"
                if answers == "fresh"
                else "devices report the same answer in every epoch of this survey, so nothing "
                "is shown while an epoch takes reports. Results come after it has closed",
                more={"minimum": minimum},
            )
        if look is None or look.total < minimum:
            raise _too_few(minimum)
        looks[fingerprint, epoch] = look
        if segment is None:
            return Key(fingerprint, epoch, None, look.total, look.epoch, kept.tag)
        if segment not in look.visible:
            least = max(minimum, kept.survey.segment_minimum)
            raise _too_few(least) if look.reports[segment] < least else _beside_few(least)
        return Key(fingerprint, epoch, segment, look.reports[segment], look.epoch, kept.tag)

    async def _decoded(self, documents: Mapping[Key, bytes], order: Order) -> DecodingAnswer:
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        materials: dict[Key, Material] = {}
        # A survey's results are decoded where they were decoded before.
        process = self._processes[int(order.key.survey[:8], 16) % len(self._processes)]
        while True:
            try:
                found = await loop.run_in_executor(self._askers, process.ask, order, materials)
            except (DecodingFailedError, RuntimeError) as error:
                raise ProblemError(
                    Problem.NO_RESULT, f"{error}. Ask again later", retry_after=self._retry
                ) from None
            match found:
                case DecodingAnswer():
                    self._counters.decoding.add(time.perf_counter() - started)
                    return found
                # Twice, where what it kept of one went while the other was read.
                case Missing(wanted) if set(wanted) <= set(order.keys) - set(materials):
                    for key in wanted:
                        tally = await self._read(key)
                        if tally is None:
                            raise _MovedError
                        materials[key] = Material(documents[key], tally)
                case RefusedOrder(reason):
                    raise ProblemError(Problem.CANNOT_BE_SAID, reason)
                case Defect(kind, place):
                    raise RuntimeError(f"decoding ended in {kind} at {place}")
                case _:
                    raise RuntimeError("the decoding process asks for what it was given")


class LookDocument(TypedDict):
    """As of when an epoch is shown, all of it."""

    reports: Count
    hour: Annotated[
        Moment | None, Meta(description="Start of the hour in which it was taken. null: final.")
    ]
    final: bool
    complete: Annotated[
        bool,
        Meta(
            description="Whether it includes all reports. If it is false in the final look, the "
            "last "
            "few reports are left out."
        ),
    ]
    next: Annotated[str | None, Meta(description="Time of the next look, in words. null: final.")]


def look_document(look: Look, kept: KeptSurvey, epoch: str, *, now: float) -> LookDocument:
    """Return as of when an epoch is shown, and when it is updated, as JSON values.

    now: Seconds since 1970.
    """
    return {
        "reports": look.total,
        "hour": to_text(look.hour),
        "final": look.final,
        "complete": look.final and look.complete,
        "next": None if look.final else _next(kept, epoch, now),
    }


def _next(kept: KeptSurvey, epoch: str, now: float) -> str:
    """Return when the next look is taken, by the terms of the survey and the epoch alone."""
    stored, minimum = kept.epochs[epoch], kept.stored.minimum
    closed = "when the epoch has closed"
    if rests(stored, now, answers=kept.survey.answers):
        return closed
    more = f"after {count_text(minimum)} more reports"
    if kept.segments:
        least = max(minimum, kept.survey.segment_minimum)
        more += (
            f" with {count_text(least)} more or none in each segment, or after the number of "
            "reports has doubled"
        )
    end = last_look(stored)
    until = "" if end is None else f" (until {to_text(end)})"
    return f"{more}{until}, or {closed}"


def _too_few(minimum: int) -> ProblemError:
    return ProblemError(
        Problem.TOO_FEW,
        f"nothing is shown for fewer than {count_text(minimum)} reports",
        more={"minimum": minimum},
    )


def _beside_few(minimum: int) -> ProblemError:
    return ProblemError(
        Problem.TOO_FEW,
        f"this segment is hidden although it has {count_text(minimum)} reports or more. "
        "Otherwise, the sum and the last look would reveal a group that is too small",
        more={"minimum": minimum},
    )


def _named(together: tuple[tuple[KeptSurvey, str], ...]) -> list[str]:
    return [other.survey.name for other, _ in together]


def _names(key: Key, against: Key | None) -> tuple[str, str]:
    if against is None:
        return ("first", "second")
    if key.epoch == against.epoch:
        return (key.segment or "all", against.segment or "all")
    if key.segment == against.segment:
        return (key.epoch, against.epoch)
    one, two = (f"{each.epoch}, {each.segment or 'all'}" for each in (key, against))
    return (one, two)
