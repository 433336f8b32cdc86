"""No cell of a table for people is run by a spreadsheet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

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
        "=cmd|' /C calc'!A0",
        "-inf",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff201",
        "-1e",
        "-3\t",
        "-3\n",
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


@pytest.mark.parametrize(
    "cell", [-3, -3.5, "-3", "+3", "-.5", "-3.5e-7", "snipe", "", "a=b", "> 3"]
)
def test_a_number_and_any_other_text_stay(cell: object) -> None:
    assert spreadsheet_cell(cell) == cell
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
