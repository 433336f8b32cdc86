"""Which decoder goes with which randomizer, when none is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lapwing.categorical_errors import FEW
from lapwing.decoders.consistency import TreeConsistency
from lapwing.decoders.decoder import Decoder
from lapwing.decoders.expectation_maximization import ExpectationMaximization
from lapwing.decoders.least_squares import LeastSquares
from lapwing.decoders.mixture_prior import MixturePrior
from lapwing.decoders.sparse_recovery import SparseRecovery
from lapwing.decoders.spectral_prior import LARGEST as MOST_SYMBOLS
from lapwing.decoders.spectral_prior import SpectralPrior
from lapwing.decoders.wavelet_clip import WaveletClip
from lapwing.local.compressive_privatization import CompressivePrivatization
from lapwing.local.general_wave import GeneralWave
from lapwing.local.hadamard_response import HadamardResponse
from lapwing.local.hierarchical import Hierarchical
from lapwing.local.linear_hashing import LinearHashing
from lapwing.local.local_hashing import LocalHashing
from lapwing.local.mean_reports import Piecewise
from lapwing.local.multiscale_wave import MultiscaleWave
from lapwing.local.randomized_response import GeneralizedRandomizedResponse
from lapwing.local.rappor import Rappor
from lapwing.local.square_wave import SquareWave
from lapwing.local.subset_selection import SubsetSelection
from lapwing.local.unary_encoding import OptimizedUnaryEncoding, UnaryEncoding
from lapwing.local.wavelet import Wavelet
from lapwing.randomizer import Randomizer

LARGEST = 4096
"""Symbols of a numerical domain up to which the spectral prior is recommended: it then takes less
than a second."""

LARGEST_COUNTED = 1024
"""The same for randomizers that treat all symbols alike; beyond, the prior wins nothing."""


def recommended_decoder(randomizer: Randomizer, *, size: int | None = None) -> Decoder:
    """Return the decoder to use when none is asked for; each returns a Distribution.

    Numbers are decoded by the spectral prior, which learns from the reports how smooth the column
    is. On the same reports of one wave it is as good as EMS on smooth columns and far better on
    others (`benchmarks/accuracy`). Above 4096 symbols waves are decoded by EMS, in time
    O(symbols). Randomised response, unary encoding and subset selection of numbers get it up to
    1024 symbols: there it beats least squares on the simplex, which knows no neighbours. Trees get
    the consistency step of their papers: ADMM for a hierarchy, the clip for a wavelet expansion.

    Labels are decoded by the mixture prior, which learns from the reports how shares are
    distributed, in linear time. Fewer than 24 labels tell it too little: they, one-bit Haar
    coefficients and whatever is left get least squares on the simplex, which assumes nothing.

    Parameters
    ----------
    randomizer : Randomizer
    size : int, optional
        Symbols at which it is decoded. Default: those of its domain.
    """
    symbols = randomizer.domain.size if size is None else size
    if isinstance(randomizer, MultiscaleWave):
        # Its blocks together are what the prior was made for; beyond its limit EMS still answers.
        fits = symbols <= MOST_SYMBOLS
        return SpectralPrior() if fits else ExpectationMaximization(smoothed=True)
    if isinstance(randomizer, SquareWave | GeneralWave | Piecewise):
        return SpectralPrior() if symbols <= LARGEST else ExpectationMaximization(smoothed=True)
    if isinstance(randomizer, Hierarchical):
        return TreeConsistency(method="admm")
    if isinstance(randomizer, Wavelet):
        return WaveletClip()
    if isinstance(randomizer, CompressivePrivatization):
        return SparseRecovery()
    supported = isinstance(randomizer, (*_COUNTED, Rappor, HadamardResponse, LinearHashing))
    if isinstance(randomizer, LocalHashing):
        supported = randomizer.hashes is None
    if supported and not randomizer.domain.ordered and symbols >= FEW:
        return MixturePrior()
    numbers = randomizer.domain.ordered and symbols <= LARGEST_COUNTED
    if numbers and isinstance(randomizer, _COUNTED):
        return SpectralPrior()
    return LeastSquares()


_COUNTED = (
    GeneralizedRandomizedResponse,
    SubsetSelection,
    OptimizedUnaryEncoding,
    UnaryEncoding,
)
"""Randomizers that treat all symbols alike, whether they are numbers or labels."""


def decoder_without_band(randomizer: Randomizer) -> Decoder:
    """Return the recommended decoder, but for its band: the same curve in less time."""
    decoder: Any = recommended_decoder(randomizer)
    plain: Decoder = replace(decoder, band=False) if hasattr(decoder, "band") else decoder
    return plain
