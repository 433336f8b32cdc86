"""Commands warn of a delta and of an epsilon that protect little, and store nothing of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import PrivacyWarning
from tests.cli.running import Program

AGES = lw.Interval(0, 100, bins=10)


def test_an_epsilon_above_four_has_the_sentence_of_the_belief_table(
    done: Program, tmp_path: Path
) -> None:
    with pytest.warns(PrivacyWarning) as caught:
        lw.release(np.zeros(100), AGES, neighbors="replace-one", epsilon=5)
    (said,) = (str(one.message) for one in caught)
    survey = tmp_path / "survey.json"
    survey.write_text(lw.Survey("a", lw.SquareWave(AGES, epsilon=5)).to_json())
    table = done("verify", survey).out
    row = next(line for line in table.splitlines() if line.split()[:2] == ["1", "5"])
    for prior, belief in zip(("1%", "10%", "50%"), re.findall(r"[\d.]+%", row), strict=True):
        assert f"from {prior} to {belief}" in said


def test_the_command_line_says_it_before_payment_and_in_no_file(
    done: Program, tmp_path: Path
) -> None:
    data, made, ledger = tmp_path / "a.csv", tmp_path / "a.json", tmp_path / "ledger.json"
    data.write_text("a\n" + "".join(f"{n % 100}\n" for n in range(200)))
    budget = ("--epsilon", 20, "--delta", "0.1", "--neighbors", "replace-one")
    assert "above 0.001" in done("ledger", ledger, *budget).err
    asked = ("release", data, "-c", "a", "--low", 0, "--high", 100, "--bins", 10)
    asked += ("--epsilon", 5, "--delta", "0.01", "--neighbors", "replace-one")
    tried = done(*asked, "--dry-run", 200)
    assert "delta 0.01 is not below 1/n = 0.005" in tried.err
    assert "0.01 is 2 of 1/n" in tried.out
    paid = done(*asked, "-o", made, "--ledger", ledger)
    assert "n = 200 people" in paid.err and "epsilon 5 is above 4" in paid.err
    assert "1/n" not in made.read_text() + ledger.read_text()
    assert "belief" not in made.read_text() + ledger.read_text()
    near = done(*asked[:-4], "--delta", "1e-6", "--neighbors", "replace-one", "--dry-run", 10**5)
    assert "1e-06 is 0.1 of 1/n" in near.out and "delta" not in near.err


def test_a_new_survey_says_it_too(done: Program, tmp_path: Path) -> None:
    for epsilon, randomizer in ((5, "recommended"), (5, "square-wave"), (4, "square-wave")):
        made = tmp_path / f"{epsilon}{randomizer}.json"
        asked = ("--name", "a", "--low", 0, "--high", 100, "--bins", 16, "--epsilon", epsilon)
        users = ("--users", 1000) if randomizer == "recommended" else ()
        said = done("new", *asked, *users, "--randomizer", randomizer, "-o", made).err
        assert said.count("is above 4") == (epsilon > 4)
        assert "belief" not in json.dumps(json.loads(made.read_text()))
