"""The methods that documents and commands may name. A class is imported when it is requested.

Ours stand in tables of strings. The classes of other packages come in by :mod:`lapwing.plugins`.
Nothing that a document names is imported for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from lapwing.documents import nearest, quoted
from lapwing.errors import ArgumentError, kind_of

_ACRONYMS = {
    "grr": "randomized-response",
    "krr": "randomized-response",
    "rr": "randomized-response",
    "sue": "unary-encoding",
    "ue": "unary-encoding",
    "oue": "optimized-unary-encoding",
    "ss": "subset-selection",
    "hr": "hadamard-response",
    "lh": "local-hashing",
    "olh": "local-hashing",
    "sw": "square-wave",
    "pm": "piecewise",
    "cp": "compressive-privatization",
    "hh": "hierarchical",
    "em": "expectation-maximization",
    "ems": "expectation-maximization",
    "admm": "tree-consistency",
    "hdg": "hybrid-grids",
    "tdg": "hybrid-grids",
}
"""What the literature calls them, in small letters."""


def hint(word: str, table: Mapping[str, Any]) -> str:
    """Return a hint at the name that was meant: by its acronym, or the nearest.

    Examples
    --------
    >>> hint("EMS", {"expectation-maximization": None}), hint("x", {})
    (' (did you mean expectation-maximization?)', '')
    """
    name = _ACRONYMS.get(word.lower())
    return f" (did you mean {name}?)" if name in table else nearest(word, table)


class Registry(Mapping[str, type[Any]]):
    """Classes by their names.

    Parameters
    ----------
    kind : str
        Name of the kind of method, for messages.
    protocol : str
        "module:class" of what each of them must have.
    folder : str
        The module that offers ours.
    classes : str
        Their names, with blanks between. A document writes SquareWave as "square-wave".
    """

    def __init__(self, kind: str, protocol: str, folder: str, classes: str) -> None:
        self.kind = kind
        self.protocol = protocol
        self._homes = {
            re.sub(r"\B([A-Z])", r"-\1", name).lower(): f"{folder}:{name}"
            for name in classes.split()
        }
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
        """Return the given method, or that of the name, with its default parameters.

        Parameters
        ----------
        given : object or str
            An instance, or a name in the table.

        Raises
        ------
        ArgumentError
            When it is a name that is not in the table, or that of a class whose parameters must be
            given. Also when it is a class, or another object.
        """
        if isinstance(given, str):
            if given not in self:
                raise ArgumentError(
                    f"the {self.kind} must be one of {', '.join(self)}, got {quoted(given)}"
                    f"{hint(given, self)}"
                )
            given = self[given]
            try:
                return given()
            except TypeError:
                raise ArgumentError(
                    f"the {self.kind} {given.name} has parameters without defaults. Pass "
                    f"{given.__name__}(...)"
                ) from None
        if isinstance(given, type) or not all(hasattr(given, name) for name in self.offers()):
            raise ArgumentError(
                f"the {self.kind} must be one, or the name of one, got {kind_of(given)}"
            )
        return given

    def knows(self, made: type[Any]) -> bool:
        """Return whether this very class is in it, without importing another."""
        name = getattr(made, "name", None)
        return isinstance(name, str) and self.get(name) is made

    def add(self, made: type[Any]) -> None:
        """Add a class, see :func:`lapwing.plugins.register`."""
        name = made.name
        if name in self._homes:
            raise ArgumentError(
                f"{name!r} is the name of a {self.kind} of lapwing. Give {place_of(made)} "
                f"another name"
            )
        known = self._registered.setdefault(name, made)
        # A cell of a notebook that runs again defines its class again.
        if place_of(known) != place_of(made):
            raise ArgumentError(
                f"{name!r} is already the name of {place_of(known)}. Give {place_of(made)} "
                f"another name"
            )
        self._registered[name] = made


def place_of(made: type[Any]) -> str:
    """Return where a class is defined: the module and its name."""
    return f"{made.__module__}.{made.__qualname__}"


@cache
def _found(place: str) -> type[Any]:
    module, _, name = place.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found


RANDOMIZERS = Registry(
    "randomizer",
    "lapwing.protocol.randomizer:Randomizer",
    "lapwing.randomizers",
    """
    RandomizedResponse SquareWave UnaryEncoding OptimizedUnaryEncoding SubsetSelection
    AffineSubsetSelection HadamardResponse CompressivePrivatization Rappor LocalHashing
    LinearHashing PrefixHashing MultiscaleWave GeneralWave Piecewise Hierarchical HaarHadamard
    Wavelet BoxWave MultiscaleBoxes
    """,
)
"""Every randomizer that a document may name. Adding one of ours is adding a word.

StochasticRounding is not among them: its two outputs say the mean and nothing else, and a survey
is decoded to a distribution.
"""

DECODERS = Registry(
    "decoder",
    "lapwing.decoders.decoder:Decoder",
    "lapwing.decoders",
    """
    ExpectationMaximization LeastSquares MixturePrior Normalization Threshold
    PenalizedLikelihood SparseRecovery CompressiveEstimate SpectralPrior TreeConsistency
    WaveletClip Wiener GaussianSmoothing BinomialSmoothing HeavyHitterSelection ExhaustiveScan
    Candidates PrefixExtension LogDensityPrior HybridGrids
    """,
)
"""Every decoder that a document or a command may name."""

MECHANISMS = Registry(
    "mechanism",
    "lapwing.protocol.release:Mechanism",
    "lapwing.mechanisms",
    """
    PrefixSums SumTree HistogramQuery LabelCounts PolynomialProjection AdaptiveQuantiles
    MatchingPursuit RunningPrefixSums
    """,
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
