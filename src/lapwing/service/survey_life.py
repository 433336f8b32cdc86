"""Changes to surveys and epochs, by an admin or by the clock, and deletion of old reports.

Each change is on disk before the catalog has it. The clock makes an epoch planned, open, in its
grace, closed. It never goes back, so an epoch ends at a second look at the clock.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, ClassVar, TypedDict, TypeVar

from msgspec import UNSET, Meta, UnsetType

from lapwing.decoders.empirical_bayes.log_density_prior import cells_in_time
from lapwing.documents import canonical, describe_value
from lapwing.errors import ArgumentError, FormatError, LapwingError, NotStoredError, StoreError
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.batch import check_epoch_name
from lapwing.protocol.messages.problems import Problem
from lapwing.service.catalog import Catalog, KeptSurvey
from lapwing.service.logs import Log
from lapwing.service.problem_answers import ProblemError, malformed, problem_of
from lapwing.service.security import DAY, UPLOAD_PREFIX, hash_of, new_token
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import (
    EpochState,
    FirstLook,
    StoredEpoch,
    StoredSurvey,
    UploadRule,
)
from lapwing.service.typed_bodies import Body, EpochName, Fingerprint, Moment
from lapwing.survey.survey import FORMAT, Survey

LOOKS_APART = 3600.0
"""Seconds between the two looks at the clock that find an epoch kept long enough."""

ENDS_APART = 600.0
"""Seconds between the two looks that find it at its end: meanwhile devices only wait."""


LIST_DAYS = 7
"""Days after the end of an epoch in which a repeated batch is still answered as a stored one."""


def kept_until(epoch: StoredEpoch, retention_days: int | None) -> float | None:
    """Return the moment from which a closed epoch's reports are deleted. None: they stay."""
    if retention_days is None or epoch.state != "closed" or epoch.closes is None:
        return None
    return epoch.closes + epoch.grace_seconds + retention_days * DAY


def next_end(epoch: StoredEpoch, retention_days: int | None) -> float:
    """Return when an epoch enters its grace, closes or is deleted, whichever comes next.

    Infinity: never by the clock.
    """
    if epoch.state == "closed":
        until = kept_until(epoch, retention_days)
        return math.inf if until is None else until
    if epoch.closes is None:
        return math.inf
    return epoch.closes + (epoch.grace_seconds if epoch.state == "grace" else 0)


class Retention:
    """Which epochs are at their end, and which have been kept long enough.

    store: Keeps the first look, so that another collector of the database can object.
    clock: Returns seconds since 1970.
    monotonic: Returns seconds of a clock that nobody sets.

    An epoch moves on at the second of two looks. Both must find its end in the past. They must be
    apart by both clocks: ten minutes where it enters its grace or closes, an hour where it is
    deleted. The monotonic clock is that of a process, so a collector that starts again begins this
    time again. Any look of any collector in between that finds the end ahead undoes the first look.
    """

    def __init__(
        self, store: Store, *, clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._first: dict[tuple[str, str], tuple[int, float]] = {}

    def due(
        self, survey: str, epoch: StoredEpoch, ends: float, noted: FirstLook | None
    ) -> int | None:
        """Look at an epoch. Return the mark of its first look if it is to move on now.

        survey: Fingerprint.
        ends: As :func:`next_end` returns it.
        noted: The one that is stored.
        """
        now, key = self._clock(), (survey, epoch.name)
        apart = LOOKS_APART if epoch.state == "closed" else ENDS_APART
        if noted is not None and max(ends, noted.time) > now:
            self._first.pop(key, None)
            self._store.forget_first_look(survey, epoch.name)
        elif noted is None and ends <= now:
            self._store.note_first_look(
                survey, epoch.name, mark=secrets.randbits(53), time=int(now)
            )
        elif noted is not None:
            mark, begun = self._first.get(key, (None, 0.0))
            if mark != noted.mark:
                self._first[key] = (noted.mark, self._monotonic())
            elif min(self._monotonic() - begun, now - noted.time) >= apart:
                return noted.mark
        return None


ORDER: tuple[EpochState, ...] = ("planned", "open", "grace", "closed")

_LAST = 2**35
"""Seconds since 1970 that a moment may have at most: the year 3058."""


def state_at(epoch: StoredEpoch, now: float) -> EpochState:
    """Return the state that an epoch has at a time, at least the one it has already.

    now: Seconds since 1970. A clock that is set back changes nothing: what is closed stays closed,
        because its final result was shown. So one look opens an epoch, and two close it.
    """
    reached: EpochState = "planned"
    if epoch.opens is not None and epoch.opens <= now:
        reached = "open"
    if epoch.closes is not None and epoch.closes <= now:
        reached = "grace" if now < epoch.closes + epoch.grace_seconds else "closed"
    return max(epoch.state, reached, key=ORDER.index)


def to_timestamp(text: object, *, name: str) -> int | None:
    """Return seconds since 1970 of a timestamp of RFC 3339. None of None, which means by hand.

    Raises ArgumentError when it is neither, or has no offset from UTC.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentError(
            f'{name} must be a time such as "2026-12-01T00:00:00Z", or null (only manually), '
            f"got {describe_value(text)}"
        )
    try:
        seconds = int(moment.timestamp())
    except OverflowError:
        seconds = -1
    if not 0 <= seconds <= _LAST:
        raise ArgumentError(f"{name} must lie between 1970 and 3058, got {describe_value(text)}")
    return seconds


def to_text(moment: int | None) -> str | None:
    """Return a time as a timestamp of RFC 3339, in UTC.

    >>> to_text(to_timestamp("2026-12-01T01:00:00+01:00", name="opens"))
    '2026-12-01T00:00:00Z'
    """
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


MOST_TOKENS = 100_000
"""Upload tokens that one request makes."""

LARGEST_MINIMUM = 10**12
LONGEST_GRACE = 366 * 86_400
LONGEST_RETENTION = 36_525

USUAL_MINIMUM = 1000


class EpochPlan(Body):
    """When an epoch opens and closes. Null is by hand."""

    opens: Annotated[Moment | None, Meta(description="null: only manually.")] = None
    closes: Annotated[Moment | None, Meta(description="null: only manually.")] = None
    grace_seconds: Annotated[int, Meta(ge=0, le=LONGEST_GRACE)] = 0


class NewEpoch(EpochPlan, kw_only=True):
    """An epoch and its name. It opens now where the plan names no time."""

    name: EpochName


class NewSurvey(Body):
    """A survey's document and what its collector decides, or the document alone.

    With an epoch, the survey is published with that new epoch, both or neither.
    """

    alternative: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "description": "Only the document: the terms are the defaults.",
        "properties": {"format": {"const": FORMAT}},
        "required": ["format"],
    }

    survey: Annotated[dict[str, Any], Meta(description="A survey's document.")]
    minimum: (
        Annotated[int, Meta(ge=1, le=LARGEST_MINIMUM, extra_json_schema={"default": USUAL_MINIMUM})]
        | UnsetType
    ) = UNSET
    upload: Annotated[UploadRule, Meta(extra_json_schema={"default": "open"})] | UnsetType = UNSET
    retention_days: Annotated[int, Meta(ge=0, le=LONGEST_RETENTION)] | UnsetType | None = UNSET
    epoch: NewEpoch | UnsetType = UNSET

    @classmethod
    def completed(cls, document: dict[str, Any]) -> dict[str, Any]:
        """Return the object of a document that was sent alone."""
        return {"survey": document} if document.get("format") == FORMAT else document


class EpochDocument(TypedDict):
    """An epoch as devices and analysts see it."""

    name: EpochName
    opens: Moment | None
    closes: Moment | None
    grace_until: Moment | None
    state: EpochState
    text: Annotated[
        Fingerprint, Meta(description="Fingerprint of the text that people see in this epoch.")
    ]


def epoch_document(epoch: StoredEpoch, kept: KeptSurvey) -> EpochDocument:
    """Return an epoch of a survey as devices and analysts see it."""
    ends = None if epoch.closes is None else epoch.closes + epoch.grace_seconds
    return {
        "name": epoch.name,
        "opens": to_text(epoch.opens),
        "closes": to_text(epoch.closes),
        "grace_until": to_text(ends),
        "state": kept.state_of(epoch),
        "text": kept.text_of(epoch),
    }


Found = TypeVar("Found")

RETRY_SECONDS = 5


class SurveyLife:
    """Changes of surveys and epochs, one at a time.

    clock: Returns seconds since 1970.
    monotonic: Returns seconds of a clock that nobody sets.
    pool: Where the store is asked, so that uploads go on meanwhile.
    """

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        *,
        log: Log,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        pool: Executor,
    ) -> None:
        self._store = store
        self._retention = Retention(store, clock=clock, monotonic=monotonic)
        self._catalog = catalog
        self._log = log
        self._clock = clock
        self._monotonic = monotonic
        self._looked: tuple[float, float] | None = None
        """When lists of batches were looked through, by the monotonic clock and by the other."""
        self._pool = pool
        self._turn = asyncio.Lock()

    async def _apart(self, work: Callable[[], Found]) -> Found:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except (StoreError, NotStoredError, ArgumentError) as error:
            raise problem_of(error, retry_seconds=RETRY_SECONDS) from None

    async def _change(self, event: str, work: Callable[[], Found], **facts: str | int) -> Found:
        """Do one change of the store, and read the catalog again."""

        def both() -> Found:
            found = work()
            self._catalog.load()
            return found

        found = await self._apart(both)
        self._log.write(event, **facts)
        return found

    def survey(self, fingerprint: str) -> KeptSurvey:
        """Return a survey, or raise the problem that there is none."""
        kept = self._catalog.get(fingerprint)
        if kept is None:
            raise ProblemError(Problem.UNKNOWN_SURVEY, "there is no survey with this fingerprint")
        return kept

    def epoch(self, fingerprint: str, name: str) -> StoredEpoch:
        """Return an epoch, or raise the problem that there is none."""
        found = self.survey(fingerprint).epochs.get(name)
        if found is None:
            raise ProblemError(Problem.UNKNOWN_EPOCH, "the survey has no epoch with this name")
        return found

    async def create(self, fingerprint: str, sent: NewSurvey) -> bool:
        """Keep a survey as a draft, or publish it with an epoch. Return whether it is new.

        The terms of a survey that exists do not change. The questions of its results do, and its
        text for people when the document has one and no epoch can be answered. The former text is
        kept once an epoch has opened. The fingerprint is that of the address, which must be the
        survey's own.
        """
        if isinstance(sent.epoch, NewEpoch):
            return await self._add(fingerprint, sent, sent.epoch)
        wanted = await self._apart(lambda: _stored(fingerprint, sent))
        async with self._turn:
            kept = self._catalog.get(fingerprint)
            if kept is None:
                await self._change(
                    "survey created", lambda: self._store.add_survey(wanted), survey=fingerprint
                )
                return True
            _check_terms(kept, wanted)
            said, known = Survey.from_json(wanted.document), kept.survey
            if said.notice not in ({}, known.notice) or said.questions not in ((), known.questions):
                now = int(self._clock())
                await self._change(
                    "survey text changed",
                    lambda: self._store.set_notice(wanted, now=now),
                    survey=fingerprint,
                )
        return False

    async def _add(self, fingerprint: str, sent: NewSurvey, plan: NewEpoch) -> bool:
        """Publish a survey with a new epoch, both or neither. Return whether the survey is new.

        The epoch opens now, or at the time that it names. A survey that exists keeps its terms
        where the document names none.
        """
        epoch = _planned(plan.name, plan)
        now = self._clock()
        epoch = replace(epoch, opens=int(now) if epoch.opens is None else epoch.opens)
        if epoch.closes is not None and epoch.closes <= now:
            raise malformed("closes must be a time in the future, but this one has passed")
        epoch = replace(epoch, state=state_at(epoch, now))
        async with self._turn:
            kept = self._catalog.get(fingerprint)
            own = None if kept is None else kept.stored
            wanted = await self._apart(lambda: _stored(fingerprint, sent, own=own))
            if kept is not None:
                _check_terms(kept, wanted)
            else:
                self._check_name(Survey.from_json(wanted.document).name)
            await self._change(
                "epoch added",
                lambda: self._store.add_epoch(wanted, epoch, now=int(now)),
                survey=fingerprint,
                epoch=epoch.name,
            )
        return kept is None

    def _check_name(self, name: str) -> None:
        """Refuse a second survey of a name: pages list surveys by their names."""
        for other in self._catalog:
            if other.survey.name == name and other.stored.state != "retired":
                raise ProblemError(
                    Problem.EXISTS,
                    "a survey with this name already exists with another fingerprint, "
                    f"{other.stored.fingerprint[:12]}. Give the new survey another name, or "
                    "retire the other one",
                )

    async def publish(self, fingerprint: str) -> None:
        """Let devices see a survey. Nothing happens when they do already."""
        async with self._turn:
            state = self.survey(fingerprint).stored.state
            if state == "retired":
                raise ProblemError(Problem.STATE, "a retired survey cannot be published again")
            if state == "draft":
                await self._change(
                    "survey published",
                    lambda: self._store.set_survey_state(fingerprint, "published"),
                    survey=fingerprint,
                )

    async def retire(self, fingerprint: str) -> None:
        """Close a survey and all of its epochs permanently. Its results stay."""
        async with self._turn:
            kept = self.survey(fingerprint)

            def work() -> None:
                now = int(self._clock())
                for epoch in kept.epochs.values():
                    if epoch.state != "closed":
                        # When it ended is what its retention is counted from.
                        self._store.put_epoch(fingerprint, _ended(epoch, now, last=True))
                        self._store.set_epoch_state(fingerprint, epoch.name, "closed")
                self._store.set_survey_state(fingerprint, "retired")

            if kept.stored.state != "retired":
                await self._change("survey retired", work, survey=fingerprint)

    async def delete(self, fingerprint: str) -> None:
        """Forget a survey and all that was collected for it."""
        async with self._turn:
            self.survey(fingerprint)
            await self._change(
                "survey deleted", lambda: self._store.delete_survey(fingerprint), survey=fingerprint
            )

    async def put_epoch(self, fingerprint: str, name: str, plan: EpochPlan) -> bool:
        """Plan an epoch, or change the times of one that is not closed. Say whether it is new."""
        epoch = _planned(name, plan)
        async with self._turn:
            before = self.survey(fingerprint).epochs.get(name)
            if before is not None and before.state == "closed":
                raise ProblemError(
                    Problem.STATE, "a closed epoch cannot be changed. Plan another one"
                )
            new = await self._change(
                "epoch planned",
                lambda: self._put(fingerprint, epoch),
                survey=fingerprint,
                epoch=name,
            )
        return new

    def _put(self, fingerprint: str, epoch: StoredEpoch) -> bool:
        new = self._store.put_epoch(fingerprint, epoch)
        (kept,) = (each for each in self._store.epochs(fingerprint) if each.name == epoch.name)
        if state_at(kept, self._clock()) == "open" != kept.state:
            self._store.set_epoch_state(fingerprint, epoch.name, "open")
        return new

    async def open_epoch(self, fingerprint: str, name: str) -> None:
        """Open an epoch now. Nothing happens to one that is open."""
        async with self._turn:
            epoch = self.epoch(fingerprint, name)
            if epoch.state in ("grace", "closed"):
                raise ProblemError(
                    Problem.STATE, "a closed epoch cannot be opened again. Plan another epoch"
                )
            now = int(self._clock())
            if epoch.closes is not None and epoch.closes <= now:
                raise ProblemError(
                    Problem.STATE, "the epoch's closing time has passed. Plan another one"
                )
            if epoch.state == "planned":

                def work() -> None:
                    self._store.put_epoch(fingerprint, replace(epoch, opens=now))
                    self._store.set_epoch_state(fingerprint, name, "open")

                await self._change("epoch opened", work, survey=fingerprint, epoch=name)

    async def close_epoch(self, fingerprint: str, name: str) -> None:
        """Close an epoch now: its grace begins. One that is in its grace ends it."""
        async with self._turn:
            epoch = self.epoch(fingerprint, name)
            if epoch.state == "closed":
                return
            last = epoch.state != "open" or epoch.grace_seconds == 0
            ended = _ended(epoch, int(self._clock()), last=last)

            def work() -> None:
                self._store.put_epoch(fingerprint, ended)
                self._store.set_epoch_state(fingerprint, name, "closed" if last else "grace")

            await self._change("epoch closed", work, survey=fingerprint, epoch=name)

    async def delete_epoch(self, fingerprint: str, name: str) -> None:
        """Forget an epoch and all that was collected in it."""
        async with self._turn:
            self.epoch(fingerprint, name)
            await self._change(
                "epoch deleted",
                lambda: self._store.delete_epoch(fingerprint, name),
                survey=fingerprint,
                epoch=name,
            )

    async def upload_tokens(self, fingerprint: str, number: int) -> list[str]:
        """Return new upload tokens, each good for one batch. Only their hashes are kept."""
        if not self.survey(fingerprint).invited_only:
            raise ProblemError(
                Problem.STATE,
                'the survey takes reports without tokens. Create one with "upload": "tokens"',
            )
        tokens = [new_token(UPLOAD_PREFIX) for _ in range(number)]
        async with self._turn:
            await self._change(
                "upload tokens made",
                lambda: self._store.add_upload_tokens(fingerprint, map(hash_of, tokens)),
                survey=fingerprint,
                number=number,
            )
        return tokens

    async def tick(self) -> None:
        """Do what the clock says: open, close, and delete what was kept long enough.

        Lists of batches are looked through once an hour.

        A ProblemError says that the store could not. The next tick tries again.
        """
        async with self._turn:
            now = self._clock()
            looks: dict[tuple[str, str], FirstLook] = {}
            every = [(kept, epoch) for kept in self._catalog for epoch in kept.epochs.values()]
            for kept in self._catalog:
                states = {epoch.name: state_at(epoch, now) for epoch in kept.epochs.values()}
                kept.past.clear()
                kept.past.update(
                    (name, state)
                    for name, state in states.items()
                    if state in ("grace", "closed") and state != kept.epochs[name].state
                )
            if any(next_end(epoch, kept.stored.retention_days) < math.inf for kept, epoch in every):
                looks = await self._apart(self._store.first_looks)
            for kept, epoch in every:
                await self._move_on(
                    kept.stored, epoch, looks.get((kept.stored.fingerprint, epoch.name)), now
                )

            running = self._monotonic()
            if self._looked is None or running - self._looked[0] >= LOOKS_APART:
                before, self._looked = self._looked, (running, now)
                if before is not None:  # a clock that was ahead in one of two looks drops nothing
                    ended = int(min(before[1], now) - LIST_DAYS * DAY)
                    await self._apart(partial(self._store.drop_lists, ended))

    async def _move_on(
        self, survey: StoredSurvey, epoch: StoredEpoch, noted: FirstLook | None, now: float
    ) -> None:
        """Open an epoch that is due. Close or delete one where this is the second look."""
        fingerprint, name, mark = survey.fingerprint, epoch.name, None
        ends = next_end(epoch, survey.retention_days)
        if ends <= now or noted is not None:
            look = partial(self._retention.due, fingerprint, epoch, ends, noted)
            mark = await self._apart(look)
        event, work = "epoch moved on", partial(self._store.set_epoch_state, fingerprint, name)
        if mark is not None and epoch.state == "closed":
            event = "epoch deleted"
            work = partial(self._store.delete_epoch, fingerprint, name, mark=mark)
        elif mark is not None:
            graced = epoch.state != "grace" and epoch.grace_seconds > 0
            work = partial(work, "grace" if graced else "closed", mark=mark)
        elif state_at(epoch, now) == "open" != epoch.state:
            work = partial(work, "open")
        else:
            return
        await self._change(event, work, survey=fingerprint, epoch=name)


def _ended(epoch: StoredEpoch, now: int, *, last: bool) -> StoredEpoch:
    """Return an epoch that closes now. When it is the last of it, its grace is over, too."""
    # One that was to open later never did.
    never = epoch.state == "planned" and epoch.opens is not None and epoch.opens > now
    opens = None if never else epoch.opens
    closes = now if epoch.closes is None else min(epoch.closes, now)
    if opens is not None:
        closes = max(closes, opens + 1)
    grace = max(0, now - closes) if last else epoch.grace_seconds
    return replace(epoch, opens=opens, closes=closes, grace_seconds=grace)


def _planned(name: str, plan: EpochPlan) -> StoredEpoch:
    """Return a planned epoch. A ProblemError when its name or times are not legal."""
    try:
        check_epoch_name(name)
        opens = to_timestamp(plan.opens, name="opens")
        closes = to_timestamp(plan.closes, name="closes")
    except ArgumentError as error:
        raise malformed(str(error)) from None
    if opens is not None and closes is not None and closes <= opens:
        raise malformed("closes must be after opens")
    return StoredEpoch(name, "planned", opens, closes, plan.grace_seconds)


def _check_pair(randomizer: Any) -> None:
    """Refuse a survey of pairs whose decode would take too long, before anybody answers it."""
    if not isinstance(randomizer.domain, Product):
        return
    cells, epsilon = randomizer.domain.size, float(randomizer.epsilon)
    if cells > (most := cells_in_time(epsilon)):
        raise ProblemError(
            Problem.SURVEY_REFUSED,
            f"at epsilon {epsilon:g} a collector decodes surveys of two attributes with at most "
            f"{most:,} cells, but this one has {cells:,}. Use fewer bins",
        )


def _check_terms(kept: KeptSurvey, wanted: StoredSurvey) -> None:
    # The fingerprints are equal: documents differ in the text for people, which is no term.
    if replace(kept.stored, state="draft", document=wanted.document) != wanted:
        raise ProblemError(
            Problem.EXISTS,
            "the survey already exists with another minimum, upload or retention. These terms do "
            "not change",
        )


def _stored(fingerprint: str, sent: NewSurvey, *, own: StoredSurvey | None = None) -> StoredSurvey:
    """Return a new survey as it is stored. A ProblemError when it is none.

    Terms that were not sent are those of `own`, and without it the usual ones.
    """
    try:
        survey = Survey.from_document(sent.survey)
        written = canonical(survey.to_document())
    except (FormatError, LapwingError) as error:
        raise ProblemError(Problem.SURVEY_REFUSED, str(error)) from None
    _check_pair(survey.randomizer)
    if survey.fingerprint != fingerprint:
        raise ProblemError(
            Problem.SURVEY_REFUSED,
            "the survey's fingerprint must match the address, but it does not",
        )
    terms = own or StoredSurvey(fingerprint, written, minimum=USUAL_MINIMUM)
    days = terms.retention_days if sent.retention_days is UNSET else sent.retention_days
    return StoredSurvey(
        fingerprint,
        written,
        minimum=terms.minimum if sent.minimum is UNSET else sent.minimum,
        upload=terms.upload if sent.upload is UNSET else sent.upload,
        retention_days=days,
    )
