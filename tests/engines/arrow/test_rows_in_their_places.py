"""Each row is counted once, with its own label, and told by its own number.

Each test fails on an error that was planted: a row group read twice, labels that are not filtered
with their reports, a byte that is null taken for 0, cells that are read from the wrong place, a
folder's label in the place of the row's, segments in the place of values, and row numbers that
begin again in each batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.engines.arrow import count, summarize, table_reader, tally
from lapwing.engines.arrow.dataset_tables import tables_of
from lapwing.errors import ReportError
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.reports import Reports

SURVEY = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=20), epsilon=2))


def whole(codes: list[int]) -> lw.tallies.CountTally:
    data = np.array(codes, dtype=np.uint8).reshape(-1, 1)
    return SURVEY.tally(Reports(data, SURVEY.randomizer.fingerprint))


@pytest.mark.parametrize("together", [1, 25, 60, None])
def test_parts_hold_each_row_once(together: int | None, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"n": np.arange(103)}), path, row_group_size=10)
    table = table_reader.open_table(path)
    rows: list[int] = []
    for first, batches in table.parts(["n"], together=together):
        assert first == len(rows)
        for batch in batches():
            rows += batch.column(0).to_pylist()
    assert rows == list(range(103))


@pytest.mark.parametrize("bad", [[None], [255], [None, 255]])
def test_a_label_stays_beside_its_report(bad: list[int | None]) -> None:
    """Everybody in the north sent 1 and everybody in the south 2; bad rows stand between them."""
    rows: list[tuple[int | None, str]] = []
    for number in range(40):
        rows.append((1, "north") if number % 3 else (2, "south"))
        if number % 5 == 0:
            rows += [(one, "south") for one in bad]
    codes, labels = zip(*rows, strict=True)
    batch = pa.record_batch({"report": pa.array(codes, pa.uint8()), "place": pa.array(labels)})
    counted = count(batch, SURVEY, by="place", skip_bad=True)
    assert counted.refused == 8 * len(bad)
    assert counted.groups == {"north": whole([1] * 26), "south": whole([2] * 14)}


def test_a_list_with_a_null_is_no_report() -> None:
    wide = lw.Survey("wide", lw.SquareWave(lw.Interval(0, 1, bins=1024), epsilon=1))
    lists = pa.array([[1, 0], [None, 0], [3, None], [4, 1]], pa.list_(pa.uint8(), 2))
    for array in (lists, pa.concat_arrays([lists, lists])[4:]):
        counted = count(pa.record_batch({"report": array}), wide, skip_bad=True)
        assert (counted.total, counted.refused) == (2, 2)
        (counts,) = counted.tally.blocks
        assert np.flatnonzero(counts).tolist() == [1, 260]
    # Cells that begin in the middle of an array, as a slice of a wider one has them.
    cells = pa.array([9, 0, 1, 0, 4, 1], pa.uint8())[2:]
    sliced = pa.FixedSizeListArray.from_arrays(cells, 2)
    (counts,) = count(pa.record_batch({"report": sliced}), wide).tally.blocks
    assert np.flatnonzero(counts).tolist() == [1, 260]


def test_a_column_of_the_file_is_not_that_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "place=north" / "year=2026"
    folder.mkdir(parents=True)
    table = pa.table({"report": pa.array([1, 2, 2], pa.uint8()), "place": ["a", "b", "b"]})
    parquet.write_table(table, folder / "0.parquet")
    by_place = tally(tmp_path, SURVEY, column="report", by="place").groups
    assert by_place == {"a": whole([1]), "b": whole([2, 2])}
    by_year = tally(tmp_path, SURVEY, column="report", by="year").groups
    assert by_year == {"2026": whole([1, 2, 2])}
    (held,) = tables_of(tmp_path)
    cells = [cell for batch in held.batches(["place"]) for cell in batch.column(0).to_pylist()]
    assert cells == ["a", "b", "b"]


def test_values_and_segments_keep_their_places() -> None:
    domain = Segmented(lw.Interval(0, 3, bins=3), ["a", "b"])
    table = pa.table({"v": [0.5, 1.5, 1.5, 2.5, 2.5, 2.5], "s": ["a", "a", "b", "a", "b", "b"]})
    counts = summarize(table, domain, column="v", by="s").counts.reshape(-1)
    listed = [(0, "a"), (1, "a"), (1, "b"), (2, "a"), (2, "b"), (2, "b")]
    wanted = np.zeros(counts.size, dtype=int)
    each = counts.size // 3  # of "a", of "b" and of the others: three bins, and missing values
    for bin_, label in listed:
        wanted["ab".index(label) * each + bin_] += 1
    assert counts.tolist() == wanted.tolist()


def test_rows_count_on_in_a_later_batch(tmp_path: Path) -> None:
    codes = np.ones(600_000, dtype=np.uint8)
    codes[560_000] = 255
    parquet.write_table(pa.table({"code": codes}), tmp_path / "a.parquet")
    with pytest.raises(ReportError, match=r"a\.parquet: .* row 560001 "):
        tally(tmp_path / "a.parquet", SURVEY, column="code", threads=1)
