"""The decoders that the contract suite runs over, and the channels that it gives them.

:data:`DECODERS`, on every channel of :data:`CHANNELS` that they decode. A test fails when a decoder
that a document may name has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from scipy.linalg import hadamard

from lapwing import (
    Categories,
    CompressivePrivatization,
    ExpectationMaximization,
    Integers,
    Interval,
    LeastSquares,
    MixturePrior,
    MultiscaleWave,
    RandomizedResponse,
    SpectralPrior,
    SquareWave,
    SubsetSelection,
)
from lapwing.decoders import (
    Candidates,
    CompressiveEstimate,
    ExhaustiveScan,
    LogDensityPrior,
    PrefixExtension,
    SparseRecovery,
)
from lapwing.papers.baselines import (
    HeavyHitterSelection,
    HybridGrids,
    LocalHashing,
    Normalization,
    PenalizedLikelihood,
    Threshold,
)
from lapwing.papers.convolution import BinomialSmoothing, GaussianSmoothing, Wiener
from lapwing.papers.square_wave import GeneralWave, HaarHadamard, Hierarchical, TreeConsistency
from lapwing.papers.wavelet import Wavelet, WaveletClip
from lapwing.protocol import Block, Channel
from lapwing.randomizers import HadamardResponse, OptimizedUnaryEncoding, UnaryEncoding
from tests.contracts.registered import DOMAINS


def mixed_channel() -> Channel:
    """Return a channel of two blocks that no randomizer of the package has."""
    domain = Interval(0, 1, bins=8)
    wave = SquareWave(domain, 3, width=0.13)
    bits = OptimizedUnaryEncoding(domain, 3)
    blocks = [
        Block(wave.channel.blocks[0].operator, wave.channel.blocks[0].law, 0.625),
        Block(bits.channel.blocks[0].operator, bits.channel.blocks[0].law, 0.375),
    ]
    return Channel(domain, blocks, "mixed", wave.guarantee)


_TAXI = Interval(0, 1, bins=8)

_SIGNS = tuple(map(tuple, hadamard(16)[:, 1:9].tolist()))
"""Near sets of half of the outputs that are orthogonal, so that every decoder can invert them."""

CHANNELS: dict[str, Callable[[], Channel]] = {
    "response on categories": lambda: RandomizedResponse(Categories(6), 3).channel,
    "response on an interval": lambda: RandomizedResponse(_TAXI, 3).channel,
    "wave": lambda: SquareWave(_TAXI, 3, width=0.13).channel,
    "wave on a circle": lambda: SquareWave(replace(_TAXI, circular=True), 3, width=0.13).channel,
    "wave on a fine grid": lambda: SquareWave(_TAXI, 3, width=0.1, grid=40).channel,
    "wave on integers": lambda: SquareWave(Integers(17, 24), 3, width=0.13).channel,
    "wave with atoms and missing": lambda: (
        SquareWave(Interval(0, 1, bins=4, atoms=(0, 0.4), missing="bin"), 3, width=0.13).channel
    ),
    "wave on a log scale": lambda: SquareWave(DOMAINS["log"], 3, width=0.2).channel,
    "symmetric bits": lambda: UnaryEncoding(Categories(6), 3).channel,
    "optimized bits": lambda: OptimizedUnaryEncoding(_TAXI, 3).channel,
    "mixed": mixed_channel,
    "subsets": lambda: SubsetSelection(_TAXI, 3, size=2).channel,
    "wave of any shape": lambda: GeneralWave(_TAXI, 3, ratio=0.5, width=0.2).channel,
    "compressive": lambda: CompressivePrivatization(_TAXI, 3, matrix=_SIGNS).channel,
    "multiscale": lambda: (
        (
            MultiscaleWave(
                _TAXI, 3, components=[("wave", 0.5, 0.5), ("wave", 1, 0.3), ("subset", 8, 0.2)]
            )
        ).channel
    ),
    "hierarchy": lambda: Hierarchical(_TAXI, 3, branching=2).channel,
    "Hadamard response": lambda: HadamardResponse(Categories(6), 1, blocks=1).channel,
    "Hadamard response in blocks": lambda: HadamardResponse(Categories(6), 3, blocks=4).channel,
    "Hadamard response on an interval": lambda: HadamardResponse(_TAXI, 3).channel,
    "pool of hashes": lambda: LocalHashing(Categories(6), 1, hashes=6, size=3).channel,
    "Haar coefficients": lambda: HaarHadamard(_TAXI, 3).channel,
    "wavelet": lambda: Wavelet(_TAXI, 3).channel,
    "wavelet, large sets": lambda: Wavelet(_TAXI, "1.09").channel,
}


@dataclass(frozen=True)
class DecoderRow:
    """How the contracts use one decoder.

    `exact`: a configuration that is run to the end, so that it returns the truth of a noiseless
    tally; `recovers` says which truths: "any", or only the "uniform" one because it smooths.
    `ordered`: whether it needs an ordered domain. `signed`: whether it keeps a signed one.
    `inverts`: whether it starts from the unbiased estimate, and so may refuse a tally with a group
    that nobody reported from. `most`: reports up to which all may be equal. `only`: names
    of the channels that it decodes when it must refuse the others. `band`: a word that says where
    its band comes from. `lists`: whether it returns HeavyHitters or a JointDistribution, whose
    contract is in their tests.
    """

    decoder: Any
    exact: Any
    recovers: str = "any"
    ordered: bool = False
    signed: bool = False
    inverts: bool = False
    most: int = 2**53 - 1
    only: tuple[str, ...] = ()
    band: str = "linear"
    lists: bool = False

    def decodes(self, name: str, channel: Channel) -> bool:
        """Return whether it must decode a channel of this name; otherwise it must refuse it."""
        return (channel.domain.ordered or not self.ordered) and (not self.only or name in self.only)


# One level of cells is a tree, too.
_TREES = (
    *("hierarchy", "response on an interval", "response on categories", "symmetric bits"),
    *("optimized bits", "subsets"),
)
_SUPPORTING = (
    *_TREES[1:],
    "Hadamard response",
    "Hadamard response in blocks",
    "Hadamard response on an interval",
)
_CIRCULANT = (
    *("response on categories", "response on an interval", "symmetric bits", "optimized bits"),
    *("subsets", "wave on a circle"),
)

DECODERS: dict[str, DecoderRow] = {
    "em": DecoderRow(
        ExpectationMaximization(), ExpectationMaximization(tolerance=1e-4, limit=200_000)
    ),
    "ems": DecoderRow(
        ExpectationMaximization(smoothed=True),
        ExpectationMaximization(smoothed=True),
        recovers="uniform",
        ordered=True,
    ),
    "least squares": DecoderRow(LeastSquares(), LeastSquares()),
    "least squares, equal weights": DecoderRow(
        LeastSquares(weighted=False), LeastSquares(weighted=False)
    ),
    "unbiased": DecoderRow(
        LeastSquares(signed=True), LeastSquares(signed=True), signed=True, inverts=True
    ),
    "penalized": DecoderRow(
        PenalizedLikelihood(),
        PenalizedLikelihood(roughness=1e-6, tolerance=1e-4, limit=200_000),
        ordered=True,
    ),
    # Its matrices lose the groups without reports beside 2^53 reports of another.
    "spectral prior": DecoderRow(
        SpectralPrior(), SpectralPrior(), ordered=True, most=2**40, band="widened"
    ),
    "sparse recovery": DecoderRow(SparseRecovery(), SparseRecovery()),
    "sparse recovery, any sign": DecoderRow(
        SparseRecovery(method="omp"), SparseRecovery(method="omp")
    ),
    "sparse recovery, l1": DecoderRow(SparseRecovery(method="l1"), SparseRecovery(method="l1")),
    "compressive estimate": DecoderRow(
        CompressiveEstimate(sparsity=8), CompressiveEstimate(sparsity=8), only=("compressive",)
    ),
    "tree": DecoderRow(
        TreeConsistency(signed=True),
        TreeConsistency(signed=True),
        only=(*_TREES, "Haar coefficients"),
        signed=True,
    ),
    "tree, without negative nodes": DecoderRow(
        TreeConsistency(method="admm"), TreeConsistency(method="admm", tolerance=1e-4), only=_TREES
    ),
    "wavelet clip": DecoderRow(
        WaveletClip(), WaveletClip(), only=("wavelet", "wavelet, large sets")
    ),
    "wavelet without a clip": DecoderRow(
        WaveletClip(signed=True),
        WaveletClip(signed=True),
        only=("wavelet", "wavelet, large sets"),
        signed=True,
    ),
    "mixture prior": DecoderRow(MixturePrior(), MixturePrior(), only=_SUPPORTING),
    "mixture prior, medians": DecoderRow(
        MixturePrior(estimate="median"), MixturePrior(estimate="median"), only=_SUPPORTING
    ),
    "threshold": DecoderRow(Threshold(), Threshold(), only=_SUPPORTING),
    "threshold, projected": DecoderRow(
        Threshold(control="false-discovery", rest="project"),
        Threshold(control="false-discovery", rest="project"),
        only=_SUPPORTING,
    ),
    "clip and normalize": DecoderRow(Normalization(), Normalization(), only=_SUPPORTING),
    "additive normalization": DecoderRow(
        Normalization(method="additive", signed=True),
        Normalization(method="additive", signed=True),
        only=_SUPPORTING,
        signed=True,
    ),
    "norm-cut": DecoderRow(
        Normalization(method="norm-cut"), Normalization(method="norm-cut"), only=_SUPPORTING
    ),
    "heavy hitters": DecoderRow(
        HeavyHitterSelection(), HeavyHitterSelection(), only=_SUPPORTING, lists=True
    ),
    "scan of a log": DecoderRow(ExhaustiveScan(), ExhaustiveScan(), only=("a log",)),
    "prefixes in a log": DecoderRow(PrefixExtension(), PrefixExtension(), only=("a log",)),
    "candidates in a log": DecoderRow(Candidates([0, 1]), Candidates([0, 1]), only=("a log",)),
    "log-density prior": DecoderRow(
        LogDensityPrior(), LogDensityPrior(), only=("pairs",), lists=True
    ),
    "hybrid grids": DecoderRow(HybridGrids(), HybridGrids(), only=("pairs",), lists=True),
    "Wiener": DecoderRow(Wiener(), Wiener(), only=_CIRCULANT),
    "Wiener, direct": DecoderRow(
        Wiener(method="direct", signed=True),
        Wiener(method="direct", signed=True),
        only=_CIRCULANT,
        signed=True,
    ),
    "Gaussian smoothing": DecoderRow(
        GaussianSmoothing(sigma=1),
        GaussianSmoothing(sigma=1),
        recovers="uniform",
        ordered=True,
        inverts=True,
        only=tuple(name for name in CHANNELS if name != "wave with atoms and missing"),
    ),
    "binomial smoothing": DecoderRow(
        BinomialSmoothing(), BinomialSmoothing(), recovers="uniform", ordered=True, inverts=True
    ),
}


def decoder_grid() -> dict[tuple[str, str], Channel]:
    """Return every decoder with every channel that it must decode, by their names."""
    channels = {name: make() for name, make in CHANNELS.items()}
    return {
        (name, where): channel
        for where, channel in channels.items()
        for name, row in DECODERS.items()
        if row.decodes(where, channel) and not row.lists
    }


def features_of(case: tuple[str, str], channel: Channel) -> Iterator[Hashable]:
    """Yield a decoder with all that it may treat in a way of its own: domain, blocks, operators."""
    name, where = case
    domain = channel.domain
    yield "channel", where
    yield name, type(domain), *(getattr(domain, key, None) for key in DOMAIN_KINDS)
    yield name, frozenset((type(block.law), type(block.operator)) for block in channel.blocks)


DOMAIN_KINDS = ("circular", "scale", "atoms", "missing")
"""Fields of a domain that change how its symbols lie."""
