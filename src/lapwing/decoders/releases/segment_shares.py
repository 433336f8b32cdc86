"""The distribution within each segment, from the noisy counts of a table of segments."""

from __future__ import annotations

from lapwing.decoders.decoder import decoder_document
from lapwing.decoders.releases.label_shares import (
    MANY,
    CountedShares,
    LabelShares,
    noise_of_counts,
    tails_of,
)
from lapwing.errors import ArgumentError
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.projections import simplex
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution


@one_thread
def segment_shares(
    release: Release, decoder: LabelShares | None = None
) -> dict[str | int | None, Distribution]:
    """Return a distribution for each segment, and under None that of rows in none of them.

    Parameters
    ----------
    release : Release
        Of label counts on a :class:`Segmented` domain.
    decoder : LabelShares, optional

    Raises
    ------
    ArgumentError
        When the release has no segments.
    UnsupportedChannelError
        When it is not one of the counts of all cells.

    Notes
    -----
    How many people a segment has is not public: the noisy counts are divided by their sum, and
    `reports` is that sum, at least 1. The band has the noise of both; there is none where the sum
    is too small to be divided by (:class:`LabelShares`). A simultaneous band holds for all labels
    of its segment at once; for all segments at once ask for level ``level ** (1 / segments)``.
    """
    table, asked = release.domain, decoder or LabelShares()
    if not isinstance(table, Segmented):
        raise ArgumentError("this release has no segments; give by= and segments= when releasing")
    noise = noise_of_counts(release.channel)
    inner, tails = table.domain, tails_of(release)
    sparse = inner.size >= MANY if asked.sparse is None else asked.sparse
    answers = release.answers.reshape(-1, inner.size)
    found = {}
    for segment, counts in zip([*table.segments, None], answers, strict=True):
        people = max(1, sum(counts.tolist()))
        shares = CountedShares.of(counts, people, noise.variance, known=False)
        found[segment] = Distribution(
            inner,
            shares.sparse(tails) if sparse else simplex(shares.center),
            reports=people,
            guarantee=release.guarantee,
            uncertainty=shares.uncertainty(people, tails) if asked.band else None,
            provenance=decoder_document(asked) | {"sparse": sparse, "segment": segment},
        )
    return found
