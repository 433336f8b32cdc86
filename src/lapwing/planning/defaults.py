"""The default decoder of each randomizer."""

from __future__ import annotations

from dataclasses import fields, replace
from importlib.metadata import entry_points, packages_distributions
from typing import Any, TypeVar, cast

from lapwing.decoders.decoder import Decoder, SearchDecoder
from lapwing.decoders.empirical_bayes.mixture_prior import MixturePrior
from lapwing.decoders.empirical_bayes.spectral_prior import SYMBOL_LIMIT, SpectralPrior
from lapwing.decoders.likelihood.expectation_maximization import ExpectationMaximization
from lapwing.decoders.logs.exhaustive_scan import ExhaustiveScan
from lapwing.decoders.unbiased.least_squares import LeastSquares
from lapwing.errors import ArgumentError
from lapwing.linear.operators.separable import Separable
from lapwing.protocol.channels.hashed_channel import LISTED
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.tally import Kind
from lapwing.protocol.randomizer import Randomizer
from lapwing.registry import DECODERS

D = TypeVar("D")

NUMERIC_LIMIT = 4096
"""Symbols of a numerical domain up to which the spectral prior is recommended."""
# It then takes less than a second.

COUNTED_LIMIT = 1024
"""The same for randomizers that treat all symbols alike. Beyond, the prior wins nothing."""

SCAN_LIMIT = 2**34
"""Most values that are scanned without being asked to: about a minute and a half."""

FEW = 24
"""Labels from which the mixture prior is recommended. Fewer determine it poorly."""


def recommended_decoder(randomizer: Randomizer, *, size: int | None = None) -> Decoder:
    """Return the default decoder of a randomizer, which returns a Distribution.

    The randomizer names it: the class variable `decoder`. The size of the domain decides whether
    another one stands in for the spectral prior and the mixture prior.

    Numbers are decoded by the spectral prior, which learns from the reports how smooth the column
    is. On the same reports of one wave it is as good as EMS on smooth columns and far better on
    others (`benchmarks/accuracy`). Above 4096 symbols waves are decoded by EMS, in time O(symbols).
    Randomized response, unary encoding and subset selection of numbers get it up to 1024 bins.
    There it beats least squares on the simplex, which does not use neighbors. Trees get the
    consistency step of their papers: ADMM for a hierarchy, the clip for a wavelet expansion.

    Labels are decoded by the mixture prior, which learns from the reports how shares are
    distributed, in linear time. Fewer than 24 labels tell it too little: they, one-bit Haar
    coefficients and whatever is left get least squares on the simplex, which assumes nothing.

    size: Symbols at which it is decoded, without those below and above. Default: those of its
        domain.
    """
    if randomizer.domain.name == Product.name:
        return _decoder_of_pairs(randomizer)
    symbols = randomizer.domain.inside_size if size is None else size
    named = named_decoder(randomizer)
    if named.name == SpectralPrior.name:
        # The blocks of a mixture together are what the prior was made for, up to its own limit.
        most = SYMBOL_LIMIT if hasattr(randomizer, "groups") else NUMERIC_LIMIT
        return SpectralPrior() if symbols <= most else ExpectationMaximization(smoothed=True)
    if named.name == MixturePrior.name:
        if randomizer.domain.ordered:
            return SpectralPrior() if symbols <= COUNTED_LIMIT else LeastSquares()
        return MixturePrior() if symbols >= FEW else LeastSquares()
    return LeastSquares() if named.reads == "log" else named


def _decoder_of_pairs(randomizer: Randomizer) -> Decoder:
    """Return the log-density prior where reports see each axis on its own, else least squares.

    Those of boxes and of single cells do so. Reports that are stored one by one are counted for
    each cell first.
    """
    from lapwing.decoders.empirical_bayes.log_density_prior import LogDensityPrior

    pairs = cast(Decoder, LogDensityPrior())
    if randomizer.collects == "log":
        return pairs
    operators = [block.operator for block in randomizer.channel.blocks]
    seen = all(isinstance(one, Separable) or one.compound is not None for one in operators)
    return pairs if seen else LeastSquares()


def named_decoder(randomizer: Randomizer) -> Any:
    """Return the decoder that a randomizer names, with the parameters that it names.

    Raises ArgumentError when no such decoder is registered.
    """
    name = randomizer.decoder
    if name not in DECODERS:
        raise ArgumentError(
            f"{randomizer.name} is decoded by {name!r}, which is not registered. "
            f"{_remedy(randomizer)}, or pass decoder="
        )
    return replace(DECODERS.resolve(name), **getattr(randomizer, "_decoder_settings", {}))


def _remedy(randomizer: Randomizer) -> str:
    """Return how to get the decoder that a randomizer names."""
    offered = entry_points(group="lapwing.decoders", name=randomizer.decoder)
    for entry in offered:
        if entry.dist is not None:
            return f"The package {entry.dist.name} offers it: call lapwing.plugins.load()"
    module = type(randomizer).__module__.partition(".")[0]
    package = next(iter(packages_distributions().get(module, [])), None)
    if package is None:
        return "Register its class with lapwing.plugins.register"
    return f"Install all of the package {package}, which has the randomizer"


def default_decoder(
    randomizer: Randomizer, kind: Kind, *, size: int | None = None
) -> Decoder | SearchDecoder:
    """Return the decoder of an observation of this kind when none is asked for.

    Stored reports are decoded to heavy hitters where there are too many values to list. Otherwise
    their counts are decoded by the recommended decoder, as those of any randomizer.
    """
    if kind == "log":
        named: SearchDecoder = named_decoder(randomizer)
        if named.reads == "log":
            return named
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
