"""Which mechanism goes with a promise, and which decoder with its releases, by default.

Apart from the defaults of randomizers: who decodes tallies does not wait for the curator's
mechanisms to be read.
"""

from __future__ import annotations

from lapwing.central.label_counts import LabelCounts
from lapwing.central.prefix_sums import PrefixSums
from lapwing.central.sum_tree import SumTree
from lapwing.decoders.decoder import ReleaseDecoder
from lapwing.decoders.releases.cell_counts import CellCounts
from lapwing.decoders.releases.curve_sum import CurveSum
from lapwing.decoders.releases.label_shares import LabelShares
from lapwing.decoders.releases.sorted_points import SortedPoints
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.release import Mechanism


def recommended_mechanism(domain: Domain, promise: Promise) -> Mechanism:
    """Return the mechanism to use when none is asked for.

    The counts of labels, which have no order. Of numbers prefix sums wherever normal noise may be
    used; for pure epsilon the L1 sensitivity counts, and a shallow tree has far less of it.
    """
    if not domain.ordered:
        return LabelCounts()
    if promise.pure and 2 <= domain.size <= 2048:
        return SumTree()
    return PrefixSums()


def release_decoder(mechanism: Mechanism) -> ReleaseDecoder:
    """Return the decoder of a mechanism's releases."""
    knobs = mechanism.to_document()
    if mechanism.name == "histogram-query":
        return CellCounts(interpolate=knobs["interpolate"])
    if mechanism.name == "label-counts":
        return LabelShares()
    if mechanism.name == "adaptive-quantiles":
        return SortedPoints()
    if mechanism.name in ("polynomial-projection", "matching-pursuit"):
        return CurveSum(monotone=knobs["monotone"])
    return StepPursuit()
