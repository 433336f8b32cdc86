"""Forty mistakes of a newcomer: each is answered in one sentence that says what to do.

Twenty-two in Python and eighteen on the command line, written down before the answers were read.
Each row has the words that help, and no answer shows a value of the column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli import main
from tests.cli.running import Run

SECRET = 48_731.25
INCOME = lw.Interval(0, 200_000, bins=64)
YES_NO = lw.Categories(["yes", "no"])
SURVEY = lw.Survey("income", lw.SquareWave(INCOME, epsilon=2))
REPORTS = SURVEY.randomize(np.full(500, SECRET), rng=lw.seeded(1))
TALLY = SURVEY.tally(REPORTS)
RESULT = SURVEY.decode(TALLY)
CURATOR: Any = {"epsilon": 1, "neighbors": "replace-one"}
PUBLISHED = lw.release([SECRET] * 300, INCOME, **CURATOR)
lapwing: Any = lw

IN_PYTHON: list[tuple[str, Callable[[], Any], str]] = [
    ("epsilon too large", lambda: lw.SquareWave(INCOME, epsilon=30), "at most 24, got 30"),
    ("epsilon as a word", lambda: lw.SquareWave(INCOME, epsilon="two"), "Pass for example"),
    ("bounds as a list", lambda: lw.recommend(lapwing.SquareWave and [0, 100], epsilon=1, users=9),
     r"For example Interval\(0, 100"),
    ("bounds exchanged", lambda: lw.Interval(100, 0), "got 100 and 0. Exchange them"),
    ("dates without a unit", lambda: lw.Interval("2026-01-01", "2026-02-01"), "pass unit="),
    ("no bins", lambda: lw.Interval(0, 10, bins=0),
     r"bins must be a whole number from 1 to 2\^24, got 0"),
    ("a label twice", lambda: lw.Categories(["a", "b", "a"]), "positions 0 and 2 are equal. Drop"),
    ("labels as a set", lambda: lw.Categories(lapwing and {"a", "b"}), r"Pass sorted\(...\)"),
    ("no neighbors", lambda: lapwing.release([SECRET], INCOME, epsilon=1), "Pass 'replace-one'"),
    ("another spelling", lambda: lapwing.release([SECRET], INCOME, epsilon=1, neighbours="x"),
     "Use neighbors="),
    ("a text among numbers", lambda: SURVEY.randomize(["48,731"]), "number such as 12.5"),
    ("a missing value", lambda: SURVEY.randomize([SECRET, float("nan")]), "missing='bin'"),
    ("an unknown label", lambda: lw.RandomizedResponse(YES_NO, epsilon=1).randomize(["perhaps"]),
     "Add the label"),
    ("raw values in a tally", lambda: SURVEY.tally(lapwing and [SECRET]), "Randomize the values "
    "first"),
    ("reports in a decoder", lambda: SURVEY.decode(lapwing and REPORTS), "Add reports up first"),
    ("a tally twice", lambda: TALLY + TALLY, "would count twice"),
    ("a decoder's acronym", lambda: SURVEY.decode(TALLY, decoder="EMS"),
     "did you mean expectation-maximization"),
    ("a percentage as a probability", lambda: RESULT.quantile(50), "the median is 0.5"),
    ("a percentage as a level", lambda: RESULT.confidence_band(95), "write 0.95"),
    ("a range backwards", lambda: RESULT.probability(90, 10), "Exchange them"),
    ("a name of the literature", lambda: lapwing.OUE, "Use lw.randomizers.OptimizedUnaryEncoding"),
    ("a question to a release", lambda: lapwing and PUBLISHED.quantile(0.5),  # type: ignore[attr-defined]
     "Use .distribution.quantile"),
]  # fmt: skip

TYPED: list[tuple[str, str]] = [
    ("new -o x.json --name a --low 0 --high 9 --budget 1", "Use --epsilon"),
    ("new -o x.json --name a --low 0 --high 9 --epsilon 30", "--epsilon must be .* got 30"),
    ("new -o x.json --name a --low 9 --high 0 --epsilon 1", "got 9 and 0. Exchange them"),
    ("new -o x.json --name a --low 2026-01-01 --high 2026-02-01 --epsilon 1", "add --unit"),
    ("new -o x.json --name a --labels a,b --epsilon 1", "Use --categories"),
    ("new -o s.json --name a --low 0 --high 9 --epsilon 1", "already exists.*--force"),
    ("new -o x.json --low 0 --high 9 --epsilon 1", "missing option '--name'"),
    ("randomize s.json v.csv -o x.lwr", "--column must name one of the 2 columns"),
    ("randomize s.json absent.csv --column income -o x.lwr", "no file or folder absent.csv. Check"),
    ("randomize s.json v.csv --column region -o x.lwr", "the string at row 1 is not"),
    ("tally s.json r.lwr r.lwr -o x.json", "named twice, so its reports would count twice"),
    ("decode t.json s.json", "Name the survey first"),
    ("decode s.json r.lwr", "Add them up first: lapwing tally"),
    ("decode s.json t.json --decoder grr", "--decoder must be one of"),
    ("answer d.json --quantile 50", "The median is 0.5"),
    ("compare d.json s.json", "must be a distribution. It is a survey. Check"),
    ("release v.csv --column income --low 0 --high 9 --epsilon 1 -o x.json", "Use --domain FILE"),
    ("decoed s.json t.json", "did you mean decode"),
]


def one_sentence(text: str) -> None:
    """Fail where an answer is not one sentence, or shows a value."""
    assert "\n" not in text.strip() and not text.rstrip().endswith("."), text
    assert "48731" not in text and "48,731" not in text, text


def test_there_are_forty() -> None:
    assert len(IN_PYTHON) + len(TYPED) == 40


@pytest.mark.parametrize(
    ("mistake", "helps"), [row[1:] for row in IN_PYTHON], ids=[row[0] for row in IN_PYTHON]
)
def test_in_python(mistake: Callable[[], Any], helps: str) -> None:
    with pytest.raises((lw.errors.LapwingError, AttributeError), match=helps) as caught:
        mistake()
    one_sentence(str(caught.value))


def typed_in(folder: Path, words: list[str], capsys: Any, monkeypatch: Any) -> Run:
    """Run a command in a folder."""
    monkeypatch.chdir(folder)
    capsys.readouterr()
    code = main(words)
    captured = capsys.readouterr()
    return Run(code, captured.out, captured.err)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a survey, its values, reports, tally and result."""
    folder = tmp_path_factory.mktemp("mistakes")
    SURVEY.save(folder / "s.json")
    TALLY.save(folder / "t.json")
    RESULT.save(folder / "d.json")
    (folder / "v.csv").write_text("income,region\n" + f"{SECRET},n48731\n" * 200)
    REPORTS.save(folder / "r.lwr")
    return folder


@pytest.mark.parametrize(("typed", "helps"), TYPED, ids=[row[0] for row in TYPED])
def test_on_the_command_line(
    typed: str,
    helps: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    answer = typed_in(folder, typed.split(), capsys, monkeypatch)
    assert answer.code not in (0, 1) and answer.out == ""
    assert re.search(helps, answer.complaint), answer.complaint
    one_sentence(answer.complaint)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
