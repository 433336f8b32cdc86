"""No cell of a table for people is run by a spreadsheet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.results.answer_text import table_rows
from lapwing.results.readable import csv_of, spreadsheet_cell
from lapwing.service.decoding import Kept, carried_out
from lapwing.service.decoding_orders import Key, Material, Order
from tests.cli.running import Program

FORMULAS = [
    *("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-A1", "+-1", "-", "--1"),
    *(
        *("=cmd|' /C calc'!A0", "-inf", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "-1e", "-3\t"),
        *("-3\n", " =1", "\u00a0=1", "\ufeff=1", "\u200b+1", "\u3000@a"),
    ),
]


def cells_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_begins_as_a_formula_gets_an_apostrophe(text: str) -> None:
    ((heading,), (cell,)) = cells_of(csv_of([{text: text}]))
    assert heading == cell == f"'{text}"


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_no_cell_ends_a_line(end: str) -> None:
    assert cells_of(csv_of([{"x": f"a{end}=1", "y": 1}])) == [["x", "y"], [f"a{end}=1", "1"]]


@pytest.mark.parametrize("divider", [*",;\t|:. "])
@pytest.mark.parametrize("quote", ["", '"', '"";', "'"])
def test_no_part_of_a_text_is_a_cell(divider: str, quote: str) -> None:
    """Spreadsheets divide cells as the language of the computer says: in many, at semicolons."""
    label = f"x{quote}{divider}=1+1{quote}"
    text = csv_of([{label: label, "share": 0.5}, {label: None, "share": -0.5}])
    rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=divider)]
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    assert cells_of(text) == [[label, "share"], [label, "0.5"], ["", "-0.5"]]


def test_numbers_have_no_quotes_and_texts_have_them() -> None:
    cells = {"a": 1, "b": 0.5, "c": np.float64(2), "d": "1", "e": None, "f": "", "g": True}
    header = '"a","b","c","d","e","f","g"'
    assert csv_of([cells]) == header + '\n1,0.5,2.0,"1",,"",True\n'
    assert csv_of([{"x": None}, {"x": "a"}]) == '"x"\n""\n"a"\n'  # no line is empty


@pytest.mark.parametrize(
    "cell", [-3, -3.5, "-3", "+3", "-.5", "-3.5e-7", "snipe", "", "a=b", "> 3"]
)
def test_a_number_and_any_other_text_stay(cell: object) -> None:
    assert spreadsheet_cell(cell) == (f'"{cell}"' if isinstance(cell, str) else str(cell))
    assert cells_of(csv_of([{"x": cell, "y": None}]))[1] == [str(cell), ""]


LABELS = ["=1+1", "@b", "-3", "snipe"]
QUOTED = ["'=1+1", "'@b", "-3", "snipe"]


def survey_and_tally() -> tuple[lw.Survey, lw.Tally]:
    survey = lw.Survey("birds", lw.RandomizedResponse(lw.Categories(LABELS), 4))
    return survey, survey.tally(survey.randomize(LABELS * 500, rng=lw.seeded(1)))


def test_the_tables_of_the_library_and_the_collector_are_quoted() -> None:
    survey, tally = survey_and_tally()
    rows = cells_of(csv_of(table_rows(survey.decode(tally), 0.95)))
    assert [row[rows[0].index("label")] for row in rows[1:]] == QUOTED
    key = Key(survey.fingerprint, "e", None, tally.total)
    order = Order(
        key, None, "different", "population", "csv", 0.95, (), (0.5,), "title", ("a", "b")
    )
    told = carried_out(order, {key: Material(survey.to_json().encode(), tally)}, Kept(), most=4)
    assert isinstance(told, str) and {"'=1+1", "'@b", "-3"} <= {
        cell for row in cells_of(told) for cell in row
    }


def test_the_tables_of_the_command_line_are_quoted(done: Program) -> None:
    survey, tally = survey_and_tally()
    survey.save("survey.json")
    tally.save("tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json", "--csv", "bins.csv")
    done("answer", "result.json", "--share", "=1+1", "--csv", "answer.csv")
    done("sample", "result.json", "--size", 200, "--seed", 1, "--column", "@x", "-o", "sample.csv")
    for name in ("bins.csv", "answer.csv", "sample.csv"):
        cells = {cell for row in cells_of(Path(name).read_bytes().decode()) for cell in row}
        assert any("=1+1" in cell for cell in cells)
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))], name
