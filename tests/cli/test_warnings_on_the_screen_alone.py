"""What a curator is warned of depends on rows, so it is in no file, document or page."""

from __future__ import annotations

import gzip
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.engines import arrow
from tests.cli.running import Program

ROWS = 5003
SAID = {
    # How the cells of some rows are written, and what the screen says of them.
    "unreadable": (",{row},north,7", "unreadable"),
    "outside": (",900,north,{row}", "outside 0 to 100"),
    "elsewhere": (",{row},Lima,{row}", "in no listed segment"),
    "alike": (",{row},North,{row}", "differ from a label only by"),
    "nobody": ("{row},5,north,", "without a unit, left out"),
    "lines": (',"5\n6\n7\n8\n9",north,{row}', "line ends in a cell"),
}
FAULTY = 2719
"""Rows with the fault: a number that nothing else has."""


def write(path: Path, kind: str) -> None:
    """Write a table in which more than half of the rows have one fault."""
    lines = ["note,x,region,who"]
    for row in range(ROWS):
        if row >= FAULTY:
            lines.append(f"a,{row % 100},north,{row}")
        elif kind == "unreadable":
            lines.append(f"a,cancelled,north,{row}")
        else:
            lines.append("a" + SAID[kind][0].format(row=row % 100 if kind != "nobody" else ""))
    path.write_text("\n".join(lines) + "\n")


def contents(folder: Path) -> dict[str, bytes]:
    """Return what each file of a folder holds, packed or not, without the table itself."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "t.csv":
            content = path.read_bytes()
            found[str(path.relative_to(folder))] = (
                gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
            )
    return found


@pytest.mark.parametrize("kind", list(SAID))
def test_no_file_holds_what_the_screen_says(kind: str, done: Program, tmp_path: Path) -> None:
    write(tmp_path / "t.csv", kind)
    limits = ("--domain-only", "--low", "0", "--high", "100", "--bins", "8", "-q")
    done("new", *limits, "-o", "d.json")
    done("new", *limits, "--segment", "north", "--segment", "south", "-o", "s.json")
    asked = ("--name", "ages", *limits[1:], "--missing", "bin", "--epsilon", "2")
    done("new", *asked, "-o", "survey.json")
    done("ledger", "b.json", "--epsilon", "9", "--neighbors", "add-or-remove-one", "-q")
    screens: list[str] = []
    documents: list[str] = []

    def run(*words: Any) -> None:
        made = done(*words)
        screens.append(made.err)
        documents.append(made.out)

    cell = ("-c", "x")
    unit = ("--unit", "who", "--most", "1")
    pays = ("--epsilon", "1", "--neighbors", "add-or-remove-one", "--ledger", "b.json", "--json")
    by = ("--domain", "s.json", "--by", "region")
    if kind in ("unreadable", "outside", "lines"):  # what nobody needs a segment or a unit to see
        run("count", "t.csv", *cell, "--domain", "d.json", "--json", "-o", "c.lws")
        run("release", "t.csv", *cell, "--domain", "d.json", *pays, "-o", "r.json")
        run("bounds", "t.csv", *cell, *pays)
        run("randomize", "survey.json", "t.csv", *cell, "-o", "reports.lwr")
        asking = lw.Survey.load(tmp_path / "survey.json")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            arrow.randomize(tmp_path / "t.csv", asking, column="x", output=tmp_path / "folder")
        screens += [str(one.message) for one in told]
        run("tally", "survey.json", "reports.lwr", "-o", "tally.json")
        run("decode", "survey.json", "tally.json", "-o", "result.json")
    if kind in ("unreadable", "nobody"):
        run("release", "t.csv", *cell, "--domain", "d.json", *unit, *pays, "-o", "w.json")
    if kind in ("unreadable", "elsewhere", "alike"):
        run("count", "t.csv", *cell, *by, *unit, "-o", "u.lws")
        run("release", "t.csv", *cell, *by, *pays, "-o", "g.json")
        run("release", "t.csv", *cell, *by, *pays, "--dry-run", "5000")
    run("ledger", "b.json", "--json")
    # What is read from these files holds no more than they do: once is enough.
    for stored in ("result.json", "r.json", "w.json") if kind == "unreadable" else ():
        run("answer", stored, "--quantile", "0.5", "--json")
        run("plot", stored, "-o", f"{stored}.svg")
        run("plot", "g.json", "-o", "g.svg", "--force")

    _, said = SAID[kind]
    assert any(said in screen for screen in screens), screens
    words = [words for _, words in SAID.values()]
    words += ["Check the column", "List the labels", "Correct the file", "of 5,003 rows"]
    words += [f"{FAULTY:,}", str(FAULTY)]
    held = contents(tmp_path) | {f"JSON {n}": text.encode() for n, text in enumerate(documents)}
    assert len(held) > (25 if kind == "unreadable" else 6)
    for name, content in held.items():
        for word in words:
            digits = word.replace(",", "").isdigit()
            if digits and not name.endswith(("b.json", "survey.json", "d.json", "s.json")):
                continue  # noisy numbers and bytes may hold any digits
            held_words = re.sub(rb"[0-9a-f]{32,}", b"", content)  # identifiers are random digits
            assert word.encode() not in held_words, (name, word)
