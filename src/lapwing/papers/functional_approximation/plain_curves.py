"""Distribution functions read off a release without a prior: from coefficients or points."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, required
from lapwing.docstrings import inherits
from lapwing.linear.arrays import one_thread
from lapwing.linear.operators.sums import CurveAnswers, PrefixCounts
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.symbols import AT_UPPER_END, MISSING_KEY


@dataclass(frozen=True)
class CurveSum(Declared):
    """CDF from released function coefficients (Tao and Sarwate, 2026).

    It sums the functions, weighted by their coefficients, and makes the sum a CDF.

    Parameters
    ----------
    monotone : bool
        True: isotonic regression. It never increases the mean squared error (proposition 1 of
        [1]_), but this says nothing about the largest distance. False: where the curve falls it
        stays constant, as in a plot of the raw curve. Default: True.

    Notes
    -----
    **Privacy.** A decoder is post-processing of a release, so it costs no privacy.

    **Accuracy.** There is no confidence band, because the distance of the projection from the truth
    is not known. :func:`allowed_band` holds for any distance.

    **Cost.** O(bins) for each coefficient.

    The curve is clipped to [0, 1], and is 1 at the upper end. The method is that of section IV-C of
    [1]_.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional approximation methods for differentially private
       distribution estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> ages = list(range(20, 60)) * 500  # 52.5% of them at most 40
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=50, outside="clip"), neighbors="replace-one",
    ...     epsilon=1, mechanism="polynomial-projection", rng=lw.seeded(1),
    ... )
    >>> release = published.release
    >>> decoder = lw.papers.functional_approximation.CurveSum()
    >>> round(float(decoder.decode(release.channel, release).cdf(40)), 1)
    0.5
    """

    _: KW_ONLY
    monotone: bool = True

    name: ClassVar[str] = "curve-sum"
    reads: ClassVar[Kind] = "release"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution, without a confidence band.

        Raises
        ------
        UnsupportedChannelError
            When the release does not contain coefficients of functions.
        """
        from scipy.optimize import isotonic_regression  # slow to import

        check_given(channel, release)
        operator = required(
            channel.blocks[0].operator,
            CurveAnswers,
            "a sum of functions is read from a release of their coefficients. Use step pursuit "
            "for other releases",
        )
        curve = operator.start + operator.curve @ (release.answers / release.total)
        curve = isotonic_regression(curve).x if self.monotone else np.maximum.accumulate(curve)
        curve = np.clip(curve, 0.0, 1.0)
        curve[-1] = 1.0
        mass = np.zeros(channel.domain.size)
        mass[: curve.size] = np.diff(curve, prepend=0.0)
        return distribution_of(channel, release, mass, provenance=_unseen(self, channel))


@dataclass(frozen=True)
class SortedPoints(Declared):
    """CDF from adaptive quantiles, by sorting the shares (Tao and Sarwate, 2026).

    It clips the noisy CDF values to [0, 1], sorts them, and interpolates linearly.

    Notes
    -----
    **Privacy.** A decoder is post-processing of a release, so it costs no privacy.

    **Accuracy.** There is no confidence band, because nothing was released between the places.
    :func:`allowed_band` holds for any distribution there.

    **Cost.** A sort of the places, and O(bins).

    The method is the re-ordering of section II-B2 of [1]_.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional approximation methods for differentially private
       distribution estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> ages = list(range(20, 60)) * 500  # 52.5% of them at most 40
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=50, outside="clip"), neighbors="replace-one",
    ...     epsilon=1, mechanism="adaptive-quantiles", rng=lw.seeded(1),
    ... )
    >>> release = published.release
    >>> decoder = lw.papers.functional_approximation.SortedPoints()
    >>> round(float(decoder.decode(release.channel, release).cdf(40)), 1)
    0.5
    """

    name: ClassVar[str] = "sorted-points"
    reads: ClassVar[Kind] = "release"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution, without a confidence band.

        Raises
        ------
        UnsupportedChannelError
            When the release does not contain numbers of rows below places.
        """
        check_given(channel, release)
        operator = required(
            channel.blocks[0].operator,
            PrefixCounts,
            "sorted points are read from a release of adaptive quantiles. Use step pursuit for "
            "other releases",
        )
        held = channel.domain.left.size
        places = np.concatenate([[0], np.sort(operator.places), [held]])
        shares = np.sort(np.clip(release.answers / release.total, 0.0, 1.0))
        heights = np.concatenate([[0.0], shares, [1.0]])
        curve = np.interp(np.arange(held + 1), places, heights)
        mass = np.zeros(channel.domain.size)
        mass[:held] = np.diff(curve)
        return distribution_of(channel, release, mass, provenance=_unseen(self, channel))


def _unseen(decoder: CurveSum | SortedPoints, channel: Channel) -> dict[str, Any]:
    """Return how it was made, and that the missing are not seen, where some may be missing."""
    unseen = {MISSING_KEY: AT_UPPER_END} if channel.domain.missing_index is not None else {}
    return decoder_document(decoder) | unseen
