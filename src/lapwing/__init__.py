"""Learn the distribution, never the data: local and central differential privacy.

The five-minute use stands in the README; `docs/data-flow.md` follows one value through every file.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.band import Band
    from lapwing.categories import Categories
    from lapwing.central.adaptive_quantiles import AdaptiveQuantiles
    from lapwing.central.histogram_query import HistogramQuery
    from lapwing.central.matching_pursuit import MatchingPursuit
    from lapwing.central.polynomial_projection import PolynomialProjection
    from lapwing.central.prefix_sums import PrefixSums
    from lapwing.central.private_bounds import PrivateBounds, private_bounds
    from lapwing.central.running_prefix_sums import RunningPrefixSums
    from lapwing.central.sum_tree import SumTree
    from lapwing.channel import Block, Channel
    from lapwing.cumulative import Cumulative
    from lapwing.decoders.candidates import Candidates
    from lapwing.decoders.cell_counts import CellCounts
    from lapwing.decoders.compressive_estimate import CompressiveEstimate
    from lapwing.decoders.consistency import TreeConsistency
    from lapwing.decoders.curve_sum import CurveSum
    from lapwing.decoders.exhaustive_scan import ExhaustiveScan
    from lapwing.decoders.expectation_maximization import ExpectationMaximization
    from lapwing.decoders.heavy_hitter_selection import HeavyHitterSelection
    from lapwing.decoders.least_squares import LeastSquares
    from lapwing.decoders.mixture_prior import MixturePrior
    from lapwing.decoders.normalization import Normalization
    from lapwing.decoders.penalized_likelihood import PenalizedLikelihood
    from lapwing.decoders.prefix_extension import PrefixExtension
    from lapwing.decoders.smoothing import BinomialSmoothing, GaussianSmoothing
    from lapwing.decoders.sorted_points import SortedPoints
    from lapwing.decoders.sparse_recovery import SparseRecovery
    from lapwing.decoders.spectral_prior import SpectralPrior
    from lapwing.decoders.step_pursuit import StepPursuit
    from lapwing.decoders.threshold import Threshold
    from lapwing.decoders.wavelet_clip import WaveletClip
    from lapwing.decoders.wiener import Wiener
    from lapwing.difference import Difference
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
    from lapwing.hashed_texts import HashedTexts
    from lapwing.heavy_hitters import HeavyHitters
    from lapwing.ledger import Ledger
    from lapwing.ledger_file import LedgerFile
    from lapwing.local.compressive_privatization import CompressivePrivatization
    from lapwing.local.general_wave import GeneralWave
    from lapwing.local.haar_hadamard import HaarHadamard
    from lapwing.local.hadamard_response import HadamardResponse
    from lapwing.local.hierarchical import Hierarchical
    from lapwing.local.linear_hashing import LinearHashing
    from lapwing.local.local_hashing import LocalHashing
    from lapwing.local.mean_reports import Piecewise, StochasticRounding
    from lapwing.local.multiscale_wave import MultiscaleWave
    from lapwing.local.prefix_hashing import PrefixHashing
    from lapwing.local.randomized_response import GeneralizedRandomizedResponse
    from lapwing.local.rappor import Rappor
    from lapwing.local.rappor_memory import Memory
    from lapwing.local.square_wave import SquareWave
    from lapwing.local.subset_selection import SubsetSelection
    from lapwing.local.unary_encoding import OptimizedUnaryEncoding, UnaryEncoding
    from lapwing.local.wavelet import Wavelet
    from lapwing.privacy_loss import PrivacyLoss
    from lapwing.promise import Promise
    from lapwing.publication import Publication, read_release, release
    from lapwing.randomness import secure, seeded
    from lapwing.recommendation import Recommendation, recommend
    from lapwing.release_error import ExpectedReleaseError, expected_release_error
    from lapwing.releases import Release
    from lapwing.reports import Reports
    from lapwing.segments import tally_by_group
    from lapwing.signed_estimate import SignedEstimate
    from lapwing.simulation import simulate
    from lapwing.summary import Summary
    from lapwing.survey import Survey
    from lapwing.tally import Counts, ReportLog

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveQuantiles": "lapwing.central.adaptive_quantiles",
    "Band": "lapwing.band",
    "BinomialSmoothing": "lapwing.decoders.smoothing",
    "Block": "lapwing.channel",
    "Candidates": "lapwing.decoders.candidates",
    "Categories": "lapwing.categories",
    "CellCounts": "lapwing.decoders.cell_counts",
    "Certificate": "lapwing.guarantee",
    "Channel": "lapwing.channel",
    "CompressiveEstimate": "lapwing.decoders.compressive_estimate",
    "CompressivePrivatization": "lapwing.local.compressive_privatization",
    "Counts": "lapwing.tally",
    "Cumulative": "lapwing.cumulative",
    "CurveSum": "lapwing.decoders.curve_sum",
    "Difference": "lapwing.difference",
    "Distribution": "lapwing.distribution",
    "ExhaustiveScan": "lapwing.decoders.exhaustive_scan",
    "ExpectationMaximization": "lapwing.decoders.expectation_maximization",
    "ExpectedReleaseError": "lapwing.release_error",
    "GaussianSmoothing": "lapwing.decoders.smoothing",
    "GeneralWave": "lapwing.local.general_wave",
    "GeneralizedRandomizedResponse": "lapwing.local.randomized_response",
    "Guarantee": "lapwing.guarantee",
    "HaarHadamard": "lapwing.local.haar_hadamard",
    "HadamardResponse": "lapwing.local.hadamard_response",
    "HashedTexts": "lapwing.hashed_texts",
    "HeavyHitterSelection": "lapwing.decoders.heavy_hitter_selection",
    "HeavyHitters": "lapwing.heavy_hitters",
    "Hierarchical": "lapwing.local.hierarchical",
    "HistogramQuery": "lapwing.central.histogram_query",
    "Integers": "lapwing.domain",
    "Interval": "lapwing.domain",
    "LapwingError": "lapwing.errors",
    "LeastSquares": "lapwing.decoders.least_squares",
    "Ledger": "lapwing.ledger",
    "LedgerFile": "lapwing.ledger_file",
    "LinearHashing": "lapwing.local.linear_hashing",
    "LocalHashing": "lapwing.local.local_hashing",
    "MatchingPursuit": "lapwing.central.matching_pursuit",
    "Memory": "lapwing.local.rappor_memory",
    "MixturePrior": "lapwing.decoders.mixture_prior",
    "MultiscaleWave": "lapwing.local.multiscale_wave",
    "Normalization": "lapwing.decoders.normalization",
    "OptimizedUnaryEncoding": "lapwing.local.unary_encoding",
    "PenalizedLikelihood": "lapwing.decoders.penalized_likelihood",
    "Piecewise": "lapwing.local.mean_reports",
    "PolynomialProjection": "lapwing.central.polynomial_projection",
    "PrefixExtension": "lapwing.decoders.prefix_extension",
    "PrefixHashing": "lapwing.local.prefix_hashing",
    "PrefixSums": "lapwing.central.prefix_sums",
    "PrivacyLoss": "lapwing.privacy_loss",
    "PrivateBounds": "lapwing.central.private_bounds",
    "Promise": "lapwing.promise",
    "Publication": "lapwing.publication",
    "Rappor": "lapwing.local.rappor",
    "Recommendation": "lapwing.recommendation",
    "Release": "lapwing.releases",
    "ReportLog": "lapwing.tally",
    "Reports": "lapwing.reports",
    "RunningPrefixSums": "lapwing.central.running_prefix_sums",
    "SignedEstimate": "lapwing.signed_estimate",
    "SortedPoints": "lapwing.decoders.sorted_points",
    "SparseRecovery": "lapwing.decoders.sparse_recovery",
    "SpectralPrior": "lapwing.decoders.spectral_prior",
    "SquareWave": "lapwing.local.square_wave",
    "StepPursuit": "lapwing.decoders.step_pursuit",
    "StochasticRounding": "lapwing.local.mean_reports",
    "SubsetSelection": "lapwing.local.subset_selection",
    "SumTree": "lapwing.central.sum_tree",
    "Summary": "lapwing.summary",
    "Survey": "lapwing.survey",
    "Threshold": "lapwing.decoders.threshold",
    "TreeConsistency": "lapwing.decoders.consistency",
    "UnaryEncoding": "lapwing.local.unary_encoding",
    "Wavelet": "lapwing.local.wavelet",
    "WaveletClip": "lapwing.decoders.wavelet_clip",
    "Wiener": "lapwing.decoders.wiener",
    "decile_error": "lapwing.distances",
    "energy": "lapwing.distances",
    "expected_release_error": "lapwing.release_error",
    "kolmogorov_smirnov": "lapwing.distances",
    "kullback_leibler": "lapwing.distances",
    "l1": "lapwing.distances",
    "l2": "lapwing.distances",
    "mean_error": "lapwing.distances",
    "mean_squared_error": "lapwing.distances",
    "private_bounds": "lapwing.central.private_bounds",
    "range_query_error": "lapwing.distances",
    "read_release": "lapwing.publication",
    "recommend": "lapwing.recommendation",
    "release": "lapwing.publication",
    "secure": "lapwing.randomness",
    "seeded": "lapwing.randomness",
    "simulate": "lapwing.simulation",
    "tally_by_group": "lapwing.segments",
    "variance_error": "lapwing.distances",
    "wasserstein": "lapwing.distances",
}
"""Where each public name is defined. Its file is read when the name is first used: who tallies
reports does not wait for the curator's mechanisms to be read."""

__all__ = [
    "AdaptiveQuantiles",
    "Band",
    "BinomialSmoothing",
    "Block",
    "Candidates",
    "Categories",
    "CellCounts",
    "Certificate",
    "Channel",
    "CompressiveEstimate",
    "CompressivePrivatization",
    "Counts",
    "Cumulative",
    "CurveSum",
    "Difference",
    "Distribution",
    "ExhaustiveScan",
    "ExpectationMaximization",
    "ExpectedReleaseError",
    "GaussianSmoothing",
    "GeneralWave",
    "GeneralizedRandomizedResponse",
    "Guarantee",
    "HaarHadamard",
    "HadamardResponse",
    "HashedTexts",
    "HeavyHitterSelection",
    "HeavyHitters",
    "Hierarchical",
    "HistogramQuery",
    "Integers",
    "Interval",
    "LapwingError",
    "LeastSquares",
    "Ledger",
    "LedgerFile",
    "LinearHashing",
    "LocalHashing",
    "MatchingPursuit",
    "Memory",
    "MixturePrior",
    "MultiscaleWave",
    "Normalization",
    "OptimizedUnaryEncoding",
    "PenalizedLikelihood",
    "Piecewise",
    "PolynomialProjection",
    "PrefixExtension",
    "PrefixHashing",
    "PrefixSums",
    "PrivacyLoss",
    "PrivateBounds",
    "Promise",
    "Publication",
    "Rappor",
    "Recommendation",
    "Release",
    "ReportLog",
    "Reports",
    "RunningPrefixSums",
    "SignedEstimate",
    "SortedPoints",
    "SparseRecovery",
    "SpectralPrior",
    "SquareWave",
    "StepPursuit",
    "StochasticRounding",
    "SubsetSelection",
    "SumTree",
    "Summary",
    "Survey",
    "Threshold",
    "TreeConsistency",
    "UnaryEncoding",
    "Wavelet",
    "WaveletClip",
    "Wiener",
    "decile_error",
    "energy",
    "expected_release_error",
    "kolmogorov_smirnov",
    "kullback_leibler",
    "l1",
    "l2",
    "mean_error",
    "mean_squared_error",
    "private_bounds",
    "range_query_error",
    "read_release",
    "recommend",
    "release",
    "secure",
    "seeded",
    "simulate",
    "tally_by_group",
    "variance_error",
    "wasserstein",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
