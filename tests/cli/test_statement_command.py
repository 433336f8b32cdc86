"""`lapwing verify` says what surveys and rounds cost one person, in plain words."""

from __future__ import annotations

import json

from tests.cli.running import Program
from tests.survey.test_privacy_statement import AGE, PAGE


def test_the_command(lapwing: Program, done: Program, tmp_path):
    (tmp_path / "age.json").write_text(AGE.to_json())
    (tmp_path / "page.json").write_text(PAGE.to_json())
    both = ("verify", "age.json", "--rounds", "2", "--also", "page.json")
    found = done(*both, "--budget", "3", "--output", "told.md", "--json").document["person"]
    assert found["surveys"][0]["epsilon"] == "1"
    assert (tmp_path / "told.md").read_text().startswith("# What your reports can reveal")
    done(*both, "--budget", "3", "--output", "told.json")
    assert json.loads((tmp_path / "told.json").read_text()) == found
    assert lapwing(*both, "--budget", "1").code == 5
    assert "Add --budget" in lapwing(*both).complaint
    assert ".md or .json" in lapwing(*both, "--budget", "3", "--output", "a.txt").complaint
