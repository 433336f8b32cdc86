"""Releases that start again over the same people: their parts of a promise add up to it."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import ArgumentError, BudgetError, PrivacyError
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.survey.curator_release import release

DOMAIN = Interval(0, 1, bins=32, outside="clip")
APPROXIMATE = Promise("replace-one", epsilon=1, delta="1e-6")
PURE = Promise("replace-one", epsilon=1)
CASES = [
    (AdaptiveQuantiles(9), APPROXIMATE, "mu"),
    (AdaptiveQuantiles(9), PURE, "epsilon"),
    (MatchingPursuit(3, atoms=8), APPROXIMATE, "rho"),
    (MatchingPursuit(3, atoms=8), PURE, "epsilon"),
    (MatchingPursuit(3, atoms=8, form="published"), APPROXIMATE, "epsilon"),
    (PrefixSums(), Promise("replace-one", mu=1), "mu"),
    (PrefixSums(), Promise("replace-one", rho="0.1"), "mu"),
]


@pytest.mark.parametrize(("mechanism", "promise", "kind"), CASES)
@pytest.mark.parametrize("releases", [1, 3, 10])
def test_all_together_keep_the_promise_and_one_more_would_not(mechanism, promise, kind, releases):
    each = promise.split(releases, mechanism, DOMAIN)
    assert getattr(each, kind) is not None
    one = mechanism.loss(DOMAIN, each)
    together = sum([one] * (releases - 1), one)
    assert promise.allows(together)
    assert not promise.allows(together + one)


def test_a_ledger_pays_for_as_many_rounds_as_were_planned(tmp_path):
    rounds, mechanism = 4, MatchingPursuit(3, atoms=8)
    each = APPROXIMATE.split(rounds, mechanism, DOMAIN)
    ledger = Ledger.open(tmp_path / "budget.json")
    Ledger(Guarantee(1, "1e-6", "replace-one", "central")).save(ledger.path)
    rng = np.random.default_rng(1)
    everyone = ExactCounts.of_values(rng.random(100), DOMAIN)
    for number in range(rounds):
        found = release(
            everyone,
            neighbors="replace-one",
            rho=each.rho,
            mechanism=mechanism,
            ledger=ledger,
        )
        assert found.release.people == 100 * (number + 1)
        everyone = everyone + ExactCounts.of_values(rng.random(100), DOMAIN)
    with pytest.raises(BudgetError):
        release(
            everyone,
            neighbors="replace-one",
            rho=each.rho,
            mechanism=mechanism,
            ledger=ledger,
        )


def test_parts_are_larger_than_those_of_epsilon_and_delta():
    each = APPROXIMATE.split(10, AdaptiveQuantiles(9), DOMAIN)
    split = Promise("replace-one", epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))
    tight, loose = (AdaptiveQuantiles(9).noise_of(one)[0].variance for one in (each, split))
    assert 5 * tight < loose


def test_refusals():
    with pytest.raises(ArgumentError, match="releases"):
        PURE.split(0, AdaptiveQuantiles(9), DOMAIN)
    tiny = Promise("replace-one", epsilon="1e-12")
    with pytest.raises(PrivacyError):
        tiny.split(2, AdaptiveQuantiles(9), DOMAIN)


def test_a_domain_without_bins_is_told_which_bins() -> None:
    """It said to call `recommend`, which is for reports."""
    promise = Promise("replace-one", epsilon=1)
    with pytest.raises(ArgumentError, match="split needs the number of bins"):
        promise.split(10, AdaptiveQuantiles(20), Interval(0, 1))
