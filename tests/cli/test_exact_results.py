"""Commands say of exact values that they are not private."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

import lapwing as lw
from lapwing.results.exact_values import EXACT
from tests.cli.running import Program

NUMBERS = lw.Interval(0, 100, bins=16)
VALUES = np.random.default_rng(1).uniform(0, 100, 400)
PAIRS = lw.Product(value=NUMBERS, label=lw.Categories(["no", "yes"]))


def test_commands_say_what_is_exact(done: Program) -> None:
    published = lw.release(VALUES, NUMBERS, epsilon=4, neighbors="replace-one").distribution
    numbers = lw.Distribution.of_values(VALUES, published.domain)
    joint = lw.results.JointDistribution.of_counts(np.arange(1, PAIRS.size + 1), PAIRS)
    numbers.save("x.json", exact=True)
    joint.save("pairs.json", exact=True)
    published.save("p.json")
    Path("age.csv").write_text("age\n" + "\n".join(f"{value:.3f}" for value in VALUES) + "\n")
    commands: dict[tuple[str, ...], bool] = {
        ("show", "x.json"): True,
        ("show", "pairs.json"): True,
        ("answer", "x.json", "--above", "5"): True,
        ("answer", "x.json", "--quantile", "0.5"): True,
        ("compare", "x.json", "p.json"): True,
        ("compare", "p.json", "--truth", "age.csv"): True,
        ("compare", "p.json", "--truth", "x.json"): True,
        ("show", "p.json"): False,
        ("answer", "p.json", "--above", "5"): False,
        ("compare", "p.json", "p.json"): False,
        ("compare", "p.json", "--truth", "p.json"): False,
    }
    for command, exact in commands.items():
        screen = " ".join(done(*command).out.split())
        document = json.dumps(done(*command, "--json").document)
        done(*command, "--csv", "t.csv", "--force")
        with Path("t.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        for where in (screen, document):
            assert (EXACT in where) == exact, (command, where)
        assert rows and all((row.get("about") == EXACT) == exact for row in rows), command
        assert not exact or "about exact" not in screen
