"""A CSV in another encoding is read as the same CSV in UTF-8. No text is a matter of its row."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.engines.arrow import Reading
from lapwing.engines.arrow.inputs import CSV_BLOCK
from lapwing.errors import ArgumentError
from tests.cli.running import Program, environment

CITIES = ["Zürich", "Genève", "Köln", "Zürich"]
TEXT = "stadt;größe\r\n" + "".join(f"{city};{size},5\r\n" for size, city in enumerate(CITIES))
SIZES = lw.Interval(0, 10, bins=20)
NAMES = lw.Categories(["Zürich", "Genève", "Köln"])
COUNTED = lw.protocol.ExactCounts.of_values([0.5, 1.5, 2.5, 3.5], SIZES)


def summarized(path: Path, encoding: str | None) -> None:
    """Assert that both columns are those of the text."""
    reading = Reading(decimal=",", encoding=encoding)
    held = lw.engines.arrow.summarize(path, SIZES, column="größe", reading=reading)
    assert held == COUNTED
    labels = lw.engines.arrow.summarize(path, NAMES, column="stadt", reading=reading)
    assert labels.counts[:3].tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("written", "named"),
    [
        *[(name, name) for name in ("cp1252", "latin-1", "mac-roman", "utf-16-le", "utf-32")],
        *[("utf-16", None), ("utf-16", "utf-16"), ("utf-8", "utf8"), ("utf-8-sig", "utf-8-sig")],
        *[("utf-8-sig", None), ("gb18030", "GB18030")],
    ],
)
def test_a_csv_is_read_in_its_encoding(written: str, named: str | None, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(TEXT.encode(written))
    summarized(tmp_path / "t.csv", named)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode(written)))
    summarized(tmp_path / "t.csv.gz", named)


def test_the_other_byte_order_is_recognized(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xfe\xff" + TEXT.encode("utf-16-be"))
    summarized(tmp_path / "t.csv", None)


def test_characters_lie_across_the_blocks_of_a_file(tmp_path: Path) -> None:
    rows = CSV_BLOCK // 4
    text = "größe;stadt\n" + "5;Zürich😀\n" * rows
    for encoding in ("utf-16", "utf-8"):  # 17 and 15 bytes in a line
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        held = lw.engines.arrow.summarize(
            tmp_path / "t.csv", SIZES, column="größe", reading=Reading(decimal=".")
        )
        assert held == lw.protocol.ExactCounts.of_values([5.0] * rows, SIZES)


@pytest.mark.service
def test_standard_input_has_an_encoding(tmp_path: Path) -> None:
    words = ("count", "-", "-c", "größe", "--decimal", ",", "--domain", "d.json")
    program = (sys.executable, "-m", "lapwing")
    new = ("new", "--domain-only", "--low", "0", "--high", "10", "--bins", "20", "-o", "d.json")
    run = {"cwd": tmp_path, "env": environment(), "check": True, "timeout": 60}
    subprocess.run([*program, *new], **run)
    for encoding, more in (("utf-16", ()), ("cp1252", ("--encoding", "cp1252"))):
        given = [*program, *words, *more, "-o", f"{encoding}.lws"]
        subprocess.run(given, input=TEXT.encode(encoding), **run)
        assert lw.protocol.ExactCounts.load(tmp_path / f"{encoding}.lws") == COUNTED


DOMAIN = ("--low", "0", "--high", "10", "--bins", "20")


@pytest.mark.parametrize(
    ("content", "encoding", "code", "said"),
    [
        (b"x\n1\n", "klingon", 2, "--encoding must be a text encoding that Python knows"),
        (b"x\n1\n", "rot13", 2, "--encoding must be"),
        (b"x\n1\n", "base64", 2, "--encoding must be"),
        (b"x\n1\n", "a\0b", 2, "--encoding must be"),
        (b"x\n1\n2\n", "utf-16", 4, "must be text in the encoding utf-16"),
        *[
            ("größe\n1\n".encode("cp1252"), named, 4, "Give its encoding (--encoding)")
            for named in (None, "ascii")
        ],
        *[
            (f"x{end}1{end}".encode(written), named, 4, "(--encoding utf-16-le, utf-16-be")
            for end in ("\n", "\r\n")
            for written in ("utf-16-le", "utf-16-be")
            for named in (None, "utf-16")
        ],
        ("x\r\n1\r\n".encode("utf-16"), "cp1252", 4, "zero bytes"),
    ],
)
def test_a_wrong_encoding_is_refused(
    content: bytes, encoding: str | None, code: int, said: str, lapwing: Program, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    lapwing("new", "--domain-only", *DOMAIN, "-o", "d.json")
    more = () if encoding is None else ("--encoding", encoding)
    run = lapwing("count", "t.csv", "-c", "x", "--domain", "d.json", *more, "-o", "a.lws")
    assert run.code == code and said in run.complaint
    assert not (tmp_path / "a.lws").exists()


def test_what_is_no_csv_has_none(tmp_path: Path) -> None:
    from pyarrow import parquet

    table = pa.table({"x": [1.0]})
    parquet.write_table(table, tmp_path / "t.parquet")
    reading = Reading(encoding="cp1252")
    with pytest.raises(ArgumentError, match="encoding is for CSV"):
        lw.engines.arrow.summarize(tmp_path / "t.parquet", SIZES, reading=reading)
    with pytest.raises(ArgumentError, match="in memory"):
        lw.engines.arrow.summarize(table, SIZES, reading=reading)


NO_TEXT = {
    "ascii": b"\xe4",
    "cp1252": b"\x81",
    "gb18030": b"\x81",
    "shift_jis": b"\x81",
    "utf-16": b"\x00\xdc",
    "utf-16-le": b"\x00\xd8",
    "utf-7": b"+2AA-",  # half of a character
    "utf-8": b"\xe4",
}
"""Bytes that stand for no text, by encoding."""


@pytest.mark.parametrize("encoding", NO_TEXT)
def test_what_is_no_text_is_a_matter_of_its_row(encoding: str, tmp_path: Path) -> None:
    start = "x\n1\n".encode(encoding)
    after = "\n2\n3\n".encode("utf-16-le" if encoding == "utf-16" else encoding)
    (tmp_path / "t.csv").write_bytes(start + NO_TEXT[encoding] + after)
    reading = Reading(encoding=encoding)
    held = lw.engines.arrow.summarize(tmp_path / "t.csv", SIZES, column="x", reading=reading)
    domain = SIZES.for_curator()
    assert held == lw.protocol.ExactCounts.of_values([1.0, None, 2.0, 3.0], domain)
    labels = lw.Categories(["1", "2", "\ufffd"])
    found = lw.engines.arrow.summarize(tmp_path / "t.csv", labels, column="x", reading=reading)
    assert found.counts[:3].tolist() == [1, 1, 0]


def test_a_file_that_ends_within_a_character_loses_one_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("x\n1\n2".encode("utf-16")[:-1])
    held = lw.engines.arrow.summarize(tmp_path / "t.csv", SIZES, column="x")
    assert held == lw.protocol.ExactCounts.of_values([1.0, None], SIZES.for_curator())


def test_no_text_far_down_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"x\n" + b"1\n" * CSV_BLOCK + b"\x81\n")
    held = lw.engines.arrow.summarize(
        tmp_path / "t.csv", SIZES, column="x", reading=Reading(encoding="cp1252")
    )
    assert held.people == CSV_BLOCK + 1 and held.counts[-1] == 1


@pytest.mark.parametrize(
    "row", [b"\xe4", b"1\x01", b"1\x00", "1\u00a0234".encode(), b"1" * 2**18], ids=len
)
def test_the_first_row_is_read_as_every_other(row: bytes, tmp_path: Path) -> None:
    reading = Reading(header=False, thousands=" ")
    found = []
    for rows in ([row, b"2", b"3"], [b"2", row, b"3"]):
        (tmp_path / "t.csv").write_bytes(b"\n".join(rows))
        found.append(lw.engines.arrow.summarize(tmp_path / "t.csv", SIZES, reading=reading))
    assert found[0] == found[1] and found[0].people == 3
