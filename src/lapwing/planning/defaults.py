"""Which decoder goes with which randomizer, when none is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from lapwing.decoders.decoder import Decoder, SearchDecoder
from lapwing.decoders.empirical_bayes.mixture_prior import MixturePrior
from lapwing.decoders.empirical_bayes.spectral_prior import SYMBOL_LIMIT, SpectralPrior
from lapwing.decoders.likelihood.expectation_maximization import ExpectationMaximization
from lapwing.decoders.logs.exhaustive_scan import ExhaustiveScan
from lapwing.decoders.logs.prefix_extension import PrefixExtension
from lapwing.decoders.structured.sparse_recovery import SparseRecovery
from lapwing.decoders.structured.tree_consistency import TreeConsistency
from lapwing.decoders.structured.wavelet_clip import WaveletClip
from lapwing.decoders.unbiased.least_squares import LeastSquares
from lapwing.protocol.channels.hashed_channel import LISTED
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.randomizer import Randomizer, derived_values

D = TypeVar("D")

NUMERIC_LIMIT = 4096
"""Symbols of a numerical domain up to which the spectral prior is recommended: it then takes less
than a second."""

COUNTED_LIMIT = 1024
"""The same for randomizers that treat all symbols alike; beyond, the prior wins nothing."""

SCAN_LIMIT = 2**34
"""Most values that are scanned without being asked to: about a minute and a half."""

FEW = 24
"""Labels from which the mixture prior is recommended: fewer tell it little about their law."""


def recommended_decoder(randomizer: Randomizer, *, size: int | None = None) -> Decoder:
    """Return the decoder to use when none is asked for; each returns a Distribution.

    Numbers are decoded by the spectral prior, which learns from the reports how smooth the column
    is. On the same reports of one wave it is as good as EMS on smooth columns and far better on
    others (`benchmarks/accuracy`). Above 4096 symbols waves are decoded by EMS, in time
    O(symbols). Randomized response, unary encoding and subset selection of numbers get it up to
    1024 symbols: there it beats least squares on the simplex, which knows no neighbors. Trees get
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
    name = randomizer.name
    if name in _DECODED_AS_TREES:
        return _DECODED_AS_TREES[name]()
    if name in _WAVES:
        return (
            SpectralPrior() if symbols <= _WAVES[name] else ExpectationMaximization(smoothed=True)
        )
    ordered = randomizer.domain.ordered
    if ordered and name in _ALIKE and symbols <= COUNTED_LIMIT:
        return SpectralPrior()
    labels = not ordered and symbols >= FEW and name in _SUPPORTED
    # The channel of a pool of hashes is one that the prior cannot read.
    if labels and "hashes" not in derived_values(randomizer):
        return MixturePrior()
    return LeastSquares()


_DECODED_AS_TREES: Mapping[str, Callable[[], Decoder]] = {
    "hierarchical": lambda: TreeConsistency(method="admm"),
    "wavelet": WaveletClip,
    "compressive-privatization": SparseRecovery,
}

_WAVES: Mapping[str, int] = {
    # Its blocks together are what the prior was made for, up to the prior's own limit.
    "multiscale-wave": SYMBOL_LIMIT,
    "square-wave": NUMERIC_LIMIT,
    "general-wave": NUMERIC_LIMIT,
    "piecewise": NUMERIC_LIMIT,
}
"""Symbols up to which the spectral prior is recommended for a wave."""

_ALIKE = {
    "randomized-response",
    "subset-selection",
    "affine-subset-selection",
    "optimized-unary-encoding",
    "unary-encoding",
}
"""Randomizers that treat all symbols alike, whether they are numbers or labels."""

_SUPPORTED = _ALIKE | {"rappor", "hadamard-response", "linear-hashing", "local-hashing"}
"""Randomizers of labels whose channel the mixture prior reads."""


def default_decoder(
    randomizer: Randomizer, kind: Kind, *, size: int | None = None
) -> Decoder | SearchDecoder:
    """Return the decoder of an observation of this kind when none is asked for.

    A log is decoded to its heavy hitters where its values are too many to be listed; otherwise
    its counts are, as those of any randomizer, by the recommended decoder.
    """
    if kind == "log":
        if randomizer.name == "prefix-hashing":
            return PrefixExtension()
        if randomizer.domain.size > LISTED:
            return ExhaustiveScan()
    return recommended_decoder(randomizer, size=size)


def scanned_long(randomizer: Randomizer, kind: Kind) -> bool:
    """Return whether the default decoder would scan more values than anybody waits for."""
    scan = default_decoder(randomizer, kind).name == ExhaustiveScan.name
    return scan and randomizer.domain.size > SCAN_LIMIT


def decoder_without_band(randomizer: Randomizer) -> Decoder:
    """Return the recommended decoder, but for its band: the same curve in less time."""
    return without_band(recommended_decoder(randomizer))


def without_band(decoder: D) -> D:
    """Return a decoder that leaves its band out, where it may be left out."""
    made: Any = decoder
    knobs = {field.name for field in fields(made)}
    plain: D = replace(made, band=False) if "band" in knobs else decoder
    return plain
