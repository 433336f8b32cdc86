"""What holds inside a pipeline of Beam: run in its own environment by `test_beam.py`."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from pyarrow import parquet

import lapwing as lw
from lapwing.documents import canonical
from lapwing.engines import arrow
from lapwing.engines.arrow.report_tables import write_reports
from lapwing.engines.beam import CountReports, CountValues, RandomizeValues
from lapwing.engines.beam.transforms import _Randomizing
from lapwing.errors import ArgumentError, DomainError, MismatchError, ReportError, RowsWarning
from lapwing.protocol.messages.reports import Reports
from tests.engines.page import example
from tests.engines.randomizer_grid import EngineCase, in_engine

PEOPLE = 601
SURVEYS = {
    "counts": lw.Survey("c", lw.SquareWave(lw.Interval(0, 1, bins=16), 1)),
    "mixture": lw.Survey("m", lw.MultiscaleWave(lw.Interval(0, 1, bins=64), 1)),
    "log": lw.Survey("l", lw.LinearHashing(lw.Categories(2**30), 1)),
}
AGAIN = PipelineOptions(["--runner=FnApiRunner", "--direct_runner_bundle_repeat=2"])
"""Each bundle is run three times, and the output of the last run counts."""
RETRIED = PipelineOptions(["--runner=BundleBasedDirectRunner"])
"""A bundle that fails is run again, up to four times."""
PROCESSES = PipelineOptions(
    [
        "--runner=FnApiRunner",
        "--direct_running_mode=multi_processing",
        "--direct_num_workers=2",
    ]
)

every = pytest.mark.parametrize("survey", [SURVEYS[name] for name in ("mixture", "log")])


def made(survey: lw.Survey) -> Reports:
    rng = np.random.default_rng(1)
    listed = isinstance(survey.randomizer.domain, lw.Categories)
    values = rng.integers(0, 20, PEOPLE) if listed else rng.random(PEOPLE)
    return survey.randomize(values, rng=lw.seeded(1))


def labels() -> list[str | None]:
    return [["north", "south", None][row * 31 // 7 % 3] for row in range(PEOPLE)]


def table(reports: Reports) -> pa.Table:
    cells = [bytes(row) for row in reports.data]
    return pa.table({"report": pa.array(cells, pa.binary()), "place": pa.array(labels())})


Steps = dict[Any, tuple[Any, list[Any]]]


def collected(steps: Steps, options: PipelineOptions | None = None) -> dict[Any, list[Any]]:
    """Return what each of some transforms makes of its elements; all are run in one pipeline."""
    found: dict[Any, list[Any]] = {name: [] for name in steps}
    with tempfile.TemporaryDirectory() as folder:
        runner = "FnApiRunner" if options is None else None
        with beam.Pipeline(runner=runner, options=options or PipelineOptions([])) as pipeline:
            made = []
            for name, (step, given) in steps.items():
                elements = pipeline | f"Create {name}" >> beam.Create(given)
                results = elements | f"Step {name}" >> step
                made.append(results | f"Name {name}" >> beam.Map(named, name))
            _ = made | beam.Flatten() | KeepIn(folder)
        # Of a folder that is not a file: the sink leaves there what was not committed.
        files = [path for path in Path(folder).iterdir() if path.is_file()]
        for line in [line for path in files for line in path.read_text().split()]:
            name, one = pickle.loads(bytes.fromhex(line))
            found[name].append(one)
    return found


def named(element: Any, name: Any) -> Any:
    return name, element


def only(step: Any, given: list[Any], options: PipelineOptions | None = None) -> list[Any]:
    """Return what one transform makes of some elements."""
    return collected({0: (step, given)}, options)[0]


class KeepIn(beam.PTransform):
    """Writes elements to files that Beam commits."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def expand(self, elements: Any) -> Any:
        texts = elements | beam.Map(lambda element: pickle.dumps(element).hex())
        return texts | beam.io.WriteToText(f"{self.folder}/kept")


def told(counted: Any) -> Any:
    return {name: canonical(one.to_document()) for name, one in counted.groups.items()}


def in_batches(rows: pa.Table, size: int) -> list[Any]:
    return [pa.Table.from_batches([batch]) for batch in rows.to_batches(max_chunksize=size)]


@in_engine("beam")
def test_every_randomizer(cases: list[EngineCase]) -> None:
    steps: Steps = {}
    for number, case in enumerate(cases):
        count = CountReports(case.survey, by=case.by, skip_bad=case.skip_bad)
        values = RandomizeValues(case.survey, column="value")
        step = values if case.job == "randomize" else beam.CombineGlobally(count)
        steps[number] = (step, in_batches(case.table, 150))
    found = collected(steps)
    for number, case in enumerate(cases):
        if case.job == "randomize":
            case.check_reports([cell for one in found[number] for cell in report_cells(one)])
        else:
            [counted] = found[number]
            case.check_tally(counted)


def report_cells(batch: Any) -> list[bytes]:
    return [cell.as_py() for cell in batch.column("report")]


@every
def test_elements_of_any_kind_give_the_same_tally(survey: lw.Survey) -> None:
    reports = made(survey)
    rows = table(reports)
    plain = told(arrow.count(rows.to_batches()[0], survey))
    grouped = told(arrow.count(rows.to_batches()[0], survey, by="place"))
    listed = rows.to_pylist()
    kinds: list[tuple[list[Any], str | None]] = [
        (in_batches(rows, 7), None),
        (rows.to_batches(max_chunksize=PEOPLE), None),
        ([cell["report"] for cell in listed], None),
        ([reports[:100], reports[100:]], None),
        (in_batches(rows, 50), "place"),
        (listed, "place"),
        ([SimpleNamespace(**row) for row in listed], "place"),
        ([*in_batches(rows, 50)[:4], *listed[200:]], "place"),
    ]
    steps: Steps = {
        number: (beam.CombineGlobally(CountReports(survey, by=by)), elements)
        for number, (elements, by) in enumerate(kinds)
    }
    keyed = list(zip(labels(), map(bytes, reports.data), strict=True))
    steps["keys"] = (beam.CombinePerKey(CountReports(survey)), keyed)
    found = collected(steps)
    for number, (_, by) in enumerate(kinds):
        [one] = found[number]
        assert told(one) == (plain if by is None else grouped), number
        assert one.grouped == (by is not None)
    assert {key: canonical(one.tally.to_document()) for key, one in found["keys"]} == grouped


def test_nothing_is_a_count_of_nothing() -> None:
    counting = beam.CombineGlobally(CountReports(SURVEYS["counts"]))
    summing = beam.CombineGlobally(CountValues(lw.Interval(0, 1, bins=4)))
    found = collected({"count": (counting, []), "sum": (summing, [])})
    assert found["count"][0].total == 0 and dict(found["count"][0].groups) == {}
    assert found["sum"][0].people == 0


class FailsOnce(beam.DoFn):
    """Passes elements on, and fails at the end of the first bundle that it sees."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def process(self, element: Any) -> Iterator[Any]:
        yield element
        if not self.mark.exists():
            self.mark.touch()
            raise RuntimeError("a worker is gone after it emitted")


class CountsAndFails(CountReports):
    """Fails once, after it has counted."""

    def __init__(self, *given: Any, mark: Path, **named: Any) -> None:
        super().__init__(*given, **named)
        self.mark = mark

    def add_input(self, accumulated: Any, element: Any) -> Any:
        accumulated = super().add_input(accumulated, element)
        if not self.mark.exists():
            self.mark.touch()
            raise RuntimeError("a worker is gone after it counted")
        return accumulated


@every
def test_a_bundle_that_runs_again_counts_once(survey: lw.Survey, tmp_path: Path) -> None:
    reports = made(survey)
    rows = table(reports)
    wanted = told(arrow.count(rows.to_batches()[0], survey, by="place"))
    count = beam.CombineGlobally(CountReports(survey, by="place"))
    steps: Steps = {}
    marks = [tmp_path / str(number) for number in range(4)]
    for number, given in enumerate((in_batches(rows, 100), rows.to_pylist())):
        failing = CountsAndFails(survey, by="place", mark=marks[2 * number])
        emitting = "Fail" >> beam.ParDo(FailsOnce(marks[2 * number + 1]))
        steps[number, "whole"] = (count, given)
        steps[number, "counted"] = (beam.CombineGlobally(failing), given)
        steps[number, "emitted"] = (Both(emitting, count), given)
    again = {name: step for name, step in steps.items() if name[1] == "whole"}
    for found in (
        collected(steps, RETRIED),
        collected(again, AGAIN),
        collected(again, PROCESSES),
    ):
        assert all(told(one) == wanted for [one] in found.values())
    assert all(mark.exists() for mark in marks)


def test_values_of_a_bundle_that_runs_again_count_once(tmp_path: Path) -> None:
    domain, mark = lw.Interval(0, 10, bins=7), tmp_path / "mark"
    values = [*(k % 13 - 1.5 for k in range(300)), None]
    batches = in_batches(pa.table({"v": values}), 30)
    counting = beam.CombineGlobally(CountValues(domain, column="v"))
    found = only(Both("Fail" >> beam.ParDo(FailsOnce(mark)), counting), batches, RETRIED)
    assert found == [lw.protocol.ExactCounts.of_values(values, domain)] and mark.exists()


class Both(beam.PTransform):
    """One transform after another."""

    def __init__(self, *steps: Any) -> None:
        super().__init__()
        self.steps = steps

    def expand(self, elements: Any) -> Any:
        for step in self.steps:
            elements = elements | step
        return elements


def test_bad_reports_fail_or_are_counted_apart() -> None:
    survey = SURVEYS["counts"]
    reports = made(survey)
    cells: list[Any] = [bytes(row) for row in reports.data]
    for row in (5, 77, 400):
        cells[row] = [b"\xff", b"", None][row % 3]
    whole = pa.table({"report": pa.array(cells, pa.binary()), "place": pa.array(labels())})
    rows, batches = whole.to_pylist(), in_batches(whole, 60)
    kept = Reports(np.delete(reports.data, [5, 77, 400], axis=0), reports.fingerprint)
    grouped = arrow.tally(whole, survey, column="report", by="place", skip_bad=True)
    for given in (rows, batches):
        with pytest.raises(ReportError):
            only(beam.CombineGlobally(CountReports(survey)), given)
        skipping = CountReports(survey, skip_bad=True)
        [found] = only(beam.CombineGlobally(skipping), given, AGAIN)
        assert found.refused == 3 and found.tally == survey.tally(kept)
        by_place = CountReports(survey, by="place", skip_bad=True)
        [found] = only(beam.CombineGlobally(by_place), given, AGAIN)
        assert found.refused == 3 and told(found) == told(grouped)


def test_what_is_no_row_is_refused_without_showing_it() -> None:
    survey = SURVEYS["counts"]
    grouped = CountReports(survey, by="place")
    with pytest.raises(ArgumentError, match="have no column 'place'"):
        only(beam.CombineGlobally(grouped), [b"\x00"])
    with pytest.raises(ArgumentError, match="must have a field 'report', a dict has none"):
        only(beam.CombineGlobally(CountReports(survey)), [{"secret": 7}])
    with pytest.raises(ArgumentError, match="of one type") as caught:
        mixed = [{"report": 1}, {"report": "7715"}]
        only(beam.CombineGlobally(CountReports(survey)), mixed)
    assert "7715" not in str(caught.value)
    with pytest.raises(ArgumentError, match="one column 'place'"):
        only(beam.CombineGlobally(grouped), [pa.table({"report": [b"a"]})])
    with pytest.raises(ArgumentError, match=r"one column 'income'.* has: v"):
        counting = CountValues(lw.Interval(0, 1, bins=4), column="income")
        only(beam.CombineGlobally(counting), [pa.table({"v": [0.5]})])
    with pytest.raises(ArgumentError, match="must hold reports"):
        counting = CountReports(survey, column="v")
        only(beam.CombineGlobally(counting), [pa.table({"v": [0.5]})])
    with pytest.raises(DomainError, match="it holds true and false"):
        counting = CountValues(lw.Interval(0, 1, bins=4), column="v")
        only(beam.CombineGlobally(counting), [pa.table({"v": [True]})])


def test_a_column_without_values_is_told_of_once() -> None:
    domain = lw.Interval(0, 60, bins=16)
    batches = in_batches(pa.table({"v": [*[None] * 90, *[3600.0] * 120, *[5.0] * 90]}), 30)
    for elements in (batches, [value for one in batches for value in one["v"].to_pylist()]):
        column = "v" if elements is batches else None
        counting = beam.CombineGlobally(CountValues(domain, column=column))
        with pytest.warns(RowsWarning, match="of 300 rows: 90 missing, 120 outside") as told_of:
            only(counting, elements)
        assert sum(one.category is RowsWarning for one in told_of) == 1


SUMMARIES: dict[str, tuple[Any, list[Any]]] = {
    "interval": (lw.Interval(0, 10, bins=7), [*(k % 13 - 1.5 for k in range(300)), None]),
    "outside": (
        lw.Interval(0, 10, bins=7, outside="overflow"),
        [*(k % 13 - 1.5 for k in range(300)), None],
    ),
    "labels": (lw.Categories(["b", "a", "1", 2]), ["a", "b", "b", "1", "x", None, "2"] * 40),
}


def test_summaries() -> None:
    steps: Steps = {}
    wanted: dict[Any, Any] = {}
    for name, (domain, values) in SUMMARIES.items():
        rows = pa.table({"v": values, "k": [row % 2 for row in range(len(values))]})
        count = beam.CombineGlobally(CountValues(domain, column="v"))
        keyed = [(row["k"], row["v"]) for row in rows.to_pylist()]
        steps |= {
            (name, "small"): (count, in_batches(rows, 11)),
            (name, "large"): (count, rows.to_batches(max_chunksize=999)),
            (name, "values"): (beam.CombineGlobally(CountValues(domain)), values),
            (name, "rows"): (count, rows.to_pylist()),
            (name, "keys"): (beam.CombinePerKey(CountValues(domain)), keyed),
        }
        whole = [arrow.summarize(rows, domain, column="v")]
        alone = [lw.protocol.ExactCounts.of_values(values, domain)]
        assert alone == whole, "labels are the same in a list and in a table"
        halves = [
            (key, lw.protocol.ExactCounts.of_values(values[key::2], domain)) for key in (0, 1)
        ]
        kinds = {"small": whole, "large": whole, "values": alone, "rows": alone, "keys": halves}
        wanted |= {(name, kind): found for kind, found in kinds.items()}
    found = collected(steps, AGAIN)
    for name, one in found.items():
        assert sorted(one, key=str) == wanted[name], name
    with pytest.raises(ArgumentError, match="by its key"):
        CountValues(lw.protocol.Segmented(domain, ["a"]))


class Recording(beam.DoFn):
    """Writes to the outside: what it saw in a run that is thrown away stays."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def process(self, batch: Any) -> None:
        cells = zip(batch.column("who").to_pylist(), batch.column("report"), strict=True)
        with self.path.open("a") as stream:
            stream.writelines(f"{who} {cell.as_py().hex()}\n" for who, cell in cells)


@pytest.mark.parametrize("safe", [True, False])
def test_a_value_has_one_report_in_whatever_is_behind(safe: bool, tmp_path: Path) -> None:
    """Without the Reshuffle, runs of one bundle show several reports of a person."""
    survey = lw.Survey("wide", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(200), 1))
    values = pa.table({"v": [k % 200 for k in range(40)], "who": [f"p{k}" for k in range(40)]})
    step = RandomizeValues(survey, column="v", by="who")
    if not safe:
        step = beam.ParDo(_Randomizing(survey, "v", "who", "iso"))
    with beam.Pipeline(options=AGAIN) as pipeline:
        batches = pipeline | beam.Create(in_batches(values, 9)) | step
        _ = batches | beam.ParDo(Recording(tmp_path / "seen"))
    lines = (tmp_path / "seen").read_text().split("\n")[:-1]
    assert len(lines) == 3 * 40 and len({line.split()[0] for line in lines}) == 40
    assert len(set(lines)) == (40 if safe else 120)


# A lie has a chance of 20 e^-24 = 8e-10 a report.
SURE = lw.Survey("sure", lw.RandomizedResponse(lw.Categories(20), 24))


def test_randomized_values_are_read_and_labeled() -> None:
    values = pa.table({"v": [k % 20 for k in range(200)], "who": [f"p{k % 5}" for k in range(200)]})
    step = RandomizeValues(SURE, column="v", by="who")
    found = told(
        arrow.tally(pa.concat_tables(only(step, in_batches(values, 33), RETRIED)), SURE, by="who")
    )
    one = SURE.randomize(values["v"].to_pylist(), rng=lw.seeded(1))
    assert found == told(
        arrow.count(
            pa.record_batch(
                {"report": [bytes(row) for row in one.data], "who": values["who"].combine_chunks()}
            ),
            SURE,
            by="who",
        )
    )
    with pytest.raises(DomainError, match="position 1 "):
        only(RandomizeValues(SURE, column="v"), [pa.table({"v": [3, 20]})])


@pytest.mark.parametrize("options", [AGAIN, RETRIED], ids=["repeated", "failing"])
def test_each_value_has_one_report_in_the_files(options: PipelineOptions, tmp_path: Path) -> None:
    values = pa.table({"v": [k % 20 for k in range(300)], "k": [f"g{k % 3}" for k in range(300)]})
    parquet.write_table(values, tmp_path / "values.parquet", row_group_size=30)
    step, mark = RandomizeValues(SURE, column="v", by="k"), tmp_path / "mark"
    with beam.Pipeline(options=options) as pipeline:
        reports = pipeline | beam.io.ReadFromParquetBatched(f"{tmp_path}/values.parquet") | step
        if options is RETRIED:
            reports |= beam.ParDo(FailsOnce(mark))
        _ = reports | beam.io.WriteToParquetBatched(
            f"{tmp_path}/out/reports", step.schema, file_name_suffix=".parquet"
        )
    assert mark.exists() == (options is RETRIED)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    found = arrow.tally(files, SURE, by="k")  # the files say whose reports they hold
    for group in range(3):
        held = [k % 20 for k in range(300) if k % 3 == group]
        assert found.groups[f"g{group}"] == SURE.tally(SURE.randomize(held, rng=lw.seeded(1)))


def test_a_refused_value_leaves_no_reports_in_files(tmp_path: Path) -> None:
    step = RandomizeValues(SURE, column="v")
    batches = in_batches(pa.table({"v": [k % 20 if k != 230 else 4711 for k in range(300)]}), 40)
    with (
        pytest.raises(DomainError, match="position 30 ") as caught,
        beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([])) as pipeline,
    ):
        reports = pipeline | beam.Create(batches) | step
        _ = reports | beam.io.WriteToParquetBatched(f"{tmp_path}/reports", step.schema)
    assert "4711" not in str(caught.value)
    assert not [path for path in tmp_path.glob("reports*") if path.is_file()]


def test_beam_s_own_reader(tmp_path: Path) -> None:
    survey = SURVEYS["mixture"]
    with (tmp_path / "other").open("wb") as stream:
        write_reports(stream, SURVEYS["log"], [made(SURVEYS["log"])], ending=".parquet")
    with (
        pytest.raises(MismatchError, match="a batch holds reports of survey"),
        beam.Pipeline(runner="FnApiRunner") as pipeline,
    ):
        read = pipeline | beam.io.ReadFromParquetBatched(f"{tmp_path}/other")
        _ = read | beam.CombineGlobally(CountReports(survey))
    (tmp_path / "other").unlink()
    rows = table(made(survey))
    for part in range(3):
        parquet.write_table(rows.slice(part * 200, 200 + part), tmp_path / f"{part}.parquet")
    rows = parquet.read_table(tmp_path)
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        read = pipeline | beam.io.ReadFromParquetBatched(f"{tmp_path}/*.parquet")
        counted = read | beam.CombineGlobally(CountReports(survey, by="place"))
        _ = counted | beam.Map(told) | KeepIn(str(tmp_path / "kept"))
    [path] = (tmp_path / "kept").iterdir()
    found = pickle.loads(bytes.fromhex(path.read_text().strip()))
    assert found == told(arrow.tally(rows, survey, by="place"))


def merged(function: Any, elements: list[Any], rng: np.random.Generator) -> Any:
    """Return what a CombineFn makes of elements, as some runner may call it."""
    parts = np.split(np.arange(len(elements)), np.sort(rng.integers(0, len(elements), 5)))
    waiting = []
    for part in parts:  # some are empty
        accumulated = function.create_accumulator()
        for place in part:
            accumulated = function.add_input(accumulated, elements[place])
        if rng.random() < 0.5:
            accumulated = function.compact(accumulated)
        waiting.append(pickle.dumps(accumulated))
    while len(waiting) > 1:
        rng.shuffle(waiting)
        some = int(rng.integers(1, len(waiting) + 1))
        taken, waiting = waiting[:some], waiting[some:]
        given = (pickle.loads(one) for one in taken)
        waiting.append(pickle.dumps(function.merge_accumulators(given)))
    return function.extract_output(pickle.loads(waiting[0]))


def test_accumulators_add_in_any_order_and_shape() -> None:
    survey = SURVEYS["mixture"]
    rows = table(made(survey))
    wanted = told(arrow.count(rows.to_batches()[0], survey, by="place"))
    listed: list[Any] = [*in_batches(rows.slice(0, 300), 20), *rows.slice(300).to_pylist()]
    values = [k % 9 for k in range(200)]
    domain = lw.Interval(0, 8, bins=4)
    numbers: list[Any] = [*in_batches(pa.table({"v": values}), 30), *({"v": v} for v in values)]
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert told(merged(CountReports(survey, by="place"), listed, rng)) == wanted
        found = merged(CountValues(domain, column="v"), numbers, rng)
        assert found == lw.protocol.ExactCounts.of_values(values * 2, domain)
    function = CountReports(survey)
    accumulated = function.create_accumulator()
    for cell in rows["report"].to_pylist()[:5]:
        accumulated = function.add_input(accumulated, cell)
    assert function.extract_output(accumulated).total == 5  # where nothing was merged
    assert function.extract_output(accumulated).total == 5  # asked again


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey = lw.Survey("i", lw.SquareWave(lw.Interval(0, 400_000, bins=32), 1))
    values = pa.table({"income": np.linspace(0, 400_000, 70)})
    for folder in ("reports", "values", "secret"):
        (tmp_path / folder).mkdir()
    parquet.write_table(values, tmp_path / "values" / "0.parquet")
    arrow.randomize(values, survey, column="income", output=tmp_path / "reports" / "0.parquet")

    def seen(summary: Any, days: Any) -> None:
        people = summary | beam.Map(lambda one: one.people)
        assert_that(people, equal_to([70]), label="Seen people")
        totals = days | beam.MapTuple(lambda day, one: (day, one.total))
        assert_that(totals, equal_to([("Monday", 70)]), label="Seen days")

    code = example("beam").rstrip() + "\n    seen(summary, days)"
    code = code.replace("gs://bucket", str(tmp_path)).replace(
        "beam.Pipeline()", "beam.Pipeline(runner='FnApiRunner')"
    )
    exec(compile(code, "engines.md", "exec"), {"survey": survey, "lw": lw, "seen": seen})
    wanted = arrow.tally(tmp_path / "reports", survey)
    assert lw.Tally.load(tmp_path / "tally.json") == wanted.tally
    assert arrow.tally(sorted((tmp_path / "out").glob("*.parquet")), survey).total == 70
    assert lw.load(tmp_path / "secret" / "incomes.lws") == arrow.summarize(
        values, lw.Interval(0, 400_000, bins=1024), column="income"
    )
