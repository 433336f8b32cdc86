"""A thing of another kind than asked for has its sentence: a list where a domain must stand.

Over every registered class at once, so that the next one is asked, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import (
    ArgumentError,
    DomainError,
    FormatError,
    LapwingError,
    UnsupportedChannelError,
)
from lapwing.protocol.channels.channel import channel_for
from lapwing.protocol.release import Mechanism
from tests.contracts.registered import DOMAINS, RANDOMIZERS
from tests.contracts.registered_decoders import DECODERS
from tests.mistaken import mistaken
from tests.rows import each

NO_DOMAINS = (
    [0, 100],
    (0, 100),
    4,
    "income",
    None,
    {"low": 0, "high": 1},
    lw.Interval,
    lw.SubsetSelection(lw.Categories(8), epsilon=1),
)
WAVE = lw.Interval(0, 1, bins=8)


KINDS = {type(row.make(DOMAINS[row.domains[0]], 1)) for row in RANDOMIZERS.values()}
"""Those that a document may name, and the parts that none names."""

_NEEDED: dict[str, dict[str, Any]] = {"box-wave": {"widths": (1, 1)}}
"""What a randomizer does not make without."""


def _with(kind: Any, domain: Any) -> None:
    kind(mistaken(domain), epsilon=1, **_NEEDED.get(kind.name, {}))


@each("domain", NO_DOMAINS, ids=lambda one: type(one).__name__)
@each("kind", KINDS)
def test_every_randomizer_asks_for_a_domain(kind: Any, domain: Any) -> None:
    with pytest.raises(DomainError, match=r"domain must be an Interval.* got (an?|the class) "):
        _with(kind, domain)


ASKING: dict[str, Callable[[Any], Any]] = {
    "recommend": lambda domain: lw.recommend(domain, epsilon=1, users=100),
    "expected_error": lambda domain: lw.expected_error(domain, 100, epsilon=1),
    "expected_error of a release": lambda domain: lw.expected_error(
        domain, 100, neighbors="replace-one", epsilon=1
    ),
    "of_values": lambda domain: lw.Distribution.of_values([1, 2], domain),
    "of_counts": lambda domain: lw.Distribution.of_counts([1, 2], domain),
    "Distribution": lambda domain: lw.Distribution(domain, np.array([0.5, 0.5])),
}


@each("domain", NO_DOMAINS, ids=lambda one: type(one).__name__)
@each("name", ASKING)
def test_whatever_asks_for_a_domain_says_so(name: str, domain: Any) -> None:
    with pytest.raises(DomainError, match="domain must be an Interval"):
        ASKING[name](mistaken(domain))


@pytest.mark.parametrize("domain", NO_DOMAINS, ids=lambda one: type(one).__name__)
def test_a_release_and_a_summary_ask_for_a_domain(domain: Any) -> None:
    with pytest.raises(LapwingError, match="must be an Interval"):
        lw.protocol.ExactCounts.of_values([1, 2], mistaken(domain))
    if domain is not None:  # which says that the values are a summary
        with pytest.raises(LapwingError, match="must be an Interval"):
            lw.release([1, 2], mistaken(domain), neighbors="replace-one", epsilon=1)


@pytest.mark.parametrize(
    "mechanism", [lw.mechanisms.PrefixSums(), lw.mechanisms.SumTree(), lw.mechanisms.LabelCounts()]
)
@pytest.mark.parametrize("given", [[0.5], WAVE, None])
def test_a_mechanism_asks_for_a_summary(mechanism: Any, given: Any) -> None:
    promise = lw.privacy.Promise("replace-one", epsilon=1)
    with pytest.raises(ArgumentError, match=r"counts of ExactCounts.*lapwing\.release"):
        mechanism.release(mistaken(given), promise)


def test_a_mechanism_of_ones_own_that_draws_nothing_says_what_it_lacks() -> None:
    class Mine(Mechanism):
        pass

    with pytest.raises(TypeError, match=r"abstract class Mine with abstract method.* _draw"):
        mistaken(Mine)()


SURVEY = lw.Survey("x", lw.SquareWave(WAVE, epsilon=1))
TALLY = SURVEY.tally(SURVEY.randomize([0.5] * 100, rng=lw.seeded(1)))
HASHED = lw.Survey("h", lw.LinearHashing(lw.Categories(2**10), epsilon=2))
LOG = HASHED.tally(HASHED.randomize([1, 2, 3] * 30, rng=lw.seeded(1)))
DECODING = {name: row.decoder for name, row in DECODERS.items() if row.decoder.reads == "counts"}
LISTING = {name: row.decoder for name, row in DECODERS.items() if row.decoder.reads == "log"}
RELEASES = [
    lw.decoders.SpectralPursuit(),
    lw.decoders.StepPursuit(),
    lw.decoders.LabelShares(),
    lw.decoders.CellCounts(),
    lw.papers.functional_approximation.CurveSum(),
    lw.papers.functional_approximation.SortedPoints(),
]


@each("decoder", [*DECODING.values(), *RELEASES], ids=lambda one: type(one).__name__)
@each("given", [SURVEY, SURVEY.randomizer, TALLY, None, [1]])
def test_every_decoder_asks_for_a_channel(decoder: Any, given: Any) -> None:
    with pytest.raises((ArgumentError, UnsupportedChannelError)) as refused:
        decoder.decode(mistaken(given), TALLY)
    # One that reads reports of one randomizer only says that first.
    assert "randomizer.channel" in str(refused.value) or "reports of" in str(refused.value)


@each("decoder", [*DECODING.values(), *RELEASES], ids=lambda one: type(one).__name__)
def test_the_channel_of_a_log_is_none_of_counts(decoder: Any) -> None:
    with pytest.raises(UnsupportedChannelError):
        decoder.decode(channel_for(HASHED.randomizer, LOG), LOG)


@pytest.mark.parametrize("decoder", LISTING.values(), ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    ("channel", "observed"),
    [(HASHED, LOG), (SURVEY, TALLY), (SURVEY.randomizer.channel, TALLY), (None, LOG)],
)
def test_decoders_of_logs_ask_for_their_channel(decoder: Any, channel: Any, observed: Any) -> None:
    with pytest.raises(LapwingError):
        decoder.decode(mistaken(channel), observed)


@pytest.mark.parametrize("bins", ["3", "8", 2.5, 0, -1, True, [4]])
def test_a_number_of_bins_that_is_none_is_refused(bins: Any) -> None:
    with pytest.raises(ArgumentError, match="bins must be"):
        SURVEY.decode(TALLY, bins=mistaken(bins))


NUMBERS: dict[str, Callable[[], Any]] = {
    "counts": lambda: lw.Distribution.of_counts(mistaken("abc"), WAVE),
    "mass": lambda: lw.Distribution(WAVE, mistaken("abc")),
    "like": lambda: lw.recommend(WAVE, epsilon=1, users=10, like=mistaken("abc")),
    "confidence": lambda: lw.private_bounds(
        [1.0], neighbors="replace-one", epsilon=1, confidence=mistaken("a")
    ),
    "tolerance": lambda: lw.ExpectationMaximization(tolerance=mistaken("a")),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_text_where_numbers_must_stand_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"{name} must be"):
        NUMBERS[name]()


@pytest.mark.parametrize("text", [None, 3, ["{}"]])
def test_what_is_no_text_is_no_document(text: Any) -> None:
    with pytest.raises(FormatError, match="must be a JSON text"):
        lw.Distribution.from_json(mistaken(text))
    with pytest.raises(FormatError, match="must be a JSON text"):
        lw.Survey.from_json(mistaken(text))


def _release(mechanism: Any, epsilon: float) -> lw.survey.Publication:
    values = np.repeat([0.1, 0.3, 0.5, 0.9], 100)
    return lw.release(
        values,
        WAVE,
        neighbors="replace-one",
        epsilon=epsilon,
        mechanism=mechanism,
        rng=lw.seeded(3),
    )


@pytest.mark.parametrize("strategy", ["counts", "haar"])
@pytest.mark.parametrize(
    "decoder", [lw.LeastSquares(), lw.LeastSquares(weighted=False), lw.decoders.SparseRecovery()]
)
def test_least_squares_of_a_release_counts_its_noise(strategy: Any, decoder: Any) -> None:
    """Rows that say nothing of a person, as the root's, weigh what their noise says.

    The deviation of the noise in P(value <= x) is that of the release's own exact band.
    """
    made = _release(lw.mechanisms.SumTree(branching=2, strategy=strategy), 1)
    found = decoder.decode(made.release.channel, made.release)
    widths = []
    for result in (found, made.distribution):  # before the bands are cut to simultaneous ones
        error_law = result._present_uncertainty.about("pointwise", "empirical")
        low, high = error_law.curves(0.95, "pointwise", cumulative=True, least=0.0)
        widths.append((high - low)[:-1])
    ratio = widths[0] / widths[1]
    assert ratio.min() > 0.8 and ratio.max() < 1.25


def test_a_broken_class_fails_the_check_above() -> None:
    """The check can fail: one that looks at its domain before it is checked."""

    class Careless:
        def __init__(self, domain: Any, epsilon: float) -> None:
            self.size = domain.size

    with pytest.raises(AttributeError):
        _with(Careless, [0, 100])
    changed = replace(TALLY, fingerprint="0" * 64)
    with pytest.raises(LapwingError):
        lw.LeastSquares().decode(SURVEY.randomizer.channel, changed)
