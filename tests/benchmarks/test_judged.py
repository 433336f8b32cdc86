"""The page of all verdicts, those inside the list of methods, and the run with other seeds."""

from types import SimpleNamespace

import pytest

from benchmarks.__main__ import main
from benchmarks.accuracy.papers import fewer_repeats, fresh_seeds, judged, judged_again
from benchmarks.verdicts import (
    CONTRADICTED,
    HOLDS,
    IN_SOME,
    NOT_MEASURED,
    UNDECIDED,
    Cell,
    Claim,
    Sentence,
    certain,
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
    kept = {"measured": measure(repeats=30, seed=0), "seconds": {"cpu": 1.0}}
    for where in (judged, judged_again, fewer_repeats):
        monkeypatch.setattr(where, "script", lambda name: module)
        monkeypatch.setattr(where, "results", SimpleNamespace(read=lambda name: kept))
    monkeypatch.setattr(judged, "BENCHMARKS", {NAME: ""})
    monkeypatch.setattr(judged, "place", lambda name: "accuracy/papers/made/made_up")


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


def test_a_verdict_that_turns_with_the_seed_is_counted(paper):
    settings = {"divided": 3, "least": 8, "only": [NAME], "at_once": 1}
    same = fresh_seeds.measure(seed=1, **settings)
    assert [(one["kept"], one["again"]) for one in same["claims"]] == [
        ("holds", "holds"),
        ("contradicted", "contradicted"),
        ("undecided", "undecided"),
        ("holds", "holds"),
        ("contradicted", "contradicted"),
    ]
    assert "; 0 of 5 (0.0%) did" in fresh_seeds.section(same, {"seed": 1, **settings})
    other = fresh_seeds.measure(seed=13, **settings)
    text = fresh_seeds.section(other, {"seed": 13, **settings})
    assert "; 1 of 5 (20.0%) did" in text and "*It is less.* holds, then contradicted" in text


def test_what_needs_all_repeats_is_marked_and_surprises_nobody(paper, monkeypatch):
    settings = {"divided": 15, "least": 1, "only": [NAME]}
    found = fewer_repeats.measure(**settings)
    assert judged_again.moved(found["claims"]) == []
    found["claims"][0]["again"] = UNDECIDED
    assert [one["text"] for one in fewer_repeats.surprising(found["claims"])] == ["It is less."]
    assert "1 of 5 (20.0%) have another verdict" in fewer_repeats.section(found, settings)
    kept = judged.results.read(NAME)
    monkeypatch.setattr(
        judged,
        "results",
        SimpleNamespace(read=lambda name: {"measured": found} if name == judged.FEWER else kept),
    )
    assert fewer_repeats.surprising(found["claims"]) == []
    assert [one.needs_repeats for one in judged.judged()] == [True, False, False, False, False]
    assert "| 4 | 1 | 0 | 1 | 1 | 1 | 0 | 0 | 1 |" in judged.overview(
        {"made": "M"}, judged.judged()
    )


def test_a_long_run_is_joined_from_its_parts():
    def part(names, *, seed=2, commit="a" * 40):
        return {
            "commit": commit,
            "settings": {"seed": seed, "divided": 1, "least": 1, "only": names, "at_once": 2},
            "measured": {
                "seconds": dict.fromkeys(names, 1.0),
                "claims": [
                    {"benchmark": n, "where": "", "text": "", "kept": HOLDS, "again": HOLDS}
                    for n in names
                ],
            },
        }

    first = fresh_seeds.joined(part(["one", "two"]), None)
    both = fresh_seeds.joined(part(["two", "three"], commit="b" * 40), first)
    assert [one["benchmark"] for one in both["measured"]["claims"]] == ["one", "two", "three"]
    assert both["settings"]["only"] == ["one", "two", "three"]
    text = fresh_seeds.section(both["measured"], both["settings"])
    assert text.endswith("In parts: `one` at aaaaaaaaaa; `two` and `three` at bbbbbbbbbb.")
    other = fresh_seeds.joined(part(["two"], seed=3), first)
    assert [one["benchmark"] for one in other["measured"]["claims"]] == ["two"]


def test_the_first_repeats_are_those_of_a_shorter_run():
    kept = {"mean": 2.5, "standard_error": 0.6, "values": [1.0, 2.0, 3.0, 4.0]}
    measured = {"rows": [{"epsilon": 1, "methods": {"ours": kept}, "values": [7, 8, 9]}]}
    (row,) = fewer_repeats.first_repeats(measured, 2, 1)["rows"]
    ours = row["methods"]["ours"]
    assert (ours["values"], ours["mean"], ours["standard_error"]) == ([1.0, 2.0], 1.5, 0.5)
    assert row["epsilon"] == 1 and row["values"] == [7, 8, 9]
    whole = fewer_repeats.first_repeats(measured, 4, 9)["rows"][0]["methods"]["ours"]["values"]
    assert whole == kept["values"]


def test_a_claim_rests_on_stand_ins_alone_if_no_other_column_speaks_of_it():
    def row(column: str) -> dict:
        figures = {"ours": {"values": [0.0, 0.1]}, "theirs": {"values": [1.0, 1.1]}}
        return {"column": column, "epsilon": 0.5, "methods": figures}

    def cells(rows: list[dict]) -> list[Cell]:
        kept = [row["methods"] for row in rows if row["epsilon"] < 1]
        return [less(one["ours"]["values"], [one["theirs"]["values"]]) for one in kept]

    def judge(measured: dict) -> list[Claim]:
        rows = measured["rows"]
        return [
            Claim("On all.", cells(rows), where="figure 2"),
            Claim("On real people.", cells([r for r in rows if r["column"] != "beta"])),
            Claim("Of a formula.", [certain(True)], arithmetic=True),
        ]

    rules = {"beta": {"rule": "draws from a law"}, "taxi": {"rule": "a stand-in, drawn from rows"}}
    measured = {"columns": rules, "rows": [row("beta"), row("taxi")]}
    assert judged.on_stand_ins(judge, measured, judge(measured)) == {("", "On real people.")}
    measured["rows"].pop(0)
    assert len(judged.on_stand_ins(judge, measured, judge(measured))) == 2
    rules["taxi"]["rule"] = "the paper's own file"
    assert not judged.on_stand_ins(judge, measured, judge(measured))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["papers"], "--quick or with --seed N"),
        (["papers", "--quick", "--seed", "2"], "--quick or with --seed N"),
        (["papers", "nobody", "--quick"], "is no benchmark"),
        (["papers", "--quick", "nobody"], "is no benchmark"),
        (["tables", "--seed", "2"], "--seed goes with papers"),
    ],
)
def test_the_command_of_the_papers_says_what_it_needs(typed, said, capsys):
    with pytest.raises(SystemExit):
        main(typed)
    assert said in capsys.readouterr().err


def test_only_repeats_are_fewer():
    settings = {"repeats": 100, "repeats_of_items": 10, "bins": 64, "columns": ["a"]}
    assert judged_again.fewer(settings, 3, 8) == {
        "repeats": 33,
        "repeats_of_items": 8,
        "bins": 64,
        "columns": ["a"],
    }
    assert judged_again.fewer({"repeats": 4}, 3, 8) == {"repeats": 4}
