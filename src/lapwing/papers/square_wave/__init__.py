"""Square wave and expectation maximization (Li et al., 2020)."""

from lapwing.decoders.likelihood.expectation_maximization import ExpectationMaximization
from lapwing.papers.square_wave.general_wave import GeneralWave
from lapwing.papers.square_wave.haar_hadamard import HaarHadamard
from lapwing.papers.square_wave.hierarchical import Hierarchical
from lapwing.papers.square_wave.tree_consistency import TreeConsistency
from lapwing.randomizers.numerical.square_wave import SquareWave

__all__ = [
    "ExpectationMaximization",
    "GeneralWave",
    "HaarHadamard",
    "Hierarchical",
    "SquareWave",
    "TreeConsistency",
]
