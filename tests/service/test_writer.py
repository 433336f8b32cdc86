"""The thread that stores in groups: every upload is answered, and only after it is on disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from lapwing.errors import StoreBusyError, StoreError, StoreFullError
from lapwing.service.storage import writer as writer_module
from lapwing.service.storage.opening import SqliteStore
from lapwing.service.storage.store import STORED, Outcome, Upload
from lapwing.service.storage.writer import FEWEST_TOGETHER, LARGEST_GROUP, Writer
from tests.service.uploading import counts, publish, upload

LIMIT = 30
"""Seconds for anything awaited, so that a test that hangs says so."""


class Gate(SqliteStore):
    """A store whose `store` waits until it is let through, and may fail."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.open = threading.Event()
        self.open.set()
        self.entered = threading.Event()
        self.groups: list[int] = []
        self.failing: Exception | None = None
        self.poison: bytes | None = None

    def store(self, uploads: Sequence[Upload]) -> list[Outcome]:
        self.entered.set()
        assert self.open.wait(LIMIT)
        self.groups.append(len(uploads))
        if self.failing is not None:
            raise self.failing
        if any(one.id == self.poison for one in uploads):
            raise RuntimeError("unforeseen")
        return super().store(uploads)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    store = Gate(tmp_path / "collector.db")
    publish(store)
    return store


async def entered(gate: Gate) -> None:
    """Close the gate, and wait until the writer stands before it with one upload."""
    assert await asyncio.to_thread(gate.entered.wait, LIMIT)


def test_those_that_wait_share_a_transaction(gate: Gate) -> None:
    async def run() -> None:
        writer = Writer(gate)
        gate.open.clear()
        first = writer.submit(upload([1]))
        await entered(gate)
        others = [writer.submit(upload([2])) for _ in range(LARGEST_GROUP + 10)]
        assert writer.waiting == LARGEST_GROUP + 11
        gate.open.set()
        outcomes = await asyncio.wait_for(asyncio.gather(first, *others), LIMIT)
        assert {outcome.verdict for outcome in outcomes} == {STORED}
        await asyncio.to_thread(writer.stop)
        assert gate.groups == [1, LARGEST_GROUP, 10]
        assert (writer.groups, writer.uploads, writer.waiting) == (3, LARGEST_GROUP + 11, 0)

    asyncio.run(run())
    assert counts(gate)[1:3] == [1, LARGEST_GROUP + 10]
    gate.close()


def test_who_was_just_answered_is_waited_for(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else those who all come again at once would be stored in two groups for ever."""
    monkeypatch.setattr(writer_module, "GATHER_SHARE", 1e9)
    monkeypatch.setattr(writer_module, "GATHER_SECONDS", float(LIMIT))

    async def run() -> None:
        writer = Writer(gate)
        gate.open.clear()
        first = writer.submit(upload([1]))
        await entered(gate)
        others = [writer.submit(upload([2])) for _ in range(FEWEST_TOGETHER - 1)]
        gate.entered.clear()
        gate.open.set()
        await asyncio.wait_for(first, LIMIT)
        assert not await asyncio.to_thread(gate.entered.wait, 0.1)
        again = writer.submit(upload([1]))
        await asyncio.wait_for(asyncio.gather(again, *others), LIMIT)
        assert gate.groups == [1, FEWEST_TOGETHER]
        # Now nobody comes again, and a last one alone waits for nobody once the writer stops.
        last = writer.submit(upload([1]))
        await asyncio.to_thread(writer.stop)
        await asyncio.wait_for(last, LIMIT)

    asyncio.run(run())
    assert counts(gate)[1:3] == [3, FEWEST_TOGETHER - 1]
    gate.close()


def test_whoever_does_not_come_again_is_not_waited_for_long(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "GATHER_SHARE", 0.0)

    async def run() -> None:
        writer = Writer(gate)
        gate.open.clear()
        first = writer.submit(upload([1]))
        await entered(gate)
        others = [writer.submit(upload([2])) for _ in range(FEWEST_TOGETHER)]
        gate.open.set()
        await asyncio.wait_for(asyncio.gather(first, *others), LIMIT)
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    assert counts(gate)[1:3] == [1, FEWEST_TOGETHER]
    gate.close()


def test_an_answer_is_on_disk(gate: Gate) -> None:
    async def run() -> None:
        writer = Writer(gate)
        gate.open.clear()
        future = writer.submit(upload([1]))
        await entered(gate)
        await asyncio.sleep(0)
        assert not future.done() and counts(gate)[1] == 0
        gate.open.set()
        assert (await asyncio.wait_for(future, LIMIT)).verdict == STORED
        assert counts(gate)[1] == 1
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    gate.close()


def test_too_many_are_refused_at_once(gate: Gate) -> None:
    async def run() -> None:
        writer = Writer(gate, most_waiting=3)
        gate.open.clear()
        taken = [writer.submit(upload([1])) for _ in range(3)]
        with pytest.raises(StoreBusyError, match="too many uploads wait"):
            writer.submit(upload([1]))
        gate.open.set()
        await asyncio.wait_for(asyncio.gather(*taken), LIMIT)
        await asyncio.wait_for(writer.submit(upload([1])), LIMIT)
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    assert counts(gate)[1] == 4
    gate.close()


def test_too_many_bytes_are_refused_but_one_is_always_taken(gate: Gate) -> None:
    async def run() -> None:
        writer = Writer(gate, most_waiting_bytes=10)
        gate.open.clear()
        large = writer.submit(upload([1] * 50))
        with pytest.raises(StoreBusyError):
            writer.submit(upload([1]))
        gate.open.set()
        await asyncio.wait_for(large, LIMIT)
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    assert counts(gate)[1] == 50
    gate.close()


def test_stopping_stores_and_answers_all_that_was_taken(gate: Gate) -> None:
    async def run() -> None:
        writer = Writer(gate)
        gate.open.clear()
        taken = [writer.submit(upload([1])) for _ in range(20)]
        stopped = asyncio.get_running_loop().run_in_executor(None, writer.stop)
        while True:  # until it takes no more
            try:
                taken.append(writer.submit(upload([1])))
            except StoreBusyError:
                break
            await asyncio.sleep(0)
        gate.open.set()
        await asyncio.wait_for(stopped, LIMIT)
        outcomes = await asyncio.wait_for(asyncio.gather(*taken), LIMIT)
        assert {outcome.verdict for outcome in outcomes} == {STORED}
        assert counts(gate)[1] == len(taken)
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    gate.close()


@pytest.mark.parametrize("error", [StoreFullError("full"), StoreError("away")])
def test_a_trouble_is_told_to_all_and_passes(gate: Gate, error: StoreError) -> None:
    async def run() -> None:
        writer = Writer(gate)
        gate.failing = error
        sent = upload([1])
        with pytest.raises(type(error)):
            await asyncio.wait_for(writer.submit(sent), LIMIT)
        assert writer.trouble == str(error)
        gate.failing = None
        assert (await asyncio.wait_for(writer.submit(sent), LIMIT)).verdict == STORED
        assert writer.trouble is None
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    assert counts(gate)[1] == 1
    gate.close()


def test_what_nobody_foresaw_befalls_one_upload_only(gate: Gate) -> None:
    async def run() -> None:
        writer = Writer(gate)
        gate.open.clear()
        first = writer.submit(upload([1]))
        await entered(gate)
        group = [upload([2]) for _ in range(5)]
        gate.poison = group[2].id
        futures = [writer.submit(one) for one in group]
        gate.open.set()
        answers = await asyncio.wait_for(
            asyncio.gather(first, *futures, return_exceptions=True), LIMIT
        )
        assert [type(answer) for answer in answers].count(RuntimeError) == 1
        assert isinstance(answers[3], RuntimeError)
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    assert counts(gate)[1:3] == [1, 4]
    gate.close()


def test_one_that_nobody_waits_for_is_stored_and_answers_go_on(gate: Gate) -> None:
    async def run() -> None:
        writer = Writer(gate)
        gate.open.clear()
        given_up = writer.submit(upload([1]))
        await entered(gate)
        given_up.cancel()
        other = writer.submit(upload([2]))
        gate.open.set()
        assert (await asyncio.wait_for(other, LIMIT)).verdict == STORED
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    assert counts(gate)[1:3] == [1, 1]
    gate.close()


def test_a_loop_that_has_ended_does_not_stop_the_writer(gate: Gate) -> None:
    writers: list[Writer] = []

    async def leave() -> None:
        writers.append(Writer(gate))
        gate.open.clear()
        writers[0].submit(upload([1]))
        await entered(gate)

    asyncio.run(leave())
    gate.open.set()

    async def ask() -> Outcome:
        return await asyncio.wait_for(writers[0].submit(upload([2])), LIMIT)

    assert asyncio.run(ask()).verdict == STORED
    writers[0].stop()
    assert counts(gate)[1:3] == [1, 1]
    gate.close()


def test_when_idle_everything_is_folded(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.service.storage.writer.IDLE_SECONDS", 0.01)
    rested = threading.Event()
    rest = gate._driver.rest

    def noted() -> None:
        rest()
        rested.set()

    monkeypatch.setattr(gate._driver, "rest", noted)

    async def run() -> None:
        writer = Writer(gate)
        assert await asyncio.to_thread(rested.wait, LIMIT)
        rested.clear()  # once idle, it rests once
        await asyncio.wait_for(writer.submit(upload([1])), LIMIT)
        assert await asyncio.to_thread(rested.wait, LIMIT)
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    with gate._driver.reading() as transaction:
        assert not transaction.rows("SELECT * FROM deltas")
    assert counts(gate)[1] == 1
    gate.close()
