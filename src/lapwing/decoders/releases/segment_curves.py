"""The distribution within each segment of a table: of labels, or the curve of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lapwing.decoders.releases.label_shares import (
    MANY,
    NoisyTotal,
    has_counts,
    noise_of_counts,
    segment_shares,
)
from lapwing.decoders.releases.prefix_estimate import DENSE, prefix_estimate
from lapwing.decoders.releases.spectral_pursuit import SpectralPursuit
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.unanswered import too_few

Segment = str | int | None
"""The label of a segment. None for the rows in none of them."""


def segment_distributions(release: Release) -> dict[Segment, Distribution]:
    """Return a distribution for each segment, and under None that of rows in none of them.

    release: On a :class:`Segmented` domain.
    returns: Distribution of each segment, by its label.

    Raises ArgumentError when the release has no segments.

    Labels, and numbers in fewer than 64 bins that were released as counts, are decoded by
    :func:`segment_shares`. Other numbers are decoded as a release of the segment alone, whose
    number of people is secret (:class:`SpectralPursuit`). Of counts the band is that of the
    unbiased shares. There is no band where the number of people is not 8 standard deviations above
    zero. A band holds of segments that are above it by chance (:class:`NoisyTotal`).

    **Cost.** A quarter of a second for each segment of 256 bins.
    """
    table = release.domain
    if not isinstance(table, Segmented):
        raise ArgumentError(
            "this release has no segments. To have them, pass by= and segments= when you release"
        )
    counted = segment_shares(release) if has_counts(release.channel) else None
    if counted is not None and not has_many_bins(table.domain):
        return counted
    one_release = "+".join(part.identifier for part in release.parts)
    found: dict[Segment, Distribution] = {}
    for segment, alone in segments_alone(release, table).items():
        result = SpectralPursuit(band=counted is None).decode(alone.channel, alone)
        if counted is not None:
            uncertainty = counted[segment].uncertainty
        else:
            sums = prefix_estimate(alone.channel, alone)
            total = NoisyTotal(float(sums.sums[-1]), sums.deviation(-1))
            along = np.diff(sums.column(-1) / sums.column(-1)[-1], prepend=0.0)
            uncertainty = None
            if total.is_known and result.uncertainty is not None:
                uncertainty = total.allowed(result.uncertainty, along)
        found[segment] = replace(
            result,
            guarantee=release.guarantee,
            uncertainty=uncertainty,
            provenance={**result.provenance, "segment": segment, "segments_of": one_release}
            | too_few(uncertainty is None),
        )
    return found


def somebody_in_none(release: Release) -> bool:
    """Return whether the interval of the number of rows in none of the segments excludes zero.

    release: On a :class:`Segmented` domain.
    """
    table = release.domain
    assert isinstance(table, Segmented)
    if has_counts(release.channel):
        size = table.domain.size
        counted = float(release.blocks[0].reshape(-1, size)[-1].sum())
        variance = noise_of_counts(release.channel).variance * size
        return NoisyTotal(counted, float(np.sqrt(variance))).is_positive
    rest = segments_alone(release, table)[None]
    sums = prefix_estimate(rest.channel, rest)
    return NoisyTotal(float(sums.sums[-1]), sums.deviation(-1)).is_positive


def is_table_of_curves(release: Release) -> bool:
    """Return whether a release is of a table whose segments have prefix sums."""
    return isinstance(release.domain, Segmented) and not has_counts(release.channel)


def table_of_curves(release: Release, segments: Mapping[Segment, Distribution]) -> Distribution:
    """Return the distribution over all cells of a table whose segments have prefix sums.

    It has no band, because the errors of the cells of a segment depend on each other.

    segments: As :func:`segment_distributions` returns them.
    """
    people = np.array([float(one.reports) for one in segments.values()])
    shares = people / people.sum()
    mass = np.concatenate([s * one.mass for s, one in zip(shares, segments.values(), strict=True)])
    (*_, last) = segments.values()
    provenance = {
        key: each
        for key, each in last.provenance.items()
        if key in SpectralPursuit.__dataclass_fields__ or key == "class"
    }
    return Distribution(
        release.domain,
        mass / mass.sum(),
        reports=release.total,
        guarantee=release.guarantee,
        provenance=provenance,
    )


def has_many_bins(domain: Domain) -> bool:
    """Return whether counts of these symbols are decoded as a curve: from 64 bins on."""
    return domain.ordered and MANY <= domain.left.size <= DENSE


def segments_alone(release: Release, table: Segmented) -> dict[Segment, Release]:
    """Return the release of each segment as one of rows whose number is secret.

    release: Of label counts or prefix sums.
    table: Its domain.
    returns: Release on the domain of the values, by segment. Its noise is that of the table, and
        its stated privacy guarantee is not.
    """
    parts = [
        replace(part, people=None, promise=replace(part.promise, neighbors="add-or-remove-one"))
        for part in release.parts
    ]
    answers = release.answers.reshape(table.segmentation.size, -1)
    return {
        segment: Release(release.mechanism, table.domain, each, parts)
        for segment, each in zip([*table.segments, None], answers, strict=True)
    }
