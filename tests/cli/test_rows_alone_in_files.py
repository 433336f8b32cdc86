"""Every row of a file is read by itself, and none changes how a command ends."""

from __future__ import annotations

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.cli.console import Output
from lapwing.cli.reading.column_options import summary_of
from lapwing.cli.reading.domain_options import CuratorDomainOptions
from lapwing.engines.arrow.arrow_values import values_of
from lapwing.errors import DomainError
from tests.cli.running import Program
from tests.nasty_cells import COLUMNS, DOMAINS, TEXTS, check_each_row_alone

USUAL = {
    "number": ["3.5", "17", "12.5"],
    "date": ["1999-05-06", "2001-01-01", "1970-01-01"],
    "datetime": ["1999-05-06T07:08", "2001-01-01T00:00:00", "1970-01-01"],
    "time-of-day": ["07:08", "12:00:00", "21:59"],
}
PROMISE = ("--epsilon", "0.01", "--neighbors", "replace-one")
BYTES = [b"\xff\xfe", b"5\xff", b"\xed\xa0\x80"]
"""What is no UTF-8."""


def counted(path: Path, legal: Any) -> Any:
    """Return the counts of column x of a table."""
    return summary_of(path, "x", legal, Output(False, True), asked=CuratorDomainOptions()).counts


_OTHER_TEXTS = [pa.large_string(), pa.binary(), pa.large_binary()]
ONE_OF_A_KIND = ("circle", "labels", "week", "datetime", "clock")
"""Domains that read in a way of their own. All others are met by the columns of Arrow in
`tests/test_rows_alone.py`, which is what is read from a file."""


def half(texts: list[Any], domain: str) -> list[Any]:
    """Return every second text, for neighbors in the list of domains the other ones.

    A file holds a text as any other; what each domain makes of each is in that file, too.
    """
    return texts[ONE_OF_A_KIND.index(domain) % 2 :: 2]


def write_csv(path: Path, cells: list[Any], *, columns: int) -> None:
    """Write cells as others do: quoted where they must be; no text is an empty field."""
    with path.open("w", encoding="latin-1", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        names = ["x", "town"][:columns]
        writer.writerow(names)
        for cell in cells:
            content = b"" if cell is None else cell if isinstance(cell, bytes) else cell.encode()
            if columns == 1 and not content:
                stream.write("\n")
            else:
                writer.writerow([content.decode("latin-1"), "Rome"][:columns])


def write_parquet(path: Path, cells: list[Any], kind: Any) -> None:
    array = pa.array(cells, kind)
    parquet.write_table(pa.table({"x": array}), path)


# A second column changes what a blank line is, which is before a domain reads it.
@pytest.mark.parametrize(
    ("columns", "domain"),
    [*((2, domain) for domain in ONE_OF_A_KIND), *((1, domain) for domain in ("number", "labels"))],
)
def test_cells_of_a_csv(columns: int, domain: str, tmp_path: Path) -> None:
    legal = DOMAINS[domain].for_curator()
    path = tmp_path / "x.csv"

    def read(cells: list[Any]) -> Any:
        write_csv(path, cells, columns=columns)
        return counted(path, legal)

    cells = [*TEXTS, *BYTES, "two\nlines"]
    check_each_row_alone(read, half(cells, domain) if columns == 2 else cells, USUAL[legal.unit])


@pytest.mark.parametrize(
    ("domain", "kind"),
    [
        *((domain, pa.string()) for domain in ONE_OF_A_KIND),
        *(("datetime", kind) for kind in _OTHER_TEXTS),
    ],
)
def test_texts_of_a_parquet(kind: Any, domain: str, tmp_path: Path) -> None:
    legal = DOMAINS[domain].for_curator()
    path = tmp_path / "x.parquet"

    def read(cells: list[Any]) -> Any:
        write_parquet(path, cells, kind)
        return counted(path, legal)

    texts = half(TEXTS, domain) if kind == pa.string() else TEXTS
    cells = [*texts, *(BYTES if pa.types.is_binary(kind) else [])]
    check_each_row_alone(read, cells, USUAL[legal.unit])


@pytest.mark.filterwarnings("ignore:the column 'x' contains plain numbers")
# Parquet has no seconds: they are stored as milliseconds, as far as these reach.
@pytest.mark.parametrize("kind", [kind for kind in COLUMNS if "timestamp s" not in kind])
def test_columns_of_a_parquet(kind: str, tmp_path: Path) -> None:
    array = COLUMNS[kind]
    rows, path = list(range(len(array))), tmp_path / "x.parquet"
    for domain in ("circle", "datetime", "clock"):
        legal = DOMAINS[domain].for_curator()

        def read(cells: list[int], legal: Any = legal) -> Any:
            part = array.take(pa.array(cells, pa.int64()))
            parquet.write_table(pa.table({"x": part}), path)
            return counted(path, legal)

        try:
            read([0])
        except DomainError as error:  # of the type, whatever the rows
            assert "must contain" in str(error) and "it contains" in str(error)
            for row in rows:
                with pytest.raises(DomainError, match="must contain"):
                    read([row])
        else:
            check_each_row_alone(read, rows, rows[:3])


# What a row may not change: how a command ends and all that it says.


def options(domain: Any) -> list[str]:
    if isinstance(domain, lw.Integers):
        return ["--integers", str(domain.low), str(domain.high)]
    ends = [repr(domain.low), repr(domain.high)]
    if domain.unit == "time-of-day":
        ends = [f"{int(end) // 3600:02d}:00" for end in (domain.low, domain.high)]
    elif domain.unit != "number":
        ends = ["1970-01-01", "2030-01-01"]
    given = ["--low", ends[0], "--high", ends[1], "--bins", str(domain.bins), "--unit", domain.unit]
    return [*given, "--scale", "circular" if domain.circular else domain.scale]


SAID = ("command", "output", "mechanism", "guarantee", "reports", "warnings")
"""What a release says besides its answer and its random identifier."""


@pytest.mark.parametrize("domain", ["number", "clock"])
def test_no_row_changes_how_a_command_ends_or_what_it_says(
    domain: str, lapwing: Program, tmp_path: Path
) -> None:
    legal = DOMAINS[domain]
    usual, given = USUAL[legal.unit], options(legal)
    ends = set()
    for cell in [usual[0], "x", "", b"\xff", *(["1e999"] if domain == "number" else ["25:00"])]:
        write_csv(tmp_path / "x.csv", [*usual, cell], columns=2)
        run = lapwing("count", "x.csv", "-c", "x", *given, "-o", "x.lws", "--force")
        ends.add(("count", run.code, run.out, run.err))
        name = ["--mechanism", "sum-tree", "--name", "x", "--json", "--force", "-o", "out.json"]
        run = lapwing("release", "x.csv", "-c", "x", *given, *PROMISE, *name)
        document = json.loads(run.out)
        # The answer is the release's own, and public: it follows from the noisy numbers alone.
        said = {key: document[key] for key in SAID}
        ends.add(("release", run.code, str(said), run.err))
        if legal.unit == "number":
            run = lapwing("bounds", "x.csv", "-c", "x", *PROMISE, "--confidence", "0.999999999")
            ends.add(("bounds", run.code, run.out, run.err))
    assert len(ends) == (3 if legal.unit == "number" else 2)
    assert all(code == 0 and not err for _, code, _, err in ends)


TYPES = {
    **{str(kind): kind for kind in (pa.int64(), pa.bool_(), pa.string(), pa.date32(), pa.null())},
    **{str(kind): kind for kind in (pa.timestamp("us"), pa.time64("us"), pa.duration("s"))},
    **{str(kind): kind for kind in (pa.decimal128(5, 2), pa.list_(pa.int64()), pa.binary(3))},
    "nowhere": pa.timestamp("us", "Nowhere/Land"),
    "texts in a dictionary": pa.dictionary(pa.int32(), pa.string()),
}
"""Types of columns, of which some fit no domain, and some are warned of."""


@pytest.mark.parametrize("neighbors", ["replace-one", "add-or-remove-one"])
def test_a_table_without_rows_is_a_table(neighbors: str, lapwing: Program, tmp_path: Path) -> None:
    shape = pa.table({"x": pa.array([], pa.float64())})
    parquet.write_table(shape, tmp_path / "none.parquet")
    parquet.write_table(shape.slice(0, 0), tmp_path / "nothing.parquet", row_group_size=1)
    parquet.write_table(pa.table({"x": [5.0]}), tmp_path / "one.parquet")
    for name, content in {"none": "x\n", "bare": "x", "one": "x\n5\n", "blank": "x\n\n"}.items():
        (tmp_path / f"{name}.csv").write_text(content)
    given = ["--low", "0", "--high", "100", "--bins", "16"]
    promise = ["--epsilon", "1", "--neighbors", neighbors]
    ends = set()
    for path in sorted(tmp_path.glob("*.[cp]*"))[:: 3 if neighbors == "replace-one" else 1]:
        run = lapwing("count", path.name, *given, "-o", "x.lws", "--force")
        ends.add(("count", run.code, run.out, run.err))
        for data, more in ((path.name, given), ("x.lws", [])):
            run = lapwing("release", data, *more, *promise, "-q", "--force", "-o", "out.json")
            ends.add(("release", run.code, run.out, run.err))
        assert lapwing("answer", "out.json", "--quantile", "0.5", "-q").code == 0
        run = lapwing("bounds", path.name, *promise, "-q")
        ends.add(("bounds", run.code, run.out, run.err))
    assert len(ends) == 3 and all(code == 0 for _, code, _, _ in ends)


@pytest.mark.parametrize("unit", ["number", "date", "time-of-day"])
@pytest.mark.parametrize("kind", sorted(TYPES), ids=str)
def test_a_column_without_rows_says_what_one_row_says(
    kind: str, unit: str, lapwing: Program, tmp_path: Path
) -> None:
    ends = {"number": ("0", "100"), "date": ("2019-01-01", "2020-01-01")}
    low, high = ends.get(unit, ("00:00", "24:00"))
    given = ["--low", low, "--high", high, "--bins", "16", "--unit", unit]
    said = set()
    for rows in (0, 1):
        parquet.write_table(pa.table({"x": pa.array([None] * rows, TYPES[kind])}), "x.parquet")
        ran = [lapwing("count", "x.parquet", *given, "-o", "x.lws", "--force")]
        if unit == "number":  # bounds have no unit
            promise = ["--epsilon", "1", "--neighbors", "add-or-remove-one", "-q"]
            ran += [lapwing("bounds", "x.parquet", *promise, "--confidence", "0.999999999")]
        said.add(tuple(ran))
    assert len(said) == 1


def test_one_impossible_date_changes_two_counts_of_twenty_thousand(
    done: Program, tmp_path: Path
) -> None:
    days = [str(dt.date(2019, 1, 1) + dt.timedelta(days=n % 365)) for n in range(20_000)]
    given = ["--low", "2019-01-01", "--high", "2020-01-01", "--bins", "365", "--unit", "date"]
    summaries = []
    for name, last in (("good", days[-1]), ("bad", "2019-02-30"), ("number", "17897")):
        for ending in ("csv", "parquet"):
            path = tmp_path / f"{name}.{ending}"
            cells = [*days[:-1], last]
            if ending == "csv":
                write_csv(path, cells, columns=1)
            else:
                write_parquet(path, cells, pa.string())
            done("count", path.name, *given, "-o", "x.lws", "--force")
            summaries.append(lw.protocol.ExactCounts.load(tmp_path / "x.lws").counts)
    for counts in summaries[2:]:
        assert np.abs(counts - summaries[0]).sum() == 2
        assert counts[-1] == 1
    assert np.array_equal(summaries[0], summaries[1]) and summaries[0][-1] == 0
    # What the noise of a release hides is one row: far more than it would show.
    made = ["--mechanism", "histogram-query", "--set", "bins=10", *PROMISE]
    for name in ("good", "bad"):
        done("release", f"{name}.csv", *given, *made, "-o", f"{name}.json")
    good, bad = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("good", "bad"))
    # Laplace noise of scale 200: the largest of 22 differences passes 8,000 once in 1e16.
    assert np.abs(np.subtract(good["answers"], bad["answers"])).max() < 8_000


# Labels, which the local model has only: a row is one symbol or refused, by itself.

LABELS = {
    "texts": lw.Categories(["red", "7", "NA"], missing="category"),
    "numbers": lw.Categories([7, 30, -2], missing="category"),
    "counted": lw.Categories(100, missing="category"),
    "no missing": lw.Categories(["red", "7"]),
    "hashed": lw.HashedStrings(8, missing="category"),
}
LABEL_COLUMNS = {
    "texts": pa.array(["red", "7", "07", "0x7", "+7", "NA", "", None, "blue", "7.0", "100", "-2"]),
    "bytes": pa.array([b"red", b"7", b"\xff", b"", None, b" 7 "], pa.binary()),
    "floats": pa.array([7.0, 2.5, None, float("nan"), float("inf"), 1e300, -2.0, 30.0]),
    "ints": pa.array([7, 30, None, -2, 2**63 - 1, 100]),
    "unsigned": pa.array([7, 2**64 - 1, None], pa.uint64()),
    "decimals": pa.array([7, None, 30], pa.int64()).cast(pa.decimal128(22, 1)),
    "truth": pa.array([True, False, None]),
}


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("kind", list(LABEL_COLUMNS))
@pytest.mark.parametrize("domain", list(LABELS))
def test_a_label_is_known_or_not_by_itself(domain: str, kind: str, typed: bool) -> None:
    legal, array = LABELS[domain], LABEL_COLUMNS[kind]

    def symbols(part: Any) -> Any:
        try:
            return legal.index(values_of(part, legal, column="x", typed=typed)).tolist()
        except DomainError as error:
            return error

    alone = [symbols(array.slice(row, 1)) for row in range(len(array))]
    if all(isinstance(one, DomainError) and one.position is None for one in alone):
        return  # refused for the column's type
    assert all(isinstance(one, list) or one.position == 0 for one in alone)
    known = [row for row, one in enumerate(alone) if isinstance(one, list)]
    wanted = [alone[row][0] for row in known]
    assert symbols(array.take(pa.array(known, pa.int64()))) == wanted or not known
    for row in set(range(len(array))) - set(known):
        refused = symbols(array.take(pa.array([*known, row], pa.int64())))
        assert isinstance(refused, DomainError) and refused.position == len(known)


def test_on_a_device_a_row_is_refused_by_itself(lapwing: Program, tmp_path: Path) -> None:
    """With missing values refused, the message names the row, and never what it holds."""
    made = [("new", "--name", "day", "--randomizer", "square-wave", "--epsilon", "1", "--low"),
            ("2019-01-01", "--high", "2020-01-01", "--bins", "365", "--unit", "date")]  # fmt: skip
    assert lapwing(*made[0], *made[1], "-o", "strict.json").code == 0
    assert lapwing(*made[0], *made[1], "--missing", "bin", "-o", "counting.json").code == 0
    for cell in ("2019-02-30", "17897", "secret", b"\xff"):
        write_csv(tmp_path / "x.csv", ["2019-05-06", cell, "2019-05-07"], columns=2)
        refused = lapwing("randomize", "strict.json", "x.csv", "-c", "x", "-o", "out.lwr")
        assert refused.code == 3 and "the string at row 2 is not" in refused.complaint
        assert "secret" not in refused.complaint and "17897" not in refused.complaint
        assert (
            lapwing("randomize", "counting.json", "x.csv", "-c", "x", "--force", "-o", "o.lwr").code
            == 0
        )
    run = lapwing("randomize", "strict.json", "x.csv", "-c", "x", "--texts", "days", "-o", "p.lwr")
    assert run.code == 3 and "row 1 is not" in run.complaint and "a number of days" in run.complaint
    (tmp_path / "days.csv").write_text("x\n17897\n17898\n")
    run = lapwing("randomize", "strict.json", "days.csv", "--texts", "days", "-o", "p.lwr")
    assert run.code == 0 and not run.err
