"""The design for questions: its components, its bins, and its predicted errors."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.planning.question_design import question_design
from lapwing.questions import Curve, Mean, Quantile, Share
from lapwing.randomizers.numerical.multiscale_wave import default_mixture, fitted
from lapwing.results.question_cells import cell_starts

LINE = lw.Interval(0, 100, bins=256, outside="clip")


def parts(
    *asked: Any, domain: Any = LINE, epsilon: float = 1, users: int = 20_000
) -> list[tuple[str, Any, float]] | None:
    questions = lw.questions.read_questions(asked)
    found = question_design(domain, Fraction(str(epsilon)), questions, users=users).components
    return None if found is None else [*found]


def test_each_question_has_its_component() -> None:
    assert parts("share above 50") == [("cells", (0, 128), 1.0)]
    assert parts("share above 25", "share at-most 75") == [("cells", (0, 64, 192), 1.0)]
    (cells,) = parts("histogram bins 16") or []
    assert cells[1] == tuple(range(0, 256, 16))
    for curve in ("curve", "quantile 0.5", "mean"):
        assert parts(curve) is None
    ((kind, width, share),) = parts("mean", epsilon=4) or []
    assert (kind, share) == ("wave", 1.0)
    wave = lw.MultiscaleWave(LINE, 4, components=[(kind, width, 1)]).groups[0].randomizer
    assert abs(wave._near - 255 * np.exp(-2)) < 1.5  # that of the piecewise mechanism


def test_with_the_curve_it_gets_half_and_the_others_share_the_rest() -> None:
    usual = fitted(default_mixture(4), LINE)
    for curve in ("curve", "quantile 0.9"):
        found = parts("share above 50", curve, "mean", epsilon=4)
        assert found is not None
        halved = [(kind, size, share / 2) for kind, size, share in usual]
        assert found[:-2] == halved
        assert [(kind, share) for kind, _, share in found[-2:]] == [("cells", 0.25), ("wave", 0.25)]
    below = parts("share above 50", "mean", epsilon=1)
    assert below is not None and sum(share for *_, share in below[:-1]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cells", "epsilon", "users", "one_by_one"),
    [
        (32, 0.5, 1000, True),
        (64, 0.5, 10**6, False),
        (64, 1, 10**5, False),
        (64, 1, 2 * 10**5, True),
        (64, 2, 1000, True),
        (128, 8, 10**6, False),
    ],
)
def test_many_cells_are_answered_by_the_curve(
    cells: int, epsilon: float, users: int, one_by_one: bool
) -> None:
    found = parts(f"histogram bins {cells}", epsilon=epsilon, users=users)
    assert (found is not None) == one_by_one


def test_edges_are_taken_into_bins_that_are_not_declared() -> None:
    """Also between round ones, on a logarithmic scale, and on whole days."""
    for domain, text in (
        (lw.Interval(0, 500_000), "share above 50000"),
        (lw.Interval(0, 100), "share above 33.3"),
        (lw.Interval(0, 100), "histogram bins 7"),
        (lw.Interval(1, 10_000, scale="log"), "share above 33"),
        (lw.Interval("2026-01-01", "2027-01-01", unit="date"), "share above 2026-06-30"),
        (lw.Interval(0, 100, missing="bin", atoms=(0,)), "share above 0"),
    ):
        best = lw.recommend(domain, epsilon=1, users=1000, questions=[text])
        made: Any = best.randomizer.domain
        assert made.outside == lw.recommend(domain, epsilon=1, users=9).randomizer.domain.outside
        assert cell_starts(best.questions, made)
        assert made.closed == domain.closed and made.low == domain.low
    with pytest.raises(ArgumentError, match=r"the nearest are 32.8125 and 34.375"):
        parts("share above 33", domain=lw.Interval(0, 100, bins=64))


def test_what_no_design_can_answer_is_refused() -> None:
    labels = lw.Categories(3)
    with pytest.raises(ArgumentError, match="For labels ask"):
        parts("mean", domain=labels)
    assert parts("share label 1", domain=labels) is None
    with pytest.raises(DomainError, match="one attribute"):
        parts("mean", domain=lw.Product(a=LINE, b=labels))
    with pytest.raises(ArgumentError, match="an edge inside the range"):
        parts("share above 150")
    with pytest.raises(ArgumentError, match="at least one"):
        lw.recommend(LINE, epsilon=1, users=9, questions=[])
    for given in (
        {"error": 0.1},
        {"users": 9, "distance": "wasserstein"},
        {"users": 9, "refine": True},
    ):
        with pytest.raises(ArgumentError, match="is about the whole curve"):
            lw.recommend(LINE, epsilon=1, questions=["share above 50"], **given)
    with pytest.raises(ArgumentError, match=r"reports. Leave neighbors out"):
        lw.expected_error(LINE, 9, epsilon=1, neighbors="replace-one", like=[1, 1])


def test_without_questions_and_with_the_curve_alone_nothing_changes() -> None:
    usual = lw.recommend(LINE, epsilon=1, users=1000)
    asked = lw.recommend(LINE, epsilon=1, users=1000, questions=[Curve()])
    assert asked.randomizer == usual.randomizer and asked.decoder == usual.decoder
    assert dict(asked.expected_error) == dict(usual.expected_error)
    assert "questions" not in usual.to_document()
    one, other = (lw.Survey("income", each) for each in (usual, asked))
    assert one.fingerprint == other.fingerprint
    assert "asks" not in one.to_document() and other.to_document()["asks"] == [
        {"question": "curve"}
    ]


def test_a_survey_keeps_what_it_asks_and_its_result_knows_it() -> None:
    best = lw.recommend(LINE, epsilon=1, users=1000, questions=["share above 50"])
    survey = lw.Survey("income", best)
    assert survey.questions == (Share(above=50),)
    assert survey.fingerprint == lw.Survey("income", best.randomizer).fingerprint
    assert lw.Survey.from_json(survey.to_json()) == survey
    result = survey.decode(lw.simulate(survey.randomizer, np.full(256, 20), rng=1))
    assert result.answer("share above 50").value is not None
    assert result.answer("mean").value is None  # and no warning about the curve
    again = lw.Distribution.from_json(result.to_json())
    assert again.answer("mean").value is None
    for asks in ("mean", [], [{"question": "sum"}], [{"question": "mean", "of": 3}]):
        with pytest.raises(lw.errors.FormatError):
            lw.Survey.from_document({**survey.to_document(), "asks": asks})


def test_predicted_errors_are_those_of_simulated_surveys() -> None:
    """Of a share, a mean and a quantile in ranks, on a column that is known: within a half."""
    epsilon = 4
    rng = np.random.default_rng(5)
    column = np.histogram(rng.beta(2, 4, 10**6) * 100, np.linspace(0, 100, 257))[0] / 10**6
    asked = [Share(above=50), Quantile(0.5), Mean(), Curve()]
    best = lw.recommend(LINE, epsilon=epsilon, users=20_000, questions=asked, like=column)
    survey = lw.Survey("x", best)
    found: list[list[float]] = []
    for seed in range(24):
        people = np.random.default_rng([seed, 3]).multinomial(20_000, column)
        truth = lw.Distribution.of_counts(people, LINE)
        decoder = lw.SpectralPrior(band=False)
        tally = lw.simulate(survey.randomizer, people, rng=seed)
        result = survey.decode(tally, decoder=decoder)
        errors = [result.answer(each).value - truth.answer(each).value for each in asked[::2]]
        rank = truth.cdf(result.answer(asked[1]).value) - 0.5
        found.append([float(errors[0]), float(rank), float(errors[1])])
    simulated = np.sqrt(np.mean(np.square(found), axis=0))
    known = best.expected_error.questions or {}
    predicted = [known[str(each)].typical for each in asked[:3]]
    ratio = np.asarray(predicted) / simulated
    assert ((ratio > 1 / 1.5) & (ratio < 1.5)).all(), (predicted, simulated)


def test_the_error_of_a_share_is_that_of_randomized_response() -> None:
    error = lw.expected_error(LINE, 20_000, epsilon=2, questions=["share above 50"])
    exact = np.exp(1) / (np.exp(2) - 1) / np.sqrt(20_000)
    assert (error.questions or {})["share above 50"].typical == pytest.approx(exact, rel=0.05)
    assert error.to_document()["questions"]["share above 50"]["typical"] > 0
    given = lw.expected_error(
        LINE, 20_000, randomizer=lw.SquareWave(LINE, 2), questions=["mean"], repeats=1
    )
    assert (given.questions or {})["mean"].typical > 0
    assert "questions" not in lw.expected_error(LINE, 20_000, epsilon=2).to_document()
