"""Values outside the range on the command line: what is published, asked and written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.cli.running import Program


def test_the_share_outside_is_published_and_asked(done: Program) -> None:
    values = np.random.default_rng(1).lognormal(8.6, 0.8, 20_000)
    rows = "".join(f"{value:.2f}\n" for value in values)
    Path("v.csv").write_text(f"income\n{rows}inf\n-5\nunknown\n")
    domain = ("--low", "0", "--high", "30000", "--bins", "300", "--outside", "overflow")
    shown = done("new", "--domain-only", *domain, "-o", "domain.json").out
    assert "values outside counted below and above" in " ".join(shown.split())
    promise = ("--epsilon", "1", "--neighbors", "replace-one")
    shown = done("release", "v.csv", "--domain", "domain.json", *promise, "-o", "r.json").out
    assert "above 30,000" in shown
    assert "below 0" in shown
    assert "of values limited to 0 to 30,000" in " ".join(shown.split())
    (row,) = done("answer", "r.json", "--above", "30000", "--json").document["questions"]
    assert abs(row["share"] - np.mean(values > 30_000)) < 0.003
    assert row["inside"] == []
    asked = ("answer", "r.json", "--quantile", "0.999", "--csv", "q.csv")
    assert "more than 30,000" in done(*asked).out
    assert Path("q.csv").read_text().splitlines()[1].split(",")[1:3] == ["", '"> 30000"']
    (row,) = done("answer", "r.json", "--above", "40000", "--json").document["questions"]
    assert row["low"] == 0
    inside = {"end": "40000", "left": 30_000, "right": None, "open": "above"}
    assert row["inside"] == [inside]
    done("plot", "r.json", "-o", "r.png")
