"""The page of all verdicts, those inside the list of methods, and the run with other seeds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchmarks.accuracy.papers import fresh_seeds, judged
from benchmarks.verdicts import (
    CONTRADICTED,
    HOLDS,
    IN_SOME,
    NOT_MEASURED,
    UNDECIDED,
    Cell,
    Claim,
    Sentence,
    less,
    sentences,
)

NAME = "accuracy/made_up"


def claims(measured: dict) -> list[Claim]:
    return [
        Claim("It is less.", [less(measured["ours"], [measured["theirs"]])], where="figure 2"),
        Claim("It is more.", [Cell(-9.0)], where="figure 2, right"),
        Claim("It may be.", [Cell(0.5)], where="figure 20"),
        Claim("It is best.", [Cell(9.0)], where="figure 4", form="one form"),
        Claim("It is best.", [Cell(-9.0)], where="figure 4", form="another form"),
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
    assert "| [The made-up paper](made/README.md) | 4 | 1 | 1 | 1 | 1 | 0 |" in text
    contradicted, rest = text.split("### Contradicted\n")[1].split("### Contradicted in some")
    in_some, undecided = rest.split("### Undecided")
    assert "figure 2, right: *It is more.*" in contradicted and "may be" not in contradicted
    assert "figure 20: *It may be.*" in undecided and "is less" not in text
    assert "figure 4: *It is best.* **Contradicted in some**, of these readings:" in in_some
    assert "    - (one form) **Holds** (met in 1 of 1 cells" in in_some


def test_a_sentence_is_counted_once_whatever_its_readings() -> None:
    holds, fails, open_ = Cell(9.0), Cell(-9.0), Cell(0.5)

    def verdict(*cells: Cell) -> str:
        readings = [Claim("It is best.", [c], form=str(n)) for n, c in enumerate(cells)]
        (sentence,) = sentences(readings)
        return sentence.verdict

    assert verdict(holds) == verdict(holds, holds) == HOLDS
    assert verdict(fails, fails) == CONTRADICTED
    assert verdict(fails, holds) == verdict(open_, fails) == IN_SOME
    assert verdict(open_, holds) == verdict(open_, open_) == UNDECIDED
    assert Sentence([Claim("It is best.", [])]).verdict == NOT_MEASURED
    assert len(sentences([Claim("a", [holds], where=w) for w in ("figure 1", "figure 2")])) == 2


def test_marks_are_filled_by_place_and_only_they(paper):
    mark = "<!-- verdicts: accuracy/made_up, {} -->{}<!-- end -->"
    text = "before " + mark.format("figure 2", "old") + " between " + mark.format("figure 20", "")
    assert judged.in_text(text, judged.judged()) == (
        "before "
        + mark.format("figure 2", "Of 2 sentences: holds 1, contradicted 1.")
        + " between "
        + mark.format("figure 20", "Of 1 sentence: undecided 1.")
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
        ("holds", "holds"),
        ("contradicted", "contradicted"),
    ]
    assert ": 0 of 5 did" in fresh_seeds.section(same, {"seed": 1, **settings})
    turned = fresh_seeds.measure(seed=13, **settings)
    text = fresh_seeds.section(turned, {"seed": 13, **settings})
    assert ": 1 of 5 did" in text and "*It is less.* holds, then contradicted" in text


def test_only_repeats_are_fewer():
    settings = {"repeats": 100, "repeats_of_items": 10, "bins": 64, "columns": ["a"]}
    assert fresh_seeds.fewer(settings, 3, 8) == {
        "repeats": 33,
        "repeats_of_items": 8,
        "bins": 64,
        "columns": ["a"],
    }
    assert fresh_seeds.fewer({"repeats": 4}, 3, 8) == {"repeats": 4}
