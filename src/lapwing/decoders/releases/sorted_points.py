"""A distribution function from noisy shares at some places: sorted and joined by lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lapwing.decoders.decoder import decoder_document, distribution_of, required
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.operators.sums import PrefixCounts
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution


@dataclass(frozen=True)
class SortedPoints:
    """Clip the shares to [0, 1], sort them against the places, and join them by straight lines.

    No band: between the places nothing was asked; :func:`allowed_band` holds whatever is there.

    Source: Tao et al. 2026, section II-B2 (re-ordering).
    """

    name: ClassVar[str] = "sorted-points"
    reads: ClassVar[Kind] = "release"

    @one_thread
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution.

        Raises
        ------
        UnsupportedChannelError
            When the release is not one of numbers of rows below places.
        """
        check_given(channel, release)
        operator = required(
            channel.blocks[0].operator,
            PrefixCounts,
            "sorted points are read from a release of adaptive quantiles; use step pursuit for "
            "others",
        )
        held = channel.domain.left.size
        places = np.concatenate([[0], np.sort(operator.places), [held]])
        shares = np.sort(np.clip(release.answers / release.total, 0.0, 1.0))
        heights = np.concatenate([[0.0], shares, [1.0]])
        curve = np.interp(np.arange(held + 1), places, heights)
        mass = np.zeros(channel.domain.size)
        mass[:held] = np.diff(curve)
        return distribution_of(channel, release, mass, provenance=decoder_document(self))
