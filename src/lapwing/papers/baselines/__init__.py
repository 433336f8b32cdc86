"""Methods of others that the papers compare with, and that no default uses."""

from lapwing.papers.baselines.adaptive_tree import AdaptiveTree
from lapwing.papers.baselines.hybrid_grids import HybridGrids
from lapwing.papers.baselines.local_hashing import LocalHashing
from lapwing.papers.baselines.penalized_likelihood import PenalizedLikelihood
from lapwing.papers.baselines.prefix_hashing import PrefixHashing
from lapwing.papers.baselines.stochastic_rounding import StochasticRounding
from lapwing.papers.baselines.threshold import HeavyHitterSelection, Normalization, Threshold

__all__ = [
    "AdaptiveTree",
    "HeavyHitterSelection",
    "HybridGrids",
    "LocalHashing",
    "Normalization",
    "PenalizedLikelihood",
    "PrefixHashing",
    "StochasticRounding",
    "Threshold",
]
