"""Tables: what is in them comes out, what is not a table is refused without quoting it."""

from __future__ import annotations

import datetime as dt
import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing.engines.arrow.table_reader import BATCH_ROWS, Table, open_table
from lapwing.errors import ArgumentError, FormatError, LapwingError


def texts(table: Table, column: str) -> list[str]:
    found: list[bytes] = [t for batch in table.batches([column]) for t in batch[0].to_pylist()]
    return [content.decode() for content in found]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "age,town\n30,Rome\n41,Oslo\n"),
        ("a.csv", "age,town\r\n30,Rome\r\n41,Oslo"),
        ("a.csv", "\ufeffage,town\n30,Rome\n41,Oslo\n"),
        ("a.csv", "\n\nage,town\n30,Rome\n\n41,Oslo\n\n"),
        ("a.csv", '"age","town"\n"30","Rome"\n"41","Oslo"\n'),
        ("a.csv", "age;town\n30;Rome\n41;Oslo\n"),
        ("a.csv", 'age,why,town\n30,"two\nlines, ""quoted""",Rome\n41,5" pipe,Oslo\n'),
        ("a.tsv", "age\ttown\n30\tRome\n41\tOslo\n"),
        ("A.CSV", "town,age\nRome,30\nOslo,41\n"),
    ],
)
def test_a_csv_is_read_in_its_usual_forms(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode())
    table = open_table(tmp_path / name)
    assert {"age", "town"} <= set(table.names)
    assert texts(table, "age") == ["30", "41"]
    assert texts(table, "town") == ["Rome", "Oslo"]


def test_a_packed_csv_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"age,town\n30,Rome\n41,Oslo\n"))
    assert texts(open_table(path), "age") == ["30", "41"]


def test_columns_come_in_the_order_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,3\n")
    parquet.write_table(pa.table({"a": [1], "b": [2], "c": [3]}), tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        (batch,) = open_table(tmp_path / name).batches(["c", "a"])
        assert [int(column[0].as_py()) for column in batch.columns] == [3, 1]


def test_a_large_parquet_comes_in_batches(tmp_path: Path) -> None:
    numbers = np.arange(3 * BATCH_ROWS // 2)
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"n": numbers}), path, row_group_size=10**9)
    table = open_table(path)
    assert table.rows == numbers.size
    batches = list(table.batches(["n"]))
    assert max(len(batch) for batch in batches) <= BATCH_ROWS
    assert np.concatenate([batch[0].to_numpy() for batch in batches]).tolist() == numbers.tolist()


def test_a_large_csv_comes_in_batches(tmp_path: Path) -> None:
    lines = "".join(f"{number:09d}\n" for number in range(600_000))
    (tmp_path / "a.csv").write_text(f"n\n{lines}")
    batches = list(open_table(tmp_path / "a.csv").batches(["n"]))
    assert len(batches) > 1
    assert sum(len(batch) for batch in batches) == 600_000
    assert batches[-1][0][-1].as_py() == b"000599999"


def test_an_empty_line_is_a_row_where_a_table_has_one_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for start in ("", "\n\n", "\ufeff", " \n"):
        for end in ("", "\n"):
            path.write_text(f"{start}age\n30\n\n41{end}", encoding="utf-8")
            assert texts(open_table(path), "age") == ["30", "", "41"]
    path.write_bytes(b"age\r\n30\r\n\r\n41\r\n\r\n")
    assert texts(open_table(path), "age") == ["30", "", "41", ""]


@pytest.mark.parametrize(
    "content", ["age", "age\n", "age,town", "age,town\r\n", "\n\nage,town\n\n"]
)
def test_a_table_may_have_no_rows(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    assert texts(open_table(tmp_path / "a.csv"), "age") == []


def test_far_dates_in_the_old_form_of_parquet_do_not_overflow(tmp_path: Path) -> None:
    far = pa.array([dt.datetime(9999, 12, 31), dt.datetime(1, 1, 1)], pa.timestamp("us"))
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"t": far}), path, use_deprecated_int96_timestamps=True)
    (batch,) = open_table(path).batches(["t"])
    assert batch[0].to_pylist() == far.to_pylist()


def refusal(path: Path, column: str | None = "age") -> LapwingError:
    with pytest.raises(LapwingError) as caught:
        table = open_table(path)
        for _ in table.batches([table.column(column)]):
            pass
    assert "secret" not in str(caught.value)
    assert path.name in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"age,town\n30,Rome\n41\n", "row 2 has not"),
        (b"age,town\n30,Rome\n41,Oslo,secret\n", "row 2 has not"),
        (b"\xe4ge\n1\n", "UTF-8"),
        (b"PAR1\x00\x00\x15", "something else"),
        (b"age\n" + b"9" * 13_000_000 + b"\n1\n", "line of more than 4 MiB"),
        (b"age,town,age\n1,2,3\n", "two columns named 'age'"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else "",
)
def test_a_broken_csv_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    error = refusal(path)
    assert isinstance(error, FormatError)
    assert says in str(error)


@pytest.mark.parametrize("first", ["30", "-1.5", "1e5", "2019-05-01", "09:30", "1/2/2019", "nan"])
def test_a_first_row_of_values_is_not_taken_for_names(tmp_path: Path, first: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{first}\n31\n")
    for column in ("age", None):
        error = refusal(path, column)
        assert isinstance(error, FormatError)
        assert "must contain the column names" in str(error) and first not in str(error)
    assert open_table(path).column(first) == first  # unless it is asked for by that name


def test_a_missing_column_is_answered_with_the_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("income,town\nsecret,secret\n")
    columns = {f"c{number}": [1] for number in range(30)}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    for name in ("incom", "age", None):  # which may be values where there is no header
        said = str(refusal(tmp_path / "a.csv", name))
        assert "--no-header" in said and "income" not in said and "town" not in said
    table = open_table(tmp_path / "a.csv")
    with pytest.raises(ArgumentError, match=r"did you mean income\?\). It has: income, town"):
        table.column("incom", beside=table.column("town"))
    assert str(refusal(tmp_path / "a.parquet", "age")).endswith("c18, c19 and 10 more")


def test_the_only_column_needs_no_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age\n30\n")
    assert open_table(tmp_path / "a.csv").column(None) == "age"


def damaged_parquet(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    table = pa.table({"age": np.random.default_rng(1).integers(0, 10**9, 10_000)})
    parquet.write_table(table, path, write_page_checksum=True, use_dictionary=False)
    return path


@pytest.mark.parametrize("damage", ["torn", "flipped", "empty", "foreign"])
def test_a_damaged_parquet_is_refused(tmp_path: Path, damage: str) -> None:
    path = damaged_parquet(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "torn": whole[: len(whole) // 2],
            "flipped": whole[:20_000] + bytes([whole[20_000] ^ 1]) + whole[20_001:],
            "empty": b"",
            "foreign": b"age\nsecret\n",
        }[damage]
    )
    assert "cannot be read as Parquet" in str(refusal(path))


def test_another_ending_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK")
    assert isinstance(refusal(path), ArgumentError)


def test_the_system_s_errors_pass_as_they_are(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "folder.csv")
    os.mkdir(tmp_path / "folder.parquet")
    for name, kind in [
        ("absent.csv", FileNotFoundError),
        ("absent.parquet", FileNotFoundError),
        ("folder.csv", IsADirectoryError),
        ("folder.parquet", IsADirectoryError),
    ]:
        with pytest.raises(kind):
            open_table(tmp_path / name)
