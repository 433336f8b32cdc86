"""Which decoder goes with which randomizer: the only place that names pairs."""

from __future__ import annotations

from lapwing.decoders.decoder import Decoder
from lapwing.decoders.expectation_maximization import ExpectationMaximization
from lapwing.decoders.least_squares import LeastSquares
from lapwing.local.square_wave import SquareWave
from lapwing.randomizer import Randomizer


def recommended_decoder(randomizer: Randomizer) -> Decoder:
    """Return the decoder to use when none is asked for.

    Square waves are decoded by EMS, which is the best of the papers' decoders on smooth columns
    (Li et al. 2020, figure 2; measured again in `benchmarks/accuracy`). For randomised response
    and unary encoding least squares on the simplex has the smallest error of the decoders that
    assume nothing about the shares.
    """
    if isinstance(randomizer, SquareWave):
        return ExpectationMaximization(smoothed=True)
    return LeastSquares()
