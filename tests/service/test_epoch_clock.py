"""What the clock makes of epochs, also one that jumps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import ArgumentError
from lapwing.service.security import DAY
from lapwing.service.settings import Settings
from lapwing.service.storage.store import StoredEpoch
from lapwing.service.survey_life import (
    ENDS_APART,
    LIST_DAYS,
    LOOKS_APART,
    ORDER,
    kept_until,
    state_at,
    to_text,
    to_timestamp,
)
from tests.service.one_collector import NOON, Site, batch_of, labels_survey, new_id, problem, site

PLAN = StoredEpoch("e", opens=100, closes=200, grace_seconds=50)
SURVEY = labels_survey()


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (99, "planned"),
        (100, "open"),
        (199, "open"),
        (200, "grace"),
        (249, "grace"),
        (250, "closed"),
    ],
)
def test_an_epoch_follows_its_times(now: int, state: str) -> None:
    assert state_at(PLAN, now) == state


# The same cases each time, and as slow as the machine is just then.
@hypothesis.settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=20))
def test_a_clock_that_jumps_never_leads_back(moments: list[int]) -> None:
    epoch = PLAN
    for now in moments:
        state = state_at(epoch, now)
        assert ORDER.index(state) >= ORDER.index(epoch.state)
        epoch = replace(epoch, state=state)


def test_by_hand_the_clock_does_nothing() -> None:
    by_hand = StoredEpoch("e", grace_seconds=5)
    assert state_at(by_hand, 10**12) == "planned"
    assert state_at(replace(by_hand, state="open"), 10**12) == "open"


def test_retention_begins_when_an_epoch_has_closed() -> None:
    closed = replace(PLAN, state="closed")
    assert kept_until(closed, 2) == 250 + 2 * DAY
    assert kept_until(closed, None) is None
    assert kept_until(PLAN, 2) is None


@pytest.mark.parametrize(
    "text", ["2026-12-01", "2026-12-01T00:00:00", "noon", 5, True, "1901-01-01T00:00:00Z"]
)
def test_a_moment_has_an_offset_from_utc(text: object) -> None:
    with pytest.raises(ArgumentError, match="opens must"):
        to_timestamp(text, name="opens")


def test_a_moment_is_told_in_utc() -> None:
    assert to_timestamp(None, name="opens") is None and to_text(None) is None
    moment = to_timestamp("2026-12-01T01:30:00+01:00", name="opens")
    assert to_text(moment) == "2026-12-01T00:30:00Z"


async def test_a_collector_lives_by_its_clock(here: Site) -> None:
    path = await here.publish(SURVEY, epochs=(), retention_days=1)
    plan = {
        "opens": to_text(NOON + 100),
        "closes": to_text(NOON + 200),
        "grace_seconds": 50,
    }
    await here.done("PUT", f"{path}/epochs/e", json=plan)

    async def said(after: float) -> tuple[int, str | None]:
        here.clock.now = NOON + after
        await here.collector.tick()
        answer = await here.send(batch_of(SURVEY, 1))
        good = answer.status_code == 201
        return answer.status_code, None if good else problem(answer)

    assert await said(99) == (425, "epoch-not-open")
    assert await said(100) == (201, None)
    assert await said(0) == (201, None)  # the clock was set back: it stays open
    assert await said(249) == (201, None)
    assert await said(250) == (425, "epoch-not-open")  # one look closes nothing
    assert await said(249) == (201, None)
    assert await said(250) == (425, "epoch-not-open")
    await here.pass_end()
    assert await said(120) == (410, "epoch-closed")
    assert here.counts(SURVEY)[1] == 4
    assert await said(250 + DAY - 1) == (410, "epoch-closed")
    assert await said(250 + DAY) == (410, "epoch-closed")
    assert await said(250 + DAY) == (410, "epoch-closed")
    here.clock.running += LOOKS_APART
    assert await said(250 + DAY + LOOKS_APART) == (410, "epoch-deleted")
    epochs = await here.done("GET", f"{path}/epochs", token=None)
    assert epochs.json() == {"epochs": []}


async def test_an_epoch_that_was_slept_through_is_closed(here: Site) -> None:
    path = await here.publish(SURVEY, epochs=())
    plan = {"opens": to_text(NOON + 1), "closes": to_text(NOON + 2)}
    await here.done("PUT", f"{path}/epochs/e", json=plan)
    here.clock.now = NOON + 10
    answer = await here.ask("POST", f"{path}/epochs/e/open")
    assert (answer.status_code, problem(answer)) == (409, "wrong-state")
    await here.collector.tick()

    async def told() -> str:
        epochs = await here.done("GET", f"{path}/epochs", token=None)
        state: str = epochs.json()["epochs"][0]["state"]
        return state

    assert await told() == "grace"  # nobody pays for an answer that comes too late
    await here.pass_end()
    assert await told() == "closed"


@pytest.mark.parametrize("grace", [0, 7200])
async def test_a_clock_that_jumps_a_year_and_back_closes_nothing(
    settings: Settings, tmp_path: Path, grace: int
) -> None:
    """A report waits meanwhile, and is stored when the clock is right again."""

    @asynccontextmanager
    async def here_at(now: float) -> AsyncIterator[Site]:
        async with site(tmp_path, settings=settings, database=settings.database) as here:
            here.clock.now = now
            yield here

    async def turns(here: Site, seconds: int) -> list[str]:
        """Let time pass by; return what an upload hears, and what devices are told."""
        for _ in range(0, seconds, 100):
            here.clock.pass_by(100)
            await here.collector.tick()
        here.collector.catalog.load()  # as another request may do
        answer = await here.send(batch_of(SURVEY, 1))
        path = f"/v1/surveys/{SURVEY.fingerprint}/epochs"
        epochs = (await here.done("GET", path, token=None)).json()["epochs"]
        if answer.status_code == 425:
            assert int(answer.headers["retry-after"]) == 60 * settings.retry_seconds
        return [
            "stored" if answer.status_code == 201 else problem(answer),
            *(epoch["state"] for epoch in epochs),
        ]

    open_now, waits = ["stored", "open"], ["epoch-not-open", "grace"]
    async with here_at(NOON) as here:
        path = await here.publish(SURVEY, epochs=())
        plan = {"opens": to_text(NOON), "closes": to_text(NOON + DAY), "grace_seconds": grace}
        await here.done("PUT", f"{path}/epochs/e", json=plan)
        # Each jump is seen by several looks in less than ten minutes, and undone by one.
        for _ in range(3):
            here.clock.now += YEAR
            assert await turns(here, 500) == waits
            here.clock.now -= YEAR
            assert await turns(here, 100) == open_now
        here.clock.now += YEAR
        assert await turns(here, 500) == waits
    async with here_at(NOON + YEAR) as here:  # its ten minutes begin again
        assert await turns(here, 500) == waits
    async with here_at(NOON + 5000) as here:
        assert await turns(here, 3600) == open_now
        # One clock alone says nothing.
        here.clock.now += YEAR
        await here.collector.tick()
        await here.collector.tick()
        here.clock.now += 3600
        await here.collector.tick()
        here.clock.now -= YEAR + 3600
        here.clock.running += 3600
        assert await turns(here, 100) == open_now
        # A first look at another end is none at this one.
        for closes in (NOON + 10, None):
            if closes is None:
                assert await turns(here, 300) == waits
            change = {**plan, "closes": to_text(closes)}
            await here.done("PUT", f"{path}/epochs/e", json=change)
        assert await turns(here, 3600) == open_now
        await here.done("PUT", f"{path}/epochs/e", json=plan)
    if settings.database.startswith("post"):
        async with here_at(NOON + 30000) as right, here_at(NOON + YEAR) as wrong:
            for _ in range(4):
                assert await turns(wrong, 400) == waits
                assert await turns(right, 100) == open_now
    async with here_at(NOON + DAY + grace) as here:
        assert await turns(here, 500) == waits
        await here.pass_end()
        assert await turns(here, 100) == ["epoch-closed", "closed"]


async def test_a_stored_batch_is_answered_so_for_a_week_after_the_end(here: Site) -> None:
    await here.publish(SURVEY, epochs=())
    path = f"/v1/surveys/{SURVEY.fingerprint}"
    plan = {"opens": to_text(NOON), "closes": to_text(NOON + 10), "grace_seconds": 5}
    await here.done("PUT", f"{path}/epochs/e", json=plan)
    batch, name = batch_of(SURVEY, 1), new_id()
    await here.send(batch, id=name)

    async def said() -> str:
        answer = await here.send(batch, id=name)
        return answer.json()["state"] if answer.is_success else problem(answer)

    here.clock.now = NOON + 20
    await here.collector.tick()
    assert problem(await here.send(batch)) == "epoch-not-open"
    assert await said() == "already stored"  # between the two looks, and after them
    await here.pass_end()
    assert problem(await here.send(batch)) == "epoch-closed"
    assert await said() == "already stored"
    # A clock that is ahead in one look drops nothing.
    for ahead in (YEAR, -YEAR, 0):
        here.clock.pass_by(LOOKS_APART)
        here.clock.now += ahead
        await here.collector.tick()
        here.collector.store.fold(everything=True)
        assert await said() == "already stored"
    here.clock.pass_by(LIST_DAYS * DAY - LOOKS_APART)
    for word in ("already stored", "epoch-closed"):
        here.clock.pass_by(LOOKS_APART)
        await here.collector.tick()
        while here.collector.store.fold(everything=True):
            pass
        assert await said() == word
    assert here.counts(SURVEY)[1] == 1


async def test_an_epoch_that_moved_on_needs_new_looks_to_be_deleted(here: Site) -> None:
    path = await here.publish(SURVEY, epochs=(), retention_days=0)
    plan = {"opens": to_text(NOON), "closes": to_text(NOON + 10)}
    await here.done("PUT", f"{path}/epochs/e", json=plan)
    here.clock.now = NOON + 20
    await here.pass_end()
    store = here.collector.store
    assert store.epochs(SURVEY.fingerprint)[0].state == "closed"
    first = store.first_looks()[SURVEY.fingerprint, "e"]
    assert first.time == int(here.clock.now) - ENDS_APART
    store.set_epoch_state(SURVEY.fingerprint, "e", "closed", mark=first.mark + 1)
    assert store.first_looks()  # nothing happens by a mark that does not stand
    here.clock.pass_by(LOOKS_APART - ENDS_APART - 1)
    await here.collector.tick()
    assert store.epochs(SURVEY.fingerprint)


YEAR = 366 * DAY


async def test_a_clock_that_jumps_a_year_and_back_deletes_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    """Nothing is lost also over restarts, with collectors of different clocks."""

    @asynccontextmanager
    async def here_at(now: float) -> AsyncIterator[Site]:
        async with site(tmp_path, settings=settings, database=settings.database) as here:
            here.clock.now = now
            yield here

    async def turns(here: Site, seconds: int) -> bool:
        """Let time pass by; return whether the epoch is still there."""
        for _ in range(0, seconds, 600):
            here.clock.pass_by(600)
            await here.collector.tick()
        here.collector.catalog.load()
        return "e" in here.collector.catalog.get(SURVEY.fingerprint).epochs  # type: ignore[union-attr]

    async with here_at(NOON) as here:
        path = await here.publish(SURVEY, retention_days=1)
        await here.send(batch_of(SURVEY, 1))
        for _ in range(2):
            await here.done("POST", f"{path}/epochs/e/close")
        await here.collector.tick()
        # Each jump is found by several looks of less than an hour, and undone by one.
        for _ in range(3):
            here.clock.now += YEAR
            assert await turns(here, 3000)
            here.clock.now -= YEAR
            assert await turns(here, 600)
        here.clock.now += YEAR
        assert await turns(here, 3000)
    async with here_at(NOON + YEAR) as here:  # its hour begins again
        assert await turns(here, 3000)
    async with here_at(NOON + 3000) as here:  # the jump is over, and was forgotten
        assert await turns(here, 7200)
    async with here_at(NOON + YEAR) as here:
        assert await turns(here, 3000)
    if settings.database.startswith("post"):
        async with here_at(NOON + 9000) as right, here_at(NOON + YEAR) as wrong:
            for _ in range(4):
                assert await turns(wrong, 1800)
                assert await turns(right, 600)
        # A clock ahead has found it first; then a right one does, in time.
        async with here_at(NOON + YEAR) as wrong:
            assert await turns(wrong, 600)
    async with here_at(NOON + 2 * DAY) as here:
        assert await turns(here, 3600)
        assert not await turns(here, 3600)


async def test_the_second_look_deletes_nothing_that_another_collector_undid(here: Site) -> None:
    path = await here.publish(SURVEY, retention_days=0)
    for _ in range(2):
        await here.done("POST", f"{path}/epochs/e/close")
    store = here.collector.store
    store.note_first_look(SURVEY.fingerprint, "e", mark=5, time=NOON)
    store.delete_epoch(SURVEY.fingerprint, "e", mark=6)
    assert store.epochs(SURVEY.fingerprint)
    store.forget_first_look(SURVEY.fingerprint, "e")
    store.delete_epoch(SURVEY.fingerprint, "e", mark=5)
    assert store.epochs(SURVEY.fingerprint) and store.first_looks() == {}


async def test_an_end_that_was_put_off_needs_two_new_looks(here: Site) -> None:
    """Another collector of the database may have looked, and not know of the new end yet."""
    await here.publish(SURVEY, epochs=())
    path = f"/v1/surveys/{SURVEY.fingerprint}/epochs/e"
    plan = {"opens": to_text(NOON), "closes": to_text(NOON + 10)}
    await here.done("PUT", path, json=plan)
    store = here.collector.store
    store.note_first_look(SURVEY.fingerprint, "e", mark=5, time=NOON + 11)
    await here.done("PUT", path, json=plan)  # the same end: the look stands
    assert len(store.first_looks()) == 1
    await here.done("PUT", path, json={**plan, "closes": to_text(NOON + DAY)})
    store.set_epoch_state(SURVEY.fingerprint, "e", "closed", mark=5)
    assert store.epochs(SURVEY.fingerprint)[0].state == "open"
