"""`lapwing release --ask`, and the commands that read released answers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program

VALUES = np.random.default_rng(1).normal(40, 12, 2000).clip(0, 100).round(2)
DOMAIN = ("--low", "0", "--high", "100", "--bins", "100")
PROMISE = ("--neighbors", "replace-one", "--epsilon", "1")
ASKED = ("--ask", "mean", "--ask", "share above 50", "--ask", "quantile 0.5")


@pytest.fixture(autouse=True)
def table(tmp_path: Path) -> None:
    rows = [f"{value},{'ab'[place % 2]}\n" for place, value in enumerate(VALUES)]
    (tmp_path / "v.csv").write_text("x,site\n" + "".join(rows))


def released(run: Program, output: str, *more: str) -> dict[str, object]:
    given = ("release", "v.csv", "-c", "x", "-o", output, "--json", *DOMAIN, *PROMISE)
    document: dict[str, object] = run(*given, *more).document
    return document


def test_answers_are_released_shown_and_written(done: Program, tmp_path: Path) -> None:
    document = released(done, "q.json", *ASKED, "--shares", "0.2,0.3,0.5")
    made = lw.load(tmp_path / "q.json")
    assert [str(part.share) for part in made.parts] == ["1/5", "3/10", "1/2"]
    rows = {row["question"]: row for row in document["answers"]}  # type: ignore[attr-defined]
    assert abs(rows["mean"]["value"] - VALUES.mean()) < 3
    assert abs(rows["share above 50"]["value"] - (VALUES > 50).mean()) < 0.05
    assert rows["quantile 0.5"]["low"] - 3 < np.median(VALUES) < rows["quantile 0.5"]["high"] + 3
    done("show", "q.json", "--csv", "q.csv")
    with (tmp_path / "q.csv").open() as stream:
        written = {row["question"]: row for row in csv.DictReader(stream)}
    assert float(written["mean"]["value"]) == rows["mean"]["value"]
    one = done("answer", "q.json", "--ask", "mean", "--level", "0.8", "--json").document
    (row,) = one["answers"]
    assert rows["mean"]["low"] < row["low"] < row["value"] < row["high"] < rows["mean"]["high"]
    done("plot", "q.json", "-o", "q.svg")
    assert (tmp_path / "q.svg").stat().st_size > 1000


def test_what_was_not_asked_is_refused(done: Program, lapwing: Program) -> None:
    released(done, "q.json", "--ask", "mean")
    for words, said in (
        (("answer", "q.json", "--ask", "share above 3"), "It answers 'mean'"),
        (("answer", "q.json", "--quantile", "0.5"), "Use --ask with one of 'mean'"),
        (("release", "v.csv", "--shares", "1", "-o", "r.json", *DOMAIN, *PROMISE), "--shares"),
    ):
        refused = lapwing(*words)
        assert refused.code and said in refused.err


def test_segments_are_rows_and_the_ledger_names_the_questions(
    done: Program, tmp_path: Path
) -> None:
    done("ledger", "l.json", "--epsilon", "2", "--neighbors", "replace-one")
    segments = ("--segment", "a", "--segment", "b")
    done("new", "--domain-only", *DOMAIN, *segments, "-o", "d.json")
    given = ("release", "v.csv", "-c", "x", "--by", "site", "--domain", "d.json", *PROMISE)
    asked = ("--ask", "mean", "--ask", "curve", "--ledger", "l.json", "-o", "q.json", "--json")
    document = done(*given, *asked).document
    assert [row["segment"] for row in document["answers"]] == ["a", "b"]
    assert "mean, curve" in (tmp_path / "l.json").read_text()


def test_answers_of_two_sites_merge(done: Program, lapwing: Program, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        released(done, name, "--ask", "mean")
    done("merge", "a.json", "b.json", "-o", "both.json")
    assert lw.load(tmp_path / "both.json").people == 2 * VALUES.size
    refused = lapwing("merge", "a.json", "b.json", "-o", "c.json", "--people", "same")
    assert refused.code and "different people" in refused.err


def test_a_dry_run_says_the_error_of_each_answer(done: Program, tmp_path: Path) -> None:
    run = ("release", "v.csv", "-c", "x", *DOMAIN, *PROMISE, "--dry-run", "2000")
    document = done(*run, *ASKED, "--json").document
    errors = document["expected_error"]["questions"]
    assert errors.keys() == {"mean", "share above 50", "quantile 0.5"}
    shown = done(*run, *ASKED[:4]).out  # a quantile takes longest
    assert "percentage points" in shown and not (tmp_path / "q.json").exists()


def test_answers_are_about_the_population_where_they_can_be(
    done: Program, lapwing: Program
) -> None:
    released(done, "q.json", *ASKED)
    ask = ("answer", "q.json", "--ask", "share above 50", "--json")
    (here,) = done(*ask).document["answers"]
    (there,) = done(*ask, "--target", "population").document["answers"]
    assert there["about"] == "the population" and there["low"] < here["low"] < here["high"]
    assert here["high"] < there["high"] and here["value"] == there["value"]
    text = done(*ask[:-1], "--target", "population").out
    assert "each about the population" in text
    refused = lapwing("answer", "q.json", "--ask", "mean", "--target", "population")
    assert refused.code and "must be 'empirical' for a mean" in refused.err
