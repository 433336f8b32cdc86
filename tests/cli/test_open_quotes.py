"""A quotation mark that never ends takes the rest of a CSV into one cell: that is no table."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from lapwing.engines.arrow.dataset_tables import tables_of
from lapwing.engines.arrow.table_reader import CSV_BLOCK, open_table
from lapwing.errors import FormatError, RowsWarning
from lapwing.protocol import ExactCounts
from tests.cli.running import Program

ROWS = [f"{number},{number % 100}" for number in range(300)]

COMMAS = "If its numbers have commas, use --decimal , (as in 1,5) or --thousands , (as in 1,234)"
"""The end of a message."""


def with_quote(row: int, cell: str) -> str:
    """Return a table of two columns, of which one row has another end."""
    rows = [*ROWS[:row], f"{row},{cell}", *ROWS[row + 1 :]]
    return "id,x\n" + "\n".join(rows) + "\n"


@pytest.fixture
def domain(done: Program) -> None:
    done("new", "--domain-only", "--low", "0", "--high", "100", "-o", "d.json", "-q")
    done("ledger", "b.json", "--epsilon", "1", "--neighbors", "replace-one", "-q")


@pytest.mark.usefixtures("domain")
@pytest.mark.parametrize(
    ("row", "content"),
    [
        (11, with_quote(10, '"10')),
        (1, with_quote(0, '"')),
        (300, with_quote(299, '"99')),
        (300, with_quote(299, '"').removesuffix("\n")),
        (300, with_quote(299, '"99""')),
        (11, with_quote(10, '"10').replace("\n", "\r\n")),
        (3, 'x\n1\n2\n"3\n4\n'),
        (2, 'x,why\n1,a\n2,"b\n3,c\n'),  # in a column that nobody reads
    ],
    ids=["within", "first", "last", "end of file", "doubled", "CRLF", "one column", "another"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_quote_that_never_ends_is_refused_before_anything_is_paid(
    row: int, content: str, packed: bool, lapwing: Program, tmp_path: Path
) -> None:
    name = "a.csv.gz" if packed else "a.csv"
    encoded = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(encoded) if packed else encoded)
    before = (tmp_path / "b.json").read_bytes()
    made = lapwing(
        *("release", name, "-c", "x", "--domain", "d.json", "--epsilon", "1", "-q"),
        *("--neighbors", "replace-one", "--ledger", "b.json", "-o", "r.json"),
    )
    assert made.code == 4
    assert made.complaint == (
        f"{name} must close every quotation mark, but the one in row {row} is never closed. All "
        "rows after it would be one cell. Correct the file"
    )
    assert (tmp_path / "b.json").read_bytes() == before and not (tmp_path / "r.json").exists()


@pytest.mark.usefixtures("domain")
@pytest.mark.parametrize("row", [1, 11, 300])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quote_before_other_columns_is_not_taken_for_decimal_commas(
    row: int, end: str, lapwing: Program, tmp_path: Path
) -> None:
    rows = [f"{number},fine,{number % 100}" for number in range(1, 301)]
    rows[row - 1] = rows[row - 1].replace("fine", '"tall')
    (tmp_path / "a.csv").write_bytes(end.join(["id,why,x", *rows, ""]).encode())
    made = lapwing("count", "a.csv", "-c", "x", "--domain", "d.json", "-o", "a.lws", "-q")
    assert made.code == 4
    assert made.complaint == (
        f"a.csv must have as many fields in every line as in its first, but row {row} does not. A "
        "cell continues on the next line, so a quotation mark may be unclosed. Correct the file"
    )


@pytest.mark.usefixtures("domain")
def test_commas_of_numbers_are_told_of_where_they_end_fields(
    lapwing: Program, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("x\n1,234\n2,345\n")
    made = lapwing("count", "a.csv", "-c", "x", "--domain", "d.json", "-o", "a.lws", "-q")
    assert made.code == 4 and made.complaint.endswith(COMMAS)
    (tmp_path / "a.csv").write_text("1,234\n2,345\n")
    made = lapwing("count", "a.csv", "--no-header", "--domain", "d.json", "-o", "a.lws", "-q")
    assert made.code == 2 and made.complaint.endswith(COMMAS)


@pytest.mark.usefixtures("domain")
def test_a_quote_that_never_ends_on_standard_input(
    lapwing: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO(with_quote(10, '"10').encode())

    monkeypatch.setattr(sys, "stdin", Input())
    made = lapwing("count", "-", "-c", "x", "--domain", "d.json", "-o", "c.lws", "-q")
    assert made.code == 4 and "standard input must close every quotation mark" in made.complaint


def test_a_quote_before_more_than_a_block(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,x\n1,"1\n' + "2,2\n" * (CSV_BLOCK // 2))
    with pytest.raises(FormatError, match="more than 4 MiB, or a quotation mark that never ends"):
        list(open_table(tmp_path / "a.csv").batches(["x"]))


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("cell", ['"5"', '5"', '5" 6"', '"a ""b"""', '""', '"a\nb"', '"a"b"'])
def test_a_quote_that_ends_or_begins_nothing_is_read(cell: str, end: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"x,id\n1,2\n3,{cell}{end}")
    rows = [len(batch) for batch in open_table(tmp_path / "a.csv").batches(["x"])]
    assert sum(rows) == 2
    (tmp_path / "b.csv").write_text(f"x\n1\n{cell}{end}")
    rows = [len(batch) for batch in open_table(tmp_path / "b.csv").batches(["x"])]
    assert sum(rows) == 2 + (end == "\n\n")  # an empty line is a row where there is one column


@pytest.mark.usefixtures("domain")
def test_two_quotes_far_apart_are_told_of(done: Program, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "id,x\n" + "\n".join([*ROWS[:10], '10,"10', *ROWS[11:250], '250,20"', *ROWS[251:]])
    )
    made = done("count", "a.csv", "-c", "x", "--domain", "d.json", "-o", "c.lws")
    said = made.err.partition("unreadable ")[2]
    assert said.startswith(
        "(the first in row 11 of a.csv), 1 with more than 3 line ends in a cell. "
    )


NOTES = [f"{number},note {number},{number % 100}" for number in range(300)]


def with_notes(*changes: tuple[int, str]) -> str:
    """Return a table whose second column holds other texts in some rows, as they are written."""
    rows = list(NOTES)
    for row, note in changes:
        rows[row] = f"{row},{note},{row % 100}"
    return "id,note,x\n" + "\n".join(rows) + "\n"


@pytest.mark.usefixtures("domain")
@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        (((10, '"note'), (18, 'note"')), 8),
        (((10, '"note'), (18, 'a "note')), 8),
        (((10, '"note'), (18, '"note')), 8),
        (((10, '"note'), (18, 'note"'), (100, '"a'), (102, 'b"')), 10),
        (((10, '"a note\nof two, or of\nthree lines"'),), 0),
        (((10, '"note"'), (18, 'no"te')), 0),
        ((), 0),
    ],
)
@pytest.mark.parametrize("way", ["file", "packed", "CRLF", "standard input"])
def test_rows_within_the_quotes_of_another_column_are_told_of(
    changes: tuple[tuple[int, str], ...],
    lost: int,
    way: str,
    done: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = with_notes(*changes).encode()
    content = content.replace(b"\n", b"\r\n") if way == "CRLF" else content

    class Input:
        buffer = io.BytesIO(content)

    name = {"packed": "a.csv.gz", "standard input": "-"}.get(way, "a.csv")
    monkeypatch.setattr(sys, "stdin", Input())
    if name != "-":
        (tmp_path / name).write_bytes(gzip.compress(content) if way == "packed" else content)
    made = done("count", name, "-c", "x", "--domain", "d.json", "-o", "c.lws")
    label = "standard input" if name == "-" else name
    said = f"{lost} rows of {label} seem to be inside quotation marks, so they are not read"
    assert (said in made.err) == bool(lost) and ("quotation" in made.err) == bool(lost)
    assert ExactCounts.load(tmp_path / "c.lws").people == 300 - lost


def test_a_first_quote_far_down_is_looked_at(tmp_path: Path) -> None:
    rows = [f"{number},note,{number % 100}" for number in range(CSV_BLOCK // 8)]
    rows[-20], rows[-12] = '1,"note,1', '1,note",1'
    (tmp_path / "a.csv").write_text("id,note,x\n" + "\n".join(rows) + "\n")
    with pytest.warns(RowsWarning, match="^8 rows of a.csv seem to be inside quotation marks"):
        read = sum(len(one) for one in open_table(tmp_path / "a.csv").batches(["x"]))
    assert read == len(rows) - 8
    rows[-20], rows[-12] = '1,"note",1', '1,"no\nte",1'
    (tmp_path / "b.csv").write_text("id,note,x\n" + "\n".join(rows))
    assert sum(len(one) for one in open_table(tmp_path / "b.csv").batches(["x"])) == len(rows)


def test_a_column_that_only_folders_name_has_the_rows_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "x=5"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id,y\n1,2\n3,4\n")
    (table,) = tables_of(tmp_path / "t")
    assert [batch[0].to_pylist() for batch in table.batches(["x"])] == [["5", "5"]]
