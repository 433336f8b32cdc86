"""The promise of every randomizer, from the exact probabilities of every report.

The table of probabilities comes from `from_words` itself
(:mod:`lapwing.testing.randomizer_contract`) in fractions; `test_randomizer_reports.py` shows that
`randomize` has the same law.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, CompressivePrivatization, Survey, registry
from lapwing.errors import PrivacyError
from lapwing.linear.operators.operator import dense
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.protocol.channels.channel import Multinomial
from lapwing.survey.privacy_statement import Participation
from lapwing.testing.randomizer_contract import (
    check_channel,
    check_document,
    check_loosened,
    check_promise,
    check_refusals,
)
from tests.contracts.registered import (
    RANDOMIZERS,
    RandomizerCase,
    at_epsilon,
    dense_ratio,
    randomizer_cases,
)
from tests.randomizers.categorical.registered_compressive_privatization import UNEVEN
from tests.rows import each

EPSILONS = (0.1, 1, 4, 24)

PUBLISHED = [("rademacher", 0.1, 24), (UNEVEN, "0.5", 1), ("medium", 2, 5)]

everywhere = pytest.mark.parametrize("case", randomizer_cases(*EPSILONS))
at_one = pytest.mark.parametrize("case", randomizer_cases(1))
once = pytest.mark.parametrize("case", randomizer_cases(1, once=True))


def test_every_randomizer_of_a_survey_is_registered() -> None:
    made = {type(case.values[0].randomizer) for case in randomizer_cases(1)}
    assert made >= set(registry.RANDOMIZERS.values())
    assert {name.split(",")[0] for name in RANDOMIZERS} == {each.name for each in made}


@everywhere
def test_exact_ratio_is_the_certificates_and_at_most_e_epsilon(case: RandomizerCase) -> None:
    laws = case.laws
    check_promise(case.randomizer, laws)
    # What shuffling is credited with rests on this distance, where it is stated.
    stated = getattr(case.randomizer, "total_variation", None)
    for first, second in pairwise(laws) if stated is not None else ():
        assert stated == sum(max(first[report] - second.get(report, 0), 0) for report in first)
    assert 0 <= case.randomizer.certificate().loss < 1e-6


@everywhere
def test_the_attribute_epsilon_is_the_promise(case: RandomizerCase) -> None:
    promised(case.randomizer)


@pytest.mark.parametrize(("matrix", "epsilon", "accepted"), PUBLISHED)
def test_the_attribute_epsilon_is_the_promise_of_a_published_form(
    matrix: Any, epsilon: Any, accepted: Any
) -> None:
    """Its law is built on one epsilon, and another one is promised."""
    domain = Categories(6)
    knobs: dict[str, Any] = {} if isinstance(matrix, tuple) else {"outputs": 5}
    made = CompressivePrivatization(
        domain, epsilon, matrix=matrix, accept_epsilon=accepted, **knobs
    )
    promised(made)
    assert made.epsilon == Fraction(str(accepted)) != made.design_epsilon == Fraction(str(epsilon))
    # What a person pays, what the survey says and what it is stored as.
    survey = Survey("page", made)
    assert Participation(survey, rounds=3).cost.epsilon == 3 * made.epsilon
    assert survey.guarantee.epsilon == made.epsilon
    document = survey.to_document()["randomizer"]
    assert document["epsilon"] == str(epsilon) and document["accept_epsilon"] == str(accepted)
    assert Survey.from_document(survey.to_document()) == survey
    # Two designs under one promise are two randomizers.
    other = CompressivePrivatization(
        domain, Fraction(str(epsilon)) / 2, matrix=matrix, accept_epsilon=accepted, **knobs
    )
    assert other.epsilon == made.epsilon and other != made
    assert other.fingerprint != made.fingerprint


def promised(randomizer: Any) -> None:
    """Assert that `epsilon` is what is promised, everywhere, and that it is kept."""
    certificate = randomizer.certificate()
    stated = {randomizer.guarantee.epsilon, randomizer.channel.guarantee.epsilon}
    assert {randomizer.epsilon, certificate.epsilon} | stated == {randomizer.epsilon}
    assert certificate.ratio <= exponential_bounds(randomizer.epsilon)[0]


@pytest.mark.parametrize("case", randomizer_cases(0.1, 24, once=True))
def test_a_threshold_one_past_its_limit_fails(case: RandomizerCase) -> None:
    check_loosened(case.randomizer, case.row.loosen(case.randomizer))


@everywhere
def test_channel_is_the_exact_law(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    blocks = randomizer.channel.blocks
    per_symbol = case.inputs // randomizer.domain.size
    means = [np.zeros(block.operator.shape) for block in blocks]
    for point, law in enumerate(case.laws):
        exact = [[Fraction(0)] * block.outputs for block in blocks]
        for report, chance in law.items():
            number, outputs = case.row.adds(randomizer, report)
            for output in outputs:
                exact[number][output] += chance
        for mean, row in zip(means, exact, strict=True):
            mean[:, point // per_symbol] += np.array(row, dtype=float) / per_symbol
    for block, mean in zip(blocks, means, strict=True):
        expected = block.share * dense(block.operator)
        np.testing.assert_allclose(expected, mean, rtol=1e-12, atol=1e-15)


@once
def test_channel_is_the_exact_law_seen_through_the_tally(case: RandomizerCase) -> None:
    """As somebody else's randomizer is checked, without a count by hand."""
    check_channel(case.randomizer, case.laws)


@at_one
def test_documents_copies_and_refusals(case: RandomizerCase) -> None:
    check_document(case.randomizer)
    check_refusals(case.randomizer)


@everywhere
def test_ratio_in_the_dense_channel(case: RandomizerCase) -> None:
    """A decoder's floats say the same as the certificate, to 12 digits where floats have them."""
    randomizer = case.randomizer
    channel = randomizer.channel
    if case.inputs != randomizer.domain.size:
        # The mean over a bin's points blurs the ratio; look at the points instead.
        channel = randomizer._channel_at(case.inputs)
    ratio, precision = dense_ratio(channel)
    assert ratio == pytest.approx(float(randomizer.certificate().ratio), rel=precision)


@everywhere
def test_columns_are_probabilities(case: RandomizerCase) -> None:
    channel = case.randomizer.channel
    assert sum(block.share for block in channel.blocks) == pytest.approx(1, rel=1e-13)
    for block in channel.blocks:
        matrix = dense(block.operator)
        assert matrix.min() > 0 and matrix.max() < 1
        if isinstance(block.law, Multinomial):
            np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=1e-13)


def _published(derived: dict[str, Any]) -> dict[str, str]:
    """Return the thresholds in hex of a randomizer, or of all its groups."""
    hexadecimal = dict(derived.get("thresholds", {}))
    for number, group in enumerate(derived.get("groups", [])):
        for name, threshold in _published(group["derived"]).items():
            hexadecimal[f"{number}.{name}"] = threshold
    return hexadecimal


@everywhere
def test_thresholds_are_the_integers_that_are_published(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    published = _published(randomizer._derived)
    assert set(published) == set(randomizer._thresholds) and published
    for name, threshold in randomizer._thresholds.items():
        assert isinstance(threshold, int) and 0 < threshold < WORD
        assert int(published[name], 16) == threshold


@at_one
def test_guarantee_and_channel_carry_the_promise(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    promise = Guarantee(Fraction(1), Fraction(0), "replace-one", "local")
    assert randomizer.guarantee == randomizer.channel.guarantee == promise
    assert randomizer.channel.fingerprint == randomizer.fingerprint
    assert randomizer.channel.domain == randomizer.domain


@once
def test_equal_randomizers_are_one(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    twin = replace(randomizer)
    assert twin == randomizer and twin is not randomizer
    assert hash(twin) == hash(randomizer) and twin.fingerprint == randomizer.fingerprint
    stronger = at_epsilon(randomizer, Fraction(1, 2))
    assert stronger != randomizer and stronger.fingerprint != randomizer.fingerprint


@pytest.mark.parametrize("case", randomizer_cases(0.1, once=True))
def test_epsilon_as_text_float_or_fraction_is_one_promise(case: RandomizerCase) -> None:
    for same in (0.1, "0.1", Fraction(1, 10)):
        twin = replace(case.randomizer, epsilon=same)
        assert twin == case.randomizer and twin.fingerprint == case.randomizer.fingerprint


@once
@each("epsilon", [0, -1, float("nan"), float("inf"), True, 24.000001, None, "one", 1e-13, 1j])
def test_illegal_epsilon_is_refused(case: RandomizerCase, epsilon: object) -> None:
    with pytest.raises(PrivacyError, match="epsilon must be greater than 0 and at most 24"):
        replace(case.randomizer, epsilon=epsilon)


@once
def test_frozen(case: RandomizerCase) -> None:
    with pytest.raises(AttributeError):
        case.randomizer.epsilon = Fraction(2)


@at_one
def test_pickles_also_after_use(case: RandomizerCase) -> None:
    """A job on several machines sends the randomizer, used or not."""
    randomizer = replace(case.randomizer)
    values = case.values(np.arange(case.inputs))
    before = pickle.loads(pickle.dumps(randomizer))
    tally = randomizer.tally(randomizer.randomize(values, rng=seeded(1)))
    for block in randomizer.channel.blocks:
        mean = block.mean(np.full(randomizer.domain.size, 1 / randomizer.domain.size))
        block.operator.rmatvec(mean)
    after = pickle.loads(pickle.dumps(randomizer))
    for copy in (before, after):
        assert copy == randomizer and copy.fingerprint == randomizer.fingerprint
        assert copy.tally(copy.randomize(values, rng=seeded(1))) == tally
        for ours, theirs in zip(copy.channel.blocks, randomizer.channel.blocks, strict=True):
            np.testing.assert_array_equal(dense(ours.operator), dense(theirs.operator))
