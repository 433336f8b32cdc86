"""Quantiles drawn three at once: exact probabilities on tiny tables, and intervals that hold."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import PrivacyError
from lapwing.mechanisms import question_draws
from lapwing.mechanisms.question_draws import (
    QuantileDraws,
    QuestionDraws,
    budget_shares,
    falling_weights,
    ordered_triples,
    uniform_below,
)
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.guarantee import PrivacyUnit
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.questions import read
from lapwing.results.asked_numbers import STRENGTH, AskedNumbers
from lapwing.results.released_answers import answer_released

TINY = lw.Interval(0, 3, bins=3).for_curator()
LEVELS = Fraction(9, 10)
RELATIONS = ("replace-one", "add-or-remove-one")


class Branches:
    """A source whose draws take every branch in turn, with the probability of each path."""

    def __init__(self):
        self.path, self.more, self.place, self.probability = [], {}, 0, Fraction(1)

    def branch(self, weights):
        if self.place == len(self.path):
            self.path.append(0)
        kept = [place for place, weight in enumerate(weights) if weight]
        chosen = kept[self.path[self.place]]
        self.more[self.place] = len(kept)
        self.place += 1
        self.probability *= Fraction(weights[chosen], sum(weights))
        return chosen

    def next_path(self):
        """Go to the next path. False after the last."""
        while self.path and self.path[-1] + 1 == self.more[len(self.path) - 1]:
            self.path.pop()
        if not self.path:
            return False
        self.path[-1] += 1
        self.place, self.probability = 0, Fraction(1)
        return True


@pytest.fixture
def branching(monkeypatch):
    """Let draws take every branch, with few distances and no outward move of a whole range."""
    monkeypatch.setattr(question_draws, "SMALLEST_WEIGHT", 4)
    monkeypatch.setattr(question_draws, "picked", lambda weights, source: source.branch(weights))
    monkeypatch.setattr(
        question_draws, "uniform_below", lambda bound, source: source.branch([1] * bound)
    )
    monkeypatch.setattr(QuantileDraws, "outward", 1)


def law(draws, counts, shown):
    """Return the exact probability of each answer of one segment."""
    source, found = Branches(), {}
    noise = [] if shown is None else [shown - int(counts[:3].sum())]
    while True:
        answer = tuple(draws.draw(counts, np.array(noise, dtype=np.int64), source).tolist())
        found[answer] = found.get(answer, 0) + source.probability
        if not source.next_path():
            break
    assert sum(found.values()) == 1
    return found


def tables(people):
    """Yield all tables of so many rows, in three bins and missing."""
    for cells in combinations_with_replacement(range(TINY.size), people):
        yield tuple(np.bincount(np.array(cells, dtype=int), minlength=TINY.size).tolist())


LAWS = {}


def laws_of(draws, people, shown):
    """Return the law of each table of so many rows, and of one more where their number is secret.

    It takes a second, and cases differ in what they cost more than in what they draw.
    """
    numbers = draws.numbers
    key = (numbers.public, numbers.probabilities, (*numbers.moved,), draws.scale, people)
    if key not in LAWS:
        counts = range(people, people + 1 + (not numbers.public))
        every = [table for count in counts for table in tables(count)]
        LAWS[key] = {table: law(draws, np.array(table), shown) for table in every}
    return LAWS[key]


CASES = [
    ("replace-one", False, None),
    ("add-or-remove-one", False, None),
    ("replace-one", True, None),
    ("add-or-remove-one", True, None),
    ("replace-one", False, 2),
    ("add-or-remove-one", False, 2),
]


@pytest.mark.parametrize(
    ("asked", "relation", "segmented", "most"),
    [
        *(("quantile 0.5", *case) for case in CASES),
        *(("quantile 0.8", *case) for case in CASES[:1]),
    ],
)
def test_a_draw_has_no_ratio_beyond_what_it_costs(asked, relation, segmented, most, branching):
    """All tables of few rows, and all that one person changes in one of them."""
    unit = None if most is None else PrivacyUnit("user", most)
    domain = Segmented(TINY, ["x"]) if segmented else TINY
    numbers = AskedNumbers(read(asked), domain, Promise(relation, epsilon=1, unit=unit))
    draws = QuantileDraws(numbers, LEVELS * STRENGTH)
    people = 3
    shown = None if numbers.public else 2 * people
    laws = laws_of(draws, people, shown)
    # Shared by the cases whose numbers are equal, so one table of each case is drawn from again.
    assert laws[2, 0, 1, 0] == law(draws, np.array([2, 0, 1, 0]), shown)
    largest = widest = 0
    for one, other in product(laws, laws):
        rows = (sum(one), sum(other))
        changed = sum(abs(a - b) for a, b in zip(one, other, strict=True))
        swapped = rows[0] == rows[1] and changed == 2
        added = rows[0] != rows[1] and changed == 1
        if not (added or (swapped and relation == "replace-one")):
            continue
        # A replaced row of one segment costs what one row costs in each of two segments.
        steps = 2 if swapped and segmented else 1
        allowed = exponential_bounds(2 * steps / LEVELS)[0]
        ratios = [laws[one][each] / laws[other][each] for each in laws[other]]
        ratio = max(ratios)
        assert ratio <= allowed and ratio / min(ratios) <= allowed, (one, other)
        widest = max(widest, math.log(ratio / min(ratios)) * LEVELS / 2 / steps)
        largest = max(largest, math.log(ratio) * LEVELS / 2 / steps)
    assert largest > 0.55 and widest > 0.9
    rows = (most or 1) * (2 if segmented and relation == "replace-one" else 1)
    assert numbers.sensitivity.squared == rows**2 * (STRENGTH**2 + (not numbers.public))
    assert numbers.sensitivity.absolute == rows * (2 * STRENGTH + (not numbers.public))


def test_the_weights_are_those_of_the_definition(branching):
    """The probability of three bins is in proportion to the weights of their distances."""
    for relation in RELATIONS:
        numbers = AskedNumbers(read("quantile 0.5"), TINY, Promise(relation, epsilon=1))
        draws = QuantileDraws(numbers, LEVELS * STRENGTH)
        beyond = [*np.cumsum(draws.falling[::-1])[::-1].tolist()]
        counts, shown = np.array([2, 1, 3, 0]), None if numbers.public else 12
        upto, step = [0, 2, 3, 6], Fraction(1) if numbers.public else Fraction(1, 2)
        expected = {}
        for bins in product(range(3), repeat=3):
            if not (numbers.public or bins[0] <= bins[2] <= bins[1]):
                continue
            above, below = [0], [0]
            for place, rank in zip(bins, (3 - step, 3 + step, 3), strict=True):
                above.append(math.ceil(max(0, upto[place] - rank) / step))
                below.append(math.ceil(max(0, rank - upto[place + 1]) / step))
            last = len(beyond) - 1
            up, down = min(max(above), last), min(max(below), last)
            weight = beyond[up] * beyond[down] if numbers.public else beyond[max(up, down)]
            answer = (*([] if shown is None else [shown]), min(bins), max(bins), bins[2])
            expected[answer] = expected.get(answer, 0) + weight
        whole = sum(expected.values())
        assert law(draws, counts, shown) == {
            answer: Fraction(weight, whole) for answer, weight in expected.items()
        }


@pytest.mark.parametrize("levels", [Fraction(1, 12), Fraction(9, 4), Fraction(1001, 7)])
def test_weights_fall_by_no_more_than_a_step_costs(levels):
    sums = np.cumsum(falling_weights(levels)[::-1])[::-1]
    low = exponential_bounds(1 / levels)[0]
    assert all(one <= other * low for one, other in pairwise(sums))
    assert (
        0.99 < -math.log(sums[1] / sums[0]) * levels < 1 + 1e-9
        and min(falling_weights(levels)) >= 0
    )


def test_triples_in_order_are_counted_as_they_are_listed():
    """Starts and stops of the low end, of the high end, and of the point between."""
    rng, cases = np.random.default_rng(1), []
    for _ in range(200):
        starts, stops = (np.sort(rng.integers(0, 7, 3))[[0, 2, 1]] for _ in range(2))
        stops = np.maximum(starts, stops)
        listed = product(*map(range, starts.tolist(), stops.tolist()))
        cases.append((starts, stops, sum(low <= point <= high for low, high, point in listed)))
    starts, stops, counted = (np.array(each, dtype=object).T for each in zip(*cases, strict=True))
    assert (ordered_triples(starts, stops) == counted).all() and counted.max() > 20


def test_a_uniform_number_is_uniform():
    source = lw.seeded(1)
    drawn = np.bincount([uniform_below(5, source) for _ in range(5000)], minlength=5)
    assert drawn.sum() == 5000 and ((drawn - 1000) ** 2).sum() / 1000 < 27  # chi-square, 2e-5


class Given:
    """A source of given numbers, in words of 64 bits."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def words(self, count):
        return np.frombuffer(self.numbers.pop(0).to_bytes(8 * count, "little"), dtype="<u8")


def test_the_last_numbers_that_would_be_drawn_more_often_are_drawn_again():
    whole = 2 ** (64 * question_draws._WORDS)
    limit = whole - whole % 7
    assert uniform_below(7, Given(limit - 1)) == 6
    assert uniform_below(7, Given(limit, whole - 1, 9)) == 2


def test_a_place_is_picked_as_often_as_its_weight_says(monkeypatch):
    monkeypatch.setattr(question_draws, "uniform_below", lambda bound, source: source.pop())
    weights = np.array([0, 2, 1, 0, 3], dtype=object)
    found = [question_draws.picked(weights, [number]) for number in range(6)]
    assert np.bincount(found, minlength=5).tolist() == weights.tolist()


@pytest.mark.parametrize("relation", RELATIONS)
def test_an_end_whose_rank_is_that_of_nobody_is_the_end_of_the_range(relation, monkeypatch):
    """A rank that moves just to the first or beyond the last person says nothing either."""
    monkeypatch.setattr(QuantileDraws, "outward", 1)
    numbers = AskedNumbers(read("quantile 0.5"), TINY, Promise(relation, epsilon=1))
    draws, asked = QuantileDraws(numbers, LEVELS * STRENGTH), []
    within = QuantileDraws._within

    def counted(self, upto, ranks, step):
        asked.append(len(ranks))
        return within(self, upto, ranks, step)

    def middle_unless_open(self, starts, stops, source):
        ends = ((0, 0), (1, self.bins - 1))
        opened = [(starts[i] == end).all() and (stops[i] == end + 1).all() for i, end in ends]
        return [end if is_open else 1 for (_, end), is_open in zip(ends, opened, strict=True)] + [1]

    monkeypatch.setattr(QuantileDraws, "_within", counted)
    monkeypatch.setattr(QuantileDraws, "_apart", lambda self, tops, *_: [1] * len(tops))
    monkeypatch.setattr(QuantileDraws, "_in_order", middle_unless_open)
    step = numbers.moved[0]
    number, whole = numbers.probabilities[0][0], numbers.probabilities[1]
    alone = Fraction(step, number)
    for people, ranks in ((alone, 1), (alone + 1, 3)):
        found = draws._three(np.array([0, 1, 1, 2]), number, step, people, None)
        assert asked.pop() == ranks and whole == 2 * number
        assert found == ([0, 2, 1] if ranks == 1 else [1, 1, 1])


def test_a_budget_that_would_take_too_long_is_refused():
    with pytest.raises(PrivacyError, match="too small for a quantile"):
        lw.release(
            [1.0], TINY, epsilon="0.0001", neighbors="replace-one", questions=["quantile 0.5"]
        )


HARD = {
    "two modes": np.append(np.linspace(15, 25, 150), np.linspace(75, 85, 150)),
    "an empty part": np.linspace(0, 40, 300),
    "a range ten times too wide": np.linspace(0, 10, 300) ** 2 / 10,
    "atoms": np.repeat([10.0, 30, 31, 70], [90, 92, 89, 29]),
    "one value": np.full(300, 40.0),
}


@pytest.mark.parametrize(("epsilon", "probability"), [("0.1", 0.9), ("1", 0.9)])
@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_hold_on_hard_columns(probability, relation, epsilon):
    domain = lw.Interval(0, 100, bins=256, outside="clip").for_curator()
    asked = read(f"quantile {probability}")
    draws = QuestionDraws(domain, Promise(relation, epsilon=epsilon), budget_shares([asked], None))
    for values in HARD.values():
        counts, source, held = ExactCounts.of_values(values, draws.counted), lw.seeded(4), 0
        truth = np.quantile(values, probability, method="inverted_cdf")
        for _ in range(40):
            answer = answer_released(draws.draw(counts, source), asked)
            held += answer.low <= truth <= answer.high
            few = epsilon == "0.1"
            assert (
                answer.value is None if few else answer.value is None or answer.low <= answer.value
            )
        assert held >= 33  # binomial of 40 draws and 0.95: below with probability 1e-3


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("lower", [148, 152])
def test_intervals_hold_next_to_an_empty_range(lower, relation):
    """All people have one of two values, and the quantile is the last or the first of its value."""
    domain = lw.Interval(0, 100, bins=256, outside="clip").for_curator()
    asked = read("quantile 0.5")
    draws = QuestionDraws(domain, Promise(relation, epsilon=1), budget_shares([asked], None))
    values = np.repeat([0.1, 99.9], [lower, 300 - lower])
    counts, source, held = ExactCounts.of_values(values, draws.counted), lw.seeded(lower), 0
    for _ in range(200):
        answer = answer_released(draws.draw(counts, source), asked)
        held += answer.low <= values[149] <= answer.high
    assert held >= 172  # binomial of 200 draws and 0.92: below with probability 1e-3
