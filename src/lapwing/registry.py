"""The classes that documents and commands may name. A class is imported when it is requested.

Ours are in tables of strings, the only ones that name classes above this file or in a wing. The
classes of other packages come in by :mod:`lapwing.plugins`. Nothing that a document names is
imported for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import lazy_loader

from lapwing.documents import nearest, quoted
from lapwing.errors import ArgumentError, kind_of

KNOWN_AS = {
    "grr": "lw.RandomizedResponse (generalized randomized response)",
    "krr": "lw.RandomizedResponse (k-ary randomized response)",
    "rr": "lw.RandomizedResponse",
    "ue": "lw.randomizers.UnaryEncoding",
    "sue": "lw.randomizers.UnaryEncoding (symmetric unary encoding)",
    "oue": "lw.randomizers.OptimizedUnaryEncoding",
    "ss": "lw.SubsetSelection",
    "hr": "lw.randomizers.HadamardResponse",
    "lh": "lw.papers.baselines.LocalHashing",
    "blh": "lw.papers.baselines.LocalHashing",
    "olh": "lw.papers.baselines.LocalHashing (optimized local hashing)",
    "sw": "lw.SquareWave",
    "pm": "lw.randomizers.Piecewise (piecewise mechanism)",
    "duchi": "lw.papers.baselines.StochasticRounding",
    "cp": "lw.randomizers.CompressivePrivatization",
    "hh": "lw.papers.square_wave.Hierarchical",
    "em": "lw.decoders.ExpectationMaximization()",
    "ems": "lw.decoders.ExpectationMaximization(smoothed=True)",
    "hdg": "lw.papers.baselines.HybridGrids (hybrid-dimensional grids)",
    "tdg": "lw.papers.baselines.HybridGrids (of blocks of both attributes)",
    "ahead": "lw.papers.baselines.AdaptiveTree",
    "admm": 'lw.papers.square_wave.TreeConsistency(method="admm")',
    "laplace": "lw.release, which chooses the noise for your epsilon and delta",
    "gaussian": "lw.release, which chooses the noise for your epsilon and delta",
    "histogram": "lw.release, or lw.Survey for reports",
}
"""What the literature calls them, in small letters, and what to use."""


def _kebab(name: str) -> str:
    """Return the name of a class as documents write it: square-wave for SquareWave."""
    return re.sub(r"\B([A-Z])", r"-\1", name).lower()


def hint(word: str, table: Mapping[str, Any]) -> str:
    """Return a hint at the name that was meant: by its acronym, or the nearest.

    >>> hint("EMS", {"expectation-maximization": None}), hint("x", {})
    (' (did you mean expectation-maximization?)', '')
    """
    place = re.split(r"[ (]", KNOWN_AS.get(word.lower(), ""))[0]
    name = _kebab(place.rpartition(".")[2])
    return f" (did you mean {name}?)" if name in table else nearest(word, table)


class Registry(Mapping[str, type[Any]]):
    """Classes by their names.

    kind: Name of the kind of method, for messages.
    protocol: "module:class" of what each of them must have.
    folder: The module that offers ours, but for those of a wing.
    classes: Their names, with blanks between. A document writes SquareWave as "square-wave".
    """

    def __init__(self, kind: str, protocol: str, folder: str, classes: str) -> None:
        self.kind = kind
        self.protocol = protocol
        self._homes = {
            _kebab(name): f"{HOMES.get(name, folder)}:{name}" for name in classes.split()
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

        given: An instance, or a name in the table.

        Raises ArgumentError when it is a name that is not in the table, or that of a class whose
        parameters must be given. Also when it is a class, or another object.
        """
        if isinstance(given, str):
            if given not in self:
                raise ArgumentError(
                    self.kind,
                    f"must be one of {', '.join(self)}",
                    f"{quoted(given)}{hint(given, self)}",
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
            raise ArgumentError(self.kind, "must be one, or the name of one", kind_of(given))
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


PAPERS = {
    "wavelet": "Wavelet WaveletClip",
    "convolution": "Wiener GaussianSmoothing BinomialSmoothing",
    "square_wave": "GeneralWave Hierarchical HaarHadamard TreeConsistency",
    "functional_approximation": """
        PolynomialProjection MatchingPursuit AdaptiveQuantiles CurveSum SortedPoints PursuitSite
        QuantileSite allowed_band pursuit_of_sites quantiles_of_sites
    """,
    "baselines": """
        LocalHashing PrefixHashing StochasticRounding Normalization Threshold HeavyHitterSelection
        PenalizedLikelihood HybridGrids AdaptiveTree
    """,
}
"""Public names of each folder of `lapwing.papers`, with blanks between."""

HOMES = {
    name: f"lapwing.papers.{paper}" for paper, names in PAPERS.items() for name in names.split()
}
"""The module that offers each name."""

RANDOMIZERS = Registry(
    "randomizer",
    "lapwing.protocol.randomizer:Randomizer",
    "lapwing.randomizers",
    """
    RandomizedResponse SquareWave UnaryEncoding OptimizedUnaryEncoding SubsetSelection
    AffineSubsetSelection HadamardResponse CompressivePrivatization Rappor LocalHashing
    LinearHashing PrefixHashing MultiscaleWave GeneralWave Piecewise Hierarchical HaarHadamard
    Wavelet BoxWave MultiscaleBoxes AskedLabels
    """,
)
"""Every randomizer that a document may name."""
# Adding one of ours is adding a word. StochasticRounding is not among them: its two outputs say the
# mean and nothing else, and a survey is decoded to a distribution.

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

FORMATS = {
    "lapwing-survey": "lapwing.survey.survey:Survey",
    "lapwing-tally": "lapwing.protocol.messages.tally:Tally",
    "lapwing-group-tallies": "lapwing.protocol.messages.group_tallies:GroupTallies",
    "lapwing-release": "lapwing.protocol.release:Release",
    "lapwing-question-release": "lapwing.results.question_release:QuestionRelease",
    "lapwing-distribution": "lapwing.results.distribution:Distribution",
    "lapwing-joint-distribution": "lapwing.results.joint_distribution:JointDistribution",
    "lapwing-signed-estimate": "lapwing.results.signed_estimate:SignedEstimate",
    "lapwing-heavy-hitters": "lapwing.results.heavy_hitters:HeavyHitters",
    "lapwing-series": "lapwing.results.series:Series",
    "lapwing-difference": "lapwing.results.difference:Difference",
    "lapwing-watch": "lapwing.survey.watch:Watch",
    "lapwing-ledger": "lapwing.privacy.ledger:Ledger",
}
"""Formats of documents, and the class that reads each."""


def class_of(document_format: str) -> Any:
    """Return the class that reads documents of a format."""
    return _found(FORMATS[document_format])


Names = tuple[Callable[[str], object], Callable[[], list[str]], list[str]]


def near_name(name: str, names: list[str], places: Mapping[str, str]) -> str:
    """Return words that suggest the nearest name: one of a package's own, or the place of another.

    name: Wrong name.
    names: Names that the package offers.
    places: Where each of the other names is.
    """
    near = nearest(name, [*names, *places])
    shown = {**places, **{own: own for own in names}}
    return re.sub(r"(?<=mean )\w+", lambda found: shown[found[0]], near)


def attached(package: str, file: str) -> Names:
    """Return the lazy `__getattr__`, `__dir__` and `__all__` of a package that has a stub.

    A name that lives in a wing is answered with its place.

    package: Its `__name__`.
    file: Its `__file__`.
    """
    attribute, directory, names = lazy_loader.attach_stub(package, file)

    def getattribute(name: str) -> object:
        """Return a public name, whose file is read now."""
        if name in names:
            return attribute(name)
        places = {
            made: f"{home.replace('lapwing', 'lw', 1)}.{made}" for made, home in HOMES.items()
        }
        if name not in places:
            raise AttributeError(f"{package} has no {name}{near_name(name, names, places)}")
        message = f"{package} has no {name}. Use {places[name]}"
        # `from ... import NAME` asks from there first, and drops what an AttributeError says.
        imported = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap"
        raise ImportError(message) if imported else AttributeError(message)

    return getattribute, directory, names
