"""A distribution function from its released coefficients: the sum of the functions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from lapwing.decoders.decoder import decoder_document, distribution_of, required
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.operators.curve_answers import CurveAnswers
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution


@dataclass(frozen=True)
class CurveSum:
    """Add the functions up with the released coefficients, and make the sum a distribution.

    Parameters
    ----------
    monotone : bool
        True: isotonic regression, which never moves the curve away from the truth in mean square
        (Tao et al. 2026, proposition 1; says nothing about the largest distance). False: what
        falls is set to rise by nothing, as a plot of the raw curve does.

    Notes
    -----
    Clipped to [0, 1] and 1 at the upper end. No band: how far the projection is from the truth
    is not known; :func:`allowed_band` holds whatever it is.

    Source: Tao et al. 2026, section IV-C.
    """

    _: KW_ONLY
    monotone: bool = True

    name: ClassVar[str] = "curve-sum"
    reads: ClassVar[Kind] = "release"

    @one_thread
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the distribution.

        Raises
        ------
        UnsupportedChannelError
            When the release is not one of coefficients.
        """
        from scipy.optimize import isotonic_regression  # slow to import

        check_given(channel, release)
        operator = required(
            channel.blocks[0].operator,
            CurveAnswers,
            "a sum of functions is read from a release of their coefficients; use step pursuit "
            "for others",
        )
        curve = operator.start + operator.curve @ (release.answers / release.total)
        curve = isotonic_regression(curve).x if self.monotone else np.maximum.accumulate(curve)
        curve = np.clip(curve, 0.0, 1.0)
        curve[-1] = 1.0
        mass = np.zeros(channel.domain.size)
        mass[: curve.size] = np.diff(curve, prepend=0.0)
        return distribution_of(channel, release, mass, provenance=decoder_document(self))
