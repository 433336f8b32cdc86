"""Signed subset selection against the paper's formulas, enumeration and a rejection sampler."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import (
    ArgumentError,
    DomainError,
    MismatchError,
    ReportError,
    UnsupportedChannelError,
)
from lapwing.linear.operators.operator import PairSymmetric, dense
from lapwing.papers.wavelet.signed_subset_selection import (
    SignedSubsetSelection,
    closed_forms,
    optimal_members,
    summed_variance,
)
from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.protocol.channels.channel import Multinomial
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.testing.randomizer_contract import exact_law, exact_ratio
from tests.false_alarms import (
    REPORTS_PER_VALUE,
    accepts,
    multinomial_tail,
)
from tests.randomizers.numerical.signed_sets import (
    SMALL,
    all_vectors,
    sent,
    signed,
    vector,
    vectors_law,
)

E = math.e


@pytest.mark.parametrize(("d", "m"), SMALL)
def test_every_set_has_the_law_of_equation_45(d: int, m: int) -> None:
    randomizer = signed(d, 1, m)
    everything = set(all_vectors(d, m))
    near = math.comb(d - 1, m - 1) * 2 ** (m - 1)
    inside = Fraction(randomizer._threshold, WORD * near)
    outside = Fraction(WORD - randomizer._threshold, WORD * (len(everything) - near))
    for value in range(2 * d):
        coordinate, sign = value // 2, 1 - 2 * (value % 2)
        law = vectors_law(randomizer, value)
        assert set(law) == everything
        for y, chance in law.items():
            assert chance == (inside if y[coordinate] == sign else outside)
    assert len(everything) == math.comb(d, m) * 2**m


@pytest.mark.parametrize(("d", "m"), SMALL)
@pytest.mark.parametrize("epsilon", [0.1, 5])
def test_worst_ratio_is_exact_and_one_more_unit_breaks_it(d: int, m: int, epsilon: float) -> None:
    randomizer = signed(d, epsilon, m)
    certificate = randomizer.certificate()
    laws = [exact_law(randomizer, value) for value in range(2 * d)]
    assert exact_ratio(laws) == certificate.ratio
    assert certificate.holds and certificate.loss < 1e-15
    loose = dataclasses.replace(randomizer)
    loose.__dict__["_threshold"] = randomizer._threshold + 1
    assert not loose.certificate().holds
    assert exact_ratio([exact_law(loose, value) for value in range(2 * d)]) > certificate.bound


def test_four_coordinates_two_members_by_hand() -> None:
    randomizer = signed(4, 1, 2)
    law = vectors_law(randomizer, 0)
    assert len(law) == 24
    mean = [sum(chance * y[k] for y, chance in law.items()) for k in range(4)]
    assert mean[1:] == [0, 0, 0]
    # p (1 - f) = 2 (e - 1) / (2 e + 6)
    assert float(mean[0]) == pytest.approx(0.3005, abs=5e-5)


def printed_algorithm_2(d: int, m: int, epsilon: float) -> dict[tuple[int, ...], float]:
    """The law of a report of +e_0 as the paper prints algorithm 2: the others picked get +1."""
    p = closed_forms(d, m, epsilon).own
    law: dict[tuple[int, ...], float] = {}
    for own, chance in ((1, p), (-1, p / math.exp(epsilon)), (0, 1 - p * (1 + math.exp(-epsilon)))):
        picks = list(itertools.combinations(range(1, d), m - (own != 0)))
        for pick in picks:
            y = (own, *(int(k in pick) for k in range(1, d)))
            law[y] = law.get(y, 0.0) + chance / len(picks)
    return law


def test_the_printed_algorithm_2_is_neither_private_nor_unbiased() -> None:
    law = printed_algorithm_2(4, 2, 1)
    assert sum(law.values()) == pytest.approx(1)
    mean = [sum(chance * y[k] for y, chance in law.items()) for k in range(4)]
    assert mean == pytest.approx([0.3005, 0.45, 0.45, 0.45], abs=1e-3)
    # A -1 is possible at the own coordinate only: for +e_1 this report is impossible.
    assert law[(-1, 1, 0, 0)] > 0
    exchanged = {(y[1], y[0], *y[2:]): chance for y, chance in law.items()}
    assert (-1, 1, 0, 0) not in exchanged


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_closed_forms_equal_the_binomials_of_lemmas_2_and_3(epsilon: float) -> None:
    odds, comb = math.exp(epsilon), math.comb
    for d in range(1, 13):
        for m in range(1, d + 1):
            same = comb(d - 1, m - 1) * 2 ** (m - 1)
            omega = same * odds + same + comb(d - 1, m) * 2**m
            if m == 1:
                q = 1 / omega if d > 1 else 0.0
            else:
                q = comb(d - 2, m - 2) * 2 ** (m - 2) * (odds + 1) + comb(d - 2, m - 1) * 2 ** (
                    m - 1
                )
                q /= omega
            found = closed_forms(d, m, epsilon)
            assert found == pytest.approx((omega / same, same * odds / omega, q), rel=1e-12)
            law = signed(d, epsilon, m)._law
            assert (law.own, law.other) == pytest.approx((found.own, found.other), rel=1e-12)
            assert law.opposite == pytest.approx(found.own / odds, rel=1e-12)


def test_closed_forms_at_a_million_coordinates() -> None:
    d = 2**20
    for m in (1, 2, d // 3, d - 1, d):
        form = closed_forms(d, m, 1)
        assert all(map(math.isfinite, form))
        assert form.own * (1 + 1 / E) + 2 * (d - 1) * form.other == pytest.approx(m, rel=1e-12)
    randomizer = signed(d, 1)
    assert randomizer._members == d and randomizer.certificate().holds
    law = randomizer._law
    assert law.own + law.opposite <= 1 and law.present == 1
    # The smallest legal epsilon on the most coordinates still tells near from far.
    assert 1 < signed(d, 1e-12, 1).certificate().ratio < 1 + 2e-12


def variance_with(factor: int, d: int, m: int, epsilon: float) -> float:
    """Equation 75 without 2^j, with `factor` times q: 1 as printed, 2 as is right."""
    f = math.exp(-epsilon)
    form = closed_forms(d, m, epsilon)
    gain = form.own * (1 - f)
    return form.own * (1 + f) / gain**2 + factor * form.other * (d - 1) / gain**2


def test_the_variance_by_two_formulas_and_by_enumeration() -> None:
    for d, m, epsilon in [(1, 1, 1), (4, 2, 1), (4, 4, 0.3), (12, 5, 2), (64, 1, 5)]:
        expected = variance_with(2, d, m, epsilon)
        assert summed_variance(d, m, epsilon) == pytest.approx(expected, rel=1e-12)
    randomizer = signed(4, 1, 2)
    law = vectors_law(randomizer, 0)
    at_zero = sum(chance * y[1] ** 2 for y, chance in law.items())
    q = closed_forms(4, 2, 1).other
    # Equation 117 prints q. The mean is zero, so the second moment is the variance.
    assert float(at_zero) == pytest.approx(2 * q, rel=1e-12)
    gain = randomizer._law.gain
    about_mean = sum(float(chance) * sum(e * e for e in y) for y, chance in law.items()) - gain**2
    assert about_mean / gain**2 == pytest.approx(summed_variance(4, 2, 1) - 1, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1, math.log(3) + 1e-3, 1.5, 2, 3, 4, 8])
def test_the_best_size_is_that_of_a_search(epsilon: float) -> None:
    for d in range(1, 65):
        best = min(range(1, d + 1), key=lambda m: variance_with(2, d, m, epsilon))
        found = optimal_members(d, epsilon)
        assert variance_with(2, d, found, epsilon) == pytest.approx(
            variance_with(2, d, best, epsilon), rel=1e-13
        )
        if epsilon <= 1:
            assert found == d


def test_the_printed_variance_chooses_other_sizes() -> None:
    for d, right, printed in ((4, 1, 2), (256, 80, 81)):
        sizes = range(1, d + 1)
        assert min(sizes, key=lambda m: variance_with(1, d, m, 2)) == printed
        assert optimal_members(d, 2) == right


def test_against_plain_subset_selection_of_twice_the_symbols() -> None:
    def plain(d: int, epsilon: float) -> float:
        """Summed variance of differences of memberships, at the best size of plain sets."""
        k, best = 2 * d, math.inf
        for size in range(1, k):
            own = size * math.exp(epsilon) / (size * math.exp(epsilon) + k - size)
            other = (size - own) / (k - 1)
            ins, outs = own * (size - 1), (1 - own) * size
            both = (size - 1) * (own * (size - 2) + outs) / ((k - 1) * (k - 2))
            second = size - 2 * (ins / (k - 1) + (d - 1) * both)
            best = min(best, second / (own - other) ** 2)
        return best

    for d, expected in ((4, (1.65, 1.40, 1.00, 1.00)), (16, (1.82, 1.53, 1.13, 1.00))):
        for epsilon, ratio in zip((0.5, 1, 2, 4), expected, strict=True):
            ours = summed_variance(d, optimal_members(d, epsilon), epsilon)
            # About the people who reported: 1 less on both sides.
            assert (plain(d, epsilon) - 1) / (ours - 1) == pytest.approx(ratio, abs=0.006)


def rejection_sampler(
    d: int, m: int, epsilon: float, number: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Section 4.6, first paragraph, for +e_0: accept any set, by e^-epsilon without own sign."""
    accepted: list[np.ndarray] = []
    tried = kept = 0
    while kept < number:
        y = np.zeros((number, d), dtype=np.int64)
        y[:, :m] = rng.choice((-1, 1), size=(number, m))
        y = rng.permuted(y, axis=1)
        good = (y[:, 0] == 1) | (rng.random(number) < math.exp(-epsilon))
        accepted.append(y[good])
        tried, kept = tried + number, kept + int(good.sum())
    return np.concatenate(accepted)[:number], kept / tried


def counted(rows: np.ndarray, order: list[tuple[int, ...]]) -> np.ndarray:
    place = {y: i for i, y in enumerate(order)}
    return np.bincount([place[tuple(row)] for row in rows.tolist()], minlength=len(order))


def test_the_fast_sampler_has_the_law_of_the_rejection_sampler() -> None:
    d, m, number = 4, 2, REPORTS_PER_VALUE
    order = all_vectors(d, m)
    law = vectors_law(signed(d, 1, m), 0)
    chances = np.array([float(law[y]) for y in order])
    slow, acceptance = rejection_sampler(d, m, 1, number, np.random.default_rng(1))
    fast = sent(signed(d, 1, m), np.zeros(number, dtype=int), 2)
    assert accepts(multinomial_tail(counted(slow, order), chances))
    assert accepts(multinomial_tail(counted(fast, order), chances))
    # Omega / (24 e): between e^-1 and 1, about e^-epsilon where few sets have the own sign.
    assert acceptance == pytest.approx((6 * E + 18) / (24 * E), abs=0.01)
    # Two samples: given the pooled counts of a set, each sampler sent half of them.
    two = np.array([counted(slow, order), counted(fast, order)]).ravel()
    pooled = np.tile(two.reshape(2, -1).sum(axis=0), 2) / (2 * two.sum())
    assert accepts(multinomial_tail(two, pooled))
    printed = printed_algorithm_2(d, m, 1)
    rng = np.random.default_rng(3)
    wrong = rng.multinomial(number, [printed.get(y, 0.0) for y in order])
    assert not accepts(multinomial_tail(wrong, chances))


@pytest.mark.parametrize(
    ("d", "m"),
    [
        *[(1, 1), (2, 2), (4, 3)],
        *(pytest.param(*one, marks=pytest.mark.soak) for one in [(2, 1), (3, 2), (4, 1), (4, 4)]),
    ],
)
def test_reports_of_every_size_have_the_exact_law(d: int, m: int) -> None:
    order = all_vectors(d, m)
    randomizer = signed(d, 2, m)
    for value in (0, 2 * d - 1):
        law = vectors_law(randomizer, value)
        chances = np.array([float(law[y]) for y in order])
        found = counted(sent(randomizer, np.full(REPORTS_PER_VALUE, value), 10 * d + m), order)
        assert accepts(multinomial_tail(found, chances))
        other = vectors_law(signed(d, 2.2, m), value)
        wrong = np.array([float(other[y]) for y in order])
        assert not accepts(multinomial_tail(found, wrong))


def test_one_member_is_randomized_response_on_the_signed_symbols() -> None:
    for d in (1, 2, 5):
        ours = signed(d, 1.5, 1)
        theirs = RandomizedResponse(Categories(2 * d), 1.5)
        assert ours._threshold == theirs._threshold
        assert ours.certificate().ratio == theirs.certificate().ratio
        one, two = dense(ours.channel.blocks[0].operator), dense(theirs.channel.blocks[0].operator)
        assert np.allclose(one, two, rtol=1e-14)
        mass = np.random.default_rng(d).dirichlet(np.ones(2 * d))
        multinomial = Multinomial().covariance(theirs.channel.blocks[0].operator, mass)
        assert np.allclose(ours.channel.blocks[0].covariance(mass).dense(), multinomial.dense())
        rows = list(ours._law.likelihood_rows(PairSymmetric(d, own=1, opposite=0, other=0), 0, 0))
        assert len(rows) == 1


@pytest.mark.parametrize(("d", "m"), [(4, 2), (4, 4), (13, 5), (13, 13), (8, 1)])
def test_tally_counts_what_was_sent(d: int, m: int) -> None:
    randomizer = signed(d, 1, m)
    values = np.random.default_rng(d).integers(0, 2 * d, size=5000)
    reports = randomizer.randomize(values, rng=seeded(1))
    tally = randomizer.tally(reports)
    y = np.array([vector(randomizer, bytes(row)) for row in reports.data])
    assert (np.abs(y).sum(axis=1) == m).all()
    expected = np.stack([(y == 1).sum(axis=0), (y == -1).sum(axis=0)], axis=1).ravel()
    assert np.array_equal(tally.blocks[0], expected) and tally.reports == (5000,)
    randomizer.channel.check(tally)
    parts = randomizer.tally(reports[:1234]) + randomizer.tally(reports[1234:])
    assert parts == tally
    again = randomizer.randomize(values, rng=seeded(1))
    assert np.array_equal(again.data, reports.data)


def test_words_are_read_in_the_stated_order() -> None:
    randomizer = signed(3, 1, 2)
    near, far = 0, WORD - 1
    # Near; of the other two, number 3 of 4 leaves the first out of one place, number 0 of 2: plus.
    assert vector(randomizer, randomizer.from_words(0, iter([near, far, near]))) == (1, 0, 1)
    # Not near, below m of 2d - m = 4: the other sign; then minus at the first of the others.
    words = iter([far, WORD // 4, WORD // 4 + 1, far])
    assert vector(randomizer, randomizer.from_words(2, words)) == (-1, -1, 0)
    # Not near, at or above m: out, and both others must be in.
    words = iter([far, far, near, far])
    assert vector(randomizer, randomizer.from_words(5, words)) == (1, -1, 0)
    assert randomizer.from_words(5, iter([far, far, near, far])) == bytes([0b011, 0b010])
    assert signed(3, 1, 3).from_words(5, iter([far, far, near, far])) == bytes([0b010])


def test_impossible_reports_are_refused_by_position() -> None:
    randomizer = signed(4, 1, 2)
    good = randomizer.randomize(np.zeros(5, dtype=int), rng=seeded(1)).data
    for wrong in ([0b0111, 0], [0b0001, 0], [0b10001, 0], [0b0011, 0b0100], [0b0011, 0b10000]):
        data = np.vstack([good, np.array([wrong], dtype=np.uint8), good])
        with pytest.raises(ReportError, match="position 5") as error:
            randomizer.tally(Reports(data, randomizer.fingerprint))
        assert error.value.position == 5
    full = signed(4, 1, 4)
    with pytest.raises(ReportError, match="position 0"):
        full.tally(Reports(np.array([[0b10000]], dtype=np.uint8), full.fingerprint))
    with pytest.raises(ReportError, match="2 bytes"):
        randomizer.tally(Reports(good[:, :1].copy(), randomizer.fingerprint))
    with pytest.raises(MismatchError):
        randomizer.tally(Reports(good.copy(), full.fingerprint))


def test_wrong_labels_and_arguments_are_refused() -> None:
    with pytest.raises(DomainError, match="even number"):
        SignedSubsetSelection(Categories(5), 1)
    with pytest.raises(DomainError, match=r"must have 2 to 2\^21 symbols"):
        SignedSubsetSelection(Categories(2**21 + 2), 1)
    with pytest.raises(ArgumentError, match=r"from 1 to 4"):
        signed(4, 1, 5)
    with pytest.raises(DomainError, match="symbol"):
        signed(4, 1).from_words(8, iter([0]))
    with pytest.raises(UnsupportedChannelError, match="columns that miss"):
        signed(4, 1, 2)._law.check(PairSymmetric(4, own=0.5, opposite=0.2, other=0.1))
    with pytest.raises(UnsupportedChannelError, match="up to 4096"):
        big = signed(2**13, 2)
        big.channel.blocks[0].covariance(np.full(2**14, 2.0**-14))
