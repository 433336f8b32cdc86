"""The design for questions: its components, its bins, and its predicted errors."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.unbiased.linear_estimate import asked_noise
from lapwing.errors import ArgumentError, DomainError
from lapwing.planning import question_design as design
from lapwing.planning.expected_error import question_error_text
from lapwing.planning.question_design import question_design
from lapwing.planning.recommendation import masses_on
from lapwing.questions import Curve, Histogram, Mean, Quantile, Share
from lapwing.randomizers import AskedLabels
from lapwing.randomizers.numerical.multiscale_wave import default_mixture, fitted
from lapwing.results.asked_numbers import cell_starts
from lapwing.results.question_answers import _without_wide_point, question_table

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
    *waves, cells = parts("histogram bins 16") or []
    assert cells == ("cells", tuple(range(0, 256, 16)), 0.9)
    assert {kind for kind, *_ in waves} == {"wave"}  # they tell how neighboring cells go together
    (cells,) = parts("histogram bins 16", epsilon=4) or []
    assert cells == ("cells", tuple(range(0, 256, 16)), 1.0)
    for curve in ("curve", "quantile 0.5"):
        assert parts(curve) is None
    assert parts("mean", domain=lw.Interval(0, 24, bins=24, circular=True)) is None
    ((kind, width, share),) = parts("mean", epsilon=4) or []
    assert (kind, share) == ("wave", 1.0)
    wave = lw.MultiscaleWave(LINE, 4, components=[(kind, width, 1)]).groups[0].randomizer
    assert abs(wave._near - 255 * np.exp(-4 / 3)) < 1.5  # least variance of a mean, but a constant


def test_beside_the_curve_asked_cells_are_cut_further_at_places_that_move() -> None:
    usual = fitted(default_mixture(4), LINE)
    for curve in ("curve", "quantile 0.9"):
        found = parts("share above 50", curve, "mean", epsilon=4)
        assert found is not None
        assert found[:5] == [
            (kind, size, pytest.approx(0.3 * share)) for kind, size, share in usual
        ]
        *cells, (kind, _, share) = found[5:]
        assert (kind, share) == ("wave", pytest.approx(0.35))
        assert [starts for _, starts, _ in cells] == [
            (0, 64, 128, 192),
            (0, 16, 80, 128, 144, 208),
            (0, 32, 96, 128, 160, 224),
            (0, 48, 112, 128, 176, 240),
        ]
        assert sum(share for *_, share in cells) == pytest.approx(0.35)
    fine = parts("share above 50.390625", "curve", epsilon=8)
    assert fine is not None and [kind for kind, *_ in fine] == ["affine", *["cells"] * 8]
    assert all({0, 129} <= {*starts} and len(starts) > 28 for _, starts, _ in fine[1:])
    assert fine[0][2] == pytest.approx(0.06)
    (*_, cells) = parts("histogram bins 16", "curve", epsilon=2) or []
    assert cells == ("cells", tuple(range(0, 256, 16)), 0.7)
    assert [kind for kind, *_ in parts("mean", epsilon=1) or []] == ["wave"]
    waves, fewer = parts("histogram bins 16", epsilon=3), parts("histogram bins 16", epsilon=3.1)
    assert len(waves or []) > len(fewer or []) == 1
    below = parts("mean", epsilon=0.5)
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
        asked = [lw.questions.read(text)]
        made: Any = question_design(domain, Fraction(1), asked, users=1000).domain
        assert made.outside == lw.recommend(domain, epsilon=1, users=9).randomizer.domain.outside
        assert cell_starts(asked, made)
        assert made.closed == domain.closed and made.low == domain.low
    with pytest.raises(ArgumentError, match=r"The nearest are 32.8125 and 34.375"):
        parts("share above 33", domain=lw.Interval(0, 100, bins=64))


def test_what_no_design_can_answer_is_refused() -> None:
    labels = lw.Categories(3)
    with pytest.raises(ArgumentError, match="For labels, ask"):
        parts("mean", domain=labels)
    with pytest.raises(DomainError, match="one attribute"):
        parts("mean", domain=lw.Product(a=LINE, b=labels))
    with pytest.raises(ArgumentError, match="share above 150 has no edge inside"):
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
    line = replace(LINE, bins=64)
    best = lw.recommend(line, epsilon=1, users=1000, questions=["share above 50"])
    survey = lw.Survey("income", best)
    assert survey.questions == (Share(above=50),)
    assert survey.fingerprint == lw.Survey("income", best.randomizer).fingerprint
    assert lw.Survey.from_json(survey.to_json()) == survey
    result = survey.decode(lw.simulate(survey.randomizer, np.full(64, 80), rng=1))
    assert result.answer("share above 50").value is not None
    assert result.answer("mean").value is None  # and no warning about the curve
    again = lw.Distribution.from_json(result.to_json())
    assert again.answer("mean").value is None
    for asks in ("mean", [], [{"question": "sum"}], [{"question": "mean", "of": 3}]):
        with pytest.raises(lw.errors.FormatError):
            lw.Survey.from_document({**survey.to_document(), "asks": asks})


def test_predicted_errors_are_those_of_simulated_surveys() -> None:
    """Of a share, a mean and a quantile in its unit, on a column that is known: within a half."""
    epsilon = 4
    rng = np.random.default_rng(5)
    column = np.histogram(rng.beta(2, 4, 10**6) * 100, np.linspace(0, 100, 257))[0] / 10**6
    asked = [Share(above=50), Quantile(0.5), Mean(), Curve()]
    best = lw.recommend(LINE, epsilon=epsilon, users=20_000, questions=asked, like=column)
    survey = lw.Survey("x", best)
    found: list[list[float]] = []
    for seed in range(16):
        people = np.random.default_rng([seed, 3]).multinomial(20_000, column)
        truth = lw.Distribution.of_counts(people, LINE)
        decoder = lw.SpectralPrior(band=False)
        tally = lw.simulate(survey.randomizer, people, rng=seed)
        result = survey.decode(tally, decoder=decoder)
        errors = [result.answer(each).value - truth.answer(each).value for each in asked[::2]]
        moved = result.answer(asked[1]).value - truth.quantile(0.5)
        found.append([float(errors[0]), float(moved), float(errors[1])])
    simulated = np.sqrt(np.mean(np.square(found), axis=0))
    known = best.expected_error.questions or {}
    predicted = [known[str(each)].typical for each in asked[:3]]
    ratio = np.asarray(predicted) / simulated
    assert ((ratio > 1 / 1.5) & (ratio < 1.5)).all(), (predicted, simulated)


def test_the_error_of_a_share_is_that_of_randomized_response() -> None:
    line = replace(LINE, bins=64)
    error = lw.expected_error(line, 20_000, epsilon=2, questions=["share above 50"])
    exact = np.exp(1) / (np.exp(2) - 1) / np.sqrt(20_000)
    assert (error.questions or {})["share above 50"].typical == pytest.approx(exact, rel=0.05)
    assert error.to_document()["questions"]["share above 50"]["typical"] > 0
    given = lw.expected_error(
        line, 20_000, randomizer=lw.SquareWave(line, 2), questions=["mean"], repeats=1
    )
    assert (given.questions or {})["mean"].typical > 0
    assert "questions" not in lw.expected_error(line, 20_000, epsilon=2, repeats=1).to_document()


DATES = lw.Interval("2026-01-01", "2027-01-01", unit="date")
DAY = lw.Interval("00:00", "24:00", unit="time-of-day")


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (DATES, "histogram bins 7"),
        (replace(DATES, outside="clip"), "histogram bins 4"),
        (replace(DATES, outside="clip"), "histogram edges 2026-01-01 2026-05-01 2027-01-01"),
        (DAY, "quantile 0.5 0.9"),
        (DAY, "histogram bins 4"),
        (replace(DAY, circular=True), "histogram edges 00:00 06:00 18:00 24:00"),
        (lw.Interval("0:00:00", "1:00:00", unit="duration", bins=60), "quantile 0.5"),
        (lw.Interval(1, 10_000, scale="log"), "histogram bins 7"),
        (lw.Interval(0, 100, closed="left", outside="clip"), "histogram bins 4"),
        (lw.Interval(0, 120, whole=True), "histogram edges 0 18 65 120"),
        (lw.Interval(0, 5, bins=5), "share above 2"),
    ],
)
def test_what_is_planned_is_answered(domain: Any, text: str) -> None:
    """Exactly: of a table that is known, each cell has the share of its bins, and no interval."""
    asked = lw.questions.read(text)
    made: Any = question_design(domain, Fraction(4), [asked], users=5000).domain
    counts = np.random.default_rng(1).multinomial(9000, np.full(made.size, 1 / made.size))
    known = lw.Distribution.of_counts(counts, made)
    answer = known.answer(asked)
    assert answer.value is not None and question_table([answer], made)
    if isinstance(asked, Histogram):
        assert cell_starts([asked], made)
        inside = [known.cumulative.between(each) for each in asked.ranges(made)]
        assert answer.value == pytest.approx(inside)
        assert np.sum(answer.value) == pytest.approx(1, abs=0.03)


def test_few_cells_have_few_bins_and_a_mean_has_many() -> None:
    """Of 1,000 bins the interval of a share was five times as wide, and the curve keeps them."""
    line = lw.Interval(0, 100)

    def bins(*asked: Any, epsilon: int) -> int:
        questions = lw.questions.read_questions(asked)
        return question_design(line, Fraction(epsilon), questions, users=9000).domain.inside_size

    assert bins("share above 50", epsilon=4) == 200
    assert bins("share above 50", "curve", epsilon=4) == 1000
    assert bins("histogram bins 400", epsilon=4) == 1200  # the curve answers so many
    assert bins("mean", epsilon=1) == bins("mean", "share above 50", epsilon=4) == 2000
    assert bins("mean", epsilon=7) == 2000 and bins("mean", epsilon=8) == 4000


def test_the_weights_of_a_question_give_its_number_on_a_column() -> None:
    domain = lw.Interval(0, 10, bins=5)
    mass = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    for asked, expected in (
        (Quantile(0.3, 0.5), [0.3, 0.6]),
        (Mean(), [5.3]),
        (Curve(), [0.1, 0.3, 0.6, 0.85]),
        (Share(above=4), [0.7]),
    ):
        assert design._weights(asked, domain, mass) @ mass == pytest.approx(expected)


def test_a_survey_refuses_what_its_domain_cannot_answer() -> None:
    pair = lw.recommend(lw.Product(a=lw.Categories(3), b=lw.Categories(2)), epsilon=1, users=9)
    labels = lw.RandomizedResponse(lw.Categories(["a", "b"]), 1)
    circle = lw.MultiscaleWave(lw.Interval(0, 24, bins=24, circular=True), 1)
    for randomizer, text, said in (
        (labels, "mean", "For labels, ask"),
        (labels, "share label c", "no label 'c'"),
        (circle, "quantile 0.5", "value on the circle"),
        (pair.randomizer, "mean", "one attribute"),
        (lw.MultiscaleWave(LINE, 1), "share label 300", "must name a value from 0 to 100"),
    ):
        with pytest.raises((ArgumentError, DomainError), match=said):
            lw.Survey("x", randomizer, questions=[text])
    assert lw.Survey("x", labels, questions=["share label a", "share label b"]).questions


def test_an_interval_beyond_the_range_or_round_a_circle_has_its_width_in_the_range() -> None:
    domain = lw.Interval(0, 100)
    for row, width in (((1.0, -math.inf, 30.0, None), True), ((1.0, 40.0, math.inf, None), False)):
        found = _without_wide_point(row, Quantile(0.1), replace(domain, bins=100))
        assert (found[0] is not None) == width
    circle = replace(DAY, bins=24, circular=True)
    for low, high, kept in (("23:00:00", "01:00:00", True), ("13:00:00", "12:00:00", False)):
        found = _without_wide_point(("00:30:00", low, high, None), Mean(), circle)
        assert (found[0] is not None) == kept


def test_the_next_epoch_keeps_the_cells_that_are_asked() -> None:
    line = replace(LINE, bins=64)
    for asked in (["share above 50"], ["share above 50", "curve"]):
        wave = lw.MultiscaleWave(line, 1, components=parts(*asked, domain=line))
        survey = lw.Survey("x", wave, questions=asked)
        found = survey.decode(lw.simulate(survey.randomizer, np.full(64, 320), rng=1))
        later: Any = survey.next_epoch(found)
        assert later.questions == survey.questions
        randomizer: Any = survey.randomizer
        assert later.randomizer.components[-1] == randomizer.components[-1]
        shares = [share for *_, share in later.randomizer.components]
        assert sum(shares) == pytest.approx(1)


def test_the_error_of_a_quantile_is_in_its_unit_on_a_given_column() -> None:
    """An even column of 100 units: a percentage point of rank is one unit."""
    line = replace(LINE, bins=64)
    even, asked = np.full(64, 1 / 64), ["quantile 0.5 0.9"]
    ranks = lw.expected_error(line, 20_000, epsilon=1, questions=asked).questions or {}
    given = lw.expected_error(line, 20_000, epsilon=1, questions=asked, like=even, repeats=1)
    in_units = (given.questions or {})[asked[0]]
    assert [*in_units.by_kind] == ["like"]
    assert in_units.typical == pytest.approx(100 * ranks[asked[0]].by_kind["smooth"], rel=0.7)
    assert question_error_text(Quantile(0.5, 0.9), in_units, line) == f"{in_units.typical:.2g}"


def test_a_result_on_other_bins_may_be_what_people_are_like() -> None:
    """Shares of edges are moved to the bins that the questions choose."""
    known = lw.Distribution.of_counts([30, 50, 20], lw.Interval(0, 90, bins=3))
    moved = masses_on(known, lw.Interval(0, 90, edges=[0, 30, 45, 60, 90]))
    assert moved == pytest.approx([0.3, 0.25, 0.25, 0.2])
    error = lw.expected_error(
        lw.Interval(0, 90), 9000, epsilon=1, questions=["share above 33"], like=known
    )
    assert (error.questions or {})["share above 33"].by_kind.keys() == {"like"}
    with pytest.raises(lw.errors.MismatchError, match="same values"):
        masses_on(known, lw.Interval(0, 91, bins=3))


def test_labels_have_expected_errors_also_of_a_column_and_by_segment() -> None:
    labels, people = lw.Categories(["a", "b", "c"]), 9000
    asked = ["share label a", "share label c"]
    error = lw.expected_error(labels, people, epsilon=1, questions=asked, segments=["x", "y", "z"])
    known, within = error.questions or {}, getattr(error.segment, "questions", {})
    for text in asked:
        assert known[text].typical == pytest.approx(
            np.sqrt([*error["mean_squared_error"].by_kind.values()]).mean()
        )
        ratio = within[text].typical / known[text].typical
        assert ratio == pytest.approx(np.sqrt(3), rel=0.1)
    given = lw.expected_error(labels, people, epsilon=1, questions=asked, like=[6, 3, 1])
    for text in asked:
        assert (given.questions or {})[text].by_kind["like"] == pytest.approx(
            known[text].by_kind["even"], rel=0.5
        )
    best = lw.recommend(labels, epsilon=1, users=people, questions=asked)
    assert best.to_document()["questions"][1]["expected_error"]["typical"] > 0
    numbers = lw.expected_error(
        replace(LINE, bins=16), 9000, epsilon=1, questions=["share above 50"], segments="ab"
    )
    assert numbers.segment is not None and numbers.segment.people == 4500


MANY = lw.Categories(1000)


def _asked(*asked: Any, domain: Any = MANY, epsilon: float = 1, **given: Any) -> Any:
    found = lw.recommend(domain, epsilon=epsilon, users=20_000, questions=asked, **given)
    made = found.randomizer
    return (made.labels, made.share) if isinstance(made, AskedLabels) else made.name


def test_asked_labels_are_cells() -> None:
    label = "share label 7"
    assert _asked(label) == ((7,), 1) == _asked(label, label)
    assert _asked("share label 9", label) == ((7, 9), 1)
    assert _asked(label, "curve") == ((7,), 0.5)
    colors = lw.Categories(["red", "green", "blue", "gray"], missing="category", other="gray")
    assert _asked("share label red", domain=colors) == ((0, 4), 1)
    assert _asked("share label gray", domain=colors) == ((3, 4), 1)
    assert _asked("share label missing", domain=colors) == ((4,), 1)


@pytest.mark.parametrize(
    ("asked", "domain", "epsilon"),
    [
        (["share label 1"], lw.Categories(2), 1),
        (["share label 1", "share label 0"], lw.Categories(3), 1),
        ([f"share label {label}" for label in range(9)], lw.Categories(10), 1),
        (["share label 1", "curve"], lw.Categories(5), 4),
        (["share label 1", "curve"], lw.Categories(5000), 1),
        (["share label tea"], lw.HashedStrings(16), 1),
        (["curve"], lw.Categories(5), 1),
    ],
)
def test_where_asking_gains_nothing_the_design_is_that_for_all_labels(
    asked: list[str], domain: Any, epsilon: float
) -> None:
    usual = lw.recommend(domain, epsilon=epsilon, users=20_000).randomizer
    found = lw.recommend(domain, epsilon=epsilon, users=20_000, questions=asked)
    assert found.randomizer == usual


def test_what_is_about_all_labels_keeps_their_design() -> None:
    found = lw.recommend(MANY, epsilon=1, users=99, questions=["share label 7"], report_bytes=2)
    assert found.report_bytes <= 2 and "report_bytes is about all labels" in found.reason


@pytest.mark.parametrize("asked", [["share label 7"], ["share label 7", "curve"]])
def test_an_asked_label_has_the_expected_error(asked: list[str]) -> None:
    """That of 30 surveys varies by an eighth."""
    column = np.r_[np.full(7, 1.0), 250.0, np.full(992, 1.0)]
    best = lw.recommend(MANY, epsilon=1, users=20_000, questions=asked, like=column)
    survey = lw.Survey("x", best)
    rng, errors = np.random.default_rng(3), []
    for _ in range(30):
        held = rng.multinomial(20_000, column / column.sum())
        result = survey.decode(lw.simulate(survey.randomizer, held, rng=rng))
        answer = result.answer("share label 7")
        assert answer.high - answer.low < 0.05
        errors.append(answer.value - held[7] / 20_000)
    assert best.expected_error.questions is not None
    ratio = np.sqrt(np.mean(np.square(errors))) / best.expected_error.questions[asked[0]].typical
    assert 0.65 < ratio < 1.35
    other = result.answer("share label 8")
    assert (other.value is None) == (len(asked) == 1) and other.low == 0
    assert ("l1" in best.expected_error) == (len(asked) == 2)


def test_an_asked_label_is_better_known_than_by_the_design_for_all() -> None:
    for labels in (20, 1000):
        domain = lw.Categories(labels)
        column = np.r_[1.0, np.full(labels - 1, 4 / (labels - 1))]
        for epsilon in (0.5, 1, 2):
            usual = lw.SubsetSelection(domain, epsilon)
            ours = lw.recommend(
                domain, epsilon=epsilon, users=20_000, questions=["share label 0"]
            ).randomizer
            shares = column / column.sum()
            alone, all_of_them = (
                asked_noise(each.channel, shares, people=20_000).variance()[0]
                for each in (ours, usual)
            )
            assert alone < 0.62**2 * all_of_them
