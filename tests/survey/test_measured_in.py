"""The unit of measurement of numbers goes from the survey to tables, documents and pictures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import lapwing as lw
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import facts_of, tables_of
from lapwing.results.answers import result_answer

WAIT = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 100, bins=16), 2), measured_in="ms")
TALLY = WAIT.tally(WAIT.randomize([30.0, 40.0] * 500, rng=lw.seeded(1)))
PLAIN = replace(WAIT, measured_in=None)


def labels_of(result: Any, **more: Any) -> list[str]:
    """The names of both axes of each picture of a result."""
    figure = result.plot(**more)
    axes = getattr(figure, "figure", figure).axes
    return [text for ax in axes for text in (ax.get_xlabel(), ax.get_ylabel()) if text]


def test_numbers_are_shown_with_their_unit(tmp_path: Path) -> None:
    result: Any = WAIT.decode(TALLY)
    result.save(tmp_path / "result.json")
    for found in (result, lw.load(tmp_path / "result.json")):
        answer = result_answer(found, AnswerRequest())
        assert answer["measured_in"] == "ms" and facts_of(answer)["measured in"] == "ms"
        assert tables_of(answer, "wait")[0].headers[1] == "quantile, ms"
        assert {"value, ms", "density, per ms"} <= {*labels_of(found)}
        assert "minutes" in labels_of(found, label="minutes")
    silent: Any = PLAIN.decode(TALLY)
    answer = result_answer(silent, AnswerRequest())
    assert answer["measured_in"] is None and "measured in" not in facts_of(answer)
    assert tables_of(answer, "wait")[0].headers[1] == "quantile"
    assert {"value", "density, per unit"} <= {*labels_of(silent)}
    assert silent.mass.tolist() == result.mass.tolist()


def test_a_unit_is_no_formula_and_small_densities_keep_it() -> None:
    dollars = lw.Survey(
        "pay", lw.SquareWave(lw.Interval(0, 100_000, bins=16), 2), measured_in="$ a month"
    )
    tally = dollars.tally(dollars.randomize([30_000.0] * 500, rng=lw.seeded(1)))
    shown = labels_of(dollars.decode(tally))
    assert r"value, \$ a month" in shown
    assert any(text.startswith("density, per 10") and r"\$ a month" in text for text in shown)


def test_two_results_have_the_unit_that_both_have() -> None:
    first: Any = WAIT.decode(TALLY)
    assert "value, ms" in labels_of(first.difference(first, people="different"))
    other: Any = replace(WAIT, measured_in="s").decode(TALLY)
    assert "value, ms" not in labels_of(first.difference(other, people="different"))
    second = lw.Survey("again", lw.SquareWave(lw.Interval(0, 100, bins=16), 1), measured_in="ms")
    pairs = [
        (WAIT, TALLY),
        (second, second.tally(second.randomize([3.0] * 9, rng=lw.seeded(2)))),
    ]
    assert lw.decode_together(pairs).provenance["measured_in"] == "ms"
    pairs[1] = (replace(second, measured_in="s"), pairs[1][1])
    assert "measured_in" not in lw.decode_together(pairs).provenance


def test_a_series_has_the_unit_of_its_weeks() -> None:
    other = WAIT.tally(WAIT.randomize([35.0] * 1000, rng=lw.seeded(3)))
    series = lw.decode_series([(WAIT, TALLY), (WAIT, other)])
    assert "value, ms" in labels_of(series)
