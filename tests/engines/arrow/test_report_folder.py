"""One report for each value: however many processes start, and wherever they are killed.

Each test fails on an error that was planted: a folder that is written part by part, no lock, a part
that is noted and gone and is randomized again, parts of an earlier job that are published, a closed
folder that others may enter, a file that is replaced at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing import atomic_files
from lapwing.atomic_files import replacing
from lapwing.engines import spark
from lapwing.engines.arrow import randomize, report_folder, summarize, tally
from lapwing.engines.arrow.report_folder import SavedProgress
from lapwing.engines.arrow.report_tables import report_schema
from lapwing.errors import ArgumentError, RowsWarning

SURVEY = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=20), epsilon=2))
PEOPLE = 120

STARTED = """
import sys
from pathlib import Path
import lapwing as lw
from lapwing.engines.arrow import randomize
from lapwing.errors import ArgumentError
from pyarrow import parquet
survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=20), epsilon=2))
paths = sorted(Path(sys.argv[1]).glob("*.parquet"))
print("ready", flush=True)
sys.stdin.readline()
try:
    randomize(paths, survey, column="v", output=sys.argv[2], threads=1)
    print("published")
except ArgumentError as error:
    print(error)
"""


def values(folder: Path, *, files: int = 3) -> list[Path]:
    """Write files of values."""
    folder.mkdir(exist_ok=True)
    for place in range(files):
        table = pa.table({"v": (np.arange(PEOPLE) * 7.0 + place) % 100})
        parquet.write_table(table, folder / f"{place}.parquet")
    return sorted(folder.glob("*.parquet"))


def starts(source: Path, output: Path, *, number: int) -> list[str]:
    """Return what so many processes say that write to one output at once."""
    package = str(Path(lw.__file__).parents[1])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", STARTED, str(source), str(output)],
            env={**os.environ, "PYTHONPATH": package, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(number)
    ]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate(timeout=120)[0].strip() for process in running]


@pytest.mark.parametrize("name", ["out", "out.lwr"])
def test_several_processes_publish_once(tmp_path: Path, name: str) -> None:
    values(tmp_path / "in")
    said = starts(tmp_path / "in", tmp_path / name, number=2)
    assert said.count("published") == 1
    refused = [one for one in said if one != "published"]
    assert all("already exists" in one or "another process writes" in one for one in refused)
    assert tally(tmp_path / name, SURVEY).total == 3 * PEOPLE
    assert sorted(os.listdir(tmp_path)) == ["in", name], "something else was left"


def stopped(left: int) -> Callable[[int], None]:
    """Return what stops a job after so many files."""

    def advance(rows: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt

    return advance


def interrupted(paths: list[Path], output: Path, *, after: int) -> Path:
    """Stop a job after so many parts; return its closed folder."""
    with pytest.raises(KeyboardInterrupt):
        randomize(paths, SURVEY, column="v", output=output, advance=stopped(after))
    return report_folder.ReportFolder(output.resolve()).closed


def test_nothing_is_seen_before_all_is_there(tmp_path: Path) -> None:
    paths = values(tmp_path / "in")
    seen: list[list[str]] = []

    def advance(rows: int) -> None:
        seen.append(sorted(os.listdir(tmp_path)))

    randomize(paths, SURVEY, column="v", output=tmp_path / "out", advance=advance)
    assert seen == [[".out.unpublished", "in"]] * 3
    assert len(os.listdir(tmp_path / "out")) == 3 and len(os.listdir(tmp_path)) == 2
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o777 & ~_umask()
    with pytest.raises(ArgumentError, match="already exists"):
        randomize(paths, SURVEY, column="v", output=tmp_path / "out")
    assert len(os.listdir(tmp_path)) == 2
    (tmp_path / "empty").mkdir()
    assert randomize(paths, SURVEY, column="v", output=tmp_path / "empty") == 3 * PEOPLE
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").touch()
    with pytest.raises(ArgumentError, match="already exists"):
        randomize(paths, SURVEY, column="v", output=tmp_path / "notes")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_finished_part_is_never_randomized_again(tmp_path: Path) -> None:
    paths = values(tmp_path / "in")
    closed = interrupted(paths, tmp_path / "out", after=2)
    assert closed.stat().st_mode & 0o777 == 0o700 and not (tmp_path / "out").exists()
    first = (closed / "parts" / "part-00000.parquet").read_bytes()
    (closed / "parts" / "part-00000.parquet").unlink()
    with pytest.raises(ArgumentError, match=r"part-00000\.parquet was written before"):
        randomize(paths, SURVEY, column="v", output=tmp_path / "out")
    (closed / "parts" / "part-00000.parquet").write_bytes(first)
    assert randomize(paths, SURVEY, column="v", output=tmp_path / "out") == 3 * PEOPLE
    assert (tmp_path / "out" / "part-00000.parquet").read_bytes() == first
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_a_part_that_was_not_noted_is_drawn_again_and_seen_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill between the name of a part and its entry in the progress."""

    class KilledError(BaseException):
        pass

    paths, output = values(tmp_path / "in"), tmp_path / "out"
    save = SavedProgress.save

    def killed_at_the_second(self: SavedProgress, counted: bytes) -> None:
        if len(self._done) == 2:
            raise KilledError
        save(self, counted)

    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(SavedProgress, "save", killed_at_the_second)
        randomize(paths, SURVEY, column="v", output=output)
    closed = tmp_path / ".out.unpublished"
    assert closed.stat().st_mode & 0o077 == 0 and not output.exists()
    first, second = (closed / "parts" / f"part-0000{n}.parquet" for n in (0, 1))
    before = first.read_bytes(), second.read_bytes()
    randomize(paths, SURVEY, column="v", output=output)
    assert (output / first.name).read_bytes() == before[0]
    assert (output / second.name).read_bytes() != before[1]
    assert tally(output, SURVEY).tally.total == 3 * PEOPLE


def test_one_label_column_stands_beside_reports(tmp_path: Path) -> None:
    people = pa.table({"v": [1.0, 2.0], "country": ["PT", "ES"], "month": ["1", "2"]})
    for by in (["country", "month"], ["country"], 3, b"country"):
        for refused in (
            lambda by=by: randomize(people, SURVEY, column="v", by=by, output=tmp_path / "out"),
            lambda by=by: report_schema(SURVEY, by=by),
            lambda by=by: spark.randomize(None, SURVEY, column="v", by=by, output="out"),
        ):
            with pytest.raises(ArgumentError, match="by must be the name of one column, got"):
                refused()
    assert not list(tmp_path.iterdir())


def test_what_is_no_name_of_a_column_is_refused() -> None:
    people: Any = pa.table({"v": [1.0, 2.0], "n": [1, 2]})
    for refused in (
        lambda: summarize(people, lw.Interval(0, 100, bins=4), column=["v"]),
        lambda: tally(people, SURVEY, column=["v"]),
        lambda: tally(people, SURVEY, column="v", count_column=["n"]),
        lambda: tally(people, SURVEY, column="v", by=3),
    ):
        with pytest.raises(ArgumentError, match="must be the name of"):
            refused()


def test_another_job_and_other_files_do_not_go_on(tmp_path: Path) -> None:
    paths = values(tmp_path / "in")
    closed = interrupted(paths, tmp_path / "out", after=2)
    given = {"column": "v", "output": tmp_path / "out"}
    weight = lw.Survey("weight", SURVEY.randomizer)
    with pytest.raises(ArgumentError, match="another job"):
        randomize(paths, weight, **given)
    with pytest.raises(ArgumentError, match="counted before"):
        randomize(paths[1:], SURVEY, **given)
    with pytest.raises(ArgumentError, match="the input files differ"):
        randomize(paths[::-1], SURVEY, **given)
    for mode in (0o755, 0o750):
        closed.chmod(mode)
        with pytest.raises(ArgumentError, match="only you can open"):
            randomize(paths, SURVEY, **given)
    assert not (tmp_path / "out").exists()


def test_parts_of_tables_in_memory_are_not_mixed(tmp_path: Path) -> None:
    tables = [parquet.read_table(path) for path in values(tmp_path / "in")]
    closed = report_folder.ReportFolder((tmp_path / "out").resolve()).closed
    with pytest.raises(KeyboardInterrupt):
        randomize(tables[0], SURVEY, column="v", output=tmp_path / "out", advance=stopped(0))
    (closed / "parts" / "part-00007.parquet").write_bytes(b"of an earlier job")
    assert randomize(tables[0], SURVEY, column="v", output=tmp_path / "out") == PEOPLE
    assert os.listdir(tmp_path / "out") == ["part-00000.parquet"]


def test_rows_of_parts_from_before_are_told_of(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=20, outside="clip"), 2))
    for place, value in enumerate((500.0, 5.0)):
        parquet.write_table(pa.table({"v": [value] * 101 * (2 - place)}), folder / f"{place}.pq")
    with pytest.raises(KeyboardInterrupt):
        randomize(folder, survey, column="v", output=tmp_path / "out", advance=stopped(1))
    with pytest.warns(RowsWarning, match="of 303 rows: 202 outside"):
        randomize(folder, survey, column="v", output=tmp_path / "out")


def test_a_file_is_replaced_only_when_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = values(tmp_path / "in")
    for ending in ("lwr", "parquet", "arrow", "csv"):
        output = tmp_path / f"out.{ending}"
        randomize(paths, SURVEY, column="v", output=output)
        before = output.read_bytes()
        with pytest.raises(ArgumentError, match=r"already exists"):
            randomize(paths, SURVEY, column="v", output=output)
        assert output.read_bytes() == before
        randomize(paths, SURVEY, column="v", output=output, replace=True)
        assert output.read_bytes() != before

    def no_links(*_: object) -> None:
        raise PermissionError

    for change in (lambda: None, lambda: monkeypatch.setattr(atomic_files.os, "link", no_links)):
        change()
        output = tmp_path / "late.lwr"
        late = pytest.raises(ArgumentError, match="already exists")
        with late, replacing(output, absent=True) as stream:
            stream.write(b"second")
            output.write_bytes(b"first")
        assert output.read_bytes() == b"first"
        output.unlink()
        with replacing(output, absent=True) as stream:
            stream.write(b"only")
        assert output.read_bytes() == b"only"
        output.unlink()
    assert not list(tmp_path.glob(".*"))
