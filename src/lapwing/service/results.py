"""Results on request: decoded beside the collector, kept, and shown only of enough reports.

:meth:`Results.document` is what the pages draw; :meth:`Results.content` the same as a table or a
picture.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from lapwing.errors import NotStoredError, StoreError
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
from lapwing.service.problem_answers import ProblemError, malformed, problem_of
from lapwing.service.settings import Settings
from lapwing.service.shown_counts import shown_segments
from lapwing.service.storage.sql_store import Store

Found = TypeVar("Found")

_LARGEST_KEPT = 2**22
"""Bytes of a picture or a table that is kept."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked about an epoch of a survey.

    Parameters
    ----------
    epoch : str
    segment : str, optional
        One of the survey's; "other" for who has none. None: all together.
    against : str, optional
        Another epoch, to compare with.
    against_segment : str, optional
        Another segment, to compare with.
    target : {"population", "empirical"}
        Whom a comparison is about: the people from whom both were drawn, or these very people.
    level : float
        Of all intervals, in (0, 1).
    ranges : tuple of (str, str)
        The ends of each, in the unit of the values; "" is open. The end belongs to a range that
        belongs to the bins.
    probabilities : tuple of float
        Of quantiles.
    start : str, optional
        From where quantiles on a circle are counted.
    together : tuple of (KeptSurvey, str)
        Other surveys about the same distribution, each with an epoch of it: one answer of all.
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
    together: tuple[tuple[KeptSurvey, str], ...] = ()

    @property
    def compares(self) -> bool:
        """Whether two are compared."""
        return self.against is not None or self.against_segment is not None


class Results:
    """Decodes what is asked for, in processes of their own.

    Parameters
    ----------
    store : Store
    pool : Executor
        Where the store is asked.
    settings : Settings
    counters : Counters
    """

    def __init__(
        self, store: Store, *, pool: Executor, settings: Settings, counters: Counters
    ) -> None:
        self._store = store
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
        """Start the processes; they get ready while the collector receives already."""
        for process in self._processes:
            self._askers.submit(process.start)

    def stop(self) -> None:
        """End the processes; whoever waits for a result is told to come again."""
        for process in self._processes:
            process.stop()
        self._askers.shutdown(wait=True)

    async def document(self, kept: KeptSurvey, question: Question) -> dict[str, Any]:
        """Return what the reports say, as JSON values.

        Raises
        ------
        ProblemError
            When too few reported, or there is no such epoch or segment; when the reports cannot
            say it; when decoding takes too long.
        """
        order, made = await self._made(kept, question, "json")
        head: dict[str, Any] = {
            "survey": order.key.survey,
            "name": kept.survey.name,
            "epoch": order.key.epoch,
            "segment": order.key.segment,
            "answers": kept.survey.answers,
        }
        if order.against is not None:
            head |= {"against": order.against.epoch, "against_segment": order.against.segment}
        if order.together:
            others = [{"survey": each.survey, "epoch": each.epoch} for each in order.together]
            head["together"] = others
        return {**head, **made.content, "warnings": list(made.warnings)}

    async def content(self, kept: KeptSurvey, question: Question, form: Form) -> bytes:
        """Return the same as a table ("csv") or a picture ("svg", "png")."""
        _, made = await self._made(kept, question, form)
        content: str | bytes = made.content
        return content.encode() if isinstance(content, str) else content

    async def alarm(self, kept: KeptSurvey, epoch: str, segment: str | None) -> dict[str, Any]:
        """Return whether honest devices can have sent the reports, as JSON values.

        Raises
        ------
        ProblemError
            As of :meth:`document`; also of a randomizer whose reports cannot be told from forged
            ones ("cannot-be-said").
        """
        _, made = await self._made(kept, Question(epoch=epoch, segment=segment), "alarm")
        found: dict[str, Any] = made.content
        return found

    async def tally(self, kept: KeptSurvey, epoch: str, segment: str | None) -> Tally:
        """Return the tally of an epoch or a segment, where enough reported."""
        return await self._read(kept, await self._key(kept, epoch, segment))

    async def _read(self, kept: KeptSurvey, key: Key) -> Tally:
        """Return the tally of a key that may be shown.

        It is read after it was found large enough, and may have been deleted between and imported
        again with fewer reports: so it is weighed once more.
        """
        tally = await self._apart(
            lambda: self._store.tally(key.survey, key.epoch, segment=key.segment)
        )
        least = _least(kept, key.segment)
        if tally.total < least:
            raise _too_few(least)
        return tally

    async def _apart(self, work: Callable[[], Found]) -> Found:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except (StoreError, NotStoredError) as error:
            raise problem_of(error, retry_seconds=self._retry) from None

    async def _made(
        self, kept: KeptSurvey, question: Question, form: Wanted
    ) -> tuple[Order, DecodingAnswer]:
        order = await self._order(kept, question, form)
        made = self._kept.get(order)
        if made is not None:
            self._kept.move_to_end(order)
            return order, made
        task = self._asked.get(order)
        if task is None:
            surveys = [kept, *(other for other, _ in question.together)]
            by_print = {one.stored.fingerprint: one for one in surveys}
            task = asyncio.create_task(self._decoded(by_print, order))
            self._asked[order] = task
            task.add_done_callback(lambda done: self._finished(order, done))
        # One who goes away does not end it for the others.
        return order, await asyncio.shield(task)

    def _finished(self, order: Order, task: asyncio.Task[DecodingAnswer]) -> None:
        self._asked.pop(order, None)
        if task.cancelled() or task.exception() is not None:
            return
        made = task.result()
        if isinstance(made.content, dict) or len(made.content) <= _LARGEST_KEPT:
            self._kept[order] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    async def _order(self, kept: KeptSurvey, question: Question, form: Wanted) -> Order:
        if question.together and (question.compares or question.segment is not None):
            raise malformed(
                "surveys decoded together have no segment and no comparison; leave out both"
            )
        key = await self._key(kept, question.epoch, question.segment)
        together = await self._together(key, question)
        against, people = None, "same"
        if question.compares:
            epoch = question.against or question.epoch
            segment = question.against_segment
            if segment is None and question.against_segment is None:
                segment = question.segment
            against = await self._key(kept, epoch, segment)
            if against == key:
                raise malformed("compare with another epoch or another segment")
            if epoch != question.epoch and kept.survey.answers != "fresh":
                raise ProblemError(
                    Problem.CANNOT_BE_SAID,
                    "reports of this survey are about a person's first value in every epoch, even "
                    "if it changed, so a difference would show only who joined and who left",
                )
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
        )

    async def _together(self, key: Key, question: Question) -> tuple[Key, ...]:
        """Return the keys of the tallies that are decoded with one, each of which may be shown."""
        found = [await self._key(other, epoch, None) for other, epoch in question.together]
        if len({key, *found}) <= len(found):
            raise malformed("an epoch of a survey is decoded together only once")
        return tuple(found)

    async def _key(self, kept: KeptSurvey, epoch: str, segment: str | None) -> Key:
        """Return the key of a tally, or raise the problem that it may not be shown."""
        if epoch not in kept.epochs:
            raise ProblemError(Problem.UNKNOWN_EPOCH, "the survey has no epoch of this name")
        if segment is not None and segment not in kept.segments:
            raise ProblemError(
                Problem.UNKNOWN_SEGMENT, "the survey declares no segment of this name"
            )
        fingerprint = kept.stored.fingerprint
        # Before the reports are counted: what is counted after an epoch was made anew must not be
        # kept for it under the number of the one before.
        number = await self._apart(lambda: self._store.epoch_number(fingerprint, epoch))
        totals = await self._apart(lambda: self._store.totals(fingerprint))
        counts = {each.segment: each.reports for each in totals if each.epoch == epoch}
        together, minimum = sum(counts.values()), kept.stored.minimum
        if together < minimum:
            raise _too_few(minimum)
        if segment is None:
            return Key(fingerprint, epoch, None, together, number)
        least = _least(kept, segment)
        by_segment = {name: counts.get(name, 0) for name in kept.segments}
        if segment not in shown_segments(by_segment, minimum=least):
            raise _too_few(least) if by_segment[segment] < least else _beside_few(least)
        return Key(fingerprint, epoch, segment, by_segment[segment], number)

    async def _decoded(self, surveys: Mapping[str, KeptSurvey], order: Order) -> DecodingAnswer:
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
                    Problem.NO_RESULT,
                    f"{error}; ask again later",
                    retry_after=self._retry,
                ) from None
            match found:
                case DecodingAnswer():
                    self._counters.decoding.add(time.perf_counter() - started)
                    return found
                # Twice, where what it kept of one went while the other was read.
                case Missing(wanted) if set(wanted) <= set(order.keys) - set(materials):
                    for key in wanted:
                        kept = surveys[key.survey]
                        tally = await self._read(kept, key)
                        materials[key] = Material(kept.stored.document, tally)
                case RefusedOrder(reason):
                    raise ProblemError(Problem.CANNOT_BE_SAID, reason)
                case Defect(kind, place):
                    raise RuntimeError(f"a decode ended in {kind} at {place}")
                case _:
                    raise RuntimeError("the decoding process asks for what it was given")


def _least(kept: KeptSurvey, segment: str | None) -> int:
    """Return the reports below which nothing is shown."""
    minimum = kept.stored.minimum
    return minimum if segment is None else max(minimum, kept.survey.segment_minimum)


def _too_few(minimum: int) -> ProblemError:
    return ProblemError(
        Problem.TOO_FEW,
        f"nothing is shown of fewer than {count_text(minimum)} reports",
        more={"minimum": minimum},
    )


def _beside_few(minimum: int) -> ProblemError:
    return ProblemError(
        Problem.TOO_FEW,
        f"this segment is hidden, though {count_text(minimum)} reports or more came, because the "
        "number of another, of which too few came, would follow from it and the sum",
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
