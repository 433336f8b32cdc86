"""Whoever answers instead of the collector: every report is counted once or waits."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

import lapwing as lw
from lapwing.service.storage.opening import SqliteStore
from tests.service.lying_box import LIES, PASSED_ON, LyingBox, lying_box
from tests.service.one_collector import ADMIN, ServedCollector, as_role, open_survey, served
from tests.service.waiting_crowds import EPSILON, Made, Planned, PythonCrowd, javascript_crowd

SURVEYS = {
    name: lw.Survey(name, lw.RandomizedResponse(lw.Categories(8), EPSILON))
    for name in ("stays", "deleted", "comes late")
}
FINGERPRINTS = {name: survey.fingerprint for name, survey in SURVEYS.items()}

OPEN = ("stays", "open")
GATEWAY = ("stays", "gateway")
LATE = ("stays", "late")
CLOSED = ("stays", "closed")
DELETED = ("stays", "deleted")
NEVER = ("stays", "never")
OF_DELETED = ("deleted", "e")
OF_LATE = ("comes late", "e")

SECOND_ANSWERS = [LATE, CLOSED, DELETED, NEVER, OF_DELETED, OF_LATE]

ENDS = {
    CLOSED: ("epoch-closed", 410),
    DELETED: ("epoch-deleted", 410),
    OF_DELETED: ("survey-deleted", 410),
}
"""What the collector says to those who come after the end, and the only reasons to drop a batch."""

LARGEST_BODY = 4096
"""Bytes, from the first restart on: the batches of a gateway are too large then."""

PILE = 4500


@dataclass
class Site:
    """A collector that starts again and again, over one folder or another, behind one box."""

    folder: Path
    box: LyingBox
    running: ServedCollector
    stack: ExitStack
    counted: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Batches that ended epochs had when they ended."""

    def start(self, folder: str) -> None:
        """Run a collector over a folder, and let the box ask it."""
        path = self.folder / folder
        path.mkdir(exist_ok=True)
        limit = {"LAPWING_LARGEST_BODY": str(LARGEST_BODY)}
        self.running = self.stack.enter_context(served(path, **limit))
        self.box.port = self.running.port

    def ask(self, method: str, path: str, document: object = None) -> None:
        url = f"{self.running.address}/v1/surveys/{path}"
        answer = httpx.request(method, url, json=document, headers=as_role(ADMIN), timeout=60)
        assert answer.status_code < 300, answer.text

    def open_epoch(self, survey: str, epoch: str) -> None:
        path = f"{FINGERPRINTS[survey]}/epochs/{epoch}"
        self.ask("PUT", path, {"grace_seconds": 3600})
        self.ask("POST", f"{path}/open")

    def ids(self, survey: str, epoch: str) -> set[str]:
        """Return the batches that the database has of an epoch."""
        with closing(sqlite3.connect(self.folder / "right" / "collector.sqlite")) as database:
            rows = database.execute(
                "SELECT ledger.id FROM ledger JOIN epochs ON ledger.epoch = epochs.key"
                " JOIN surveys ON epochs.survey = surveys.key"
                " WHERE surveys.fingerprint = ? AND epochs.name = ?",
                (FINGERPRINTS[survey], epoch),
            ).fetchall()
        assert len({*rows}) == len(rows)
        return {id.hex() for (id,) in rows}

    def end(self, key: tuple[str, str], method: str, path: str) -> None:
        """End an epoch while nobody sends."""
        self.counted[key] = self.ids(*key)
        self.ask(method, path)


@contextmanager
def started(folder: Path, *, seed: int) -> Iterator[tuple[Site, str]]:
    """Yield a collector with open epochs, and the address of the box before it."""
    with lying_box(0, seed=seed) as (box, address), ExitStack() as stack:
        (folder / "right").mkdir()
        running = stack.enter_context(served(folder / "right"))
        box.port = running.port
        for survey, epoch in (OPEN, OF_DELETED):
            open_survey(running.address, SURVEYS[survey], epoch=epoch)
        site = Site(folder, box, running, stack)
        for key in (GATEWAY, CLOSED, DELETED):
            site.open_epoch(*key)
        yield site, address


def planned(devices: int) -> list[Planned]:
    """Every device answers the open epoch, and one other."""
    return [[OPEN, SECOND_ANSWERS[number % len(SECOND_ANSWERS)]] for number in range(devices)]


def soak(folder: Path, *, python: int, javascript: int, piles: int, seed: int = 1) -> Counter[str]:
    """Let crowds answer and send through all that a box does, and compare them with the collector.

    Returns
    -------
    Counter
        What became of the requests, and of the batches.
    """
    with ExitStack() as stack:
        site, address = stack.enter_context(started(folder, seed=seed))
        crowd = PythonCrowd(folder, address, SURVEYS, planned(python))
        stack.callback(crowd.close)
        others = stack.enter_context(javascript_crowd(address, SURVEYS, planned(javascript)))
        pool = stack.enter_context(ThreadPoolExecutor(1))

        def send(rounds: int = 1) -> None:
            for _ in range(rounds):
                elsewhere = pool.submit(others.ask, "send")
                crowd.send()
                elsewhere.result()

        crowd.answer()
        others.ask("answer")
        send()
        crowd.put(*GATEWAY, reports=PILE, piles=range(piles // 2))
        site.box.only = "lost"  # so the collector has them, and the gateway does not know
        crowd.send_gateway()
        site.box.only = None
        crowd.put(*GATEWAY, reports=PILE, piles=range(piles // 2, piles))
        with ThreadPoolExecutor(1) as sending:  # killed and started again while they send
            on_its_way = sending.submit(send)
            site.running.kill()
            site.start("right")
            on_its_way.result()
        site.running.stop()
        site.start("wrong")
        send()
        site.running.stop()
        site.start("right")
        stays = f"{FINGERPRINTS['stays']}/epochs"
        site.ask("POST", f"{stays}/closed/close")  # its grace begins
        send()
        site.end(CLOSED, "POST", f"{stays}/closed/close")
        site.end(DELETED, "DELETE", f"{stays}/deleted")
        site.end(OF_DELETED, "DELETE", FINGERPRINTS["deleted"])
        send()
        site.open_epoch(*LATE)
        open_survey(site.running.address, SURVEYS[OF_LATE[0]], epoch=OF_LATE[1])
        send()
        before = Counter(one.state for one in [*crowd.made(), *others.made()])
        site.box.only = PASSED_ON
        send(rounds=3)
        crowd.answer()
        others.ask("answer")  # which changes nothing

        batches = [*crowd.made(), *others.made()]
        assert [*crowd.spent(), *others.spent()] == [2 * EPSILON] * (python + javascript)
        assert sum(one.reports for one in batches) == 2 * (python + javascript) + PILE * piles
        site.counted |= {key: site.ids(*key) for key in (OPEN, GATEWAY, LATE, OF_LATE)}
        site.running.stop()
        lost_answers = compare(site, batches)
        missing = {*LIES} - {*site.box.fates}
        assert not missing, f"the box never did this: {missing}"
        print(f"waiting before the box was honest: {before}")
        after = Counter({f"batches {state}": n for state, n in states(batches).items()})
        after["counted, and refused after their answer was lost"] = lost_answers
        return site.box.fates + after


def states(batches: list[Made]) -> Counter[str]:
    return Counter(one.state for one in batches)


def compare(site: Site, batches: list[Made]) -> int:
    """Check that every report is counted once, or waits, or came after the end of its epoch.

    Returns
    -------
    int
        Number of batches of deleted epochs that were counted, whose senders only saw the end.
    """
    store = SqliteStore(site.folder / "right" / "collector.sqlite")
    try:
        totals = {
            key: sum(store.tally(FINGERPRINTS[key[0]], key[1]).reports)
            for key in (OPEN, GATEWAY, LATE, OF_LATE, CLOSED)
        }
    finally:
        store.close()
    lost_answers = 0
    for key in (OPEN, GATEWAY, *SECOND_ANSWERS):
        of_key = [
            one for one in batches if (one.survey, one.epoch) == (FINGERPRINTS[key[0]], key[1])
        ]
        ids = {state: {one.id for one in of_key if one.state == state} for state in states(of_key)}
        counted = site.counted.get(key, set())
        assert of_key and counted <= {one.id for one in of_key}
        if key == NEVER:
            assert {*ids} == {"waiting"}, key
        elif key in ENDS:
            word, status = ENDS[key]
            assert {*ids} <= {"stored", "refused"}, (key, {*ids})
            assert ids["stored"] <= counted, key
            reasons = {one.reason for one in of_key if one.state == "refused"}
            assert reasons <= {word, f"{status} ({word})"}, (key, reasons)
            unheard = counted & ids.get("refused", set())
            assert key != CLOSED or not unheard  # its list of batches is still there
            lost_answers += len(unheard)
        else:
            assert {*ids} == {"stored"}, (key, states(of_key))
            assert ids["stored"] == counted, key
        if key in totals:
            assert totals[key] == sum(one.reports for one in of_key if one.id in counted), key
    return lost_answers


@pytest.mark.service
def test_reports_are_counted_once_or_wait_whoever_answers(tmp_path: Path) -> None:
    soak(tmp_path, python=24, javascript=12, piles=4)


@pytest.mark.soak
@pytest.mark.service
@pytest.mark.timeout(3600)
def test_eleven_thousand_devices_lose_nothing_whoever_answers(tmp_path: Path) -> None:
    print(soak(tmp_path, python=10_000, javascript=1_000, piles=40))
