"""The methods that documents and commands may name; a class is imported when it is asked for.

Ours stand in tables of strings. The classes of other packages come in by :mod:`lapwing.plugins`.
Nothing that a document names is imported for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from lapwing.documents import nearest, quoted
from lapwing.errors import ArgumentError


class Registry(Mapping[str, type[Any]]):
    """Classes by their names.

    Parameters
    ----------
    kind : str
        What they are, for messages.
    protocol : str
        "module:class" of what each of them must have.
    homes : mapping of str to str
        Name to "module:class" of ours.
    """

    def __init__(self, kind: str, protocol: str, homes: Mapping[str, str]) -> None:
        self.kind = kind
        self.protocol = protocol
        self._homes = dict(homes)
        self._registered: dict[str, type[Any]] = {}

    def __getitem__(self, name: str) -> type[Any]:
        if name in self._registered:
            return self._registered[name]
        return _found(self._homes[name])

    def __contains__(self, name: object) -> bool:
        # Mapping would ask for the class, and so import it.
        return name in self._homes or name in self._registered

    def __iter__(self) -> Iterator[str]:
        return iter([*self._homes, *self._registered])

    def __len__(self) -> int:
        return len(self._homes) + len(self._registered)

    def registered(self) -> list[type[Any]]:
        """Return the classes that are not ours."""
        return list(self._registered.values())

    def offers(self) -> set[str]:
        """Return the names of what each of them must have."""
        protocol = _found(self.protocol)
        return {name for name in {*vars(protocol), *protocol.__annotations__} if name[0] != "_"}

    def resolve(self, given: Any) -> Any:
        """Return what is given, or what its name stands for, with the knobs that it has by itself.

        Parameters
        ----------
        given : object or str
            An instance, or a name in the table.

        Raises
        ------
        ArgumentError
            When it is a name that is not in the table, or that of a class whose knobs must be
            said; when it is a class, or no such thing at all.
        """
        if isinstance(given, str):
            if given not in self:
                raise ArgumentError(
                    f"the {self.kind} must be one of {', '.join(self)}, got {quoted(given)}"
                    f"{nearest(given, self)}"
                )
            given = self[given]
            try:
                return given()
            except TypeError:
                raise ArgumentError(
                    f"the {self.kind} {given.name} has knobs that must be said; pass "
                    f"{given.__name__}(...)"
                ) from None
        if isinstance(given, type) or not all(hasattr(given, name) for name in self.offers()):
            kind = type(given).__name__
            said = f"the class {given.__name__}" if isinstance(given, type) else f"a {kind}"
            raise ArgumentError(f"the {self.kind} must be one, or the name of one, got {said}")
        return given

    def knows(self, made: type[Any]) -> bool:
        """Return whether this very class is in it; imports no other."""
        name = getattr(made, "name", None)
        return isinstance(name, str) and self.get(name) is made

    def add(self, made: type[Any]) -> None:
        """Take a class in; see :func:`lapwing.plugins.register`."""
        name = made.name
        if name in self._homes:
            raise ArgumentError(
                f"{name!r} is the name of a {self.kind} of lapwing; give {place_of(made)} another"
            )
        known = self._registered.setdefault(name, made)
        # A cell of a notebook that runs again defines its class again.
        if place_of(known) != place_of(made):
            raise ArgumentError(
                f"{name!r} is the name of {place_of(known)} already; give {place_of(made)} another"
            )
        self._registered[name] = made


def place_of(made: type[Any]) -> str:
    """Return where a class is defined: the module and its name."""
    return f"{made.__module__}.{made.__qualname__}"


def _found(place: str) -> type[Any]:
    module, _, name = place.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found


RANDOMIZERS = Registry(
    "randomizer",
    "lapwing.protocol.randomizer:Randomizer",
    {
        "randomized-response": (
            "lapwing.randomizers.categorical.randomized_response:RandomizedResponse"
        ),
        "square-wave": "lapwing.randomizers.numerical.square_wave:SquareWave",
        "unary-encoding": "lapwing.randomizers.categorical.unary_encoding:UnaryEncoding",
        "optimized-unary-encoding": (
            "lapwing.randomizers.categorical.unary_encoding:OptimizedUnaryEncoding"
        ),
        "subset-selection": "lapwing.randomizers.categorical.subset_selection:SubsetSelection",
        "affine-subset-selection": (
            "lapwing.randomizers.categorical.affine_subset_selection:AffineSubsetSelection"
        ),
        "hadamard-response": "lapwing.randomizers.categorical.hadamard_response:HadamardResponse",
        "compressive-privatization": (
            "lapwing.randomizers.categorical.compressive_privatization:CompressivePrivatization"
        ),
        "rappor": "lapwing.randomizers.categorical.rappor:Rappor",
        "local-hashing": "lapwing.randomizers.categorical.local_hashing:LocalHashing",
        "linear-hashing": "lapwing.randomizers.categorical.linear_hashing:LinearHashing",
        "prefix-hashing": "lapwing.randomizers.categorical.prefix_hashing:PrefixHashing",
        "multiscale-wave": "lapwing.randomizers.numerical.multiscale_wave:MultiscaleWave",
        "general-wave": "lapwing.randomizers.numerical.general_wave:GeneralWave",
        "piecewise": "lapwing.randomizers.numerical.piecewise:Piecewise",
        "hierarchical": "lapwing.randomizers.numerical.hierarchical:Hierarchical",
        "haar-hadamard": "lapwing.randomizers.numerical.haar_hadamard:HaarHadamard",
        "wavelet": "lapwing.randomizers.numerical.wavelet:Wavelet",
    },
)
"""Every randomizer that a document may name. Adding one of ours is adding a row.

StochasticRounding is not among them: its two outputs say the mean and nothing else, and a survey
is decoded to a distribution.
"""

DECODERS = Registry(
    "decoder",
    "lapwing.decoders.decoder:Decoder",
    {
        "expectation-maximization": (
            "lapwing.decoders.likelihood.expectation_maximization:ExpectationMaximization"
        ),
        "least-squares": "lapwing.decoders.unbiased.least_squares:LeastSquares",
        "mixture-prior": "lapwing.decoders.empirical_bayes.mixture_prior:MixturePrior",
        "normalization": "lapwing.decoders.unbiased.normalization:Normalization",
        "threshold": "lapwing.decoders.unbiased.threshold:Threshold",
        "penalized-likelihood": (
            "lapwing.decoders.likelihood.penalized_likelihood:PenalizedLikelihood"
        ),
        "sparse-recovery": "lapwing.decoders.structured.sparse_recovery:SparseRecovery",
        "compressive-estimate": ("lapwing.decoders.structured.sparse_recovery:CompressiveEstimate"),
        "spectral-prior": "lapwing.decoders.empirical_bayes.spectral_prior:SpectralPrior",
        "tree-consistency": "lapwing.decoders.structured.tree_consistency:TreeConsistency",
        "wavelet-clip": "lapwing.decoders.structured.wavelet_clip:WaveletClip",
        "wiener": "lapwing.decoders.deconvolution.wiener:Wiener",
        "gaussian-smoothing": ("lapwing.decoders.deconvolution.wiener:GaussianSmoothing"),
        "binomial-smoothing": ("lapwing.decoders.deconvolution.wiener:BinomialSmoothing"),
        "heavy-hitter-selection": ("lapwing.decoders.unbiased.threshold:HeavyHitterSelection"),
        "exhaustive-scan": "lapwing.decoders.logs.exhaustive_scan:ExhaustiveScan",
        "candidates": "lapwing.decoders.logs.exhaustive_scan:Candidates",
        "prefix-extension": "lapwing.decoders.logs.exhaustive_scan:PrefixExtension",
    },
)
"""Every decoder that a document or a command may name."""

MECHANISMS = Registry(
    "mechanism",
    "lapwing.protocol.release:Mechanism",
    {
        "prefix-sums": "lapwing.mechanisms.prefix_sums:PrefixSums",
        "sum-tree": "lapwing.mechanisms.sum_tree:SumTree",
        "histogram-query": "lapwing.mechanisms.histogram_query:HistogramQuery",
        "label-counts": "lapwing.mechanisms.label_counts:LabelCounts",
        "polynomial-projection": "lapwing.mechanisms.polynomial_projection:PolynomialProjection",
        "adaptive-quantiles": "lapwing.mechanisms.adaptive_quantiles:AdaptiveQuantiles",
        "matching-pursuit": "lapwing.mechanisms.matching_pursuit:MatchingPursuit",
        "running-prefix-sums": "lapwing.mechanisms.continual_prefix_sums:RunningPrefixSums",
    },
)
"""Every mechanism that a document or a command may name."""

TELLING = {"from_words": RANDOMIZERS, "loss": MECHANISMS, "decode": DECODERS}
"""The method by which a class of each kind is recognized."""

GROUPS = {
    "lapwing.randomizers": RANDOMIZERS,
    "lapwing.decoders": DECODERS,
    "lapwing.mechanisms": MECHANISMS,
}
"""The groups of entry points in which other packages offer their classes."""
