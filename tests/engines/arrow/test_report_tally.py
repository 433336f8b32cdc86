"""Jobs on whole data sets: what is checked before they start, and that a killed one goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.engines.arrow import count, finished, randomize, summarize, tally
from lapwing.errors import (
    ArgumentError,
    DomainError,
    FormatError,
    LapwingWarning,
    MismatchError,
    ReportError,
    TornFileError,
)
from lapwing.protocol.messages.reports import Reports

DOMAIN = lw.Interval(0, 100, bins=20)
SURVEY = lw.Survey("age", lw.SquareWave(DOMAIN, epsilon=2))


def _codes(people: int = 1000) -> np.ndarray[Any, Any]:
    return SURVEY.randomize(np.arange(people) % 100, rng=lw.seeded(3)).data.ravel()


def _whole(codes: np.ndarray[Any, Any]) -> lw.tallies.CountTally:
    return SURVEY.tally(Reports(codes.reshape(-1, 1), SURVEY.randomizer.fingerprint))


def _files(folder: Path, *, number: int = 6) -> list[Path]:
    """Write files of 100, 101, ... reports."""
    codes = _codes(2000)
    paths = []
    for place in range(number):
        path = folder / f"{place}.parquet"
        parquet.write_table(pa.table({"code": codes[200 * place :][: 100 + place]}), path)
        paths.append(path)
    return paths


def _of_files(number: int = 6) -> lw.tallies.CountTally:
    codes = _codes(2000)
    return _whole(np.concatenate([codes[200 * n :][: 100 + n] for n in range(number)]))


def test_frames_of_others() -> None:
    codes = _codes()
    frame = pl.DataFrame({"code": codes, "other": codes})
    whole = _whole(codes)
    assert tally(frame, SURVEY, column="code").tally == whole
    assert tally(frame.lazy().filter(pl.col("code") >= 0), SURVEY, column="code").tally == whole
    few = frame.lazy().head(10)
    assert tally(few, SURVEY, column="code", threads=1).tally == _whole(codes[:10])
    assert tally(frame.to_pandas(), SURVEY, column="code").tally == whole
    cells = pl.DataFrame({"report": [bytes([code]) for code in codes]})
    assert tally(cells, SURVEY).tally == whole


def test_before_the_job_starts(tmp_path: Path) -> None:
    def advance(rows: int) -> None:
        raise AssertionError("a row was read")

    paths = _files(tmp_path, number=2)
    parquet.write_table(pa.table({"code": [1.5]}), tmp_path / "floats.parquet")
    parquet.write_table(pa.table({"other": [1]}), tmp_path / "no.parquet")
    weight = lw.Survey("weight", SURVEY.randomizer)
    assert randomize(pa.table({"v": [5.0]}), weight, output=tmp_path / "weight.parquet") == 1
    (tmp_path / "junk.parquet").write_bytes(b"PAR1 and no more")
    for last, kind, words in (
        ("floats.parquet", ArgumentError, "holds double"),
        ("no.parquet", ArgumentError, "no column 'code'"),
        ("junk.parquet", FormatError, "damaged"),
        ("absent.parquet", FileNotFoundError, "absent"),
    ):
        with pytest.raises(kind, match=words):
            tally([*paths, tmp_path / last], SURVEY, column="code", advance=advance)
    with pytest.raises(MismatchError, match=r"weight\.parquet contains reports of survey"):
        tally([tmp_path / "weight.parquet"], SURVEY, column="report", advance=advance)
    with pytest.raises(FormatError, match="--column"):  # nothing says whose they are
        tally(paths, SURVEY, advance=advance)
    with pytest.raises(ArgumentError, match="at least one file"):
        tally([], SURVEY)
    with pytest.raises(ArgumentError, match="got a dict"):
        tally({"code": [1]}, SURVEY)


def test_a_wide_column_is_no_number() -> None:
    wide = lw.Survey("w", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(100), epsilon=1))
    with pytest.raises(ArgumentError, match="reports of 13 byte"):
        tally(pa.table({"report": pa.array([1], pa.uint64())}), wide)
    with pytest.raises(ArgumentError, match="reports of 13 byte"):
        tally(pa.table({"report": pa.array([b"x" * 12], pa.binary(12))}), wide)


def test_the_first_bad_row_is_named_whatever_thread_finds_one(tmp_path: Path) -> None:
    paths = _files(tmp_path)
    for place in (2, 4):
        table = parquet.read_table(paths[place])
        codes = table["code"].to_numpy().copy()
        codes[90:] = 255
        parquet.write_table(pa.table({"code": codes}), paths[place], row_group_size=7)
    for threads in (1, 2, 8):
        with pytest.raises(ReportError, match=r"^2\.parquet: .* row 91 "):
            tally(paths, SURVEY, column="code", threads=threads)
    counted = tally(paths, SURVEY, column="code", skip_bad=True)
    assert [one.refused for one in counted.files] == [0, 0, 12, 0, 14, 0]
    assert counted.refused == 26 and counted.total == sum(one.reports for one in counted.files)


def test_a_number_that_no_report_holds() -> None:
    for kind in (pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint32(), pa.uint64()):
        low = 256 if pa.types.is_unsigned_integer(kind) else -1
        batch = pa.record_batch({"report": pa.array([3, 256 + 3, low], kind)})
        with pytest.raises(ReportError, match="position 1 "):
            count(batch, SURVEY)
        assert count(batch, SURVEY, skip_bad=True).refused == 2


KILLED = """
import os, signal, sys
from pathlib import Path
import lapwing as lw
from lapwing.engines.arrow import tally, summarize, randomize
survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=20), epsilon=2))
left = int(sys.argv[2])
def advance(rows):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
paths = sorted(Path(sys.argv[3]).glob("*.parquet"))
if sys.argv[1] == "tally":
    tally(paths, survey, column="code", threads=2, progress=sys.argv[4], advance=advance)
elif sys.argv[1] == "summarize":
    summarize(paths, survey.randomizer.domain, column="v", progress=sys.argv[4], advance=advance)
else:
    randomize(paths, survey, column="v", output=sys.argv[4], advance=advance)
print("done")
"""


def _killed(*arguments: object) -> bool:
    """Run a job that kills itself after some steps; return whether it was killed."""
    source = str(Path(lw.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode in (0, -9), ran.stderr.decode()
    return ran.returncode == -9


def test_a_killed_tally_goes_on_and_counts_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    paths = _files(tmp_path / "in")
    progress = tmp_path / "tally.progress"
    assert _killed("tally", 4, tmp_path / "in", progress)
    assert progress.exists() and progress.stat().st_mode & 0o777 == 0o600
    rows: list[int] = []
    counted = tally(paths, SURVEY, column="code", progress=progress, advance=rows.append)
    assert counted.tally == _of_files() and len(counted.files) == 6
    assert 0 < len(rows) < 6, "files that were done were read again"
    assert [one.reports for one in counted.files] == [100 + place for place in range(6)]
    # Killed after the last file and before the result was stored: nothing is left to read.
    again = tally(paths, SURVEY, column="code", progress=progress, advance=rows.clear)  # type: ignore[arg-type]
    assert again.tally == _of_files() and rows
    finished(progress)
    assert not progress.exists()


def test_progress_is_of_one_job_and_of_files_as_they_were(tmp_path: Path) -> None:
    paths = _files(tmp_path, number=3)
    progress = tmp_path / "p"
    tally(paths, SURVEY, column="code", progress=progress)
    other = lw.Survey("weight", SURVEY.randomizer)
    for survey, more in ((other, {}), (SURVEY, {"skip_bad": True})):
        with pytest.raises(ArgumentError, match="another job"):
            tally(paths, survey, column="code", progress=progress, **more)
    with pytest.raises(ArgumentError, match=r"2\.parquet was counted before"):
        tally(paths[:2], SURVEY, column="code", progress=progress)
    changed = os.stat(paths[1])
    os.utime(paths[1], ns=(changed.st_atime_ns, changed.st_mtime_ns + 1))
    with pytest.raises(ArgumentError, match=r"1\.parquet was changed after"):
        tally(paths, SURVEY, column="code", progress=progress)
    content = progress.read_bytes()
    for damaged in (b"", content[:-1], content[:40] + b"x" + content[41:]):
        progress.write_bytes(damaged)
        with pytest.raises(FormatError, match="Delete it"):
            tally(paths, SURVEY, column="code", progress=progress)


def test_the_same_content_under_the_same_time_is_told_apart(tmp_path: Path) -> None:
    """A file that was exchanged for one of the same size, and given the old time."""
    paths = _files(tmp_path, number=2)
    progress = tmp_path / "p"
    tally(paths, SURVEY, column="code", progress=progress)
    about = paths[0].stat()
    content = bytearray(paths[0].read_bytes())
    content[50] ^= 1
    paths[0].write_bytes(content)
    os.utime(paths[0], ns=(about.st_atime_ns, about.st_mtime_ns))
    with pytest.raises(ArgumentError, match="was changed after"):
        tally(paths, SURVEY, column="code", progress=progress)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    paths = _files(tmp_path, number=1)

    def advance(rows: int) -> None:
        os.utime(paths[0], ns=(1, 1))

    with pytest.raises(ArgumentError, match="while it was read"):
        tally(paths, SURVEY, column="code", progress=tmp_path / "p", advance=advance)


def _values(folder: Path, *, number: int = 5) -> list[Path]:
    folder.mkdir()
    for place in range(number):
        table = pa.table({"v": (np.arange(50.0) + place) % 100})
        parquet.write_table(table, folder / f"{place}.parquet")
    return sorted(folder.glob("*.parquet"))


def test_a_killed_summary_goes_on(tmp_path: Path) -> None:
    paths = _values(tmp_path / "in")
    assert _killed("summarize", 3, tmp_path / "in", tmp_path / "p")
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o600
    rows: list[int] = []
    found = summarize(paths, DOMAIN, column="v", progress=tmp_path / "p", advance=rows.append)
    whole = [number for place in range(5) for number in (np.arange(50.0) + place) % 100]
    assert np.array_equal(found.counts, lw.protocol.ExactCounts.of_values(whole, DOMAIN).counts)
    assert 0 < len(rows) < 5


def test_a_killed_randomization_keeps_what_is_published(tmp_path: Path) -> None:
    paths = _values(tmp_path / "in")
    output = tmp_path / "out"
    assert _killed("randomize", 3, tmp_path / "in", output)
    assert not output.exists()
    parts = tmp_path / ".out.unpublished" / "parts"
    first = {path.name: path.read_bytes() for path in parts.glob("part-*.parquet")}
    assert 1 <= len(first) < 5
    assert randomize(paths, SURVEY, column="v", output=output) == 250
    for name, content in first.items():
        assert (output / name).read_bytes() == content, "values were randomized twice"
    assert tally(output, SURVEY).total == 250
    assert not list(output.glob(".*"))
    with pytest.raises(ArgumentError, match="already exists"):
        randomize(paths, SURVEY, column="v", output=output)


def test_randomized_and_summarized_from_anywhere(tmp_path: Path) -> None:
    values = (np.arange(3000) * 7 % 1000) / 10
    table = pa.table({"v": values})
    parquet.write_table(table, tmp_path / "v.parquet", row_group_size=100)
    with pa.ipc.new_file(tmp_path / "v.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=77)
    (tmp_path / "v.csv").write_text("v\n" + "".join(f"{value}\n" for value in values))
    frame = pl.DataFrame({"v": values})
    wanted = lw.protocol.ExactCounts.of_values(values, DOMAIN).counts
    given: list[Any] = [tmp_path / f"v.{kind}" for kind in ("parquet", "arrow", "csv")]
    given += [table, table.to_reader(max_chunksize=64), frame, frame.lazy(), frame.to_pandas()]
    reports = SURVEY.randomize(values, rng=lw.seeded(9))
    for data in given:
        if not isinstance(data, pa.RecordBatchReader):
            out = tmp_path / "out.parquet"
            # In blocks, as the seeded generator is used up by the block.
            assert (
                randomize(data, SURVEY, column="v", output=out, rng=lw.seeded(9), replace=True)
                == 3000
            )
            assert tally(out, SURVEY).total == 3000
            if isinstance(data, pa.Table):
                assert tally(out, SURVEY).tally == SURVEY.tally(reports)
        for threads in (1, 3):
            if threads == 3 and isinstance(data, pa.RecordBatchReader):
                continue
            found = summarize(data, DOMAIN, column="v", threads=threads)
            assert np.array_equal(found.counts, wanted)


def test_a_torn_file_is_refused_or_salvaged(tmp_path: Path) -> None:
    out = tmp_path / "r.lwr"
    randomize(pa.table({"v": np.arange(5000.0) % 100}), SURVEY, output=out)
    out.write_bytes(out.read_bytes()[:-3])
    with pytest.raises(TornFileError, match="Nothing was counted"):
        tally(out, SURVEY)
    with pytest.warns(LapwingWarning, match="Only those were counted"):
        counted = tally(out, SURVEY, salvage=True)
    assert 0 < counted.total < 5000 and counted.files[0].torn


def test_a_damaged_arrow_file_is_refused(tmp_path: Path) -> None:
    table = pa.table({"report": pa.array([bytes([code]) for code in _codes(400)])})
    path = tmp_path / "r.arrow"
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    content = path.read_bytes()
    middle = content.index(np.arange(100, 200, dtype="<i4").tobytes())
    path.write_bytes(content[:middle] + b"\xff" * 40 + content[middle + 40 :])
    with pytest.raises(FormatError, match="cannot be read as Arrow"):
        tally(path, SURVEY, column="report")
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match="cannot be read as Arrow"):
        tally(path, SURVEY, column="report")


def test_columns_of_others_are_values_and_their_frames_are_not() -> None:
    values = np.arange(50.0)
    wanted = SURVEY.randomize(values, rng=lw.seeded(1)).data
    frame = pl.DataFrame({"v": values})
    halves = pa.chunked_array([values[:20], values[20:]])
    columns: list[Any] = [frame["v"], frame.to_pandas()["v"], pa.array(values), halves]
    for column in columns:
        assert np.array_equal(SURVEY.randomize(column, rng=lw.seeded(1)).data, wanted)
        assert lw.protocol.ExactCounts.of_values(column, DOMAIN).counts.sum() == 50
    frames: list[Any] = [frame, frame.lazy(), frame.to_arrow(), frame.to_arrow().to_batches()[0]]
    for table in frames:
        with pytest.raises(DomainError, match="one-dimensional"):
            SURVEY.randomize(table)


def test_rows_without_a_label_are_no_group() -> None:
    rows = 100_000
    reports = pa.array(np.zeros(rows + 1, np.uint8))
    for more in (None, "0"):
        table = pa.table({"report": reports, "g": [*map(str, range(rows)), more]})
        counted = tally(table, SURVEY, column="report", by="g")
        assert len(counted.groups) == rows + (more is None) and counted.total == rows + 1
    table = pa.table({"report": reports, "g": np.arange(rows + 1)})
    with pytest.raises(ArgumentError, match="at most 100,000 groups"):
        tally(table, SURVEY, column="report", by="g")
    with pytest.raises(ArgumentError, match="the name of a column"):
        tally(table, SURVEY, column="report", by=[7])  # type: ignore[list-item]
