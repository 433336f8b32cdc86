"""The mechanism of least predicted error: what it is predicted from, and where it leads."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.decoders.releases.prefix_estimate import prefix_estimate
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.errors import ArgumentError
from lapwing.linear.operators.operator import dense
from lapwing.linear.operators.sums import NormalRoot
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.mechanisms.sum_tree import SumTree, TreeStrategy
from lapwing.planning.release_defaults import (
    UNKNOWN,
    mechanism_choice,
    predicted_error,
    recommended_mechanism,
)
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts

PURE = Promise("replace-one", epsilon=1)
MOVED = Promise("replace-one", epsilon=1, delta="1e-6")
NOISY = Promise("replace-one", epsilon="0.1", delta="1e-9")


def domain_of(bins):
    return Interval(0, 1, bins=bins, outside="clip").for_curator()


def least(bins, promise, expected=None):
    """Return the predicted error of the default."""
    domain = domain_of(bins)
    chosen = recommended_mechanism(domain, promise, expected=expected)
    return predicted_error(chosen, domain, promise, UNKNOWN if expected is None else (expected,))


def real_distance(mechanism, domain, promise, *, people, repeats):
    """Return the mean distance to the people, of releases of a normal column."""
    bins = domain.left.size
    places = (np.arange(bins) + 0.5) / bins
    column = np.exp(-((places - 0.5) ** 2) / 0.03)
    found = []
    for repeat in range(repeats):
        counts = np.zeros(domain.size, dtype=np.int64)
        rng = np.random.default_rng([repeat, bins])
        counts[:bins] = rng.multinomial(people, column / column.sum())
        release = mechanism.release(ExactCounts(domain, counts), promise, rng=seeded(repeat))
        mass = StepPursuit(band=False).decode(release.channel, release).mass
        found.append(np.abs(np.cumsum(mass - counts / people)).max())
    return float(np.mean(found))


@pytest.mark.parametrize("cells", [(2, 8, 13), (1, 4, 16), (9,), (1, 7), (16, 256, 300)])
def test_a_tree_is_inverted_without_its_matrix(cells):
    operator = TreeStrategy(cells).operator
    matrix, root = dense(operator), NormalRoot(operator)
    inverse = np.cumsum(np.linalg.pinv(matrix), axis=0)
    units = np.eye(operator.shape[1])
    assert dense(root) == pytest.approx(inverse, abs=1e-9)
    assert pytest.approx(inverse, abs=1e-9) == root.rmatmat(units).T
    assert root.squared_row_sums() == pytest.approx((inverse**2).sum(axis=1))


def test_an_error_is_the_posterior_of_the_curve():
    """With much noise it is the prior's, and with little noise it is that of the noise."""
    domain = domain_of(64)
    much, some, little = (
        predicted_error(SumTree(64), domain, Promise("replace-one", epsilon=epsilon), (10**6,))
        for epsilon in ("0.0000001", "0.1", "1")
    )
    assert much > 100 * some
    assert some / little == pytest.approx(10, rel=0.1)
    # Between two bins that hold all people: the noise of one count, of the two that are noisy.
    halves = domain_of(2)
    noise, _ = SumTree().noise_for(SumTree().strategy_for(halves, "replace-one"), PURE)
    expected = np.sqrt(float(noise.variance) / 2) / 10**6
    assert predicted_error(SumTree(), halves, PURE, (10**6,)) == pytest.approx(expected, rel=0.01)


def test_the_order_is_that_of_real_errors():
    domain = domain_of(256)
    mechanisms = [SumTree(16), PrefixSums(), HistogramQuery(16)]
    predicted = [predicted_error(one, domain, PURE, (100_000,)) for one in mechanisms]
    assert np.argsort(predicted).tolist() == [0, 1, 2]
    tree, sums = (
        real_distance(one, domain, PURE, people=100_000, repeats=4) for one in mechanisms[:2]
    )
    assert sums / tree == pytest.approx(predicted[1] / predicted[0], rel=0.5)


@pytest.mark.parametrize("bins", [64, 256, 1024])
@pytest.mark.parametrize("expected", [None, 300, 1_000_000])
def test_a_delta_never_makes_it_worse(bins, expected):
    assert least(bins, MOVED, expected) <= least(bins, PURE, expected) * (1 + 1e-12)


@pytest.mark.parametrize("promise", [PURE, NOISY], ids=["pure", "noisy"])
def test_there_is_no_cliff_between_neighboring_numbers_of_bins(promise):
    for bins in (64, 181, 256, 1024, 2047, 2048, 4096, 16383):
        one, more = least(bins, promise, 100_000), least(bins + 1, promise, 100_000)
        assert 1 / 1.15 < more / one < 1.15, bins


def test_the_last_number_of_bins_of_a_matrix_is_no_cliff():
    few, many = (
        real_distance(
            recommended_mechanism(domain_of(bins), PURE),
            domain_of(bins),
            PURE,
            people=100_000,
            repeats=3,
        )
        for bins in (2047, 2048)
    )
    assert many < 1.6 * few


def test_many_bins_have_a_default_that_can_be_decoded():
    domain = domain_of(2**14)
    made = recommended_mechanism(domain, PURE)
    counts = np.zeros(domain.size, dtype=np.int64)
    release = made.release(ExactCounts(domain, counts), PURE, rng=seeded(1))
    deviation = np.sqrt(prefix_estimate(release.channel, release).root.squared_row_sums())
    assert deviation.max() < 100
    with pytest.raises(ArgumentError, match=r"at most 16384 bins.*Use fewer bins$"):
        lw.release([0.5], Interval(0, 1, bins=2**14 + 1), neighbors="replace-one", epsilon=1)


def test_few_people_get_few_cells_and_only_where_they_are_expected():
    domain = domain_of(1024)
    weak = Promise("replace-one", epsilon="0.1")
    assert recommended_mechanism(domain, weak, expected=300).name == "histogram-query"
    assert recommended_mechanism(domain, weak, expected=300_000).name == "sum-tree"
    assert recommended_mechanism(domain, weak).name == "sum-tree"
    counted = Interval(0, 1, bins=1024).for_curator()
    assert counted.outside_indices
    assert recommended_mechanism(counted, weak, expected=300).name == "histogram-query"
    atoms = Interval(0, 1, bins=1024, atoms=[0], outside="clip").for_curator()
    assert recommended_mechanism(atoms, weak, expected=300).name == "sum-tree"


@pytest.mark.parametrize("bins", [64, 256])
@pytest.mark.parametrize("promise", ["0", "1e-6"])
@pytest.mark.parametrize("people", [10, 30, 100])
def test_people_of_whom_nothing_is_seen_get_few_cells(bins, promise, people):
    """Predicted errors of all mechanisms are then those of the priors. Real ones are not."""
    weak = Promise("replace-one", epsilon="0.1", delta=promise)
    made = recommended_mechanism(domain_of(bins), weak, expected=people)
    assert made == HistogramQuery(8)


@pytest.mark.parametrize("bins", [256, 1024, 4096])
@pytest.mark.parametrize(("epsilon", "people"), [(1, 100), ("0.1", 3000)])
def test_people_of_whom_atoms_are_seen_get_no_wide_cells(bins, epsilon, people):
    promise = Promise("replace-one", epsilon=epsilon)
    made = recommended_mechanism(domain_of(bins), promise, expected=people)
    assert made.name == "sum-tree"


def test_a_unit_has_the_noise_of_all_its_rows():
    """So 8 times the rows of 8 rows a unit are chosen for as single rows are."""
    single = Promise("add-or-remove-one", epsilon=1)
    unit = Promise("add-or-remove-one", epsilon=1, unit=lw.privacy.PrivacyUnit("user", 8))
    domain = domain_of(256)
    for mechanism in (SumTree(), HistogramQuery(16)):
        one = predicted_error(mechanism, domain, single, (10**6,))
        assert predicted_error(mechanism, domain, unit, (8 * 10**6,)) == pytest.approx(one, rel=0.1)
    assert "1,000,000 rows" in str(mechanism_choice(domain, unit)[1])


def test_the_rows_have_no_part_in_the_choice():
    how = {"neighbors": "replace-one", "epsilon": 1}
    ages = lw.Interval(0, 100, bins=256, outside="clip")
    few = lw.release([20, 30], ages, **how)
    many = lw.release(np.full(50_000, 40), ages, **how)
    assert (few.release + many.release).people == 50_002


def test_the_result_names_the_choice_and_the_next_one():
    made = lw.release(
        [20, 30] * 50,
        lw.Interval(0, 100, bins=256, outside="clip"),
        neighbors="replace-one",
        epsilon=1,
        expected=100,
        rng=seeded(1),
    )
    choice = made.distribution.provenance["choice"]
    assert choice == made.choice.to_document()
    assert choice["mechanism"] == made.release.mechanism.to_document()
    assert choice["runner_up"] != choice["mechanism"]
    assert choice["ratio"] >= 1
    assert choice["people"] == [100]
    assert "100 expected people" in str(made.choice)
    domain = made.release.domain
    assert "1,000 to 1,000,000 people" in str(mechanism_choice(domain, PURE)[1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"expected": 0}, "expected must be"),
        ({"expected": 10.5}, "expected must be"),
        ({"expected": 10, "mechanism": "sum-tree"}, "Leave out expected or mechanism"),
    ],
)
def test_expected_must_be_a_number_that_is_used(given, message):
    with pytest.raises(ArgumentError, match=message):
        lw.release([1], lw.Interval(0, 2, bins=8), neighbors="replace-one", epsilon=1, **given)


@pytest.mark.parametrize("epsilon", [8, 16])
def test_noise_of_less_than_a_person_is_gaussian_where_a_delta_allows_it(epsilon: int) -> None:
    """Laplace noise is then mostly zero, and 55% of a pointwise band held at epsilon 16."""
    domain = lw.Interval(0, 100, bins=512, outside="clip")
    promise = Promise("add-or-remove-one", epsilon=epsilon, delta="1e-6")
    made, choice = mechanism_choice(domain, promise)
    assert isinstance(made, PrefixSums) and choice is not None
    pure, _ = mechanism_choice(domain, Promise("add-or-remove-one", epsilon=epsilon))
    assert isinstance(pure, SumTree)
