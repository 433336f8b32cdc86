"""No history of a device's answers is told from another better than its ledger and statement say.

Everything that a device can draw is enumerated with exact probabilities, through the device's own
code and file. A history is a value for each epoch; all pairs of histories are compared. So what a
device remembers, pays and stores is under test, and not the law of one report, which other tests
enumerate.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
import lapwing.client.device as device_module
from lapwing.client import Device
from lapwing.client.device_file import DeviceFile
from lapwing.client.outbox import of_pile
from lapwing.errors import BudgetError, PrivacyError
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.reports import Reports
from lapwing.survey.privacy_statement import Participation
from lapwing.testing.randomizer_contract import exact_law

Law = Mapping[Any, Fraction]

VALUES = ("a", "b")
TWO = lw.Categories(VALUES)
HABIT = lw.Survey("habit", lw.Rappor(TWO, "0.5", lifetime=1), segments=["north", "south"])
OTHER_HABIT = replace(HABIT, name="other habit")
STEEP = lw.Survey("steep", lw.Rappor(TWO, "0.1", lifetime=4))
KEPT = lw.Survey("kept", lw.RandomizedResponse(TWO, 1), remembered=True)
FRESH = lw.Survey("fresh", lw.RandomizedResponse(TWO, "0.5"))


# All that a device can draw, one after the other.


@dataclass
class Draws:
    """The draws of one run: the first ones are prescribed, of the rest the first outcome."""

    outcomes: list[int]
    chance: Fraction = Fraction(1)
    place: int = 0
    sizes: list[int] | None = None

    def pick(self, law: Law) -> Any:
        self.sizes = self.sizes or []
        if self.place == len(self.outcomes):
            self.outcomes.append(0)
        outcome, chance = list(law.items())[self.outcomes[self.place]]
        self.sizes.append(len(law))
        self.place += 1
        self.chance *= chance
        return outcome

    def next(self) -> list[int] | None:
        """Return the outcomes of the run after this one; None when it was the last."""
        after, sizes = self.outcomes[: self.place], self.sizes or []
        while after and after[-1] + 1 == sizes[len(after) - 1]:
            after.pop()
        return [*after[:-1], after[-1] + 1] if after else None


@cache
def flips(bits: tuple[bool, ...], keep: int) -> Law:
    """The law of bits each of which is kept with so many chances in 2^64."""
    law: dict[bytes, Fraction] = {}
    for changes in itertools.product((False, True), repeat=len(bits)):
        chance = Fraction(1)
        for change in changes:
            chance *= Fraction(WORD - keep if change else keep, WORD)
        code = sum(
            (bit ^ change) << n for n, (bit, change) in enumerate(zip(bits, changes, strict=True))
        )
        law[code.to_bytes((len(bits) + 7) // 8, "little")] = chance
    return law


@cache
def report_law(randomizer: Any, symbol: int) -> Law:
    return exact_law(randomizer, symbol, most=2000)


@contextmanager
def enumerated(patch: pytest.MonkeyPatch) -> Iterator[Callable[[Draws], None]]:
    """Let surveys and RAPPOR draw from prescribed outcomes; yields what takes the next draws."""
    now: list[Draws] = []

    def randomize(survey: lw.Survey, values: Any, **_: Any) -> Reports:
        (symbol,) = survey.randomizer.domain.index(list(values)).tolist()
        data = now[-1].pick(report_law(survey.randomizer, symbol))
        array = np.frombuffer(data, np.uint8).reshape(1, -1)
        return Reports(array, survey.randomizer.fingerprint, survey.fingerprint)

    def permanent_round(rappor: lw.Rappor, value: Any, **_: Any) -> bytes:
        (symbol,) = rappor.domain.index([value]).tolist()
        bits = tuple(other == symbol for other in range(rappor.domain.size))
        drawn: bytes = now[-1].pick(flips(bits, rappor._thresholds["permanent"]))
        return drawn

    def report(rappor: lw.Rappor, kept: bytes, *, survey: str) -> Reports:
        code = int.from_bytes(kept, "little")
        bits = tuple(bool(code >> place & 1) for place in range(rappor.domain.size))
        data = now[-1].pick(flips(bits, rappor._thresholds["instantaneous"]))
        return Reports(np.frombuffer(data, np.uint8).reshape(1, -1), rappor.fingerprint, survey)

    with patch.context() as patched:
        patched.setattr(lw.Survey, "randomize", randomize)
        patched.setattr(lw.Rappor, "permanent_round", permanent_round)
        patched.setattr(lw.Rappor, "report", report)
        yield now.append


@dataclass(frozen=True)
class FileInMemory(DeviceFile):
    """The file of a device as bytes, so that every run begins where another one was."""

    content: bytearray

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.deserialize(bytes(self.content))
            yield connection
            self.content[:] = connection.serialize()


# Histories.


@dataclass(frozen=True)
class Ask:
    """One question to the device: which survey, in which epoch, and what goes wrong meanwhile."""

    survey: lw.Survey
    epoch: str
    segment: str | None = None
    killed: bool = False
    """Before the transaction is on the disk: whatever was drawn is gone."""


@dataclass(frozen=True)
class Told:
    """The exact law of what a collector receives, and what the device's ledger says."""

    law: Law
    spent: frozenset[Fraction]


def laws_of_histories(
    folder: Path,
    asked: Sequence[Ask],
    patch: pytest.MonkeyPatch,
    *,
    budget: Any = 20,
    on_change: Any = "keep",
) -> dict[tuple[str, ...], Told]:
    """Return the law of every history of values, one for each question."""
    folder.mkdir(exist_ok=True)
    Device.open(folder, epsilon_cap=4, budget=budget)
    start = (folder / "device.lapwing").read_bytes()
    files = {_memory(start): start}
    laws: dict[tuple[str, ...], dict[Any, Fraction]] = {(): {(_memory(start), ()): Fraction(1)}}
    with enumerated(patch) as use:
        for number, ask in enumerate(asked):
            again = {(each.survey.fingerprint, each.epoch) for each in asked[number + 1 :]}
            # Of files that differ only in what was sent, one stands for all: it is not read again.
            runs = {
                (memory, value): list(_answers(files[memory], ask, value, use, on_change))
                for memory in {memory for law in laws.values() for memory, _ in law}
                for value in VALUES
            }
            files = {_memory(after, again): after for run in runs.values() for after, _, _ in run}
            told = {
                key: [(_memory(after, again), said, chance) for after, said, chance in run]
                for key, run in runs.items()
            }
            longer: dict[tuple[str, ...], dict[Any, Fraction]] = {}
            for history, law in laws.items():
                for value in VALUES:
                    new = longer[(*history, value)] = {}
                    for (memory, seen), before in law.items():
                        for after, said, chance in told[memory, value]:
                            key = after, (*seen, said)
                            new[key] = new.get(key, Fraction(0)) + before * chance
            laws = longer
    return {history: _told(law) for history, law in laws.items()}


def _answers(
    state: bytes, ask: Ask, value: str, use: Callable[[Draws], None], on_change: Any
) -> Iterator[tuple[bytes, Any, Fraction]]:
    """Yield every file that an answer may leave, what a collector gets, and with which chance."""
    outcomes: list[int] | None = []
    while outcomes is not None:
        draws = Draws(outcomes)
        use(draws)
        file = FileInMemory(Path("device.lapwing"), bytearray(state))
        device = Device(file, Fraction(4), on_change)
        said: Any = None
        try:
            device.answer(ask.survey, value, epoch=ask.epoch, segment=ask.segment)
        except (BudgetError, PrivacyError) as error:
            said = type(error).__name__
        else:
            with file.transaction() as connection:
                ((_, body),) = of_pile(connection, ask.survey.fingerprint, ask.epoch)
            batch = Batch.from_bytes(body or b"", segments=["north", "south"])
            said = batch.segment, batch.records
        yield (
            (state, None, draws.chance)
            if ask.killed
            else (
                bytes(file.content),
                said,
                draws.chance,
            )
        )
        outcomes = draws.next()


def _memory(state: bytes, again: Collection[tuple[str, str]] = ()) -> tuple[Any, ...]:
    """Return all that a file holds but what is sent and ids that are drawn; first what was paid.

    What is sent to those surveys and epochs that are asked again is part of it.
    """
    file = FileInMemory(Path("device.lapwing"), bytearray(state))
    cost = Device(file, Fraction(4)).ledger.spent
    with file.transaction() as connection:
        rows = [
            tuple(connection.execute(query).fetchall())
            for query in (
                "SELECT * FROM permanent_round ORDER BY 1",
                "SELECT * FROM remembered_report ORDER BY 1",
                "SELECT survey, epoch, state FROM batch ORDER BY 1, 2",
            )
        ]
        sent = connection.execute("SELECT survey, epoch FROM batch ORDER BY 1, 2").fetchall()
        rows.append(
            tuple(
                (*row, body)
                for row in map(tuple, sent)
                if row in again
                for _, body in of_pile(connection, *row)
            )
        )
    return Fraction(0) if cost is None else cost.epsilon, *(
        tuple(map(tuple, table)) for table in rows
    )


def _told(reached: Mapping[tuple[Any, tuple[Any, ...]], Fraction]) -> Told:
    law: dict[Any, Fraction] = {}
    for (_, seen), chance in reached.items():
        law[seen] = law.get(seen, Fraction(0)) + chance
    assert sum(law.values()) == 1
    return Told(law, frozenset(memory[0] for memory, _ in reached))


def worst_ratio(told: Mapping[Any, Told]) -> Fraction | None:
    """Return the largest ratio of all pairs of histories; None where one excludes the other."""
    worst = Fraction(1)
    for one, other in itertools.permutations(told.values(), 2):
        if set(one.law) != set(other.law):
            return None
        worst = max(worst, max(one.law[seen] / other.law[seen] for seen in one.law))
    return worst


def check(told: Mapping[Any, Told], *, claim: Fraction) -> None:
    """The ledger says the same of all histories, and no pair is told apart better than it says."""
    assert {spent for each in told.values() for spent in each.spent} == {claim}
    worst = worst_ratio(told)
    assert worst is not None, "a history excludes what another one may send"
    low = exponential_bounds(claim)[0]
    assert worst <= low, f"the ratio is {float(worst):.4g}, e^epsilon {float(low):.4g}"


def said(*surveys: tuple[lw.Survey, int]) -> Fraction:
    """What the privacy statement says of so many reports to each survey."""
    return sum((Participation(*each).cost.epsilon for each in surveys), Fraction(0))


EPOCHS = ("1", "2", "3")


@pytest.mark.parametrize("survey", [HABIT, STEEP, KEPT, FRESH], ids=lambda s: s.name)
@pytest.mark.parametrize("length", [2, 3])
def test_no_history_is_told_better_than_ledger_and_statement_say(
    survey: lw.Survey, length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [Ask(survey, epoch) for epoch in EPOCHS[:length]]
    told = laws_of_histories(tmp_path, asked, monkeypatch)
    claim = said((survey, length))
    assert len(told) == 2**length
    check(told, claim=claim)
    # And it is no idle bound: the ledger's epsilon is nearly reached.
    worst = worst_ratio(told)
    assert worst is not None and worst > exponential_bounds(Fraction(99, 100) * claim)[1]
    if survey.answers != "fresh":
        for history in told:
            assert told[history] == told[(history[0],) * length], "later values are read"


def test_segments_that_change_tell_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever label stands beside a report, and whether it changes."""
    asked = [Ask(HABIT, "1", "north"), Ask(HABIT, "2", "south"), Ask(HABIT, "3")]
    told = laws_of_histories(tmp_path, asked, monkeypatch)
    check(told, claim=said((HABIT, 3)))
    for each in told.values():
        assert {tuple(segment for segment, _ in seen) for seen in each.law} == {(1, 2, 0)}


def test_an_epoch_is_answered_once_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collector that opens an epoch again, or others, gets what the ledger says and no more."""
    asked = [Ask(HABIT, "2026-w1"), Ask(HABIT, "2026-w1"), Ask(HABIT, "again")]
    told = laws_of_histories(tmp_path, asked, monkeypatch)
    check(told, claim=said((HABIT, 2)))


@pytest.mark.parametrize("second", [FRESH, OTHER_HABIT], ids=lambda s: s.name)
def test_surveys_of_one_attribute_add_up(
    second: lw.Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RAPPOR beside another survey: each report has its own law, and the ledger covers both."""
    asked = [Ask(HABIT, "1"), Ask(second, "1")]
    if second is FRESH:
        asked += [Ask(HABIT, "2"), Ask(second, "2")]
    told = laws_of_histories(tmp_path, asked, monkeypatch)
    rounds = len(asked) // 2
    check(told, claim=said((HABIT, rounds), (second, rounds)))
    for history, each in told.items():
        for place, survey in enumerate((HABIT, second)):
            law: dict[bytes, Fraction] = {}
            for seen, chance in each.law.items():
                law[seen[place][1]] = law.get(seen[place][1], Fraction(0)) + chance
            symbol = int(TWO.index([history[place]])[0])
            assert law == report_law(survey.randomizer, symbol)


@pytest.mark.parametrize("survey", [HABIT, FRESH], ids=lambda s: s.name)
def test_a_kill_before_the_disk_tells_nothing(
    survey: lw.Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value at the time of the kill is seen by nobody; the round is drawn from the next one."""
    asked = [Ask(survey, "1", killed=True), Ask(survey, "1"), Ask(survey, "2")]
    told = laws_of_histories(tmp_path, asked, monkeypatch)
    check(told, claim=said((survey, 2)))
    for history in told:
        assert told[history].law == told[("a", *history[1:])].law


@pytest.mark.parametrize("survey", [HABIT, FRESH], ids=lambda s: s.name)
def test_silence_of_a_spent_budget_tells_nothing(
    survey: lw.Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [Ask(survey, epoch) for epoch in EPOCHS]
    told = laws_of_histories(tmp_path, asked, monkeypatch, budget="0.6")
    check(told, claim=said((survey, 1)))
    assert all(seen[-2:] == ("BudgetError",) * 2 for each in told.values() for seen in each.law)


@pytest.mark.parametrize("survey", [HABIT, KEPT], ids=lambda s: s.name)
def test_what_is_refused_is_silence_and_the_reports_are_covered(
    survey: lw.Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among histories that change in the same epochs; others differ by a silence."""
    asked = [Ask(survey, epoch) for epoch in EPOCHS]
    told = laws_of_histories(tmp_path, asked, monkeypatch, on_change="refuse")
    assert worst_ratio(told) is None
    patterns = {tuple(value == history[0] for value in history) for history in told}
    assert len(patterns) == 4
    for pattern in patterns:
        alike = {
            history: each
            for history, each in told.items()
            if tuple(value == history[0] for value in history) == pattern
        }
        check(alike, claim=said((survey, sum(pattern))))


# Errors that are planted.


def _fresh_round_after_a_change(patch: pytest.MonkeyPatch) -> None:
    """As it was: a permanent round for each value, charged by how many reports it has had."""

    def each(self: Device, connection: Any, secret: bytes, survey: Any, rappor: Any, value: Any):  # type: ignore[no-untyped-def]
        other = replace(survey, name=f"{survey.name} {value}")
        return _REAL(self, connection, secret, other, rappor, value)

    patch.setattr(Device, "_round", each)


def _round_of_the_new_value(patch: pytest.MonkeyPatch) -> None:
    """A changed value draws again in place of the first round, and is charged as if it had not."""

    def again(self: Device, connection: Any, secret: bytes, survey: Any, rappor: Any, value: Any):  # type: ignore[no-untyped-def]
        made = _REAL(self, connection, secret, survey, rappor, value)
        new = rappor.permanent_round(value)
        connection.execute("UPDATE permanent_round SET round = ?", (new,))
        return made

    patch.setattr(Device, "_round", again)


def _a_key_without_the_survey(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(device_module, "row_key", lambda secret, survey: b"one for all")


_REAL = Device._round


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (_fresh_round_after_a_change, [Ask(HABIT, "1"), Ask(HABIT, "2")]),
        (_round_of_the_new_value, [Ask(STEEP, epoch) for epoch in EPOCHS[:2]]),
        (_a_key_without_the_survey, [Ask(HABIT, "1"), Ask(OTHER_HABIT, "1")]),
    ],
)
def test_planted_errors_are_seen(
    error: Any, asked: list[Ask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error(monkeypatch)
    told = laws_of_histories(tmp_path, asked, monkeypatch)
    surveys = {ask.survey.fingerprint: ask.survey for ask in asked}
    rounds = {key: sum(ask.survey.fingerprint == key for ask in asked) for key in surveys}
    claim = said(*((surveys[key], rounds[key]) for key in surveys))
    with pytest.raises(AssertionError):
        check(told, claim=claim)
