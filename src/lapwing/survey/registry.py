"""The methods that documents and commands may name; a class is imported when it is asked for.

Ours stand in tables of texts. Somebody else's class comes in by :func:`register`, or from an
installed package that offers it as an entry point, when the program asks for those
(:func:`load_plugins`). What stands in a document never imports anything that is not here already.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from lapwing.documents import nearest, quoted
from lapwing.errors import ArgumentError, LapwingWarning

Made = TypeVar("Made", bound=type[Any])

_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

LONGEST_NAME = 60


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

    def made(self, given: Any) -> Any:
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
        """Take a class in; see :func:`register`."""
        name = made.name
        if name in self._homes:
            raise ArgumentError(
                f"{name!r} is the name of a {self.kind} of lapwing; give {_place(made)} another"
            )
        known = self._registered.setdefault(name, made)
        # A cell of a notebook that runs again defines its class again.
        if _place(known) != _place(made):
            raise ArgumentError(
                f"{name!r} is the name of {_place(known)} already; give {_place(made)} another"
            )
        self._registered[name] = made


def _place(made: type[Any]) -> str:
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
        "compressive-estimate": (
            "lapwing.decoders.structured.compressive_estimate:CompressiveEstimate"
        ),
        "spectral-prior": "lapwing.decoders.empirical_bayes.spectral_prior:SpectralPrior",
        "tree-consistency": "lapwing.decoders.structured.tree_consistency:TreeConsistency",
        "wavelet-clip": "lapwing.decoders.structured.wavelet_clip:WaveletClip",
        "wiener": "lapwing.decoders.deconvolution.wiener:Wiener",
        "gaussian-smoothing": ("lapwing.decoders.deconvolution.kernel_smoothing:GaussianSmoothing"),
        "binomial-smoothing": ("lapwing.decoders.deconvolution.kernel_smoothing:BinomialSmoothing"),
        "heavy-hitter-selection": (
            "lapwing.decoders.unbiased.heavy_hitter_selection:HeavyHitterSelection"
        ),
        "exhaustive-scan": "lapwing.decoders.logs.exhaustive_scan:ExhaustiveScan",
        "candidates": "lapwing.decoders.logs.candidates:Candidates",
        "prefix-extension": "lapwing.decoders.logs.prefix_extension:PrefixExtension",
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


def _kind_of(made: Any) -> Registry | None:
    return next((table for method, table in TELLING.items() if hasattr(made, method)), None)


def register(made: Made) -> Made:
    """Make a randomizer, decoder or mechanism known to documents and commands, by its name.

    May be used as a decorator. It proves nothing: :mod:`lapwing.testing` does.

    Parameters
    ----------
    made : class
        A frozen dataclass with all that its protocol asks for.

    Returns
    -------
    class
        The same.

    Raises
    ------
    ArgumentError
        When it is none of the three, lacks something, or has the name of another.
    """
    table = _kind_of(made)
    if table is None or not isinstance(made, type):
        raise ArgumentError(
            "what is registered must be the class of a randomizer, a decoder or a mechanism, got "
            f"{getattr(made, '__qualname__', f'a {type(made).__name__}')}, which has none of "
            f"{', '.join(TELLING)}"
        )
    parameters = getattr(made, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen or "__dataclass_params__" not in vars(made):
        raise ArgumentError(f"{_place(made)} must be a frozen dataclass; its fields are its knobs")
    offers = table.offers()
    fields = {field.name for field in dataclasses.fields(made)}
    absent = [name for name in sorted(offers - fields) if not hasattr(made, name)]
    if absent:
        raise ArgumentError(
            f"a {table.kind} must have {', '.join(sorted(offers))}; {_place(made)} lacks "
            f"{', '.join(absent)}"
        )
    if table is DECODERS:
        from lapwing.decoders.decoder import check_reads  # Decoder itself was read just now

        check_reads(made)
    name: Any = getattr(made, "name", None)
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _KEBAB.fullmatch(name):
        raise ArgumentError(
            f"the name of {_place(made)} must be words in small letters with hyphens, such as "
            f"'square-wave', and of at most {LONGEST_NAME} characters, got {quoted(name)}"
        )
    table.add(made)
    return made


def packages_of_others() -> set[str]:
    """Return the packages whose classes came in by :func:`register`."""
    registered = [made for table in GROUPS.values() for made in table.registered()]
    return {made.__module__.partition(".")[0] for made in registered}


def load_plugins() -> list[str]:
    """Register what installed packages offer, and return the names.

    An installed package offers classes as entry points of the groups ``lapwing.randomizers``,
    ``lapwing.decoders`` and ``lapwing.mechanisms``, each under the name that the class has. One
    that cannot be loaded is named in a LapwingWarning, and the others are loaded all the same.
    """
    loaded, failed = [], []
    installed = entry_points()
    for group, table in GROUPS.items():
        for entry in installed.select(group=group):
            try:
                _load(entry, table)
                loaded.append(entry.name)
            # Somebody else's code: whatever it raises is its failure, and must not be ours. Some
            # modules end the program when something that they need is missing.
            except (Exception, SystemExit) as error:
                package = entry.dist.name if entry.dist is not None else "a package"
                failed.append(
                    f"the plug-in {entry.name!r} of {package} cannot be used: "
                    f"{type(error).__name__}: {error}"
                )
    for message in failed:
        warnings.warn(message, LapwingWarning, stacklevel=2)
    return loaded


def _load(entry: EntryPoint, table: Registry) -> None:
    made = entry.load()
    if getattr(made, "name", None) != entry.name:
        raise ArgumentError(f"its class is named {quoted(getattr(made, 'name', None))}")
    if _kind_of(made) is not table:
        raise ArgumentError(f"it is no {table.kind}, and its group is for those")
    register(made)
