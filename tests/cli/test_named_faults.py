"""Messages name the fault of a file, and show nothing of what it holds."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.engines import arrow
from lapwing.errors import FormatError
from tests.cli.running import Program


@pytest.fixture(autouse=True)
def domain(done: Program) -> None:
    done("new", "--domain-only", "--low", "0", "--high", "100", "-o", "d.json", "-q")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("id,x\r1,2\r3,4\r", 4, "a.csv has old line ends (CR alone). Write it with LF or CR LF"),
        (
            "id|x\n1|2\n3|4\n",
            4,
            "a.csv has | in its first line. Fields must be separated by commas, semicolons or "
            "tabs. "
            "Convert it",
        ),
        (
            "id, x\n1, 2\n3, 4\n",
            2,
            "a.csv has no column 'x' in its first line, but it has ' x', with spaces. Use that "
            "name",
        ),
        ("sep=;\nid;x\n1;2\n", 4, "a.csv begins with a line for Excel (sep=). Delete that line"),
        (
            "# export\nid,x\n1,2\n",
            4,
            "a.csv has one field in its first line and 2 in the second. The first line must name "
            "all columns. Delete the lines before it",
        ),
        (
            "export of people\nid,x,y\n1,2,3\n",
            4,
            "a.csv has one field in its first line and 3 in the second. The first line must name "
            "all columns. Delete the lines before it",
        ),
    ],
    ids=["CR", "pipes", "spaces", "sep", "title", "title of letters"],
)
def test_a_csv(content: str, code: int, said: str, lapwing: Program, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content.encode())
    made = lapwing("count", "a.csv", "-c", "x", "--domain", "d.json", "-o", "c.lws")
    assert (made.code, made.complaint) == (code, said)


def test_a_folder(lapwing: Program, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.csv").write_text("id,x\n1,2\n")
    made = lapwing(
        *("release", "parts", "-c", "x", "--domain", "d.json", "--epsilon", "1", "-o", "r.json"),
        *("--neighbors", "replace-one"),
    )
    assert made.code == 2
    assert made.complaint == (
        "release takes one file, but parts is a folder. Count its tables first: lapwing count parts"
    )


def test_labels_with_commas(lapwing: Program) -> None:
    labels = "$0 - $24,999,$25,000 - $49,999,$50,999"
    made = lapwing("new", "--domain-only", "--categories", labels, "-o", "e.json")
    assert made.code == 3 and "in a file, one per line: --categories file:" in made.complaint


def test_durations() -> None:
    numbers = lw.Interval(0, 100, bins=4)
    for duration in (dt.timedelta(days=5), np.timedelta64(5, "D")):
        with pytest.raises(lw.errors.DomainError, match="unit='duration'"):
            numbers.index([duration])
    table = pa.table({"d": pa.array([dt.timedelta(days=5)])})
    with pytest.raises(lw.errors.DomainError, match="--unit duration"):
        arrow.summarize(table, numbers)


PAID = ("--epsilon", "1", "--neighbors", "replace-one", "-o", "r.json")


def test_the_ledger_of_other_neighbors(lapwing: Program, done: Program, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    done("ledger", "b.json", "--epsilon", "1", "--neighbors", "add-or-remove-one", "-q")
    made = lapwing("release", "a.csv", "--domain", "d.json", *PAID, "--ledger", "b.json")
    assert made.code == 5 and "(add-or-remove-one, central)" in made.complaint


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", "is a folder. Name a file in it"),
        ("loop", "cannot be read: Too many levels of symbolic links"),
        ("absent.json", "there is no file "),
    ],
)
def test_the_path_of_a_ledger(name: str, said: str, lapwing: Program, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "loop")
    made = lapwing("release", "a.csv", "--domain", "d.json", *PAID, "--ledger", name)
    assert made.code == 4 and said in made.complaint
    ledger = lw.Ledger.open(tmp_path / name)
    for pay in (
        ledger.read,
        lambda: lw.release(
            [1, 2], lw.Integers(0, 3), neighbors="replace-one", epsilon=1, ledger=ledger
        ),
    ):
        with pytest.raises(FormatError, match=said):
            pay()
