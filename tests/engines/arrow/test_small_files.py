"""Many small files: each is opened once, many are counted together, and rows keep their places."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing import Categories, RandomizedResponse, Survey, seeded
from lapwing.engines.arrow import report_tally, tally
from lapwing.engines.arrow.report_tables import report_batch
from lapwing.engines.arrow.typed_files import SmallFiles
from lapwing.errors import MismatchError, ReportError
from lapwing.protocol.messages.reports import Reports

SURVEY = Survey("color", RandomizedResponse(Categories(20), 2))
FILES, ROWS = 150, 12


def _fill(folder: Path, *, bad: dict[int, int] | None = None) -> Any:
    """Write the files; in some of them a row holds no report that can have been sent."""
    reports = SURVEY.randomize(np.arange(FILES * ROWS) % 20, rng=seeded(1))
    for number in range(FILES):
        data = reports.data[number * ROWS : (number + 1) * ROWS].copy()
        if bad and number in bad:
            data[bad[number]] = 200
        labels = [f"g{row % 3}" for row in range(ROWS)]
        part = Reports(data, reports.fingerprint)
        batch = report_batch(part, SURVEY, labels=labels, by="place")
        table = pa.Table.from_batches([batch])
        parquet.write_table(table, folder / f"{number:03d}.parquet", row_group_size=5)
    return SURVEY.tally(reports)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_is_opened_once_and_many_are_counted_together(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _fill(tmp_path)
    opened: Counter[Path] = Counter()
    sources: list[Any] = []
    tallied: list[int] = []
    path_open, made, counted = Path.open, parquet.ParquetFile, RandomizedResponse.tally
    monkeypatch.setattr(
        Path, "open", lambda path, *rest: opened.update([path]) or path_open(path, *rest)
    )
    monkeypatch.setattr(
        parquet, "ParquetFile", lambda source, **how: sources.append(source) or made(source, **how)
    )
    monkeypatch.setattr(
        RandomizedResponse,
        "tally",
        lambda self, reports: tallied.append(len(reports)) or counted(self, reports),
    )
    found = tally(tmp_path, SURVEY, threads=threads)
    assert found.tally == whole
    assert len(opened) == FILES and set(opened.values()) == {1}
    assert len(sources) == FILES and not any(isinstance(source, str) for source in sources)
    assert len(tallied) == -(-FILES // 64), "64 files at once"
    assert [one.reports for one in found.files] == [ROWS] * FILES
    assert [Path(one.file).name for one in found.files] == sorted(path.name for path in opened)


@pytest.mark.parametrize("room", [0, 2**26])
@pytest.mark.parametrize("threads", [1, 3])
def test_bad_rows_are_named_in_their_files_and_counted_there(
    room: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path, bad={70: 7, 71: 0, 149: 3})
    monkeypatch.setattr(report_tally, "SmallFiles", lambda: SmallFiles(room))
    for by in (None, "place"):
        with pytest.raises(ReportError, match=r"070\.parquet.*row 8 "):
            tally(tmp_path, SURVEY, threads=threads, by=by)
        found = tally(tmp_path, SURVEY, threads=threads, by=by, skip_bad=True)
        assert found.refused == 3 and found.total == FILES * ROWS - 3
        assert {Path(one.file).name: one.refused for one in found.files if one.refused} == {
            "070.parquet": 1,
            "071.parquet": 1,
            "149.parquet": 1,
        }
        if by is not None:
            assert set(found.groups) == {"g0", "g1", "g2"}


def test_a_file_of_another_survey_is_refused_before_a_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path)
    other = Survey("other", SURVEY.randomizer)
    reports = other.randomize([1, 2], rng=seeded(1))
    table = pa.Table.from_batches([report_batch(reports, other, labels=None, by=None)])
    parquet.write_table(table, tmp_path / "999.parquet")
    monkeypatch.setattr(report_tally, "_run", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(MismatchError, match=r"999\.parquet"):
        tally(tmp_path, SURVEY)


def test_files_of_other_types_are_counted_one_by_one(tmp_path: Path) -> None:
    codes = np.arange(40, dtype=np.uint8) % 20
    for number, kind in enumerate((pa.uint8(), pa.int64(), pa.binary(1), pa.string())):
        cells: Any = codes if number < 2 else [bytes([code]) for code in codes]
        cells = [f"{code:02x}" for code in codes] if kind == pa.string() else cells
        parquet.write_table(pa.table({"r": pa.array(cells, kind)}), tmp_path / f"{number}.parquet")
    found = tally(tmp_path, SURVEY, column="r")
    reports = Reports(np.tile(codes, 4)[:, None].copy(), SURVEY.randomizer.fingerprint)
    assert found.tally == SURVEY.tally(reports)


def test_what_is_read_whole_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    small = SmallFiles(room=20_000)
    with path.open("rb") as stream:
        assert small.content(stream) == b"x" * 1000
        stream.seek(0)
        assert small.content(stream) is not None and small.content(stream) is None
    path.write_bytes(b"x" * (2**18 + 1))
    with path.open("rb") as stream:
        assert SmallFiles().content(stream) is None
