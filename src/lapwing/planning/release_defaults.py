"""Which mechanism goes with a privacy guarantee, and which decoder with its releases, by default.

Apart from the defaults of randomizers: who decodes tallies does not wait for the curator's
mechanisms to be read.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from lapwing.decoders.decoder import Decoder
from lapwing.decoders.releases.cell_counts import CellCounts
from lapwing.decoders.releases.label_shares import LabelShares
from lapwing.decoders.releases.segment_curves import has_many_bins
from lapwing.decoders.releases.spectral_pursuit import SpectralPursuit
from lapwing.linear.operators.sums import UNIT
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.label_counts import LabelCounts
from lapwing.mechanisms.linear_mechanism import MOST_BINS, LinearMechanism
from lapwing.mechanisms.prefix_sums import MOST_CELLS, SMOOTH_RANGE, PrefixSums
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.planning.chosen_bins import (
    BINS_FOR_ATOMS,
    EPSILON_FOR_ATOMS,
    FEW_BINS,
    recommended_bins,
)
from lapwing.planning.defaults import without_band
from lapwing.planning.release_choice import Choice, least_error
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.integer_noise import Sensitivity, calibrated
from lapwing.privacy.promise import STATED_DELTA, Promise
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import MOST_PEOPLE
from lapwing.protocol.release import Mechanism

BINS_OF_A_SEGMENT = 64
"""Where pure epsilon allows no prefix sums by segment."""

_FEW_CELLS = 96

_FEW = (8, 16)
"""Cells of the histograms that may be chosen: for few people, of whom no more can be seen."""

_SMOOTH, _SMOOTH_IN_NOISE, _MUCH_NOISE = 40, 50, 16.0
"""Percent for smooth rows, and where a sum has so many people of noise. See below."""


def release_bins(promise: Promise, *, by_segment: bool = False) -> int:
    """Return about how many bins to give an interval that is released: 256, or 1024 from epsilon 2.

    by_segment: Whether each segment of a table gets a distribution. With pure epsilon there are
        then 64 bins, because the noise in a share of a range grows with the number of its bins.

    The same as :func:`recommended_bins`, by the epsilon that states the privacy guarantee. The
    number of people may be secret, so it has no part in the choice.

    **Accuracy.** Mean W1, as a share of the range, of 10,000 people and three made-up columns. A
    dash stands where nothing was recorded. No other numbers of people or epsilons were measured.
    The mechanisms were prefix sums with 24 polynomials where there is a delta, and trees with
    branching 32 where there is none. The table is of commit 251cf6ee29, the ten columns below are
    of commit 46d71f3744.

    ================ ======= ======== =========
    epsilon, delta   64 bins 256 bins 1024 bins
    ================ ======= ======== =========
    .1, 1e-6         .0059   .0061    .0086
    .5, 1e-6         .0021   .0018    .0022
    1, 1e-6          .0016   .0011    .0012
    .5, 0            -       .0028    .0026
    2, 0             -       -        .0008
    ================ ======= ======== =========

    Ten columns, eight of them real, were measured with round bins of about 256 and 1024: 10,000
    people, delta 1e-6, 4 repeats. The error with 256 is that with 1024 times 0.69 to 1.88 at
    epsilon 1, and times 0.77 to 2.36 at epsilon 2. The geometric means are 1.07 and 1.18. Values
    that many people hold exactly gain from 1024 bins, smooth columns lose. So no one number suits
    both epsilons within 2% on every column. Sites whose epsilons are below 2 and above agree on
    `bins`.

    At epsilon 1 and delta 0, 256 and 1024 bins tie. At epsilon 2 and delta 0, 1024 bins are best.
    The rule is simpler than these figures in two cases. It has 256 bins at 0.1 with delta, although
    64 are a little better, and at 0.5 without delta, although 1024 are.

    By segment, replace-one, epsilon 1: mean W1 as a share of the range, over three made-up columns.
    The first column is 48 bins with pure epsilon, and 60 bins with delta.

    ================ ======== ======== ========
    people, delta    48 or 60 120 bins 240 bins
    ================ ======== ======== ========
    250, 0           .0223    .0397    .0628
    2,000, 0         .0036    .0061    .0096
    20,000, 0        .0009    .0010    .0010
    250, 1e-6        .0302    .0227    .0232
    2,000, 1e-6      .0053    .0043    .0042
    20,000, 1e-6     .0011    .0009    .0005
    ================ ======== ======== ========

    With pure epsilon, few bins cost accuracy on a skewed column of many people. A median of 20,000
    people that lies in the first of 48 bins is off by a tenth of the bin. That is ten times its
    error with 240 bins.
    """
    if by_segment and promise.pure:
        return BINS_OF_A_SEGMENT
    if promise.epsilon is not None:
        return recommended_bins(promise.epsilon)
    epsilon = promise.whole_loss.epsilon_at(STATED_DELTA)
    return BINS_FOR_ATOMS if epsilon >= EPSILON_FOR_ATOMS else FEW_BINS


def recommended_mechanism(
    domain: Domain, promise: Promise, *, expected: int | None = None
) -> Mechanism:
    """Return the mechanism to use when none is asked for. See :func:`mechanism_choice`."""
    return mechanism_choice(domain, promise, expected=expected)[0]


def mechanism_choice(
    domain: Domain, promise: Promise, *, expected: int | None = None, composed: bool = False
) -> tuple[Mechanism, Choice | None]:
    """Return the mechanism to use when none is asked for, and how it was chosen from several.

    The counts of labels, which have no order. By segment, prefix sums of each segment wherever
    Gaussian noise may be used and a segment has 64 symbols or more, else counts.

    For numbers, the mechanism of least predicted error (:func:`least_error`). Candidates are trees
    with branching 8 to 64, and prefix sums where Gaussian noise may be used. Histograms of 8 or 16
    cells are candidates for at most 20 times as many people as the noise in a count deviates by.
    Where Gaussian noise hides a unit with less than a row of deviation (from about epsilon 5 on at
    delta 1e-6), prefix sums alone. A part of the prefix sums' budget may measure 24 polynomials,
    where there are bins enough. It is half where a sum has noise of 16 people and more (epsilon 0.2
    at delta 1e-6), else two fifths.

    domain: Domain of the exact counts.
    promise: Privacy parameters of the release.
    expected: Expected number of people (with a unit, of rows), at least 1. It must be public
        knowledge, because the choice shows it. Default: the choice suits 1,000 to a million people
        alike.
    composed: Whether a ledger composes the release with others. Gaussian noise composes more
        tightly, so numbers then get it wherever the privacy guarantee has a delta. Default: False.

    **Privacy.** Only public numbers choose. Sites of different sizes must use the same mechanism
    for their releases to add. So they leave `expected` out, or all give the same number. All of
    them have a ledger, or none has.
    """
    if expected is not None:
        expected = check_whole("expected", expected, low=1, high=MOST_PEOPLE)
    if isinstance(domain, Segmented):
        return _by_segment(domain, promise), None
    if not domain.ordered:
        return LabelCounts(), None
    bins = domain.left.size - len(domain.outside_indices)
    if domain.left.size < 2 or bins > MOST_BINS:
        return SumTree(), None  # which says what must hold
    kind: Literal["normal"] | None = "normal" if composed and not promise.pure else None
    # Laplace noise of less than a person is mostly zero, which a Gaussian band does not hold.
    exact = not promise.pure and _noise_of_a_unit(promise) < 1
    candidates: list[LinearMechanism] = []
    if not exact:
        candidates += [SumTree(many, noise=kind) for many in (32, 16, 8, 64)]
    low, high = SMOOTH_RANGE
    if not promise.pure:
        candidates.append(PrefixSums(noise=kind))
        if low <= domain.left.size <= high:
            candidates.append(PrefixSums(noise=kind, smooth=_smooth_percent(promise)))
    # Where symbols have no width, cells would spread the people of one value over others.
    widths = np.delete(domain.right - domain.left, domain.outside_indices)
    if kind is None and not exact and (widths > 0).all():
        candidates += [HistogramQuery(cells) for cells in _FEW if 2 * cells <= bins]
    choice = least_error(candidates, domain, promise, expected)
    return choice.mechanism, choice


def _by_segment(table: Segmented, promise: Promise) -> Mechanism:
    """Return the mechanism of a table: prefix sums have less noise than many counts."""
    low, high = SMOOTH_RANGE
    inner = table.domain
    suits = inner.ordered and low <= inner.left.size <= high and table.size <= MOST_CELLS
    if promise.pure or not suits:
        return LabelCounts()
    return PrefixSums(smooth=_smooth_percent(promise))


def _smooth_percent(promise: Promise) -> int:
    """Return the part of the budget that smooth rows get, from the noise that hides one unit."""
    return _SMOOTH_IN_NOISE if _noise_of_a_unit(promise) >= _MUCH_NOISE else _SMOOTH


def _noise_of_a_unit(promise: Promise) -> float:
    """Return the standard deviation, in rows, of the Gaussian noise that hides one unit."""
    rows = 1 if promise.unit is None else promise.unit.most
    noise = calibrated(promise, Sensitivity((rows * UNIT) ** 2, rows * UNIT), kind="normal")
    return math.sqrt(noise.variance) / UNIT


def quick_release_decoder(mechanism: Mechanism, domain: Domain) -> Decoder:
    """Return a decoder for simulations: without a band, and with nearly the default's error.

    On fewer cells, learned once, the error of spectral pursuit is the same within a few percent, in
    a sixth of the time.
    """
    decoder = without_band(release_decoder(mechanism, domain))
    if isinstance(decoder, SpectralPursuit):
        return replace(decoder, cells=_FEW_CELLS, passes=1)
    return decoder


def release_decoder(mechanism: Mechanism, domain: Domain) -> Decoder:
    """Return the decoder of a mechanism's releases on a domain."""
    own: Decoder | None = getattr(mechanism, "_decoder", None)
    if own is not None:
        return own
    if mechanism.name == HistogramQuery.name:
        return CellCounts(interpolate=mechanism.to_document()["interpolate"])
    if mechanism.name == LabelCounts.name and not has_many_bins(domain):
        return LabelShares()
    return SpectralPursuit()
