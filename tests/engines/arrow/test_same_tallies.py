"""The same reports give the same tally to the last byte: however they are divided, stored, read."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import dataset as arrow_dataset
from pyarrow import parquet

from lapwing import Survey
from lapwing.documents import canonical
from lapwing.engines.arrow import ReportCount, count, randomize, tally
from lapwing.engines.arrow.report_tables import (
    ENDINGS,
    LABELED_ENDINGS,
    write_reports,
)
from lapwing.errors import ReportError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.registry import RANDOMIZERS
from lapwing.testing import reproducible
from tests.contracts.registered import RandomizerCase, randomizer_cases
from tests.engines.asked_survey import ASKED, check_same, table_of
from tests.engines.randomizer_grid import EngineCase, in_engine

PEOPLE = 403


def _one_of_each() -> list[Any]:
    """Every row of the registry on the first of its domains."""
    chosen: dict[str, Any] = {}
    for case in randomizer_cases(1):
        if not RANDOMIZERS.knows(type(case.values[0].randomizer)):
            continue  # a part of others
        chosen.setdefault(str(case.id).partition(",")[0], case)
    return list(chosen.values())


def _some_impossible() -> list[Any]:
    """Those of which not all bytes are reports."""
    held = [(case, case.values[0]) for case in _one_of_each()]
    return [case for case, one in held if one.row.impossible(one.randomizer)]


three = pytest.mark.parametrize(
    "case",
    [
        case
        for case in _one_of_each()
        if case.id.partition(",")[0] in ("square-wave", "multiscale-wave", "linear-hashing")
    ],
)
"""A count, a mixture and a log. Every randomizer is tallied by batches above."""


def _survey(case: RandomizerCase) -> tuple[Survey, Reports]:
    survey = Survey("same", case.randomizer)
    values = case.values(np.arange(PEOPLE) % case.inputs)
    with reproducible(1):  # a CSV does not say that its reports are seeded
        return survey, survey.randomize(values)


def _labels() -> list[str | None]:
    names = ["north", "south", " south ", None, "", "east"]
    return [names[row * 31 // 7 % len(names)] for row in range(PEOPLE)]


def _table(reports: Reports) -> pa.Table:
    data = pa.py_buffer(np.ascontiguousarray(reports.data).tobytes())
    kind = pa.binary(reports.width)
    column = pa.FixedSizeBinaryArray.from_buffers(kind, len(reports), [None, data])
    return pa.table({"report": column, "place": pa.array(_labels())})


def _bytes(counted: ReportCount) -> bytes:
    return canonical(counted.tally.to_document())


def _stored(folder: Path, survey: Survey, reports: Reports, table: pa.Table) -> list[Path]:
    """Write the reports in every format, some in pieces."""
    for ending in ENDINGS:
        with (folder / f"reports{ending}").open("wb") as stream:
            parts = [reports[:100], reports[100:101], reports[101:]]
            write_reports(stream, survey, parts, ending=ending)
    parquet.write_table(table, folder / "groups.parquet", row_group_size=37)
    with pa.ipc.new_file(folder / "groups.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=50)
    with pa.ipc.new_stream(folder / "stream.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=61)
    (folder / "parts" / "place=north").mkdir(parents=True)
    (folder / "parts" / "place=south").mkdir()
    parquet.write_table(table.slice(0, 200), folder / "parts" / "place=north" / "a.parquet")
    with pa.ipc.new_file(folder / "parts" / "place=south" / "b.arrow", table.schema) as file:
        file.write_table(table.slice(200))
    return [
        *(folder / f"reports{ending}" for ending in ENDINGS),
        *(folder / name for name in ("groups.parquet", "groups.arrow", "stream.arrow", "parts")),
    ]


@pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")  # of columns without a value
@in_engine("arrow")
def test_every_randomizer(cases: list[EngineCase], tmp_path: Path) -> None:
    for number, case in enumerate(cases):
        if case.job == "randomize":
            out = tmp_path / f"{number}.parquet"
            randomize(case.table, case.survey, output=out, column=case.column)
            case.check_reports(parquet.read_table(out)["report"].to_pylist())
        else:
            rows = case.table.to_reader(max_chunksize=150)
            case.check_tally(tally(rows, case.survey, by=case.by, skip_bad=case.skip_bad))


@three
def test_any_format_and_division(case: RandomizerCase, tmp_path: Path) -> None:
    survey, reports = _survey(case)
    whole = canonical(survey.tally(reports).to_document())
    table = _table(reports)
    for path in _stored(tmp_path, survey, reports, table):
        for threads in (1, 3):
            counted = tally(
                path, survey, column="report" if path.stem != "reports" else None, threads=threads
            )
            assert _bytes(counted) == whole and counted.total == PEOPLE
    for sizes in (1, 7, PEOPLE):
        assert _bytes(tally(table.to_reader(max_chunksize=sizes), survey, threads=2)) == whole
    chunked = pa.concat_tables([table.slice(300), table.slice(0, 1), table.slice(1, 299)])
    assert _bytes(tally(chunked, survey)) == whole
    data_set = arrow_dataset.dataset(tmp_path / "groups.parquet")
    assert _bytes(tally(data_set, survey, column="report")) == whole
    assert _bytes(tally(table.to_pandas(), survey)) == whole


@three
def test_groups(case: RandomizerCase, tmp_path: Path) -> None:
    survey, reports = _survey(case)
    wanted = {
        name: canonical(one.to_document())
        for name, one in survey.tally(reports, by=_labels(), minimum=80).items()
    }
    assert list(wanted) == ["south", "other"]
    table = _table(reports)
    _stored(tmp_path, survey, reports, table)
    for ending in LABELED_ENDINGS:
        with (tmp_path / f"labeled{ending}").open("wb") as stream:
            parts = [(reports[a:b], _labels()[a:b]) for a, b in ((0, 9), (9, PEOPLE))]
            write_reports(stream, survey, parts, ending=ending, by="place")
    given: list[Any] = [tmp_path / f"labeled{ending}" for ending in LABELED_ENDINGS]
    for data in (*given, table, table.to_reader(max_chunksize=5), tmp_path / "groups.arrow"):
        column = "report" if data == tmp_path / "groups.arrow" else None
        found = tally(data, survey, column=column, by="place", threads=2).by_group(minimum=80)
        assert {name: canonical(one.to_document()) for name, one in found.items()} == wanted


def test_a_folder_s_name_is_a_label(tmp_path: Path) -> None:
    case = _one_of_each()[0].values[0]
    survey, reports = _survey(case)
    table = _table(reports).select(["report"])
    for place, part in (("Porto%20Santo", table.slice(0, 150)), ("Faro", table.slice(150))):
        (tmp_path / "data" / f"place={place}").mkdir(parents=True)
        parquet.write_table(part, tmp_path / "data" / f"place={place}" / "part.parquet")
    (tmp_path / "data" / "_SUCCESS").write_text("")
    found = tally(tmp_path / "data", survey, column="report", by="place").by_group(minimum=1)
    assert found == {
        "Porto Santo": survey.tally(reports[:150]),
        "Faro": survey.tally(reports[150:]),
    }


@pytest.mark.parametrize("case", _some_impossible())
def test_impossible_reports_are_refused_by_row_or_counted_apart(case: RandomizerCase) -> None:
    survey, reports = _survey(case)
    impossible = case.row.impossible(case.randomizer)
    data = reports.data.copy()
    rows = [5, 77, 78, PEOPLE - 1]
    for row, bad in zip(rows, itertools.cycle(impossible), strict=False):
        data[row] = np.frombuffer(bad, dtype=np.uint8)
    table = _table(Reports(data, reports.fingerprint))
    for size in (3, 50, PEOPLE):
        for threads in (1, 3):
            with pytest.raises(ReportError, match=r"the table: .* row 6 ") as caught:
                tally(table.to_reader(max_chunksize=size), survey, threads=threads)
            assert caught.value.position == 5
    kept = Reports(np.delete(reports.data, rows, axis=0), reports.fingerprint)
    counted = tally(table, survey, skip_bad=True)
    assert counted.refused == 4 and counted.tally == survey.tally(kept)
    grouped = tally(table, survey, by="place", skip_bad=True)
    assert grouped.refused == 4 and grouped.tally == survey.tally(kept)


@three
def test_columns_of_other_types(case: RandomizerCase) -> None:
    survey, reports = _survey(case)
    whole, width = survey.tally(reports), reports.width
    cells = [bytes(row) for row in reports.data]
    columns: list[Any] = [
        pa.array(cells, pa.binary()),
        pa.array(cells, pa.large_binary()),
        pa.array(cells, pa.binary_view()),
        pa.array([cell.hex() for cell in cells], pa.string()),
        pa.array([cell.hex().upper() for cell in cells], pa.large_string()),
        pa.array([list(cell) for cell in cells], pa.list_(pa.uint8(), width)),
        pa.array(cells, pa.binary()).dictionary_encode(),
    ]
    if width <= 8:
        numbers = [int.from_bytes(cell, "little") for cell in cells]
        columns.append(pa.array(numbers, pa.uint64()))
        if max(numbers) < 2**63:
            columns.append(pa.array(numbers, pa.int64()))
    for column in columns:
        for array in (column, pa.concat_arrays([column[:0], column, column])[len(column) :]):
            batch = pa.record_batch({"report": array})
            assert count(batch, survey).tally == whole, column.type
            assert count(batch.slice(11), survey).tally == survey.tally(reports[11:])
        some = pa.array([row % 10 != 3 for row in range(PEOPLE)])
        if pa.types.is_fixed_size_list(column.type) or pa.types.is_binary_view(column.type):
            continue
        holes = pa.record_batch({"report": pc.if_else(some, column, None)})
        with pytest.raises(ReportError, match="position 3 "):
            count(holes, survey)
        found = count(holes, survey, skip_bad=True)
        kept = Reports(reports.data[np.arange(PEOPLE) % 10 != 3], reports.fingerprint)
        assert found.refused == PEOPLE - len(kept) and found.tally == survey.tally(kept)


@pytest.mark.parametrize("kind", ASKED)
def test_a_survey_that_asks_has_the_reports_and_answers_of_the_library(
    tmp_path: Path, kind: str
) -> None:
    make, people = ASKED[kind]
    survey = make()
    out = tmp_path / "reports.parquet"
    values = pa.table({"value": people})
    randomize(values, survey, output=out, column="value", rng=seeded(3))
    reports = survey.randomize(people, rng=seeded(3))
    written = parquet.read_table(out)["report"].to_pylist()
    assert written == [bytes(report) for report in reports.data]
    check_same(survey, tally(out, survey).tally, reports)
    rows = table_of(reports).to_reader(max_chunksize=150)
    plain = Reports(reports.data, reports.fingerprint)  # a table does not say that they are seeded
    check_same(survey, tally(rows, survey, threads=2).tally, plain)
