"""Which decoder goes with which randomizer: the only place that names pairs."""

from __future__ import annotations

from lapwing.decoders.consistency import TreeConsistency
from lapwing.decoders.decoder import Decoder
from lapwing.decoders.expectation_maximization import ExpectationMaximization
from lapwing.decoders.least_squares import LeastSquares
from lapwing.decoders.spectral_prior import SpectralPrior
from lapwing.decoders.wavelet_clip import WaveletClip
from lapwing.local.general_wave import GeneralWave
from lapwing.local.hierarchical import Hierarchical
from lapwing.local.mean_reports import Piecewise
from lapwing.local.multiscale_wave import MultiscaleWave
from lapwing.local.square_wave import SquareWave
from lapwing.local.wavelet import Wavelet
from lapwing.randomizer import Randomizer


def recommended_decoder(randomizer: Randomizer) -> Decoder:
    """Return the decoder to use when none is asked for; each returns a Distribution.

    A single wave of any shape is decoded by EMS, the best of the papers' decoders on smooth
    columns (Li et al. 2020, figure 2; measured again in `benchmarks/accuracy`). A multiscale wave
    sees all frequencies, so the spectral prior can learn what the data are like. Trees get the
    consistency step of their papers: ADMM for a hierarchy, the clip for a wavelet expansion. For
    the others (randomised response, unary encoding, subset selection, one-bit Haar coefficients)
    least squares on the simplex has the smallest error of the decoders that assume nothing about
    the shares.
    """
    if isinstance(randomizer, SquareWave | GeneralWave | Piecewise):
        return ExpectationMaximization(smoothed=True)
    if isinstance(randomizer, MultiscaleWave):
        return SpectralPrior()
    if isinstance(randomizer, Hierarchical):
        return TreeConsistency(method="admm")
    if isinstance(randomizer, Wavelet):
        return WaveletClip()
    return LeastSquares()
