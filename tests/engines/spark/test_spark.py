"""On a real Spark: the same tallies and summaries, one report for each value, errors for people."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing import Categories, Interval, SquareWave, Survey
from lapwing.documents import canonical
from lapwing.engines import arrow
from lapwing.errors import (
    INSTALL,
    ArgumentError,
    DomainError,
    EngineError,
    FormatError,
    LapwingError,
    LapwingWarning,
    MismatchError,
    ReportError,
    RowsWarning,
)
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import TallyLog
from tests.engines import label_cases
from tests.engines.arrow.test_same_tallies import _labels, _one_of_each, _survey, _table
from tests.engines.asked_survey import ASKED, check_same
from tests.engines.page import example
from tests.engines.randomizer_grid import EngineCase, in_engine
from tests.engines.spark.local_spark import ROOT, failing_once, python_without_lapwing, start

pytestmark = [
    pytest.mark.service,
    pytest.mark.xdist_group("spark"),  # one process, and so one Java
    # Of pandas, which Spark would rather have older.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

pytest.importorskip("pyspark", reason="PySpark is not here: pip install '.[test]'")

from pyspark import SparkFiles  # noqa: E402

from lapwing.engines import spark as engine  # noqa: E402
from lapwing.engines.spark import spark_rows, spark_values  # noqa: E402
from lapwing.engines.spark.spark_values import TaggedWork  # noqa: E402

PEOPLE = 403
CASES = [case.values[0] for case in _one_of_each()]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    made = start()
    yield made
    made.stop()


@pytest.fixture
def read(session: Any, tmp_path: Path) -> Callable[..., Any]:
    """Return what makes a data frame of several partitions, from a table in files of Parquet."""

    def frame(table: pa.Table, *, files: int = 2, name: str = "in") -> Any:
        (tmp_path / name).mkdir()
        size = -(-len(table) // files)
        for number in range(files):
            part = table.slice(number * size, size)
            parquet.write_table(part, tmp_path / name / f"{number}.parquet", row_group_size=40)
        return session.read.parquet(str(tmp_path / name))

    return frame


@pytest.fixture
def survey() -> Survey:
    return Survey("age", SquareWave(Interval(0, 100, bins=16), epsilon=1))


@pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")  # of columns without a value
@in_engine("spark")
def test_every_randomizer(
    read: Callable[..., Any], tmp_path: Path, cases: list[EngineCase]
) -> None:
    kinds = set()
    for number, case in enumerate(cases):
        df = read(case.table, name=f"in-{number}", files=1 + number % 2)
        if case.job == "randomize":
            out = tmp_path / f"out-{number}"
            engine.randomize(df, case.survey, output=str(out), column="value")
            case.check_reports(parquet.read_table(out)["report"].to_pylist())
            continue
        counted = engine.tally(df, case.survey, by=case.by, skip_bad=case.skip_bad)
        case.check_tally(counted)
        kinds.add(type(counted.tally))
    assert len(kinds) == 2


def _three() -> list[Any]:
    """A count, a mixture and a log."""
    made = [_survey(case) for case in CASES]
    logs = [one for one in made if isinstance(one[0].tally(one[1]), TallyLog)]
    mixtures = [one for one in made if len(one[0].tally(one[1]).blocks) > 1]
    return [made[0], mixtures[0], logs[0]]


def test_any_division_and_tasks_that_fail(
    session: Any, read: Callable[..., Any], tmp_path: Path
) -> None:
    for number, (survey, reports) in enumerate(_three()):
        table = _table(reports)
        whole = canonical(survey.tally(reports).to_document())
        df = read(table, name=f"in-{number}")
        divided = session.createDataFrame(table) if number == 1 else df.repartition(3)
        counted = engine.tally(divided, survey)
        assert canonical(counted.tally.to_document()) == whole and not counted.grouped
        folder = tmp_path / f"failed-{number}"
        folder.mkdir()
        failing = df.mapInArrow(failing_once(folder), df.schema)
        counted = engine.tally(failing, survey, by="place" if number else None)
        assert canonical(counted.tally.to_document()) == whole
        tried = {path.name for path in folder.iterdir()}
        assert {"attempt-0-0", "attempt-0-1"} <= tried
    empty = engine.tally(df.limit(0), survey)
    assert empty.total == 0 and empty.refused == 0


def test_groups_of_several_columns(read: Callable[..., Any], survey: Survey) -> None:
    _, reports = survey, survey.randomize(np.linspace(0, 100, PEOPLE))
    years = [2026 + row % 2 if row % 5 else None for row in range(PEOPLE)]
    table = _table(reports).append_column("year", pa.array(years, pa.int32()))
    counted = engine.tally(read(table), survey, by=["place", "year"])
    wanted: Counter[str | None] = Counter()
    for place, year in zip(_labels(), years, strict=True):
        place = (place or "").strip()
        none = not place and year is None
        wanted[None if none else f"place={place}/year={'' if year is None else year}"] += 1
    assert {label: one.total for label, one in counted.groups.items()} == wanted
    chosen = [
        row
        for row in range(PEOPLE)
        if (_labels()[row] or "").strip() == "south" and years[row] == 2027
    ]
    part = Reports(reports.data[chosen], reports.fingerprint)
    assert counted.groups["place=south/year=2027"] == survey.tally(part)
    with pytest.raises(ArgumentError, match="at most 3 groups"):
        engine.tally(read(table, name="again"), survey, by="place", most_groups=3)


def test_bad_rows_are_named_or_counted_apart(
    session: Any, read: Callable[..., Any], survey: Survey
) -> None:
    reports = survey.randomize(np.linspace(0, 100, PEOPLE))
    data = reports.data.copy()
    rows = [200, 201, 390]
    data[rows] = 255
    table = _table(Reports(data, reports.fingerprint))
    df = read(table)
    with pytest.raises(ReportError) as caught:
        engine.tally(df, survey)
    said = str(caught.value)
    assert len(said) < 300 and "\n" not in said and "Nothing was counted" in said
    # Whichever task was first; rows count from 1 in each file of 202.
    first, second = "0.parquet: " in said, "1.parquet: " in said
    assert (first and "row 201 " in said) or (second and "row 189 " in said)
    assert caught.value.position in (200, 188)
    with pytest.raises(ReportError, match=r"partition 0: .* row 201 "):
        engine.tally(df.coalesce(1).localCheckpoint(), survey)
    kept = Reports(np.delete(reports.data, rows, axis=0), reports.fingerprint)
    for by in (None, "place"):
        counted = engine.tally(df.repartition(2), survey, by=by, skip_bad=True)
        assert counted.refused == 3 and counted.tally == survey.tally(kept)


def _said(work: Callable[[], object]) -> tuple[type, str]:
    with pytest.raises(LapwingError) as caught:
        work()
    words = str(caught.value).replace("the data frame", "the table")
    return type(caught.value), words


def test_what_is_wrong_is_said_before_a_job_starts(
    session: Any,
    read: Callable[..., Any],
    survey: Survey,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reports = survey.randomize(np.linspace(0, 100, 50))
    table = pa.table({"report": pa.array([bytes(one) for one in reports.data], pa.binary())})
    table = table.append_column("share", pa.array(np.ones(50)))
    df = read(table)
    told = session._jsparkSession.sparkContext().listenerBus()

    def jobs() -> Any:
        told.waitUntilEmpty(60_000)  # what is known of jobs may be behind what just happened
        return session.sparkContext.statusTracker().getJobIdsForGroup()

    before = len(jobs())
    asked: list[dict[str, Any]] = [
        {"column": "reprot"},
        {"column": "share"},
        {"by": "plaice"},
        {"by": "report"},
        {"by": "share"},
    ]
    for one in asked:
        assert _said(lambda one=one: engine.tally(df, survey, **one)) == _said(
            lambda one=one: arrow.tally(table, survey, **one)
        )
    dates = pa.table({"day": pa.array([1], pa.date32()), "n": [1.0]})
    for one in ({"column": "day"}, {"column": "month"}, {}, {"column": "n", "by": "n"}):
        near = {**one, "output": tmp_path / "x.parquet"}
        assert _said(
            lambda one=one: engine.randomize(
                session.createDataFrame(dates), survey, output=str(tmp_path / "x"), **one
            )
        ) == _said(lambda near=near: arrow.randomize(dates, survey, **near))
    domain = Interval(0, 1, bins=4)
    assert _said(
        lambda: engine.summarize(session.createDataFrame(dates), domain, column="day")
    ) == _said(lambda: arrow.summarize(dates, domain, column="day"))
    (tmp_path / "in" / "b.parquet").write_bytes(b"PAR1, and then it was cut off")
    damaged = session.read.schema("report binary").parquet(str(tmp_path / "in"))
    with pytest.raises(FormatError, match=r"^b\.parquet cannot be read as Parquet"):
        engine.tally(damaged, survey)
    (tmp_path / "in" / "b.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"'b\.parquet'"):
        engine.tally(damaged, survey)
    with pytest.raises(ArgumentError, match=r"DataFrame of pyspark.sql, got a Table"):
        engine.tally(table, survey)
    # What this package wrote says whose reports they are, in files and in the frame's schema.
    arrow.randomize(
        pa.table({"age": np.arange(20.0)}), survey, output=tmp_path / "ours.parquet", column="age"
    )
    other = Survey("age, asked again", survey.randomizer)
    theirs = session.read.parquet(str(tmp_path / "ours.parquet"))
    uri = (tmp_path / "ours.parquet").as_uri()
    conf = session._jsparkSession.sessionState().newHadoopConf()
    here = spark_rows._tail_of_local(uri)
    assert spark_rows._tail_of_remote(session._jvm, conf, uri) == here
    monkeypatch.setattr(spark_rows, "_TAIL", 64)  # less than any footer
    short = spark_rows._tail_of_remote(session._jvm, conf, uri)
    assert len(short) < len(here) and spark_rows._footer(short, uri).words["lapwing.survey"]
    assert engine.tally(theirs, survey).total == 20
    then = len(jobs())
    with pytest.raises(MismatchError, match=r"ours\.parquet contains reports of survey"):
        engine.tally(theirs, other)
    assert len(jobs()) == then <= before + 3  # one tally, and the schemas of what was read


@pytest.mark.parametrize(("kind", "by"), [("codes", "half"), ("hashed", None)])
def test_reports_that_a_seed_drew_stay_marked(
    session: Any, tmp_path: Path, kind: str, by: str | None
) -> None:
    labels = Categories(["a", "b"])
    made = (
        lw.papers.baselines.LocalHashing(labels, 1)
        if kind == "hashed"
        else lw.RandomizedResponse(labels, 1)
    )
    survey = Survey("marked", made)
    table = pa.table({"value": ["a", "b"] * 500, "half": ["n", "s"] * 500})
    for name, rng, standing in (("s", lw.seeded(1), "seeded"), ("p", None, None)):
        path = tmp_path / f"{name}.parquet"
        arrow.randomize(table, survey, output=path, column="value", by=by, rng=rng)
        counted = engine.tally(session.read.parquet(str(path)), survey, by=by)
        assert {tally.standing for tally in counted.groups.values()} == {standing}


def test_a_value_is_randomized_once(
    session: Any,
    read: Callable[..., Any],
    survey: Survey,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tasks fail after they have written, the result is evaluated again, the job is asked again."""
    everybody = pa.table({"age": np.full(300, 50.0), "person": [str(n) for n in range(300)]})
    folder = tmp_path / "shared"
    folder.mkdir()
    df = read(everybody)
    failing = df.mapInArrow(failing_once(folder), df.schema)
    made = engine.randomize(failing, survey, output=str(folder / "out"), column="age", by="person")
    attempts = sorted(folder.glob("attempt-*"))
    assert {"attempt-0-0", "attempt-0-1"} <= {path.name for path in attempts}
    for path in attempts:  # while they ran, others saw a closed folder of theirs and nothing else
        (seen,) = path.read_text().splitlines()
        assert seen.startswith(".out.lapwing-") and seen.endswith(" 700")
    assert sorted(one.name for one in folder.iterdir() if one not in attempts) == ["out"]
    first = made.collect()
    assert sorted(int(row["person"]) for row in first) == list(range(300))
    assert made.collect() == first
    stored = parquet.read_table(folder / "out").to_pylist()
    assert sorted(map(str, stored)) == sorted(str(row.asDict()) for row in first)
    counted = engine.tally(made, survey)
    assert counted.tally == arrow.tally(folder / "out", survey).tally and counted.total == 300
    other = Survey("another", survey.randomizer)
    for tally in (engine.tally, arrow.tally):
        with pytest.raises(MismatchError):
            tally(made if tally is engine.tally else folder / "out", other)  # type: ignore[operator]
    with pytest.raises(ArgumentError, match="out already exists"):
        engine.randomize(df, survey, output=str(folder / "out"), column="age")
    # Equal values in two tasks, of one file each: each draws its own randomness (by chance the
    # same: below 10^-50).
    by_person = {int(row["person"]): bytes(row["report"]) for row in first}
    parts = [[by_person[n] for n in range(start, start + 150)] for start in (0, 150)]
    assert parts[0] != parts[1] and len(set(by_person.values())) > 2
    # A job that fails for good, and one whose value is refused, leave nothing; but what a task may
    # still write into stays, closed, and the next job leaves it alone: it may be another's.
    hopeless = df.coalesce(1).mapInArrow(failing_once(folder, times=2), df.schema)
    monkeypatch.setattr(TaggedWork, "ended", lambda self: False)
    with pytest.raises(EngineError, match="othing was counted or written"):
        engine.randomize(hopeless, survey, output=str(folder / "no"), column="age")
    monkeypatch.undo()
    (kept,) = folder.glob(".no.lapwing-*")
    assert kept.stat().st_mode & 0o777 == 0o700
    bad = session.createDataFrame(pa.table({"age": [1.0, float("nan")]})).coalesce(1)
    with (
        pytest.warns(
            LapwingWarning, match=f"^next to no is {kept.name}, from a job that was killed"
        ),
        pytest.raises(DomainError, match=r"partition 0: .* row 2 is missing"),
    ):
        engine.randomize(bad, survey, output=str(folder / "no"))
    assert kept.exists()
    shutil.rmtree(kept)
    with pytest.raises(DomainError, match="at least one row"):
        engine.randomize(df.limit(0), survey, output=str(folder / "no"), column="age")
    left = [path.name for path in folder.iterdir() if not path.name.startswith("attempt-")]
    assert left == ["out"]


def test_work_that_is_left_is_stopped(session: Any, tmp_path: Path) -> None:
    from py4j.protocol import Py4JError
    from pyspark import InheritableThread
    from pyspark.errors import PySparkException

    started = str(tmp_path / "started")

    def endless(batches: Iterator[Any]) -> Iterator[Any]:
        import time

        open(started, "w").close()
        time.sleep(600)
        yield from batches

    def run() -> None:
        with pytest.raises((PySparkException, Py4JError), match="cancel"):
            df.collect()

    df = session.range(1).mapInArrow(endless, "id long")
    work, tracker = TaggedWork(session), session._jsparkSession.sparkContext().statusTracker()
    with pytest.raises(KeyboardInterrupt), work:
        thread = InheritableThread(target=run, session=session)
        thread.start()
        while not Path(started).exists():
            time.sleep(0.01)
        # The task has begun before the driver hears of it.
        until = time.monotonic() + 60
        while not spark_values._at_work(tracker, work._tag) and time.monotonic() < until:
            time.sleep(0.01)
        assert spark_values._at_work(tracker, work._tag)
        assert not spark_values._at_work(tracker, "of nobody")
        raise KeyboardInterrupt
    assert work.ended()
    thread.join()


def test_labels_are_those_of_all_engines(session: Any, tmp_path: Path) -> None:
    for case, (cells, wanted, groups) in label_cases.CASES.items():
        parquet.write_table(label_cases.table_of(cells), tmp_path / "a.parquet")
        df = session.read.parquet(str(tmp_path / "a.parquet")).coalesce(1)
        if groups:
            counted = engine.tally(df, label_cases.SURVEY, column="report", by="g").groups
            assert {name: one.total for name, one in counted.items()} == groups, case
        name = list(wanted)[len(case) % len(wanted)]
        found = engine.summarize(df, label_cases.DOMAINS[name], column="v")
        assert found.counts.tolist() == wanted[name], (case, name)
    label_cases.folders(tmp_path)
    for name, (_, groups) in label_cases.FOLDERS.items():
        df = session.read.parquet(str(tmp_path / name)).coalesce(1)
        counted = engine.tally(df, label_cases.SURVEY, column="report", by=name).groups
        assert {label: one.total for label, one in counted.items()} == groups, name


def test_a_join_of_two_surveys(session: Any, survey: Survey, tmp_path: Path) -> None:
    """Whose reports a column holds is said by the files that it comes from, not by all others."""
    weight = Survey("weight", survey.randomizer)
    people = pa.table({"v": np.arange(40.0), "person": [f"p{row}" for row in range(40)]})
    frames = []
    for number, one in enumerate((survey, weight)):
        out = tmp_path / f"{number}.parquet"
        arrow.randomize(people, one, column="v", by="person", output=out)
        frames.append(session.read.parquet(str(out)))
    ours, theirs = (df.withColumnRenamed("report", f"r{n}") for n, df in enumerate(frames))
    joined = ours.join(theirs, "person").where("person != 'p3'").orderBy("person")
    assert engine.tally(joined, survey, column="r0").total == 39
    assert engine.tally(joined.selectExpr("r1 AS report"), weight).total == 39
    for df, column, one in (
        (joined, "r0", weight),
        (frames[0].union(frames[1]), "report", survey),
        (frames[1].union(frames[0]), "report", weight),
    ):
        with pytest.raises(MismatchError, match="contains reports of survey"):
            engine.tally(df, one, column=column)


def test_flipped_bits_are_refused_or_change_nothing(
    session: Any, survey: Survey, tmp_path: Path
) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    key = spark_rows._CHECKED
    codes = survey.randomize(np.arange(2000) % 100, rng=lw.seeded(1)).data.ravel()
    table = pa.table({"report": pa.array([bytes([code]) for code in codes], pa.binary(1))})
    path = tmp_path / "a.parquet"
    parquet.write_table(
        table,
        path,
        use_dictionary=False,
        write_page_checksum=True,
        compression="none",
        row_group_size=1000,
        store_schema=False,
    )
    content = path.read_bytes()
    whole = engine.tally(session.read.parquet(str(path)), survey, column="report").tally
    assert session.conf.get(key) == "true"
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # Among them: rows of a page, of a group and of the file, and where a group lies.
    positions = [5, 20, *range(60, footer, 500), *range(footer, len(content) - 8, 60)]
    refused = 0
    for number, position in enumerate(positions):
        damaged = bytearray(content)
        damaged[position] ^= 1 << number % 8
        other = tmp_path / f"{number}.parquet"
        other.write_bytes(damaged)
        try:
            df = session.read.parquet(str(other))
            assert engine.tally(df, survey, column="report").tally == whole, position
        except (LapwingError, PySparkException, Py4JError):  # the last two from `read`
            refused += 1
    assert refused >= len(range(60, footer, 500))
    unchecked = session.read.option(key, "false").parquet(str(path))
    with pytest.raises(ArgumentError, match="damaged pages would be counted"):
        engine.tally(unchecked, survey, column="report")


def test_a_column_without_values_is_told_of_once(read: Callable[..., Any], tmp_path: Path) -> None:
    table = pa.table({"v": [*[None] * 90, *[3600.0] * 120, *[5.0] * 190]})
    domain = Interval(0, 60, bins=16, missing="bin")
    for made in (
        lambda: engine.summarize(read(table, name="a"), domain, column="v"),
        lambda: engine.randomize(
            read(table, name="b"),
            Survey("x", SquareWave(domain, epsilon=1)),
            column="v",
            output=str(tmp_path / "reports"),
        ),
    ):
        with pytest.warns(RowsWarning, match="of 400 rows: 90 missing, 120 outside 0 to 60") as all:
            made()
        assert len([one for one in all if one.category is RowsWarning]) == 1


def test_rows_that_match_no_segment_or_count_as_other_are_told_of(
    read: Callable[..., Any],
) -> None:
    table = pa.table({"v": [1.0] * 200, "k": ["north"] * 60 + ["North "] * 140})
    df = read(table)
    cells = Segmented(Interval(0, 2, bins=2), segments=["north", "south"])
    with pytest.warns(
        RowsWarning, match="140 in no listed segment, some values differ from a label"
    ):
        held = engine.summarize(df, cells, column="v", by="k")
    assert held.people == 200
    labels = Categories(["north", "rest"], other="rest")
    with pytest.warns(RowsWarning, match="140 counted as 'rest'"):
        engine.summarize(df, labels, column="k")


def test_counts_that_were_made_before_are_those_of_arrow(read: Callable[..., Any]) -> None:
    table = pa.table({"v": [1.0, 5.0, None, 9.0], "n": [3, 10**6, 0, 2], "k": ["a", "b", "a", "c"]})
    df, domain = read(table), Interval(0, 10, bins=5)
    held = engine.summarize(df, domain, column="v", count_column="n")
    assert held == arrow.summarize(table, domain, column="v", count_column="n")
    assert held.people == 10**6 + 5
    cells = Segmented(domain, segments=["a", "b"])
    given = {"column": "v", "by": "k", "count_column": "n"}
    held = engine.summarize(df, cells, **given)
    assert held == arrow.summarize(table, cells, **given)
    wrongs = {"b": ([3, -1, 0, 2], "row 2"), "c": ([2**40, 1, 0, 0], r"at most 2\^40")}
    for name, (counts, said) in wrongs.items():
        wrong = table.set_column(1, "n", pa.array(counts, pa.int64()))
        with pytest.raises(DomainError, match=said):
            engine.summarize(read(wrong, name=name), domain, column="v", count_column="n")
    with pytest.raises(DomainError, match="row 1 is not"):
        engine.summarize(df, domain, column="v", count_column="k")


@pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")
def test_summaries_are_those_of_arrow(
    session: Any, read: Callable[..., Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    # A zone in which neither hours nor days are those of others.
    zone = "Asia/Kolkata"
    session.conf.set("spark.sql.session.timeZone", zone)
    instants = pa.array(rng.integers(0, 2 * 10**15, 308), pa.timestamp("us"))
    table = pa.table(
        {
            "value": pa.array([*rng.normal(50, 40, 300), *[None] * 7, float("inf")]),
            "color": pa.array(rng.choice(["red", "green", "mauve"], 308)),
            "day": pa.array(rng.integers(0, 20000, 308).astype(np.int32), pa.date32()),
            "when": instants.cast(pa.timestamp("us", zone)),
            "clock": instants,
            "paid": pa.array([None, *(Decimal(int(n)) / 4 for n in range(307))]).cast(
                pa.decimal128(10, 2)
            ),
        }
    )
    df = read(table)
    failing = df.mapInArrow(failing_once(tmp_path), df.schema)
    age, color = Interval(0, 100, bins=20), Categories(["red", "green"])
    asked: list[tuple[Any, dict[str, str]]] = [
        (age, {"column": "value"}),
        (color, {"column": "color"}),
        (Segmented(age, ["red", "green"]), {"column": "value", "by": "color"}),
        (Interval("1980-01-01", "2010-01-01", bins=9000, unit="date"), {"column": "day"}),
        (Interval("1970-01-01", "2030-01-01", bins=500, unit="date"), {"column": "when"}),
        (Interval("00:00", "24:00", bins=96, unit="time-of-day"), {"column": "when"}),
        (Interval("00:00", "24:00", bins=96, unit="time-of-day"), {"column": "clock"}),
        (age, {"column": "paid"}),
    ]
    for number, (domain, columns) in enumerate(asked):
        given = (failing, df)[number] if number < 2 else df.coalesce(1)
        wanted = arrow.summarize(table, domain, **columns)
        assert engine.summarize(given, domain, **columns) == wanted, columns
        assert np.count_nonzero(wanted.counts) > 2
        assert all(wanted.counts[wanted.domain.outside_indices]) or columns["column"] != "day"
    session.conf.unset("spark.sql.session.timeZone")
    assert (tmp_path / "attempt-0-1").exists()
    assert engine.summarize(df.limit(0), age, column="value").people == 0


def test_spark_counts_few_different_reports_itself(
    session: Any, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same by either way, and of reports that were counted before."""
    table = _table(survey.randomize(np.linspace(0, 9, PEOPLE), rng=lw.seeded(1)))
    bad = pa.array([None, b"\xff\xff\xff", *table["report"].to_pylist()[2:]], pa.binary())
    years = pa.array([2020 + row % 3 for row in range(PEOPLE)])
    table = table.set_column(0, "report", bad).append_column("year", years)
    place = next(name for name in table.column_names if name not in ("report", "year"))
    df = session.createDataFrame(table)
    few, jobs = spark_values.FEW_REPORTS, []
    mapped = spark_values.mapped
    monkeypatch.setattr(
        spark_values, "mapped", lambda df, job, *rest: jobs.append(job) or mapped(df, job, *rest)
    )
    for by in (None, [place, "year"]):
        wanted = arrow.tally(table, survey, column="report", by=by, skip_bad=True)
        assert wanted.refused == 2
        names = ["report", *([by] if isinstance(by, str) else by or [])]
        counted = df.groupBy(names).count()
        again = arrow.tally(
            counted.toArrow(), survey, column="report", by=by, count_column="count", skip_bad=True
        )
        assert dict(again.groups) == dict(wanted.groups) and again.refused == 2
        for most in (few, 0):
            monkeypatch.setattr(spark_values, "FEW_REPORTS", most)
            jobs.clear()
            found = engine.tally(df, survey, by=by, skip_bad=True)
            assert dict(found.groups) == dict(wanted.groups) and found.refused == 2
            assert (jobs == []) == (most > 0 and by is None)
            with pytest.raises(ReportError, match=r"partition 0.*row 1 "):
                engine.tally(df.coalesce(1), survey, by=by)
        found = engine.tally(counted, survey, by=by, count_column="count", skip_bad=True)
        assert dict(found.groups) == dict(wanted.groups) and found.refused == 2
    jobs.clear()
    with pytest.raises(ArgumentError, match="at most 2 groups"):
        engine.tally(df, survey, by="year", most_groups=2)
    assert jobs == [], "refused before anything is counted"
    bad_counts = df.selectExpr("report", "CAST(-77777 AS BIGINT) AS n", "'a' AS text")
    with pytest.raises(ReportError, match="whole number from 0") as caught:
        engine.tally(bad_counts, survey, count_column="n", skip_bad=True)
    assert "77777" not in str(caught.value)
    with pytest.raises(ArgumentError, match="whole numbers"):
        engine.tally(bad_counts, survey, count_column="text")


def test_executors_without_the_package(
    session: Any, survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Spark alone counts where few reports are different.
    monkeypatch.setattr(spark_values, "FEW_REPORTS", 0)
    df = session.createDataFrame(pa.table({"report": pa.array([b"\1"], pa.binary())}))
    context = session.sparkContext
    (tmp_path / "old" / "lapwing").mkdir(parents=True)
    (tmp_path / "old" / "lapwing" / "__init__.py").write_text('__version__ = "0.0.9"\n')
    bare = python_without_lapwing(tmp_path / "bare")
    for path, words in (
        (str(tmp_path / "old"), "the executors have lapwing 0.0.9, the driver has "),
        ("", "the executors have no lapwing, the driver has "),
    ):
        monkeypatch.setattr(context, "pythonExec", bare)
        monkeypatch.setitem(context.environment, "PYTHONPATH", path)
        with pytest.raises(EngineError, match=words) as caught:
            engine.tally(df, survey)
        assert INSTALL.format("spark") in str(caught.value) and "\n" not in str(caught.value)
        with pytest.raises(EngineError, match=words):
            engine.randomize(df.selectExpr("1.0 AS age"), survey, output=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "zipped",
    [
        pytest.param(False, id="installed code"),
        # Whose kernels each worker compiles.
        pytest.param(True, id="zipped code", marks=pytest.mark.soak),
    ],
)
def test_a_survey_that_asks_has_the_bytes_and_answers_of_the_library(
    session: Any,
    read: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    zipped: bool,
) -> None:
    """Zipped, executors have the package from an archive: `--archives code.zip#code` sends it."""
    monkeypatch.setattr(spark_values, "FEW_REPORTS", 0)
    if zipped:
        code = shutil.make_archive(str(tmp_path / "code"), "zip", ROOT / "src", "lapwing")
        context = session.sparkContext
        monkeypatch.setattr(context, "pythonExec", python_without_lapwing(tmp_path / "bare"))
        context.addArchive(f"{code}#code")
        monkeypatch.setitem(context.environment, "PYTHONPATH", SparkFiles.get("code"))
    for kind in ("income", "label and curve"):
        make, values = ASKED[kind]
        asked = make()
        people = read(pa.table({"value": values}), name=kind)
        out = tmp_path / f"reports of {kind}"
        engine.randomize(people, asked, output=str(out), column="value")
        cells = parquet.read_table(out)["report"].to_pylist()
        assert len(cells) == len(values)
        data = np.frombuffer(b"".join(cells), np.uint8).reshape(len(values), -1)
        reports = Reports(data, asked.randomizer.fingerprint)
        check_same(asked, engine.tally(session.read.parquet(str(out)), asked).tally, reports)


def test_the_example_of_the_page_runs(
    session: Any,
    read: Callable[..., Any],
    survey: Survey,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    survey.save("survey.json")
    rows = _table(survey.randomize(np.linspace(0, 9, PEOPLE)))
    table = rows.rename_columns(["report", "country"])
    read(table.append_column("year", pa.array([2026] * PEOPLE)), name="reports")
    read(pa.table({"income": np.linspace(0, 100, 40)}), name="values")
    (tmp_path / "out").mkdir()
    names: dict[str, Any] = {"spark": session, "survey": survey, "lw": lw}
    code = example("spark").replace("hdfs://", str(tmp_path)).replace("country=PT", "country=south")
    exec(compile(code, "engines.md", "exec"), names)
    assert names["counted"].total == PEOPLE and names["reports"].count() == 40
    stored = lw.tallies.Tally.load("tally.json")
    assert stored == names["tally"] and stored.total == PEOPLE
    assert lw.Survey.load("survey.json").decode(stored).reports == PEOPLE


def test_intervals_of_days_and_times_are_durations(session: Any) -> None:
    intervals = "make_dt_interval(0, 1, 30, 0), null, make_dt_interval(0, 0, 0, -1)"
    df = session.sql(f"select explode(array({intervals})) t")
    domain = Interval("0:00:00", "4:00:00", bins=32, unit="duration")
    table = pa.table({"t": pa.array([5400 * 10**6, None, -(10**6)], pa.duration("us"))})
    assert engine.summarize(df, domain, column="t") == arrow.summarize(table, domain)
