"""The page of all verdicts, those inside the list of methods, and the run with other seeds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchmarks.accuracy.papers import fresh_seeds, judged
from benchmarks.verdicts import Cell, Claim, less

NAME = "accuracy/made_up"


def claims(measured: dict) -> list[Claim]:
    return [
        Claim("It is less.", [less(measured["ours"], [measured["theirs"]])], where="figure 2"),
        Claim("It is more.", [Cell(-9.0)], where="figure 2, right"),
        Claim("It may be.", [Cell(0.5)], where="figure 20"),
    ]


def measure(*, repeats: int, seed: int) -> dict:
    sign = -1 if seed == 13 else 1
    return {"ours": [0.0, 0.1] * repeats, "theirs": [sign * 1.0, sign * 1.1] * repeats}


@pytest.fixture
def paper(monkeypatch):
    """A benchmark of a made-up paper, with a kept result."""
    module = SimpleNamespace(
        claims=claims, measure=measure, FULL={"repeats": 30, "seed": 0}, TITLE="Made up"
    )
    kept = {"measured": measure(repeats=30, seed=0)}
    for where in (judged, fresh_seeds):
        monkeypatch.setattr(where, "script", lambda name: module)
        monkeypatch.setattr(where, "results", SimpleNamespace(read=lambda name: kept))
    monkeypatch.setattr(judged, "BENCHMARKS", {NAME: ""})
    monkeypatch.setattr(judged, "place", lambda name: "accuracy/papers/made/made_up")


def test_the_overview_counts_by_verdict_and_quotes_what_does_not_hold(paper):
    text = judged.overview({"made": "The made-up paper"}, judged.judged())
    assert "| [The made-up paper](made/README.md) | 3 | 1 | 1 | 1 | 0 |" in text
    contradicted, undecided = text.split("### Contradicted")[1].split("### Undecided")
    assert "figure 2, right: *It is more.*" in contradicted and "may be" not in contradicted
    assert "figure 20: *It may be.*" in undecided and "is less" not in text


def test_marks_are_filled_by_place_and_only_they(paper):
    mark = "<!-- verdicts: accuracy/made_up, {} -->{}<!-- end -->"
    text = "before " + mark.format("figure 2", "old") + " between " + mark.format("figure 20", "")
    assert judged.in_text(text, judged.judged()) == (
        "before "
        + mark.format("figure 2", "Of 2 claims: holds 1, contradicted 1.")
        + " between "
        + mark.format("figure 20", "Of 1 claim: undecided 1.")
    )
    with pytest.raises(ValueError, match="no claim about 'figure 3'"):
        judged.in_text(mark.format("figure 3", ""), judged.judged())


def test_a_verdict_that_turns_with_the_seed_is_counted(paper):
    settings = {"divided": 3, "least": 8, "only": [NAME]}
    same = fresh_seeds.measure(seed=1, **settings)
    assert [(one["kept"], one["again"]) for one in same["claims"]] == [
        ("holds", "holds"),
        ("contradicted", "contradicted"),
        ("undecided", "undecided"),
    ]
    assert ": 0 of 3 did" in fresh_seeds.section(same, {"seed": 1, **settings})
    turned = fresh_seeds.measure(seed=13, **settings)
    text = fresh_seeds.section(turned, {"seed": 13, **settings})
    assert ": 1 of 3 did" in text and "*It is less.* holds, then contradicted" in text


def test_only_repeats_are_fewer():
    settings = {"repeats": 100, "repeats_of_items": 10, "bins": 64, "columns": ["a"]}
    assert fresh_seeds.fewer(settings, 3, 8) == {
        "repeats": 33,
        "repeats_of_items": 8,
        "bins": 64,
        "columns": ["a"],
    }
    assert fresh_seeds.fewer({"repeats": 4}, 3, 8) == {"repeats": 4}
