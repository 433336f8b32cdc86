"""The Beam engine beside the Arrow engine: run in an environment of its own by `test_beam.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from apache_beam.io.filebasedsink import FileBasedSink
from pyarrow import csv, parquet

import lapwing as lw
from lapwing.documents import canonical
from lapwing.engines import arrow
from lapwing.engines import beam as engine
from lapwing.engines.arrow import table_reader
from lapwing.engines.arrow.report_tables import write_reports
from lapwing.engines.beam import beam_files
from lapwing.errors import (
    ArgumentError,
    DomainError,
    EngineError,
    FormatError,
    LapwingError,
    MismatchError,
    ReportError,
)
from lapwing.protocol.messages.reports import Reports

PEOPLE = 601
AGAIN = ["--runner=FnApiRunner", "--direct_runner_bundle_repeat=2"]
RETRIED = ["--runner=BundleBasedDirectRunner"]
PROCESSES = [
    "--runner=FnApiRunner",
    "--direct_running_mode=multi_processing",
    "--direct_num_workers=2",
]
SURVEYS = {
    "counts": lw.Survey("c", lw.SquareWave(lw.Interval(0, 1, bins=16), 1)),
    "mixture": lw.Survey("m", lw.MultiscaleWave(lw.Interval(0, 1, bins=64), 1)),
    "log": lw.Survey("l", lw.LinearHashing(lw.Categories(2**30), 1)),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of some hundred rows are divided, too."""
    monkeypatch.setattr(table_reader, "PART_ROWS", 100)


def made(survey: lw.Survey) -> Reports:
    rng = np.random.default_rng(1)
    listed = isinstance(survey.randomizer.domain, lw.Categories)
    values = rng.integers(0, 20, PEOPLE) if listed else rng.random(PEOPLE)
    return survey.randomize(values, rng=lw.seeded(1))


def table(cells: Any) -> pa.Table:
    places = [["north", " south", None][row * 31 // 7 % 3] for row in range(len(cells))]
    return pa.table({"report": pa.array(cells, pa.binary()), "place": places})


def told(counted: Any) -> Any:
    groups = {name: canonical(one.to_document()) for name, one in counted.groups.items()}
    return groups, counted.grouped, counted.refused, list(counted.files)


def bytes_of(reports: Reports) -> list[Any]:
    return [bytes(row) for row in reports.data]


@pytest.mark.parametrize("name", SURVEYS)
def test_the_tally_of_the_arrow_engine(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = SURVEYS[name]
    reports = made(survey)
    rows = table(bytes_of(reports))
    (tmp_path / "parts" / "place=east").mkdir(parents=True)
    parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=37)
    parquet.write_table(rows.select(["report"]), tmp_path / "parts/place=east/a.parquet")
    with pa.ipc.new_file(tmp_path / "parts" / "b.arrow", rows.schema) as file:
        file.write_table(rows.slice(1), max_chunksize=50)
    parquet.write_table(rows.slice(0, 0), tmp_path / "parts" / "c.parquet")
    for ending in (".lwr", ".csv", ".feather"):
        with (tmp_path / f"ours{ending}").open("wb") as stream:
            write_reports(stream, survey, [reports[:100], reports[100:]], ending=ending)
    monkeypatch.chdir(tmp_path)
    tables = ["rows.parquet", Path("parts")]
    ours = [f"ours{ending}" for ending in (".lwr", ".csv", ".feather")]
    for data, more in ((tables, {"column": "report", "by": "place"}), (ours, {})):
        found = engine.tally(data, survey, **more, options=AGAIN)
        assert told(found) == told(arrow.tally(data, survey, **more))
    assert told(engine.tally("parts/c.parquet", survey, column="report", by="place")) == (
        {},
        True,
        0,
        [arrow.FileCount("parts/c.parquet", 0, 0)],
    )


def test_several_processes_and_workers_that_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = SURVEYS["mixture"]
    parquet.write_table(table(bytes_of(made(survey))), tmp_path / "r.parquet", row_group_size=37)
    given: dict[str, Any] = {"column": "report", "by": "place"}
    wanted = told(arrow.tally(tmp_path, survey, **given))
    assert told(engine.tally(tmp_path, survey, **given, options=PROCESSES)) == wanted
    failures = failing_once(monkeypatch, beam_files._CountPieces)
    assert told(engine.tally(tmp_path, survey, **given, options=RETRIED)) == wanted
    assert len(failures) == 1


def failing_once(monkeypatch: pytest.MonkeyPatch, kind: type[Any]) -> list[int]:
    """Let the first bundle of some work fail when it has emitted; return where it is noted."""
    work, failures = kind.work, []

    def failing(self: Any, *unit: Any) -> Iterator[Any]:
        yield from work(self, *unit)
        if not failures:
            failures.append(1)
            raise RuntimeError("a worker is gone after it emitted")

    monkeypatch.setattr(kind, "work", failing)
    return failures


def test_bad_rows(tmp_path: Path) -> None:
    survey = SURVEYS["counts"]
    reports = made(survey)
    for number in range(3):
        cells = bytes_of(reports)
        for row in (450, 451, 600) if number == 1 else (2,) if number == 2 else ():
            cells[row] = [b"\xff", b"", None][row % 3]
        parquet.write_table(table(cells), tmp_path / f"{number}.parquet", row_group_size=60)
    given: dict[str, Any] = {"column": "report"}
    for name, options in (("arrow", None), ("beam", None), ("beam", PROCESSES)):
        with pytest.raises(ReportError) as caught:
            if name == "arrow":
                arrow.tally(tmp_path, survey, **given)
            else:
                engine.tally(tmp_path, survey, **given, options=options)
        assert "1.parquet: " in str(caught.value) and "row 451 " in str(caught.value)
        assert caught.value.position == 450
    found = engine.tally(tmp_path, survey, **given, by="place", skip_bad=True, options=AGAIN)
    assert told(found) == told(arrow.tally(tmp_path, survey, **given, by="place", skip_bad=True))
    assert found.refused == 4 and [file.refused for file in found.files] == [0, 3, 1]


def test_before_the_pipeline_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pipeline(*_: Any, **__: Any) -> None:
        raise AssertionError("a pipeline ran")

    monkeypatch.setattr(beam_files, "run", no_pipeline)
    survey, other = SURVEYS["counts"], SURVEYS["mixture"]
    rows = pa.table({"report": pa.array([0.5]), "v": ["x"]})
    parquet.write_table(rows, tmp_path / "rows.parquet")
    parquet.write_table(pa.table({"v": [True]}), tmp_path / "flags.parquet")
    with (tmp_path / "ours.parquet").open("wb") as stream:
        write_reports(stream, other, [made(other)], ending=".parquet")
    domain = lw.Interval(0, 1, bins=4)
    path, output = tmp_path / "rows.parquet", tmp_path / "out"
    (tmp_path / "full" / "x").mkdir(parents=True)
    wrong: list[tuple[type[LapwingError], str, Any]] = [
        (MismatchError, "of survey", lambda: engine.tally(tmp_path / "ours.parquet", survey)),
        (ArgumentError, "no column 'w'", lambda: engine.tally(path, survey, column="w")),
        (ArgumentError, "must hold reports", lambda: engine.tally(path, survey, column="report")),
        (FormatError, "its schema does not say", lambda: engine.tally(path, survey)),
        (ArgumentError, "standard input", lambda: engine.tally("-", survey)),
        (ArgumentError, "in memory", lambda: engine.tally(rows, survey, column="v")),
        (ArgumentError, "ReadFromParquetBatched", lambda: engine.tally("gs://b/c", survey)),
        (ArgumentError, "no column 'w'", lambda: engine.summarize(path, domain, column="w")),
        (
            ArgumentError,
            "no column 'w'",
            lambda: engine.randomize(path, survey, output=output, column="w"),
        ),
        (
            DomainError,
            "it holds true and false",
            lambda: engine.summarize(tmp_path / "flags.parquet", domain, column="v"),
        ),
        (
            ArgumentError,
            "not there yet",
            lambda: engine.randomize(path, survey, output=tmp_path / "full", column="report"),
        ),
        (
            ArgumentError,
            "the name of a file",
            lambda: engine.randomize(path, survey, output=tmp_path / "a.lwr", column="report"),
        ),
    ]
    for kind, message, call in wrong:
        with pytest.raises(kind, match=message):
            call()
    with pytest.raises(FileNotFoundError):
        engine.tally(tmp_path / "nothing.parquet", survey)
    assert not output.exists()


SUMMARIES: dict[str, tuple[Any, list[Any]]] = {
    "interval": (lw.Interval(0, 10, bins=7), [*(k % 13 - 1.5 for k in range(300)), None]),
    "labels": (lw.Categories(["b", "a", "1", 2]), ["a", "b", "1", "x", None, "2"] * 50),
    "segments": (
        lw.protocol.Segmented(lw.Interval(0, 10, bins=3), ["north", "south"]),
        [k % 11 for k in range(300)],
    ),
}


def test_summaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (domain, values) in SUMMARIES.items():
        folder = tmp_path / name
        folder.mkdir()
        rows = pa.table(
            {"v": values, "k": [["north", "x", "south"][k % 3] for k in range(len(values))]}
        )
        parquet.write_table(rows, folder / "a.parquet", row_group_size=30)
        csv.write_csv(rows.slice(0, 100), folder / "b.csv")
        given: dict[str, Any] = {"column": "v"} | ({"by": "k"} if name == "segments" else {})
        wanted = arrow.summarize(folder, domain, **given)
        assert engine.summarize(folder, domain, **given, options=AGAIN) == wanted
        assert sum(wanted.counts > 0) > 2
    failures = failing_once(monkeypatch, beam_files._CountSymbols)
    assert engine.summarize(folder, domain, **given, options=RETRIED) == wanted
    assert len(failures) == 1


# A lie has a chance of 20 e^-24 = 8e-10 a report.
SURE = lw.Survey("sure", lw.RandomizedResponse(lw.Categories(20), 24))


@pytest.mark.parametrize("options", [None, AGAIN, RETRIED], ids=str)
def test_each_value_gets_one_report(
    options: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = pa.table({"v": [k % 20 for k in range(300)], "k": [f"g{k % 3}" for k in range(300)]})
    (tmp_path / "in").mkdir()
    parquet.write_table(values.slice(0, 250), tmp_path / "in" / "a.parquet", row_group_size=30)
    csv.write_csv(values.slice(250), tmp_path / "in" / "b.csv")
    failures = failing_once(monkeypatch, beam_files._RandomizePieces) if options == RETRIED else [1]
    out = tmp_path / "out"
    assert (
        engine.randomize(tmp_path / "in", SURE, output=out, column="v", by="k", options=options)
        == 300
    )
    assert failures == [1]
    found = arrow.tally(out, SURE, by="k")  # says whose they are
    for group in range(3):
        held = np.array([k % 20 for k in range(300) if k % 3 == group])
        wanted = SURE.tally(SURE.randomize(held, rng=lw.seeded(1)))
        assert found.groups[f"g{group}"] == wanted
    assert all(path.suffix == ".parquet" for path in out.iterdir())
    assert out.stat().st_mode & 0o777 == (tmp_path / "in").stat().st_mode & 0o777
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_a_refused_value_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, bad in enumerate((None, 230, 7)):
        values = [k % 20 if k != bad else 4711 for k in range(300)]
        parquet.write_table(
            pa.table({"v": values}), tmp_path / f"{number}.parquet", row_group_size=40
        )
    out = tmp_path.parent / f"{tmp_path.name}-out"
    with pytest.raises(DomainError, match=r"1\.parquet: .* row 231 ") as caught:
        engine.randomize(tmp_path, SURE, output=out, column="v")
    assert caught.value.position == 230 and "4711" not in str(caught.value)
    seen: list[int] = []
    finalize = FileBasedSink.finalize_write

    def watched(self: Any, init: Any, *given: Any) -> Any:
        [folder] = tmp_path.parent.glob(f".{out.name}.*")
        seen.append(folder.stat().st_mode & 0o777)
        yield from finalize(self, init, *given)
        if "lapwing-result" not in str(self.file_path_prefix):
            raise RuntimeError("the last worker is gone")

    monkeypatch.setattr(FileBasedSink, "finalize_write", watched)
    with pytest.raises(EngineError, match="failed with a RuntimeError") as failed:
        engine.randomize(tmp_path / "0.parquet", SURE, output=out, column="v")
    assert "the last worker is gone" in str(failed.value.__cause__)
    assert set(seen) == {0o700}
    assert not out.exists() and not list(tmp_path.parent.glob(f".{out.name}*"))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    survey = SURVEYS["counts"]
    path = tmp_path / "ours.lwr"
    with path.open("wb") as stream:
        write_reports(stream, survey, [made(survey)], ending=".lwr")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FormatError, match="nothing was counted"):
        engine.tally(path, survey)


def test_options_are_not_those_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = SURVEYS["counts"]
    with (tmp_path / "r.lwr").open("wb") as stream:
        write_reports(stream, survey, [made(survey)], ending=".lwr")
    monkeypatch.setattr("sys.argv", ["lapwing", "--runner=NoRunner"])
    assert engine.tally(tmp_path / "r.lwr", survey).total == PEOPLE
    monkeypatch.setenv("LAPWING_BEAM_OPTIONS", "--runner=NoRunner")
    with pytest.raises(ArgumentError, match="a Beam runner 'NoRunner'"):
        engine.tally(tmp_path / "r.lwr", survey)
    with pytest.raises(ArgumentError, match="PipelineOptions, or a list"):
        engine.tally(tmp_path / "r.lwr", survey, options="--runner=FnApiRunner")


def test_the_verbs_over_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAPWING_BEAM_OPTIONS", "--runner=FnApiRunner --direct_num_workers=1")
    Path("in").mkdir()
    for name in ("a", "b"):
        parquet.write_table(pa.table({"v": [k % 20 for k in range(100)]}), f"in/{name}.parquet")
    assert engine.randomize("in", SURE, output="out") == 200
    assert engine.tally("out", SURE).tally == arrow.tally("out", SURE).tally
    domain = lw.Interval(0, 20, bins=5)
    wanted = lw.protocol.ExactCounts.of_values(list(range(20)) * 10, domain)
    assert engine.summarize("in", domain, column="v") == wanted
    with pytest.raises(ArgumentError, match="must be a folder that is not there"):
        engine.randomize("in", SURE, output="out")
    parquet.write_table(pa.table({"r": ["00", "zz"]}), "bad.parquet")
    with pytest.raises(ReportError, match=r"bad.parquet: .*row 2 "):
        engine.tally("bad.parquet", SURE, column="r")
    assert engine.tally("bad.parquet", SURE, column="r", skip_bad=True).refused == 1


def test_workers_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = SURVEYS["counts"]
    path, shared = tmp_path / "r.lwr", tmp_path / "shared"
    shared.mkdir()
    with path.open("wb") as stream:
        write_reports(stream, survey, [made(survey)], ending=".lwr")
    options = ["--runner=FnApiRunner", f"--temp_location={shared}"]
    found: list[str] = []
    read = beam_files._read

    def watched(place: str) -> Any:
        found.append(place)
        return read(place)

    monkeypatch.setattr(beam_files, "_read", watched)
    assert engine.tally(path, survey, options=options).total == PEOPLE
    assert found[0].startswith(str(shared)) and not list(shared.iterdir())

    def elsewhere(*_: Any) -> Any:
        raise ModuleNotFoundError("No module named 'lapwing.engines'")

    monkeypatch.setattr(beam_files._CountPieces, "work", elsewhere)
    with pytest.raises(EngineError, match="the workers must have lapwing installed"):
        engine.tally(path, survey, options=options)
