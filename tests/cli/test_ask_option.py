"""``--ask``: questions in words, for a design and for an answer."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program


def test_a_survey_that_asks_is_decoded_and_answered(
    lapwing: Program, done: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = done(
        *("new", "-o", "s.json", "--name", "income", "--low", "0", "--high", "500000"),
        *("--epsilon", "2", "--ask", "share above 50000", "--ask", "share above 123456"),
    ).out
    assert "share above 50000, share above 123456" in shown and "cells" in shown
    survey = lw.Survey.load("s.json")
    domain = survey.randomizer.domain
    assert [str(each) for each in survey.questions] == ["share above 50000", "share above 123456"]
    assert 123456.0 in domain.left  # an edge of its own
    people = np.random.default_rng(1).multinomial(50_000, np.full(domain.size, 1 / domain.size))
    survey.decode(lw.simulate(survey.randomizer, people, rng=1)).save("r.json")
    result = lw.Distribution.load("r.json")
    shown = done("answer", "r.json", "--ask", "share above 50000", "--ask", "mean").out
    low, high = result.probability_interval(50_000, np.inf)
    assert f"{100 * result.probability(50_000, np.inf):.0f}" in shown and "mean" in shown
    document = json.loads(
        done("answer", "r.json", "--ask", "share above 50000", "--ask", "mean", "--json").out
    )
    share, mean = document["answers"]
    assert (share["low"], share["high"]) == (low, high)
    assert mean["value"] is None and "not designed for this question" in mean["note"]
    shown = done("show", "r.json").out
    assert "share above 50000" in shown and "share above 123456" in shown
    assert "mean" not in shown and "quantile" not in shown  # nobody asked, and they are wide
    assert "quantile" in done("show", "r.json", "--detail").out
    document = json.loads(done("show", "r.json", "--json").out)
    assert document["answers"][0]["low"] == low
    done("answer", "r.json", "--ask", "histogram edges 50000 123456 5e5", "--csv", "t.csv")
    with Path("t.csv").open(encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert first["question"] == "50000 to 123456" and second["question"] == "123456 to 500000"
    low, high = result.probability_interval(50_000, 123_456)
    assert (float(first["low"]), float(first["high"])) == pytest.approx((low, high))


def test_recommend_says_the_error_of_each_question(done: Program, tmp_path: Path) -> None:
    domain = tmp_path / "d.json"
    done("new", "-o", str(domain), "--domain-only", "--low", "0", "--high", "100")
    asked = ("--ask", "mean", "--ask", "share above 30", "--ask", "curve")
    call = ("recommend", "--domain", str(domain), "--epsilon", "4", "--users", "20000", *asked)
    shown = done(*call).out
    assert "one wave for the mean (35%" in " ".join(shown.split())
    document = json.loads(done(*call, "--json").out)
    errors = {row["question"]["question"]: row["expected_error"] for row in document["questions"]}
    assert set(errors) == {"mean", "share", "curve"}
    assert 0.05 < errors["mean"]["typical"] < 0.5


def test_a_column_says_the_error_in_its_unit(done: Program, tmp_path: Path) -> None:
    """A table, and a result on other bins than those that the question chooses."""
    domain, table, result = tmp_path / "d.json", tmp_path / "t.csv", tmp_path / "r.json"
    done("new", "-o", str(domain), "--domain-only", "--low", "0", "--high", "100")
    table.write_text("age\n" + "\n".join(str(n % 100) for n in range(20_000)))
    lw.Distribution.of_counts([1, 3], lw.Interval(0, 100, bins=2)).save(result, exact=True)
    for like in (("--like", str(table), "--column", "age"), ("--like", str(result))):
        call = ("recommend", "--domain", str(domain), "--epsilon", "1", "--users", "20000")
        shown = json.loads(done(*call, "--ask", "share above 33", *like, "--json").out)
        (row,) = shown["questions"]
        assert [*row["expected_error"]["by_kind"]] == ["like"]
    new = ("new", "-o", str(tmp_path / "s.json"), "--name", "x", "--low", "0", "--high", "100")
    done(*new, "--epsilon", "1", "--ask", "share above 33", "--like", str(result))
    assert "33.0" in str(lw.Survey.load(tmp_path / "s.json").randomizer.domain.left.tolist())


def test_labels_say_the_error_of_each_share(done: Program, tmp_path: Path) -> None:
    domain = tmp_path / "d.json"
    done("new", "-o", str(domain), "--domain-only", "--categories", "red,blue,green")
    asked = ("--ask", "share label red", "--ask", "share label blue")
    call = ("recommend", "--domain", str(domain), "--epsilon", "1", "--users", "20000", *asked)
    shown = done(*call).out
    assert "share label blue" in shown and "percentage points" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ask", "shar above 3"), "did you mean share"),
        (("--ask", "share above 33", "--bins", "10"), "The nearest are 30 and 40"),
        (("--ask", "mean", "--randomizer", "square-wave", "--bins", "64"), "--ask goes with"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    lapwing: Program, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    base = ("new", "-o", str(tmp_path / "s.json"), "--name", "x", "--low", "0", "--high", "100")
    refused = lapwing(*base, "--epsilon", "1", *options)
    assert refused.code == 2 and said in refused.err
    assert not (tmp_path / "s.json").exists()


def test_a_question_in_words_stands_alone(lapwing: Program, tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    lw.Distribution.of_counts([1, 3], lw.Interval(0, 2, bins=2)).save(result, exact=True)
    refused = lapwing("answer", str(result), "--ask", "mean", "--above", "1")
    assert refused.code == 2 and "--ask is a complete question" in refused.err
    refused = lapwing("answer", str(result), "--ask", "curve")
    assert refused.code == 2 and "use lapwing show" in refused.err
    assert "1.25" in lapwing("answer", str(result), "--ask", "mean").out


def test_show_says_what_a_survey_asks(
    done: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new = ("new", "-o", "s.json", "--name", "x", "--low", "0", "--high", "100", "--epsilon", "1")
    done(*new, "--ask", "share above 30", "--ask", "mean")
    shown = " ".join(done("show", "s.json").out.split())
    assert "asks share above 30, mean" in shown
    assert "cells 2 50.00%" in shown and "wave" in shown  # its components, by their people


def test_no_command_gives_a_point_that_answer_withholds(
    done: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of `answer` and its questions in words say the same."""
    monkeypatch.chdir(tmp_path)
    survey = lw.Survey(
        "x", lw.recommend(lw.Interval(0, 100), epsilon=1, users=2000, questions=["share above 50"])
    )
    people = np.full(survey.randomizer.domain.size, 20)
    survey.decode(lw.simulate(survey.randomizer, people, rng=1)).save("r.json")
    asked = ("--above", "30", "--at-most", "60", "--share", "20", "--quantile", "0.3")
    document = done("answer", "r.json", *asked, "--json").document
    words = ("share above 30 at-most 60", "share label 20", "quantile 0.3")
    flags = [part for each in words for part in ("--ask", each)]
    told = done("answer", "r.json", *flags, "--json").document["answers"]
    rows = [*document["questions"], *document["quantiles"]]
    for row, answer in zip(rows, told, strict=True):
        assert row.get("share", row.get("value")) == answer["value"]
        assert (row["low"], row["high"]) == (answer["low"], answer["high"])
    assert rows[0]["share"] is None and "not designed for" in rows[0]["reason"]
    assert "not designed for" in done("answer", "r.json", "--above", "30", "--at-most", "60").out
    mean = done("show", "r.json", "--json").document["mean"]
    assert mean["value"] is None and mean["low"] is not None
