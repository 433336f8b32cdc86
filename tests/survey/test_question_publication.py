"""`lw.release` with questions: answers, budgets, the ledger, sums, documents, pictures."""

import dataclasses
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, FormatError, MismatchError, PrivacyError
from lapwing.mechanisms.question_draws import budget_shares
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.questions import read
from lapwing.results.question_release import QuestionRelease, pure_epsilon
from lapwing.results.released_answers import answer_released, noise_beyond
from lapwing.survey.publication import linear_answers, planned_answers

VALUES = np.random.default_rng(1).gamma(2, 12, size=3000).clip(0, 100)
AGES = lw.Interval(0, 100)
BINNED = lw.Interval(0, 100, bins=64)
ASKED = ["mean", "share above 50", "histogram bins 4", "quantile 0.5"]
TRUTH = {"mean": VALUES.mean(), "share above 50": (VALUES > 50).mean()}
TRUTH |= {"quantile 0.5": np.median(VALUES)}
PROMISES = [
    {"epsilon": 1},
    {"epsilon": 1, "delta": "1e-6"},
    {"mu": 1},
    {"rho": "0.2"},
]


def published(seed=1, *, values=VALUES, questions=ASKED, domain=AGES, **options):
    given = {"epsilon": 1} if not {"mu", "rho", "epsilon"} & options.keys() else {}
    given |= {"neighbors": "replace-one"} | options
    with lw.testing.reproducible(seed):
        return lw.release(values, domain, questions=questions, **given)


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_every_answer_is_near_the_truth_and_costs_no_more_than_the_promise(promise, relation):
    made = published(neighbors=relation, **promise)
    assert made.release.promise.allows(made.release.loss)
    for question, truth in TRUTH.items():
        answer = made.answer(question)
        assert answer.low - 1 <= truth <= answer.high + 1
        assert answer.high - answer.low < 0.1 * (1 if "share" in question else 100)
    cells = made.answer("histogram bins 4")
    counts = np.histogram(VALUES, bins=[0, 25, 50, 75, 100])[0] / VALUES.size
    assert np.abs(cells.value - counts).max() < 0.03
    again = QuestionRelease.from_json(made.release.to_json())
    assert again == made.release and again.guarantee == made.guarantee


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("asked", ["mean", "share at-most 60", "histogram edges 0 30 60 100"])
def test_intervals_hold_the_people_in_the_data(asked, relation):
    values = np.append(VALUES[:300], [np.nan] * 40)
    truths = {
        "mean": np.nanmean(values),
        "share at-most 60": (values[:300] <= 60).mean(),
        "histogram edges 0 30 60 100": (values[:300] <= 30).mean(),
    }
    held = 0
    for answer in drawn_answers(asked, relation, values):
        low, high = np.atleast_1d(answer.low)[0], np.atleast_1d(answer.high)[0]
        held += low <= truths[asked] <= high
    assert held >= 86  # binomial of 100 draws and 0.95: below with probability 1e-4


def drawn_answers(asked, relation, values, draws=100):
    """Yield answers of many releases of the same counts."""
    promise = lw.privacy.Promise(relation, epsilon=1)
    domain = lw.Interval(0, 100, bins=200).for_curator()
    planned = planned_answers(domain, promise, [asked]).draws
    counts = ExactCounts.of_values(values, planned.counted)
    for seed in range(draws):
        yield answer_released(planned.draw(counts, lw.seeded(seed)), asked)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_intervals_of_the_median_hold_it(relation):
    values, held = VALUES[:1000], 0
    for answer in drawn_answers("quantile 0.5", relation, values):
        assert answer.low <= answer.value <= answer.high
        held += answer.low <= np.median(values) <= answer.high
    assert held >= 86


def test_segments_and_units_are_answered_one_by_one():
    made = published(
        by=["a", "b"] * 1500, segments=["a", "b"], questions=["mean", "quantile 0.5", "curve"]
    )
    for name, truth in (("a", VALUES[::2]), ("b", VALUES[1::2])):
        assert abs(made.answer("mean", segment=name).value - truth.mean()) < 3
        assert abs(made.answer("quantile 0.5", segment=name).value - np.median(truth)) < 6
    assert {row["segment"] for row in made.answers()} == {"a", "b"}
    with pytest.raises(ArgumentError, match="must be one of a, b"):
        made.answer("mean", segment="c")
    units = published(unit=np.arange(3000) // 2, most=2)
    assert units.release.people is None and units.guarantee.unit.most == 2
    assert abs(units.answer("mean").value - VALUES.mean()) < 3


def test_the_curve_gets_half_and_answers_what_was_not_asked():
    made = published(questions=["mean", "curve"], mechanism="prefix-sums")
    assert made.release.parts[0].share == Fraction(1, 2)
    assert made.release.curve.parts[0].promise.epsilon == Fraction(1, 2)
    assert abs(made.answer("quantile 0.9").value - np.quantile(VALUES, 0.9)) < 5
    assert abs(made.distribution.quantile(0.5) - np.median(VALUES)) < 3
    assert QuestionRelease.from_json(made.release.to_json()) == made.release
    alone = published(questions=["mean"])
    with pytest.raises(ArgumentError, match="It answers 'mean'"):
        alone.answer("share above 50")
    with pytest.raises(ArgumentError, match="no curve"):
        _ = alone.distribution


def test_shares_of_the_budget():
    asked = [read(each) for each in ("mean", "share above 5", "curve")]
    assert [*budget_shares(asked, None).values()] == [
        Fraction(1, 4),
        Fraction(1, 4),
        Fraction(1, 2),
    ]
    given = budget_shares(asked, {"mean": "0.2", "curve": "0.7", "share above 5": "0.1"})
    assert [*given.values()] == [Fraction(1, 5), Fraction(1, 10), Fraction(7, 10)]
    for wrong in ([1, 1, 1], [0, "0.5", "0.5"], ["0.5"], {"mean": 1}):
        with pytest.raises(ArgumentError, match="shares"):
            budget_shares(asked, wrong)


def test_few_people_get_an_interval_of_the_median_and_no_point():
    answer = published(values=VALUES[:60], questions=["quantile 0.5"]).answer("quantile 0.5")
    assert answer.value is None and answer.low is not None
    assert answer.note == "too few people for this privacy budget"


def test_the_ledger_names_the_questions(tmp_path):
    path = tmp_path / "ledger.json"
    lw.Ledger(lw.Guarantee(3, 0, "replace-one", "central")).save(path)
    made = published(questions=["mean", "share above 50"], ledger=path, name="ages")
    (entry,) = lw.Ledger.load(path).entries
    assert entry.name == "ages: mean, share above 50"
    assert entry.release == made.release.identifiers[0] and entry.state == "released"
    assert entry.cost.epsilon == 1


def test_nothing_is_paid_where_exact_counts_are_too_coarse(tmp_path):
    path = tmp_path / "ledger.json"
    lw.Ledger(lw.Guarantee(3, 0, "replace-one", "central")).save(path)
    counts = ExactCounts.of_values(VALUES, lw.Interval(0, 100, bins=64))
    for asked in ("mean", "share above 33", "histogram bins 7"):
        with pytest.raises(ArgumentError, match=r"needs the values|is not at a bin edge"):
            lw.release(counts, neighbors="replace-one", epsilon=1, questions=[asked], ledger=path)
    assert not lw.Ledger.load(path).entries


def test_sums_of_releases_of_different_people():
    parts = [published(seed, values=VALUES[seed::3], questions=ASKED[:3]) for seed in range(3)]
    whole = sum(part.release for part in parts)
    assert whole.people == 3000 and whole.guarantee.epsilon == 1
    answer = lw.survey.QuestionPublication(whole).answer("mean")
    assert abs(answer.value - VALUES.mean()) < 1 and answer.low < VALUES.mean() < answer.high
    with pytest.raises(MismatchError, match="twice"):
        whole + parts[0].release
    one = parts[0].release
    drawn = published(values=VALUES[::3], questions=ASKED[:3], rng=seeded(1)).release
    assert one.standing != "seeded" == (one + drawn).standing == (drawn + one).standing
    median = [published(seed, questions=["quantile 0.5"]).release for seed in (1, 2)]
    with pytest.raises(MismatchError, match="each release chose a bin"):
        median[0] + median[1]
    other = published(9, questions=ASKED[:3], epsilon=2).release
    with pytest.raises(MismatchError, match="equal"):
        whole + other


def test_a_document_with_less_noise_is_refused():
    document = published(questions=["mean", "quantile 0.5"]).release.to_document()
    for place in (0, 1):
        changed = lw.results.QuestionRelease.from_document(document).to_document()
        scale = Fraction(changed["parts"][place]["noise"]["scale"])
        changed["parts"][place]["noise"]["scale"] = str(scale * Fraction(99, 100))
        with pytest.raises(FormatError, match="too small"):
            QuestionRelease.from_document(changed)


def test_a_curve_of_something_else_is_refused():
    ages = lw.Interval(0, 100, bins=128)
    document = published(questions=["mean", "curve"], domain=ages).release.to_document()

    def curve(seed=2, *, values=VALUES, high=100, rng=None, **options):
        given = {"neighbors": "replace-one", "epsilon": "0.5", "mechanism": "sum-tree"} | options
        with lw.testing.reproducible(seed):
            made = lw.release(values, lw.Interval(0, high, bins=128), rng=rng, **given)
        return made.release

    same = QuestionRelease.from_document(document | {"curve": curve().to_document()})
    assert same.guarantee.epsilon == 1
    half = [curve(seed, values=VALUES[seed::2], epsilon="0.25") for seed in (0, 1)]
    others = [
        curve(neighbors="add-or-remove-one"),
        curve(high=50),
        curve(values=VALUES[:100]),
        curve(values=VALUES[:1500]) + curve(3, values=VALUES[1500:], epsilon=4),
        lw.Release.sum_of(half, people="same"),
    ]
    for other in others:
        with pytest.raises(FormatError, match="the curve must have the same"):
            QuestionRelease.from_document(document | {"curve": other.to_document()})
    drawn = curve(rng=seeded(1)).to_document()
    with pytest.raises(FormatError, match="must state the same verification"):
        QuestionRelease.from_document(document | {"curve": drawn})
    with pytest.raises(FormatError, match="32 lowercase hex"):
        QuestionRelease.from_document(document | {"identifiers": ["a"]})
    parts = [document["parts"][0] | {"question": {"question": "curve"}}]
    with pytest.raises(FormatError, match="the curve has no numbers"):
        QuestionRelease.from_document(document | {"parts": parts})


def test_what_is_refused_before_anything_is_drawn():
    cases = [
        ({"questions": ["curve"]}, "leave out the questions"),
        ({"questions": ["mean"], "mechanism": "prefix-sums"}, "are for the curve"),
        ({"questions": ["share above 200"]}, "beyond the range"),
        ({"questions": None, "shares": [1]}, "shares are for questions"),
        ({"domain": lw.Categories(["a"]), "questions": ["mean"]}, "for numbers"),
    ]
    for given, message in cases:
        with pytest.raises(ArgumentError, match=message):
            published(**given)
    with pytest.raises(ArgumentError, match="a mean needs the values"):
        counts = lw.protocol.ExactCounts.of_values(VALUES, lw.Interval(0, 100, bins=10))
        lw.release(counts, epsilon=1, neighbors="replace-one", questions=["mean"])
    with pytest.raises(ArgumentError, match="fixed when they were drawn"):
        published().answer("quantile 0.5", level=0.9)
    with pytest.raises(ArgumentError, match="does not show the sampling error"):
        published().answer("mean", target="population")
    with pytest.raises(PrivacyError, match="neighbors"):
        lw.release(VALUES, AGES, epsilon=1, questions=["mean"])


def test_a_pure_epsilon_for_mu_is_the_largest_one():
    """Its trade-off function touches that of mu-GDP from above, at the point of equal errors."""
    from scipy.special import ndtr, ndtri

    for mu in (0.1, 1, 3):
        epsilon = float(pure_epsilon(lw.privacy.Promise("replace-one", mu=mu)))
        alpha = np.linspace(0, 1, 2001)
        pure = np.maximum(1 - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - alpha))
        more = np.exp(1.001 * epsilon)
        gaussian = ndtr(ndtri(1 - alpha) - mu)
        assert (np.maximum(0, pure) >= gaussian - 1e-12).all()
        equal = 1 / (1 + more)
        assert equal < ndtr(ndtri(1 - equal) - mu)


@pytest.mark.parametrize(("scale", "copies"), [("1/2", (1, 1)), ("3", (1, 3)), ("300", (2, 1))])
def test_tails_of_sums_of_noise_are_those_of_draws(scale, copies):
    noise, rng = Noise("laplace", Fraction(scale)), lw.seeded(3)
    count = 100_000
    sums = [noise.draw(count * each, rng).reshape(count, -1).sum(axis=1) for each in copies]
    for weights in ((1.0, 0.0), (0.3, 0.7), (1.0, 0.6)):
        drawn = np.abs(weights[0] * sums[0] + weights[1] * sums[1])
        for distance in np.quantile(drawn, [0.5, 0.9, 0.99]):
            exact = noise_beyond(noise, copies, weights, float(distance))
            share = (drawn >= distance - 1e-9).mean()
            assert abs(exact - share) < 5 * np.sqrt(exact * (1 - exact) / count) + 0.002 * exact


def test_the_picture_has_a_dot_for_each_number():
    figure = published().plot()
    dots = [line for ax in figure.axes for line in ax.lines if line.get_marker() == "o"]
    assert len(figure.axes) == 2 and len(dots) == 7


def test_some_of_the_quantiles_that_were_asked_together_are_answered_alone():
    shares = ["0.2", "0.4", "0.4"]  # so that they are drawn
    asked = ["mean", "quantile 0.25 0.5 0.75", "quantile 0.25"]
    made = published(questions=asked, shares=shares)
    together = made.answer("quantile 0.25 0.5 0.75")
    alone = made.answer("quantile 0.5")
    assert (alone.value, alone.low, alone.high) == (
        together.value[1],
        together.low[1],
        together.high[1],
    )
    two = made.answer("quantile 0.75 0.5")
    assert two.value.tolist() == together.value[[2, 1]].tolist()
    assert made.answer("quantile 0.25").value == made.answers()[-1]["value"]
    with pytest.raises(ArgumentError, match="does not answer"):
        made.answer("quantile 0.5 0.9")


def test_damaged_documents_are_refused():
    made = published(questions=["quantile 0.5"]).release
    document, bins = made.to_document(), made.domain.left.size
    for key, value in (("identifiers", [["a"]]), ("identifiers", 3), ("people", None)):
        with pytest.raises(FormatError):
            QuestionRelease.from_document({**document, key: value})
    (part,) = document["parts"]
    for answers in ([0, bins, 0], [-1, 0, 0], [0, 0, 10**6], [0]):
        with pytest.raises((ArgumentError, MismatchError)):
            dataclasses.replace(
                made,
                digests=(),
                parts=[dataclasses.replace(made.parts[0], answers=np.array(answers))],
            )
        with pytest.raises(FormatError):
            QuestionRelease.from_document({**document, "parts": [{**part, "answers": answers}]})


@pytest.mark.parametrize("neighbors", ["replace-one", "add-or-remove-one"])
def test_intervals_of_quantiles_hold_beside_an_empty_part_of_the_range(neighbors: str) -> None:
    """All hold 40: the bins above it are empty, and a draw must not fall among them."""
    held = 0
    for seed in range(60):
        made = lw.release(
            np.full(100, 40.0),
            lw.Interval(0, 100, bins=100),
            neighbors=neighbors,
            epsilon=1,
            questions=["quantile 0.99"],
            rng=lw.seeded(seed),
        )
        answer = made.answer("quantile 0.99")
        held += float(answer.low) <= 40 <= float(answer.high)
    assert held >= 54


def test_the_interval_of_an_extreme_rank_reaches_to_the_end_of_the_range() -> None:
    made = lw.release(
        np.full(200, 40.0),
        lw.Interval(0, 100, bins=100, outside="clip"),
        neighbors="replace-one",
        epsilon=1,
        questions=["quantile 0 0.5 1"],
        rng=lw.seeded(1),
    )
    answer = made.answer("quantile 0 0.5 1")
    assert answer.low[0] == -np.inf or answer.low[0] == 0
    assert answer.high[2] == np.inf or answer.high[2] == 100


@pytest.mark.parametrize("changed", [{"share": "1"}, {"standing": "stated"}])
def test_a_file_with_other_shares_or_another_maker_is_refused(changed: dict[str, str]) -> None:
    values = [20, 30, 40] * 100
    how: Any = {"epsilon": 1, "neighbors": "replace-one", "questions": ["mean", "share above 50"]}
    document = lw.release(values, lw.Interval(0, 100, bins=50), **how).release.to_document()
    assert QuestionRelease.from_document(document).people == 300
    for place in document["parts"] if "share" in changed else [document]:
        place |= changed
    with pytest.raises(FormatError, match=next(iter(changed))):
        QuestionRelease.from_document(document)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_quantiles_cost_rho_by_their_bounded_range(relation):
    """One quantile has half of the noise of its epsilon. Four have twice that of one."""
    scales, rho = {}, "0.5"
    for asked in ("quantile 0.5", "quantile 0.2 0.4 0.6 0.8"):
        given: dict[str, Any] = {"neighbors": relation, "questions": [asked], "shares": [1]}
        made = published(**given, epsilon=None, rho=rho).release
        assert made.promise.allows(made.loss) and made.loss.rho > Fraction(rho) * Fraction(99, 100)
        assert QuestionRelease.from_json(made.to_json()) == made
        pure = published(**given, epsilon=1).release  # costs rho = 1/2 as any mechanism
        scales[asked] = made.parts[0].noise.scale / pure.parts[0].noise.scale
    assert [round(float(scale), 1) for scale in scales.values()] == [0.5, 0.2]
    document = made.to_document()
    document["parts"][0]["noise"]["scale"] = str(made.parts[0].noise.scale * Fraction(9, 10))
    with pytest.raises(FormatError, match="too small"):
        QuestionRelease.from_document(document)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_linear_answers_are_combined_with_the_curve(relation):
    """Intervals of both together are narrower than those of either, and they hold."""
    asked = ["mean", "histogram bins 8", "share above 50"]
    truths = {
        "mean": VALUES.mean(),
        "histogram bins 8": np.histogram(VALUES, bins=8, range=(0, 100))[0] / VALUES.size,
        "share above 50": (VALUES > 50).mean(),
    }
    planned = planned_answers(
        lw.Interval(0, 100, bins=128, outside="clip").for_curator(),
        lw.privacy.Promise(relation, epsilon=1),
        [*asked, "curve"],
        shares=["0.1", "0.1", "0.1", "0.7"],
    )
    counts = ExactCounts.of_values(VALUES, planned.draws.counted)
    widths, held = {}, {each: [] for each in asked}
    for seed in range(12):
        made = planned.publish(counts, rng=lw.seeded(seed))
        ways = {"both": made.answer}
        if seed < 4:  # widths hardly differ from draw to draw
            ways["direct"] = partial(answer_released, made.release)
            ways["curve"] = lw.survey.Publication(made.release.curve).distribution.answer
        for each in asked:
            found = {name: way(each) for name, way in ways.items()}
            both = found["both"]
            for name, one in found.items():
                widths.setdefault((each, name), []).append(np.mean(one.high - one.low))
            low, high = np.atleast_1d(both.low), np.atleast_1d(both.high)
            held[each] += [*(low <= truths[each]) & (truths[each] <= high)]
    for each in asked:
        least = min(np.mean(widths[each, name]) for name in ("direct", "curve"))
        assert np.mean(widths[each, "both"]) < 0.95 * least
        assert np.mean(held[each]) >= 0.75  # binomial of 12 and 0.95: below with probability 0.002


def test_many_questions_with_a_delta_get_gaussian_noise_of_one_mu():
    """One has Laplace noise. Twenty have less noise than twentieths of epsilon would give."""
    thresholds = [f"share above {place}" for place in range(4, 84, 4)]
    kinds = {}
    for count in (1, 20):
        made = published(questions=thresholds[:count], delta="1e-6").release
        kinds[count] = {part.noise.kind for part in made.parts}
        assert made.promise.allows(made.loss) and made.guarantee.delta <= Fraction(1, 10**6)
        assert QuestionRelease.from_json(made.to_json()) == made
    assert kinds == {1: {"laplace"}, 20: {"normal"}}
    pure = published(questions=thresholds).release.parts[0].noise
    assert made.parts[0].noise.variance < 0.6 * pure.variance
    document = made.to_document()
    scale = Fraction(document["parts"][3]["noise"]["scale"])
    document["parts"][3]["noise"]["scale"] = str(scale / 2)
    with pytest.raises(FormatError, match="too small"):
        QuestionRelease.from_document(document)
    both = published(questions=[*thresholds, "quantile 0.5", "curve"], delta="1e-6").release
    assert both.promise.allows(both.loss) and QuestionRelease.from_json(both.to_json()) == both


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_intervals_of_shares_about_the_population_hold(relation):
    """People are drawn anew each time, of whom 30% are above 50, and 2 of 10 have no value."""
    promise, asked = lw.privacy.Promise(relation, epsilon=1), "share above 50"
    draws = planned_answers(lw.Interval(0, 100, bins=200).for_curator(), promise, [asked]).draws
    rng, held = np.random.default_rng(3), 0
    for seed in range(100):
        values = np.where(rng.random(250) < 0.3, 60.0, 40.0)
        values[rng.random(250) < 0.2] = np.nan
        made = draws.draw(ExactCounts.of_values(values, draws.counted), lw.seeded(seed))
        answer = answer_released(made, asked, target="population")
        held += answer.low <= 0.3 <= answer.high
        assert answer.high - answer.low > 0.1
    assert answer.about == "the population" and answer.target == "population"
    assert held >= 87  # binomial of 100 draws and 0.95: below with probability 3e-4


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_several_quantiles_come_from_the_curve_with_all_of_their_budget(relation):
    asked = ["quantile 0.25 0.75", "mean", "quantile 0.5"]
    planned = planned_answers(BINNED.for_curator(), Promise(relation, epsilon=1), asked)
    assert [*map(str, planned.from_curve)] == ["quantile 0.25 0.75", "quantile 0.5"]
    assert {str(one): share for one, share in planned.draws.shares.items()} == {
        "mean": Fraction(1, 2)
    }
    assert planned.curve is not None and planned.curve.promise.epsilon == Fraction(1, 2)
    assert planned.questions == "mean, quantile 0.25 0.75, quantile 0.5, curve"
    made = published(neighbors=relation, questions=asked)
    assert made.release.promise.allows(made.release.loss)
    assert made.release.loss.epsilon == 1
    names = [row["question"] for row in made.answers()]
    assert names == ["mean", "quantile 0.25", "quantile 0.75", "quantile 0.5"]
    found = made.answer("quantile 0.25 0.5 0.75", level=0.8)
    assert found.value.tolist() == made.distribution.answer("quantile 0.25 0.5 0.75").value.tolist()
    truth = np.quantile(VALUES, [0.25, 0.5, 0.75])
    assert np.abs(found.value - truth).max() < 3
    again = lw.survey.QuestionPublication.from_json(made.to_json())
    assert again == made and again.answers() == made.answers()


def test_who_answers_a_quantile():
    """One alone is drawn. Several, and those beside a curve, are not, unless shares are given."""
    domain, promise = BINNED.for_curator(), Promise("replace-one", epsilon=1)
    for asked, shares, drawn in (
        (["quantile 0.5"], None, ["quantile 0.5"]),
        (["quantile 0.5", "mean"], None, ["quantile 0.5", "mean"]),
        (["quantile 0.5", "curve"], None, []),
        (["quantile 0.5", "quantile 0.9"], None, []),
        (["quantile 0.5 0.9"], [1], ["quantile 0.5 0.9"]),
        (["quantile 0.5", "curve"], ["0.5", "0.5"], ["quantile 0.5"]),
    ):
        planned = planned_answers(domain, promise, asked, shares=shares)
        assert [*map(str, planned.draws.shares)] == drawn
        assert (planned.curve is None) == (not planned.from_curve and "curve" not in asked)
        assert promise.allows(planned.loss)
    table = Segmented(BINNED, ["a", "b"]).for_curator()
    planned = planned_answers(table, promise, ["quantile 0.5 0.9"])
    assert planned.curve is None and planned.from_curve == ()


def test_quantiles_of_curves_are_added():
    one, two = (published(seed, questions=["quantile 0.25 0.75"]) for seed in (1, 2))
    both = lw.survey.QuestionPublication(one.release + two.release)
    assert both.release.people == 2 * VALUES.size
    assert [row["question"] for row in both.answers()] == ["quantile 0.25", "quantile 0.75"]
    other = published(3, questions=["quantile 0.1 0.9"])
    with pytest.raises(MismatchError, match="questions and shares are equal"):
        _ = one.release + other.release


@pytest.mark.parametrize("asked", ["mean", "share at-most 22", "histogram edges 0 7 100", "curve"])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_whole_numbers_are_answered_between_the_edges_of_bins(asked, closed):
    """The steps of a mean and the edges that are asked lie between whole numbers."""
    values = np.random.default_rng(1).poisson(20, 400)
    domain = lw.Interval(0, 100, bins=20, whole=True, closed=closed)
    asked = asked.replace("at-most", "below") if closed == "left" else asked
    made = published(values=values, domain=domain, questions=[asked, "quantile 0.25 0.75"])
    found = made.answer("quantile 0.25 0.75").value
    assert np.abs(found - np.quantile(values, [0.25, 0.75])).max() < 5
    if asked != "curve":
        exact = {"mean": values.mean(), "share below 22": (values < 22).mean()}
        exact["share at-most 22"] = (values <= 22).mean()
        answer = made.answer(asked)
        truth = exact.get(asked, (values < 7 if closed == "left" else values <= 7).mean())
        low, high = np.ravel(answer.low)[0], np.ravel(answer.high)[0]
        assert low - 0.02 * (1 + truth) <= truth <= high + 0.02 * (1 + truth)


def test_a_mean_beside_a_curve_has_an_interval_about_the_population():
    made = published(questions=["mean", "curve"])
    people, population = (made.answer("mean", target=each) for each in ("empirical", "population"))
    assert population.high - population.low > people.high - people.low
    assert population.target == "population"


def test_an_answer_by_segment_says_which_segments_there_are():
    with lw.testing.reproducible(1):
        made = lw.release(
            VALUES,
            BINNED,
            epsilon=1,
            neighbors="replace-one",
            questions=["mean", "curve"],
            by=np.repeat(["a", "b", "b"], 1000),
            segments=["a", "b"],
        )
    assert made.answer("quantile 0.5", segment="b").value > 0
    with pytest.raises(ArgumentError, match="segment must be one of a, b"):
        made.answer("quantile 0.5", segment="c")


def test_what_a_curve_answers_is_checked_when_it_is_loaded():
    document = published(questions=["quantile 0.25 0.75"]).release.to_document()
    assert document["from_curve"] == [{"question": "quantile", "probabilities": [0.25, 0.75]}]
    without = {key: value for key, value in document.items() if key != "curve"}
    mean = document | {"from_curve": [{"question": "mean"}]}
    twice = document | {"from_curve": 2 * document["from_curve"]}
    for wrong in (without, mean, twice, document | {"from_curve": []}):
        with pytest.raises(FormatError):
            QuestionRelease.from_document(wrong)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("asked", ["mean", "share above 33.3", "histogram edges 0 10 40 100"])
def test_answers_are_weighted_sums_of_the_bins(relation, asked):
    """As exact numbers of the values, but for what values differ by within their bins."""
    domain = lw.Interval(0, 100, bins=20, missing="bin").for_curator()
    planned = planned_answers(domain, Promise(relation, epsilon=1), [asked, "curve"])
    values = np.concatenate([VALUES[:200], [np.nan, -3, 120, 0, 100]])
    counts = ExactCounts.of_values(values, planned.draws.counted)
    made = planned.publish(counts, rng=lw.seeded(1)).release
    found = linear_answers(made)
    bins = planned.draws.on_bins(counts).counts
    ((numbers, _, noise),) = planned.draws.numbers
    exact = numbers.exact(counts.counts, planned.draws.counted)
    off = np.abs(found.weights @ bins - exact)
    assert (off <= found.spread @ bins + 1e-6).all()
    assert (found.spread.max() > 0) == (asked != "histogram edges 0 10 40 100")
    assert found.answers.tolist() == made.parts[0].answers.tolist()
    assert np.allclose(found.variances, noise.variance)


def test_the_curve_is_decoded_with_the_answers_beside_it():
    """It is nearer and its intervals are narrower, and they hold, also in a long thin tail."""
    drawn = np.random.default_rng(5).normal(1.5, 1.2, size=300)
    people, errors, widths, held = np.exp(drawn).clip(0, 100), {}, {}, {}
    for seed in range(8):
        made = published(seed, values=people, questions=["mean", "curve"])
        alone = lw.survey.Publication(made.release.curve).distribution
        for name, one in (("alone", alone), ("both", made.distribution)):
            band = one.confidence_band()
            truth = np.searchsorted(np.sort(people), band.points, side="right") / people.size
            errors.setdefault(name, []).append(np.abs(one.cdf(band.points) - truth).mean())
            widths.setdefault(name, []).append(np.mean(band.high - band.low))
            inside = (band.low <= truth + 1e-9) & (truth <= band.high + 1e-9)
            held.setdefault(name, []).append(inside.mean())
    assert np.mean(errors["both"]) < 0.9 * np.mean(errors["alone"])
    assert np.mean(widths["both"]) < 0.8 * np.mean(widths["alone"])
    assert np.mean(held["both"]) > 0.9


def test_noise_below_nobody_makes_nobody_the_surer_of_nobody():
    """A negative count of a cell has the interval of a count of zero."""
    made = published(questions=["share above 99"]).release
    (part,) = made.parts
    intervals = []
    for count in (0, -40):
        answers = np.array([2 * count - VALUES.size, 0])
        changed = dataclasses.replace(part, answers=answers)
        answer = answer_released(dataclasses.replace(made, digests=(), parts=[changed]), ASKED_99)
        intervals.append((answer.value, answer.low, answer.high))
    assert intervals[0] == intervals[1] and intervals[0][:2] == (0, 0) and intervals[0][2] > 1e-4


ASKED_99 = "share above 99"
