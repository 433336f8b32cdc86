"""Learn the distribution, never the data: local and central differential privacy.

The five-minute use stands in the README; `docs/data-flow.md` follows one value through every file.
"""

from lapwing.band import Band
from lapwing.categories import Categories
from lapwing.channel import Block, Channel
from lapwing.cumulative import Cumulative
from lapwing.decoders.consistency import TreeConsistency
from lapwing.decoders.expectation_maximization import ExpectationMaximization
from lapwing.decoders.least_squares import LeastSquares
from lapwing.decoders.penalized_likelihood import PenalizedLikelihood
from lapwing.decoders.smoothing import BinomialSmoothing, GaussianSmoothing
from lapwing.decoders.spectral_prior import SpectralPrior
from lapwing.decoders.wavelet_clip import WaveletClip
from lapwing.decoders.wiener import Wiener
from lapwing.distances import (
    decile_error,
    energy,
    kolmogorov_smirnov,
    kullback_leibler,
    l1,
    l2,
    mean_error,
    mean_squared_error,
    range_query_error,
    variance_error,
    wasserstein,
)
from lapwing.distribution import Distribution
from lapwing.domain import Integers, Interval
from lapwing.errors import LapwingError
from lapwing.guarantee import Certificate, Guarantee
from lapwing.ledger import Ledger
from lapwing.local.general_wave import GeneralWave
from lapwing.local.haar_hadamard import HaarHadamard
from lapwing.local.hierarchical import Hierarchical
from lapwing.local.mean_reports import Piecewise, StochasticRounding
from lapwing.local.multiscale_wave import MultiscaleWave
from lapwing.local.randomized_response import GeneralizedRandomizedResponse
from lapwing.local.square_wave import SquareWave
from lapwing.local.subset_selection import SubsetSelection
from lapwing.local.unary_encoding import OptimizedUnaryEncoding, UnaryEncoding
from lapwing.local.wavelet import Wavelet
from lapwing.randomness import secure, seeded
from lapwing.reports import Reports
from lapwing.signed_estimate import SignedEstimate
from lapwing.simulation import simulate
from lapwing.survey import Survey
from lapwing.tally import Counts

__version__ = "0.1.0"

__all__ = [
    "Band",
    "BinomialSmoothing",
    "Block",
    "Categories",
    "Certificate",
    "Channel",
    "Counts",
    "Cumulative",
    "Distribution",
    "ExpectationMaximization",
    "GaussianSmoothing",
    "GeneralWave",
    "GeneralizedRandomizedResponse",
    "Guarantee",
    "HaarHadamard",
    "Hierarchical",
    "Integers",
    "Interval",
    "LapwingError",
    "LeastSquares",
    "Ledger",
    "MultiscaleWave",
    "OptimizedUnaryEncoding",
    "PenalizedLikelihood",
    "Piecewise",
    "Reports",
    "SignedEstimate",
    "SpectralPrior",
    "SquareWave",
    "StochasticRounding",
    "SubsetSelection",
    "Survey",
    "TreeConsistency",
    "UnaryEncoding",
    "Wavelet",
    "WaveletClip",
    "Wiener",
    "decile_error",
    "energy",
    "kolmogorov_smirnov",
    "kullback_leibler",
    "l1",
    "l2",
    "mean_error",
    "mean_squared_error",
    "range_query_error",
    "secure",
    "seeded",
    "simulate",
    "variance_error",
    "wasserstein",
]
