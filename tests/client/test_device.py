"""A device answers once for an epoch, pays once, and stores both or neither."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import (
    Categories,
    Guarantee,
    HashedStrings,
    Interval,
    LinearHashing,
    RandomizedResponse,
    Rappor,
    SquareWave,
    Survey,
)
from lapwing.client import Device, Gateway
from lapwing.client.collector_address import check_symbols
from lapwing.client.outbox import Outbox
from lapwing.errors import (
    ArgumentError,
    BudgetError,
    DeviceError,
    DomainError,
    FormatError,
    LapwingError,
    LapwingWarning,
    MismatchError,
    PrivacyError,
)
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.messages.batch import Batch
from lapwing.randomizers import OptimizedUnaryEncoding
from tests.cli.running import environment
from tests.false_alarms import accepts, binomial_tail

AGE = Survey("age", SquareWave(Interval(0, 100, bins=10, outside="refuse"), "0.5"))
COLORS = RandomizedResponse(Categories(["red", "green", "blue"]), 1)
COLOR = Survey("color", COLORS, segments=["north", "south"])
KEPT = Survey("bits", OptimizedUnaryEncoding(Categories(200), 1), remembered=True)
HABIT = Survey("habit", Rappor(Categories(200), 1, lifetime=2))


def opened(folder: Path, *, cap: Any = 4, budget: Any = 10) -> Device:
    return Device.open(folder, epsilon_cap=cap, budget=budget)


def stored(device: Device) -> dict[str, Batch]:
    """The waiting batches of a device, by epoch."""
    box = Outbox(device.file)
    parcels = [box.parcel(each.id) for each in box.batches() if each.state == "waiting"]
    return {
        each.epoch: Batch.from_bytes(each.body, segments=["north", "south"])
        for each in parcels
        if each is not None
    }


def spent(device: Device) -> Fraction:
    cost = device.ledger.spent
    return Fraction(0) if cost is None else cost.epsilon


def test_an_answer_is_a_report_of_the_survey_and_is_paid(tmp_path: Path) -> None:
    device = opened(tmp_path)
    made = device.answer(AGE, 42, epoch="2026-12")
    assert made.state == "waiting" and made.charged == AGE.guarantee
    (entry,) = device.ledger.entries
    assert entry.release == made.batch and entry.guarantee == AGE.guarantee
    assert entry.name == "age (2026-12)" and spent(device) == Fraction(1, 2)
    (batch,) = device.batches()
    assert (batch.id, batch.survey, batch.reports) == (made.batch, AGE.fingerprint, 1)
    sent = stored(device)["2026-12"]
    reports = sent.to_reports(AGE.randomizer.fingerprint)
    assert (sent.survey, sent.segment, sent.reports) == (AGE.fingerprint, 0, 1)
    assert AGE.tally(reports).total == 1


def test_a_second_answer_is_the_first(tmp_path: Path) -> None:
    """Whatever its value, its segment, or the program that asks."""
    first = opened(tmp_path).answer(COLOR, "red", epoch="1", segment="north")
    before = stored(opened(tmp_path))
    for value in ("red", "blue", "green", "no color", None):
        again = opened(tmp_path).answer(COLOR, value, epoch="1", segment="south")
        assert again.batch == first.batch and again.charged is None
    device = opened(tmp_path)
    assert stored(device) == before and len(device.batches()) == 1 and spent(device) == 1


def test_every_epoch_and_survey_costs(tmp_path: Path) -> None:
    device = opened(tmp_path)
    for number in range(3):
        assert device.answer(COLOR, "red", epoch=f"week-{number}").charged is not None
        assert device.answer(AGE, 1, epoch=f"week-{number}").charged is not None
    assert spent(device) == 3 + Fraction(3, 2)
    assert len({batch.id for batch in device.batches()}) == 6


def test_segments_stand_beside_a_report(tmp_path: Path) -> None:
    device = opened(tmp_path)
    for epoch, label in (("n", "north"), ("s", "south"), ("x", None), ("y", "other")):
        device.answer(COLOR, "red", epoch=epoch, segment=label)
    with pytest.warns(LapwingWarning, match="'other'. Its segments: 'north', 'south'. ") as warned:
        device.answer(COLOR, "red", epoch="o", segment="west")
    assert "west" not in str(warned[0].message) and warned[0].filename == __file__
    with pytest.warns(LapwingWarning, match="Its segments: none"):
        device.answer(AGE, 40, epoch="o", segment="west")
    numbers = {epoch: batch.segment for epoch, batch in stored(device).items()}
    assert numbers == {"n": 1, "s": 2, "o": 0, "x": 0, "y": 0}


def test_the_file_is_its_owners_and_alone(tmp_path: Path) -> None:
    device = opened(tmp_path)
    device.answer(AGE, 42, epoch="1")
    file, journal = sorted(tmp_path.iterdir())
    assert journal.name == "device.lapwing-journal"
    assert {stat.S_IMODE(each.stat().st_mode) for each in (file, journal)} == {0o600}
    connection = sqlite3.connect(file)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        connection.close()


def test_the_budget_holds_over_all_surveys(tmp_path: Path) -> None:
    device = opened(tmp_path, budget="2")
    device.answer(COLOR, "red", epoch="1")
    device.answer(AGE, 1, epoch="1")
    with pytest.raises(BudgetError, match="Nothing was spent"):
        device.answer(COLOR, "red", epoch="2")
    assert len(device.batches()) == 2 and spent(device) == Fraction(3, 2)
    device.answer(AGE, 1, epoch="2")
    assert device.ledger.remaining is None
    # What was answered still is.
    assert device.answer(COLOR, "red", epoch="1").charged is None


@pytest.mark.parametrize("survey", [COLOR, KEPT])
def test_the_cap_holds_for_each_survey(tmp_path: Path, survey: Survey) -> None:
    device = opened(tmp_path, cap="0.99")
    with pytest.raises(PrivacyError, match=r"an epsilon of at most 0\.99"):
        device.answer(survey, 0 if survey is KEPT else "red", epoch="1")
    assert not device.batches() and spent(device) == 0
    opened(tmp_path, cap=1).answer(survey, 0 if survey is KEPT else "red", epoch="1")


def test_the_cap_is_on_a_lifetime(tmp_path: Path) -> None:
    with pytest.raises(PrivacyError, match=r"epsilon = 2"):
        opened(tmp_path, cap="1.9").answer(HABIT, 0, epoch="1")
    assert opened(tmp_path, cap=2).answer(HABIT, 0, epoch="1").charged is not None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"epoch": ""}, "epoch"),
        ({"epoch": "Week"}, "epoch"),
        ({"epoch": "a/b"}, "epoch"),
        ({"epoch": "../x"}, "epoch"),
        ({"epoch": "x" * 65}, "epoch"),
        ({"epoch": "1\n"}, "epoch"),
        ({"epoch": 3}, "epoch"),
        ({"segment": 3}, "segment"),
        ({"upload_token": ""}, "upload token"),
        ({"upload_token": "two words"}, "upload token"),
        ({"upload_token": "a\r\nb: c"}, "upload token"),
        ({"upload_token": 3}, "upload token"),
    ],
)
def test_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    device = opened(tmp_path)
    with pytest.raises(ArgumentError, match=says):
        device.answer(AGE, 42, **{"epoch": "1", **changes})
    assert not device.batches() and spent(device) == 0


def test_a_refused_value_is_not_told_and_costs_nothing(tmp_path: Path) -> None:
    device = opened(tmp_path)
    with pytest.raises(DomainError) as caught:
        device.answer(AGE, 123456.5, epoch="1")
    assert "123456" not in str(caught.value)
    assert not device.batches() and spent(device) == 0
    assert device.answer(AGE, 42, epoch="1").charged is not None


DAY = Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)


@pytest.mark.parametrize("number", [9, 32_400, 0.375, np.int64(9), Decimal(9)])
def test_a_number_for_a_date_or_a_time_of_day_is_refused_and_costs_nothing(
    tmp_path: Path, number: Any
) -> None:
    device = opened(tmp_path)
    hour = Survey("hour", SquareWave(DAY, 1))
    date = Survey("date", SquareWave(Interval("2026-11-01", "2026-12-01", bins=30, unit="date"), 1))
    for survey, example in ((hour, "09:30"), (date, "2026-11-21")):
        with pytest.raises(DomainError, match=f'Write it as a string, such as "{example}"'):
            device.answer(survey, number, epoch="1")
    assert spent(device) == 0 and device.batches() == []
    device.answer(hour, "09:00", epoch="1")
    assert spent(device) > 0


MONTH = Interval("2026-11-01", "2026-12-01", bins=30, unit="datetime")


@pytest.mark.parametrize(
    "survey",
    [
        Survey("fresh", SquareWave(MONTH, 1)),
        Survey("kept", SquareWave(MONTH, 1), remembered=True),
        Survey("rounds", Rappor(MONTH, 1, lifetime=2)),
    ],
    ids=lambda survey: survey.name,
)
def test_milliseconds_for_seconds_are_refused_and_cost_nothing(
    tmp_path: Path, survey: Survey
) -> None:
    device = opened(tmp_path)

    for number in (1_795_253_400_000, 1_795_253_400_000.0, np.int64(1_795_253_400_000)):
        with pytest.raises(DomainError, match="divide milliseconds by 1000") as refused:
            device.answer(survey, number, epoch="1")
        assert "1795" not in str(refused.value)
    assert spent(device) == 0 and device.batches() == []
    device.answer(survey, 1_795_253_400, epoch="1")
    assert spent(device) > 0


def test_a_remembered_report_is_paid_once_and_never_changes(tmp_path: Path) -> None:
    device = opened(tmp_path, budget=1)
    charged = [device.answer(KEPT, number, epoch=f"w{number}").charged for number in range(5)]
    assert charged == [KEPT.randomizer.guarantee, None, None, None, None]
    made = stored(opened(tmp_path, budget=1))
    assert len(made) == 5 and len({batch.records for batch in made.values()}) == 1
    assert len({batch.id for batch in device.batches()}) == 5 and spent(device) == 1


def test_fresh_reports_are_fresh(tmp_path: Path) -> None:
    """Two of 200 bits are equal with probability below 1e-30."""
    fresh = Survey("bits", KEPT.randomizer)
    device = opened(tmp_path)
    for number in range(5):
        device.answer(fresh, 0, epoch=f"w{number}")
    assert len({batch.records for batch in stored(device).values()}) == 5 and spent(device) == 5


def test_rappor_is_charged_what_its_promise_grows_by(tmp_path: Path) -> None:
    device = opened(tmp_path)
    assert isinstance(HABIT.randomizer, Rappor)
    for number in range(1, 8):
        device = opened(tmp_path)
        device.answer(HABIT, 7, epoch=f"w{number}")
        assert spent(device) == HABIT.randomizer.epsilon_of(number)
    # A value that changed is not read, so it costs no other round.
    device.answer(HABIT, 8, epoch="other")
    assert spent(device) == HABIT.randomizer.epsilon_of(8)
    for number in range(8, 60):
        device.answer(HABIT, number, epoch=f"w{number}")
    assert spent(device) == HABIT.randomizer.epsilon_of(60) <= 2


def kept_round(device: Device) -> tuple[bytes, int]:
    """The only permanent round of a device, and how many reports it has had."""
    with closing(sqlite3.connect(device.file.path)) as connection:
        ((kept, count),) = connection.execute("SELECT round, reports FROM permanent_round")
    return kept, count


def test_rappor_keeps_its_permanent_round(tmp_path: Path) -> None:
    """Also when the value changes. Reports differ from it in the bits that the other round flips.

    That flips 8.0% of 2000 bits: more than 543 with probability below 1e-140. Of a permanent round
    that was drawn anew 46% differ: fewer than 543 with probability below 1e-69.
    """
    rappor = Rappor(Categories(2000), 1, lifetime="1.2")
    survey = Survey("habit", rappor)
    device = opened(tmp_path)
    for number in range(3):
        device.answer(survey, number, epoch=f"w{number}")
    kept, count = kept_round(device)
    reports = [int.from_bytes(batch.records, "little") for batch in stored(device).values()]
    assert len(reports) == count == 3
    for permanent, same in ((kept, True), (rappor.permanent_round(0), False)):
        number = int.from_bytes(permanent, "little")
        differ = [(report ^ number).bit_count() for report in reports]
        assert all((number <= 543) == same for number in differ), differ


def test_a_value_that_changes_forty_times_has_one_round(tmp_path: Path) -> None:
    """An attack that succeeded: each value had a round, and each change was told from the reports.

    Of the instantaneous rounds of 40 reports, each bit is changed as often as any other.
    """
    rappor = Rappor(Categories(20), "0.5", lifetime=1)
    survey = Survey("attack", rappor)
    device = opened(tmp_path, cap=2, budget=2)
    for number in range(40):
        device.answer(survey, number % 2, epoch=f"w{number}")
    kept, count = kept_round(device)
    assert count == 40 and spent(device) == rappor.epsilon_of(40) <= 1
    again = rappor._thresholds["instantaneous"] / WORD
    reports = np.array([list(batch.records) for batch in stored(device).values()], np.uint8)
    same = np.unpackbits(~(reports ^ np.frombuffer(kept, np.uint8)), axis=1, bitorder="little")
    assert accepts(binomial_tail(same[:, :20].sum(axis=0), 40, again))


@pytest.mark.parametrize("survey", [HABIT, KEPT], ids=["round", "report"])
def test_a_change_is_refused_where_that_is_asked_for(tmp_path: Path, survey: Survey) -> None:
    def refusing() -> Device:
        return Device.open(tmp_path, epsilon_cap=4, budget=10, on_change="refuse")

    refusing().answer(survey, 7, epoch="1")
    refusing().answer(survey, 7, epoch="2")
    before = spent(refusing())
    with pytest.raises(PrivacyError, match="differs from the first one") as caught:
        refusing().answer(survey, 8, epoch="3")
    assert "8" not in str(caught.value).replace("on_change", "")
    assert spent(refusing()) == before and len(refusing().batches()) == 2
    refusing().answer(survey, 7, epoch="3")
    opened(tmp_path).answer(survey, 8, epoch="4")  # it keeps the first value
    assert len(refusing().batches()) == 4


@pytest.mark.parametrize("survey", [HABIT, KEPT], ids=["round", "report"])
def test_a_device_that_kept_nothing_to_compare_refuses(tmp_path: Path, survey: Survey) -> None:
    opened(tmp_path).answer(survey, 7, epoch="1")
    device = Device.open(tmp_path, epsilon_cap=4, budget=10, on_change="refuse")
    with pytest.raises(PrivacyError, match="cannot be noticed") as caught:
        device.answer(survey, 7, epoch="2")
    assert "open the device with on_change='keep'" in str(caught.value)
    keeping = Device.open(tmp_path, epsilon_cap=4, budget=10, on_change="keep")
    assert keeping.answer(survey, 7, epoch="2") is not None
    wrongs: list[Any] = ["", "Keep", None, True]
    for wrong in wrongs:
        with pytest.raises(ArgumentError, match="'keep' or 'refuse'"):
            Device.open(tmp_path, epsilon_cap=4, budget=10, on_change=wrong)


@pytest.mark.parametrize("survey", [HABIT, KEPT], ids=["round", "report"])
def test_later_values_are_not_read(tmp_path: Path, survey: Survey) -> None:
    """Or an error about one, and so no report, would tell that it changed."""
    device = opened(tmp_path)
    device.answer(survey, 7, epoch="1")
    for number, value in enumerate((10**6, "what", None, float("nan"))):
        assert device.answer(survey, value, epoch=f"later-{number}").state == "waiting"


def test_a_device_is_opened_with_its_budget(tmp_path: Path) -> None:
    opened(tmp_path, budget=3)
    same = Guarantee(3, 0, "replace-one", "local")
    assert opened(tmp_path, budget=same).ledger.budget == same
    for other in (2, "3.5", Guarantee(3, "1e-6", "replace-one", "local")):
        with pytest.raises(MismatchError, match="cannot change"):
            opened(tmp_path, budget=other)
    for wrong in (
        Guarantee(3, 0, "replace-one", "central"),
        Guarantee(3, 0, "add-or-remove-one", "local"),
    ):
        with pytest.raises(MismatchError, match="local model"):
            opened(tmp_path, budget=wrong)
    for cap in (0, -1, 25, "much", True):
        with pytest.raises(PrivacyError):
            opened(tmp_path, cap=cap, budget=3)


@pytest.mark.parametrize(
    "content", [b"", b"something else" * 100, b"SQLite format 3\0" + b"\0" * 90]
)
def test_a_damaged_file_is_never_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "device.lapwing"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="forget what was spent"):
        opened(tmp_path)
    assert path.read_bytes() == content


def test_a_batch_of_an_earlier_state_is_damage(tmp_path: Path) -> None:
    """A disk that loses power may leave it, where SQLite itself sees nothing wrong."""
    device = opened(tmp_path)
    device.answer(KEPT, 0, epoch="1")
    connection = sqlite3.connect(device.file.path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'REAL NOT NULL', 'REAL')")
    connection.commit()
    connection.close()
    connection = sqlite3.connect(device.file.path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("UPDATE batch SET last = NULL")
    connection.commit()
    connection.close()
    with pytest.raises(FormatError, match="forget what was spent"):
        opened(tmp_path).batches()


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "device.lapwing")
    connection.execute("CREATE TABLE person (ledger TEXT)")
    connection.close()
    with pytest.raises(FormatError, match="foreign"):
        opened(tmp_path)


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    opened(tmp_path)
    connection = sqlite3.connect(tmp_path / "device.lapwing")
    connection.execute("PRAGMA user_version = 4")
    connection.close()
    with pytest.raises(FormatError, match="reads device files of version 1"):
        opened(tmp_path)


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    device = opened(tmp_path)
    device.file.path.unlink()
    with pytest.raises(DeviceError, match="forget what was spent"):
        device.answer(AGE, 42, epoch="1")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="folder must exist"):
        opened(tmp_path / "away")
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError, match="folder must exist"):
        opened(tmp_path / "file")


def test_what_is_written_is_on_the_disk_and_what_is_gone_is_overwritten(tmp_path: Path) -> None:
    """EXTRA is FULL, with the end of a transaction on the disk too; cut in another test."""
    with opened(tmp_path).file.transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 3
        assert connection.execute("PRAGMA secure_delete").fetchone()[0] == 1
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "persist"


def test_what_cannot_be_paid_is_not_remembered(tmp_path: Path) -> None:
    device = opened(tmp_path, budget="0.5")
    for survey in (KEPT, HABIT):
        with pytest.raises(BudgetError):
            device.answer(survey, 0, epoch="1")
    connection = sqlite3.connect(device.file.path)
    for table in ("remembered_report", "permanent_round", "batch"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    connection.close()


def test_a_gateway_is_no_device(tmp_path: Path) -> None:
    Gateway.open(tmp_path / "device.lapwing")
    with pytest.raises(FormatError, match="gateway"):
        opened(tmp_path)


def test_threads_share_a_device(tmp_path: Path) -> None:
    """Twenty answers for each of three epochs: three payments, and one batch for each epoch."""
    device = opened(tmp_path)
    with ThreadPoolExecutor(6) as pool:
        made = [*pool.map(lambda i: device.answer(AGE, i, epoch=str(i % 3)), range(60))]
    assert len({(one.epoch, one.batch) for one in made}) == 3
    assert sum(one.charged is not None for one in made) == 3 and spent(device) == Fraction(3, 2)


PROCESS = """
import sys
from lapwing import Survey
from lapwing.client import Device
survey = Survey.load(sys.argv[2])
for epoch in range(8):
    device = Device.open(sys.argv[1], epsilon_cap=4, budget=10)
    made = device.answer(survey, 42, epoch=str(epoch))
    print(epoch, made.batch, made.charged is not None)
"""


def test_processes_share_a_device(tmp_path: Path) -> None:
    """Also when they make its file at the same time."""
    path = tmp_path / "survey.json"
    path.write_text(AGE.to_json())
    folder = tmp_path / "home"
    folder.mkdir()
    command = [sys.executable, "-c", PROCESS, str(folder), str(path)]
    running = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    lines = [line for process in running for line in process.communicate()[0].splitlines()]
    assert [process.returncode for process in running] == [0] * 2 and len(lines) == 16
    assert len({tuple(line.split()[:2]) for line in lines}) == 8
    assert sum(line.endswith("True") for line in lines) == 8
    assert spent(opened(folder)) == 4
    assert {file.name for file in folder.iterdir()} == {"device.lapwing", "device.lapwing-journal"}


def test_nothing_of_the_value_is_kept(tmp_path: Path) -> None:
    word = "a-word-that-only-this-person-knows"
    survey = Survey("word", LinearHashing(HashedStrings(32), 1))
    device = opened(tmp_path)
    device.answer(survey, word, epoch="1")
    with pytest.raises(LapwingError) as caught:
        device.answer(AGE, word, epoch="1")
    assert word not in str(caught.value)
    assert all(word.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_what_a_collector_has_stays_stored_whatever_a_late_answer_says(tmp_path: Path) -> None:
    device = opened(tmp_path)
    batch = device.answer(AGE, 42, epoch="1").batch
    outbox = Outbox(device.file)
    # Two processes send it; the second is answered when the epoch has closed.
    outbox.settle(batch, "stored", None)
    outbox.settle(batch, "refused", "410 (epoch-closed)")
    outbox.postpone(batch, "503", until=9e9)
    (kept,) = device.batches()
    assert (kept.state, kept.reason, kept.attempts) == ("stored", None, 1)


def test_what_has_arrived_cannot_be_guessed_from_the_file(tmp_path: Path) -> None:
    """An attack that succeeded: a hash of survey, segment and report was kept, and six guesses gave
    the report back. Reports of 400 bits show that nothing is left of the bytes, in no page.
    """
    guessable = Survey("six", RandomizedResponse(Categories(6), 1))
    large = Survey("large", OptimizedUnaryEncoding(Categories(400), 1))
    device = opened(tmp_path, budget=1000)
    outbox = Outbox(device.file)
    sent: list[tuple[str, Batch]] = []
    for number in range(30):
        for survey in (guessable, large):
            epoch = f"{number}-{survey.name}"
            made = device.answer(survey, number % 6, epoch=epoch)
            sent.append((made.batch, stored(device)[epoch]))
        if number % 3 == 2:
            # Not in the order in which they were made: the last, and one from the middle.
            for place in (-1, len(sent) // 2):
                outbox.settle(sent.pop(place)[0], "stored", None)
    arrived = {batch.id for batch in device.batches() if batch.state == "stored"}
    assert len(arrived) == 20
    for name, _ in sent:
        outbox.settle(name, "refused", "410")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    guesses = [Batch(guessable.fingerprint, 0, bytes([code]), 1) for code in range(6)]
    for batch in [*guesses, *(batch for _, batch in sent)]:
        assert batch.digest not in content and batch.digest[:16] not in content
        assert batch.to_bytes() not in content
        assert batch.reports != 1 or len(batch.records) == 1 or batch.records not in content
    assert content.count(b"LWUPLOAD") == 0


def test_a_device_takes_a_million_symbols_and_no_more(tmp_path: Path) -> None:
    """Or a survey of 2.5 kB would cost it seconds and gigabytes."""
    device = opened(tmp_path)
    large = [
        Survey("large", RandomizedResponse(Categories(2**20 + 1), 1)),
        Survey("large", SquareWave(Interval(0, 1, bins=2**20), 1)),  # and two beyond the ends
    ]
    for survey in large:
        with pytest.raises(DomainError, match="at most 1048576 bins or labels"):
            device.answer(survey, 0, epoch="1")
    assert not device.batches() and spent(device) == 0
    hashed = Survey("hashed", LinearHashing(HashedStrings(40), 1))
    device.answer(hashed, "a word", epoch="1")
    device.answer(Survey("legal", RandomizedResponse(Categories(2**20), 1)), 5, epoch="1")


@pytest.mark.parametrize(
    "randomizer",
    [
        {"class": "x", "domain": {"class": "interval", "bins": 2**24}},
        {"class": "x", "domain": {"class": "integers", "low": -(2**20), "high": 0}},
        {"class": "x", "domain": {"class": "categories", "labels": 2**20 + 1}},
        {"class": "x", "domain": {"class": "hashed-strings", "bits": 21}},
        {"class": "square-wave", "domain": {"class": "interval", "bins": 4}, "grid": 2**21},
        {"class": "x", "domain": {"axes": [{"domain": {"class": "interval", "bins": 2**24}}]}},
        {
            "class": "x",
            "domain": {"axes": [{}, {"domain": {"class": "integers", "low": 0, "high": 2**20}}]},
        },
    ],
)
def test_a_document_is_refused_before_it_is_built(randomizer: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match="at most 1048576 bins or labels"):
        check_symbols({"randomizer": randomizer})
    strange = [{}, [], None, 3, {"domain": []}, {"domain": {"bins": "4", "bits": None}}]
    strange += [{"domain": {"axes": axes}} for axes in (None, {}, [3, {}, {"domain": []}])]
    for each in strange:
        check_symbols({"randomizer": each})


def test_hashes_take_labels_and_strings_without_a_list_but_no_long_line() -> None:
    domains: list[dict[str, Any]] = [
        {"class": "categories", "labels": 2**40},
        {"class": "hashed-strings", "bits": 40},
        {"class": "integers", "low": 0, "high": 2**24 - 1},
    ]
    for domain in domains:
        check_symbols({"randomizer": {"class": "linear-hashing", "domain": domain}})
    line = {"class": "interval", "bins": 2**24}
    with pytest.raises(DomainError, match="at most 1048576 bins or labels"):
        check_symbols({"randomizer": {"class": "local-hashing", "domain": line}})
