"""Sums of releases state whose they are: different people, or the same, whose losses compose."""

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.privacy import PrivacyLoss, Promise
from lapwing.results.counted import whom
from lapwing.survey.publication import Publication

AGES = lw.Interval(0, 100, bins=64)
VALUES = np.random.default_rng(1).gamma(4, 10, 2000)
HOW = {"neighbors": "add-or-remove-one", "delta": "1e-6"}


def months(
    number: int, epsilon: str = "0.5", domain: lw.Interval = AGES, smooth: int = 40
) -> list[lw.Release]:
    how: dict[str, Any] = HOW | {"mechanism": lw.mechanisms.PrefixSums(smooth=smooth)}
    return [lw.release(VALUES, domain, epsilon=epsilon, **how).release for _ in range(number)]


def test_a_sum_of_the_same_people_costs_what_a_ledger_says() -> None:
    ledger = lw.Ledger(lw.Guarantee(2, "1e-6", "add-or-remove-one", "central"))
    each = months(12)
    for number, release in enumerate(each):
        ledger = ledger.spend(f"month {number}", release.guarantee, loss=release.parts[0].loss)
    whole = lw.Release.sum_of(each, people="same")
    assert ledger.spent is not None
    assert whole.guarantee.epsilon == pytest.approx(float(ledger.spent.epsilon), abs=1e-9)
    assert whole.guarantee.epsilon > 1.9 and whole.guarantee.delta == Fraction(1, 10**6)
    loss = sum([release.parts[0].loss for release in each], PrivacyLoss())
    assert loss.within(whole.guarantee.epsilon, whole.guarantee.delta)


def test_plus_means_different_people_and_says_so() -> None:
    one, two = months(2)
    for whole in (one + two, lw.Release.sum_of([one, two], people="different")):
        assert whole.guarantee.epsilon == Fraction(1, 2)
        assert str(whole.guarantee).endswith("sum of 2 releases of different people")
    assert "sum of" not in str(one.guarantee)
    assert one.sum_of([one], people="same").guarantee.summed == ()


def test_pure_losses_add_and_stay_pure() -> None:
    pure = [
        lw.release(VALUES, AGES, neighbors="replace-one", epsilon=epsilon, mechanism="sum-tree")
        for epsilon in ("0.5", 1)
    ]
    whole = lw.Release.sum_of(pure, people="same")
    assert (whole.guarantee.epsilon, whole.guarantee.delta) == (Fraction(3, 2), 0)


def test_losses_of_other_kinds_compose_within_what_is_stated() -> None:
    tree = lw.mechanisms.SumTree(4)
    promises: list[dict[str, object]] = [
        {"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"mu": "0.2"}, {"rho": "0.01"}
    ]  # fmt: skip
    counts = lw.protocol.ExactCounts.of_values(VALUES, AGES)
    made = [
        tree.release(counts, Promise("replace-one", **promise))  # type: ignore[arg-type]
        for promise in promises
    ]
    for pair in itertools.combinations(made, 2):
        whole = lw.Release.sum_of(pair, people="same")
        loss = sum([part.loss for part in whole.parts], PrivacyLoss())
        assert loss.within(whole.guarantee.epsilon, whole.guarantee.delta)
        assert all(whole.guarantee.epsilon >= each.guarantee.epsilon for each in pair)
        assert lw.Release.from_json(whole.to_json()).guarantee == whole.guarantee


def test_sites_with_months_compose_within_a_site_only() -> None:
    north, south = (lw.Release.sum_of(months(n), people="same") for n in (4, 2))
    both = north + south
    assert both.guarantee.epsilon == north.guarantee.epsilon > south.guarantee.epsilon
    assert "sum of 6 releases in 2 groups of different people, composed" in str(both.guarantee)
    again = lw.Release.from_json(both.to_json())
    assert again == both and again.groups == (4, 2) and again.guarantee.summed == (4, 2)
    all_of_them = lw.Release.sum_of([north, south], people="same")
    assert all_of_them.guarantee.epsilon > north.guarantee.epsilon


def test_screens_and_results_state_it() -> None:
    whole = lw.Release.sum_of(months(3), people="same")
    result = Publication(whole).distribution
    said = "sum of 3 releases of the same people, composed"
    assert said in result.summary() and said in str(result.guarantee)
    assert (
        "rows of one person are alike" in result.summary() and "people   " not in result.summary()
    )
    stored = lw.Distribution.from_json(result.to_json())
    assert stored.guarantee is not None and stored.guarantee.summed == (3,)


def test_a_release_of_before_has_different_people_and_false_groups_are_refused() -> None:
    one, two = months(2)
    document = json.loads((one + two).to_json())
    assert "groups" not in document
    for groups in ([1, 1], [2, 1], [3], [0, 2], ["2"], 2, [True, 1]):
        with pytest.raises(FormatError):
            lw.Release.from_document({**document, "groups": groups})
    whole = lw.Release.from_document({**document, "groups": [2]})
    assert whole == lw.Release.sum_of([one, two], people="same")


def test_nothing_links_two_releases_of_one_curator() -> None:
    """Random identifiers differ. All else is public parameters, and the noisy answers."""
    one, two = (json.loads(release.to_json()) for release in months(2))
    assert one["parts"][0].pop("identifier") != two["parts"][0].pop("identifier")
    assert set(one) == {
        "format", "version", "mechanism", "domain", "answers", "parts", "choices"
    }  # fmt: skip
    assert {**one, "answers": None} == {**two, "answers": None}


@pytest.mark.parametrize("people", ["both", None, True])
def test_people_is_one_of_two(people: object) -> None:
    with pytest.raises(ArgumentError, match=r"'different' .* or 'same'"):
        lw.Release.sum_of(months(2), people=people)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="at least one"):
        lw.Release.sum_of([], people="same")


def test_what_differs_is_said_and_what_to_agree_on() -> None:
    (one,), (two,), (little,) = (
        months(1, "1", lw.Interval(0, 365, bins=bins), smooth)
        for bins, smooth in ((365, 40), (730, 40), (365, 50))
    )
    with pytest.raises(MismatchError, match=r"365 bins.* and .*730 bins.*Agree on bins= "):
        one + two
    with pytest.raises(MismatchError, match=r"smooth 40 and .*smooth 50\. Agree on mechanism= "):
        one + little
    with pytest.raises(MismatchError, match=r"Agree on mechanism= .* and bins= "):
        two + little
    (elsewhere,) = months(1, "1", lw.Interval(0, 366, bins=365))
    with pytest.raises(MismatchError, match=r"0 to 366.*Agree on the domain"):
        one + elsewhere


def test_a_sum_of_months_counts_each_unit_in_every_month() -> None:
    visits = [20, 30, 40] * 99
    patients = [f"p{number % 75}" for number in range(len(visits))]
    asked: dict[str, Any] = {"neighbors": "add-or-remove-one", "epsilon": 1, "most": 2}
    made = [lw.release(visits, AGES, unit=patients, **asked).release for _ in range(3)]
    same = lw.Release.sum_of(made, people="same")
    sites = lw.Release.sum_of(made, people="different")
    assert "at most 6 of each" in whom("empirical", same.guarantee)
    assert "at most 6 of each" in whom("empirical", same.guarantee.to_document())
    assert "at most 2 of each" in whom("empirical", sites.guarantee)
