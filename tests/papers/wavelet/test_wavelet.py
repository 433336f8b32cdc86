"""The wavelet expansion's people and levels, against the paper's rules and by enumeration."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from lapwing.errors import ArgumentError, DomainError, LapwingWarning, ReportError
from lapwing.papers.wavelet.signed_subset_selection import closed_forms, optimal_members
from lapwing.papers.wavelet.wavelet import (
    Wavelet,
    allocate,
    allocation_shares,
    best_levels,
    coefficient_variance,
    error_bound,
    paper_levels,
)
from lapwing.papers.wavelet.wavelet_clip import WaveletClip
from lapwing.planning.simulation import simulate
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain_documents import build
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers.mixture import COIN
from lapwing.testing.randomizer_contract import exact_law, exact_ratio
from tests.false_alarms import accepts, multinomial_tail
from tests.signed_decoder import signed_estimate

UNIT = Interval(0, 1, bins=16, closed="left")  # as the functions psi are


def psi(j: int, k: int, x: float) -> int:
    """Equation 15 without its scale, the last cell closed: +1, -1 or 0."""
    position = x * 2**j - k
    if x == 1 and k == 2**j - 1:
        return -1
    if 0 <= position < 0.5:
        return 1
    return -1 if 0.5 <= position < 1 else 0


def test_every_bin_has_one_signed_coordinate_at_every_level() -> None:
    wavelet = Wavelet(UNIT, 1, levels=4)
    assert [part.randomizer.domain.size for part in wavelet.groups] == [2, 4, 8, 16]
    for x in [*(np.arange(64) / 64).tolist(), 1.0]:
        symbol = int(UNIT.index([x])[0])
        for j, part in enumerate(wavelet.groups):
            expected = [psi(j, k, x) for k in range(2**j)]
            assert sum(map(abs, expected)) == 1
            cell = symbol * part.randomizer.domain.size // UNIT.size
            found = [0] * 2**j
            found[cell // 2] = 1 - 2 * (cell % 2)
            assert found == expected
            # The block that a decoder gets agrees: near the value the counts are largest.
            mean = wavelet.channel.blocks[j].mean(np.eye(UNIT.size)[symbol])
            assert int(np.argmax(mean)) == cell
    assert int(UNIT.index([1.0])[0]) == UNIT.size - 1


def test_groups_have_their_shares_and_know_nothing_of_the_value() -> None:
    wavelet = Wavelet(UNIT, 3, levels=4)
    people = 400_000
    values = np.where(np.arange(people) % 4 == 0, 0.99, 0.01)
    groups = wavelet.randomize(values, rng=seeded(5)).data[:, 0]
    shares = np.array([part.share / COIN for part in wavelet.groups])
    assert np.ptp(shares) > 0.01
    table = np.array([np.bincount(groups[values > 0.5]), np.bincount(groups[values < 0.5])])
    for row in table:
        assert accepts(multinomial_tail(row, shares))
        assert not accepts(multinomial_tail(row, np.full(4, 0.25)))
    joint = np.concatenate([0.25 * shares, 0.75 * shares])
    assert accepts(multinomial_tail(table.ravel(), joint))
    assert np.abs(table.sum(axis=0) - allocate(people, 4, 3)).max() < 7 * people**0.5 / 2


@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_whole_mixture_has_exactly_its_epsilon(epsilon: float) -> None:
    wavelet = Wavelet(Interval(0, 1, bins=8), epsilon, levels=3)
    ratios = []
    for part in wavelet.groups:
        cells = part.randomizer.domain.size
        ratios.append(exact_ratio([exact_law(part.randomizer, cell) for cell in range(cells)]))
    certificate = wavelet.certificate()
    assert certificate.ratio == max(ratios) and certificate.holds and certificate.loss < 1e-15
    assert sum(part.share for part in wavelet.groups) == COIN


def printed_variance(j: int, epsilon: float, factor: int) -> float:
    """Equation 75 by a search over m, with `factor` times q."""
    d, f = 2**j, math.exp(-epsilon)
    values = []
    for m in range(1, d + 1):
        form = closed_forms(d, m, epsilon)
        gain = form.own * (1 - f)
        values.append(form.own * (1 + f) / gain**2 + factor * form.other * (d - 1) / gain**2)
    return 2**j * min(values)


def test_coefficient_variance_by_search_and_its_rates() -> None:
    for j in range(8):
        for epsilon in (0.5, 1, 2, 5):
            found = coefficient_variance(j, epsilon)
            assert found == pytest.approx(printed_variance(j, epsilon, 2), rel=1e-12)
            if j:
                assert found > 1.05 * printed_variance(j, epsilon, 1) or epsilon >= 2
    # Lemma 7: 4^j / epsilon^2 below 1, 2^j for epsilon > j.
    assert coefficient_variance(9, 0.5) / coefficient_variance(8, 0.5) == pytest.approx(4)
    assert coefficient_variance(5, 0.01) / coefficient_variance(5, 0.02) == pytest.approx(
        4, rel=1e-3
    )
    slope = math.log2(coefficient_variance(9, 16) / coefficient_variance(2, 16)) / 7
    assert slope == pytest.approx(1, abs=0.01)


def test_measured_variance_of_the_coefficients() -> None:
    """Everybody at level 3, epsilon 1.5: the sum over k of the variances, about those people."""
    d, epsilon, reports, repeats = 8, 1.5, 2_000, 2_500
    part = Wavelet(UNIT, epsilon, levels=4).groups[3].randomizer
    m = optimal_members(d, epsilon)
    assert 1 < m < d
    people = np.zeros(16, dtype=np.int64)
    people[[0, 5, 6, 15]] = 800, 200, 600, 400
    (block,) = part.channel.blocks
    rng = np.random.default_rng(3)
    draws = np.array(
        [block.law.differences(block.sample(people, rng), reports) for _ in range(repeats)]
    )
    measured = d * draws.var(axis=0).sum()
    right = (coefficient_variance(3, epsilon) - d) / reports
    form, f = closed_forms(d, m, epsilon), math.exp(-epsilon)
    gain = form.own * (1 - f)
    printed = d / reports * (form.own * (1 + f) / gain**2 - 1 + form.other * (d - 1) / gain**2)
    assert measured == pytest.approx(right, rel=0.03)
    assert measured != pytest.approx(printed, rel=0.3)
    # Equation 117 at a coordinate where nobody is: 2 q, measured, against the printed q.
    empty = draws[:, 1].var() * reports * gain**2
    assert empty == pytest.approx(2 * form.other, rel=0.1)
    assert empty > 1.8 * form.other


@pytest.mark.parametrize("epsilon", [0.5, 1, 1.5, 3, 6])
def test_allocation_minimizes_the_bound(epsilon: float) -> None:
    levels = 6
    variances = np.array([coefficient_variance(j, epsilon) / 4 ** (j + 1) for j in range(levels)])

    def objective(logits: np.ndarray) -> float:
        shares = np.exp(logits - logits.max())
        return float(np.log((variances / (shares / shares.sum())).sum()))

    best = minimize(objective, np.zeros(levels), method="BFGS", options={"gtol": 1e-10})
    shares = allocation_shares(levels, epsilon)
    assert math.exp(objective(np.log(shares)) - best.fun) == pytest.approx(1, abs=1e-6)
    found = np.exp(best.x - best.x.max())
    assert np.allclose(shares, found / found.sum(), atol=1e-5)
    equal = np.allclose(shares, 1 / levels, rtol=1e-12)
    assert equal == (epsilon <= 1)


@pytest.mark.parametrize(("users", "levels"), [(10, 10), (100_003, 10), (999_999, 7), (13, 1)])
def test_everybody_gets_a_level(users: int, levels: int) -> None:
    for epsilon in (1, 4):
        people = allocate(users, levels, epsilon)
        assert people.sum() == users and people.dtype == np.int64
        ideal = allocation_shares(levels, epsilon) * users
        assert (people >= np.floor(ideal)).all() and (people <= np.floor(ideal) + 1).all()
    assert allocate(100, 4, 3, allocation="uniform").tolist() == [25] * 4


def test_the_paper_s_rule_for_j() -> None:
    for users, j in ((100_000, 9), (10**6, 10), (2**18, 9), (2**18 + 1, 10), (1, 0), (2, 1)):
        assert paper_levels(users) == j + 1
        assert j == math.ceil(math.log2(users) / 2)


def test_the_bound_and_its_minimum() -> None:
    for epsilon, expected in ((0.5, 6), (1, 7)):
        table = []
        for j in range(12):
            people = allocate(10**5, j + 1, epsilon)
            total = sum(
                printed_variance(i, epsilon, 2) / (4 ** (i + 1) * people[i]) for i in range(j + 1)
            )
            table.append(2.0 ** -(j + 1) + math.sqrt(total))
            assert error_bound(j + 1, 10**5, epsilon) == pytest.approx(table[-1], rel=1e-4)
        assert int(np.argmin(table)) == expected
        assert best_levels(10**5, epsilon) == expected + 1
        assert (
            Wavelet(Integers(0, 4095, outside="clip"), epsilon, users=10**5).levels == expected + 1
        )
    assert error_bound(6, 1000, 4, allocation="uniform") > error_bound(6, 1000, 4)


@pytest.mark.parametrize("levels", [3, 6, 9])
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_the_measured_error_is_below_the_bound(levels: int, epsilon: float) -> None:
    domain, users = Interval(0, 1, bins=1024, outside="clip"), 50_000
    rng = np.random.default_rng(8)
    counts = np.bincount(domain.index(np.round(rng.beta(5, 2, users), 1)), minlength=1024)
    wavelet = Wavelet(domain, epsilon, levels=levels)
    errors = []
    for _ in range(10):
        tally = simulate(wavelet, counts, rng=rng)
        raw = WaveletClip(mass_sums=False, band=False)
        answer = signed_estimate(raw, wavelet.channel, tally)
        errors.append(np.abs(np.cumsum(answer.mass - counts / users)).mean())
    assert np.mean(errors) < error_bound(levels, users, epsilon)
    # A bound that ignores the noise, or the bins, would be too low on this column of atoms.
    assert np.mean(errors) > 0.05 * error_bound(levels, users, epsilon)


def test_levels_by_rule_by_number_and_by_the_symbols() -> None:
    assert Wavelet(UNIT, 1).levels == 4
    assert Wavelet(Interval(0, 1, bins=100, outside="clip"), 1)._cell_number == 64
    assert (
        Wavelet(Interval(0, 1, bins=4096, outside="clip"), 1, levels="paper", users=10**5).levels
        == 10
    )
    assert Wavelet(UNIT, 1, levels="bound", users=10**5).levels == 4
    assert Wavelet(UNIT, 1, levels=2, users=10**5).levels == 2
    with pytest.warns(LapwingWarning, match="asks for 10 levels.*allows 4"):
        capped = Wavelet(UNIT, 1, levels="paper", users=10**5)
    assert capped.levels == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = build(capped.to_document(), {"wavelet": Wavelet}, name="a randomizer")
    assert again == capped and again.fingerprint == capped.fingerprint


def test_fields_make_the_fingerprint() -> None:
    one = Wavelet(UNIT, 3, levels=4)
    prints = {
        randomizer.fingerprint
        for randomizer in (
            one,
            Wavelet(UNIT, 3, levels=3),
            Wavelet(UNIT, 3, levels=4, allocation="uniform"),
            Wavelet(UNIT, 2, levels=4),
        )
    }
    assert len(prints) == 4 and Wavelet(UNIT, "3", levels=4).fingerprint == one.fingerprint
    assert one.epsilon == Fraction(3)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(DomainError, match="Use at most 4 levels"):
        Wavelet(UNIT, 1, levels=5)
    with pytest.raises(ArgumentError, match="needs the number of users"):
        Wavelet(UNIT, 1, levels="paper")
    with pytest.raises(ArgumentError, match="one person per level, 4 in all"):
        Wavelet(UNIT, 1, levels=4, users=3)
    with pytest.raises(ArgumentError, match="one person per level, 10 in all"):
        allocate(9, 10, 1)
    with pytest.raises(DomainError, match="Interval or Integers"):
        Wavelet(Categories(8), 1)
    with pytest.raises(DomainError, match="at least 2"):
        Wavelet(Interval(0, 1, bins=1), 1)
    with pytest.raises(DomainError, match="missing"):
        Wavelet(Interval(0, 1, bins=16, missing="bin"), 1)
    assert Wavelet(Interval(0, 1, bins=15, missing="bin"), 1)._cell_number == 16


def test_reports_of_no_group_or_with_padding_are_refused() -> None:
    wavelet = Wavelet(Interval(0, 1, bins=64, outside="clip"), 3)
    data = wavelet.randomize(np.full(50, 0.3), rng=seeded(1)).data
    assert data.shape == (50, 9)
    for record in ([6, *[0] * 8], [0, 1, 1, *[0] * 6], [0, 0b10, *[0] * 7], [5, *[0] * 8]):
        wrong = data.copy()
        wrong[7] = record
        with pytest.raises(ReportError, match="position 7") as error:
            wavelet.tally(Reports(wrong, wavelet.fingerprint))
        assert error.value.position == 7
    assert wavelet.tally(Reports(data, wavelet.fingerprint)).total == 50
