"""A class takes what the annotations of its fields say, and refuses the rest by the field's name.

The cases are made from the annotations of every class that a document may name, so a new class
needs no test of a wrong number, word or type.
"""

from __future__ import annotations

import math
import types
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli.reading.options import make_with_settings, parameters_of
from lapwing.declared import AtLeastOne, Declared, From, declared_fields, requirement, says
from lapwing.decoders import Candidates, CompressiveEstimate
from lapwing.decoders.releases.label_shares import LabelShares
from lapwing.decoders.releases.prefix_estimate import CellCounts
from lapwing.decoders.releases.spectral_pursuit import SpectralPursuit
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.errors import ArgumentError, LapwingError
from lapwing.papers.baselines import PrefixHashing, StochasticRounding
from lapwing.papers.functional_approximation import PolynomialProjection
from lapwing.papers.functional_approximation.plain_curves import CurveSum, SortedPoints
from lapwing.papers.square_wave import GeneralWave, TreeConsistency
from lapwing.papers.wavelet.signed_subset_selection import SignedSubsetSelection
from lapwing.protocol.domains.domain_documents import DOMAINS
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.unordered import HashedStrings
from lapwing.randomizers import LinearHashing
from lapwing.randomizers.joint.box_wave import BoxWave
from lapwing.registry import DECODERS, MECHANISMS, RANDOMIZERS
from tests.rows import each

LINE, LABELS = lw.Interval(0, 1, bins=8), lw.Categories(8)

PAIR = Product(x=lw.Integers(0, 7), y=lw.Integers(0, 7))

SPECIAL: dict[type[Any], Any] = {
    Candidates: lambda: Candidates(["a", 3]),
    CompressiveEstimate: lambda: CompressiveEstimate(sparsity=3),
    lw.CompressivePrivatization: lambda: lw.CompressivePrivatization(LABELS, 1, outputs=7),
    GeneralWave: lambda: GeneralWave(LINE, 1, ratio=0.5),
    BoxWave: lambda: BoxWave(PAIR, 1, widths=(2, None)),
    PrefixHashing: lambda: PrefixHashing(lw.Categories(2**12), 1, prefixes=[8, 12]),
    lw.Interval: lambda: LINE,
    lw.Integers: lambda: lw.Integers(0, 7),
    lw.Categories: lambda: lw.Categories(["a", "b"], other="b"),
    HashedStrings: lambda: HashedStrings(20),
    Segmented: lambda: Segmented(LINE, ["a", "b"]),
}
"""What cannot be made without parameters, or on any domain."""


def _made(cls: type[Any]) -> Any:
    if cls in SPECIAL:
        return SPECIAL[cls]()
    if not hasattr(cls, "from_words"):
        return cls()
    for domain in (LINE, LABELS, PAIR):
        try:
            return cls(domain, 1)
        except LapwingError:
            continue
    raise ValueError(f"{cls.__name__} needs an example among the special ones")


CLASSES = [
    *(table[name] for table in (RANDOMIZERS, DECODERS, MECHANISMS, DOMAINS) for name in table),
    *(CellCounts, LabelShares, SpectralPursuit, StepPursuit, CurveSum, SortedPoints),
    *(StochasticRounding, SignedSubsetSelection),
]
CLASSES = [cls for cls in dict.fromkeys(CLASSES) if cls is not Product]  # its axes have any names

FIELDS = [
    pytest.param(cls, name, hint, id=f"{cls.__name__}.{name}")
    for cls in CLASSES
    for name, hint in declared_fields(cls).items()
]


def gaps(cls: type[Any]) -> list[str]:
    """Return the fields of a class whose annotations say too little, or that are not checked."""
    hints = declared_fields(cls)
    silent = [name for name, hint in hints.items() if not says(hint)]
    return silent if issubclass(cls, Declared) else [*hints]


def legal(hint: Any, value: Any) -> bool:
    """Return whether an annotation takes a value of Python, read here for the second time."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(legal(part, value) for part in parts)
    if origin is Literal:
        return type(value) is str and value in parts
    if origin is Sequence:
        return type(value) in (list, tuple) and all(legal(parts[0], entry) for entry in value)
    if origin is Annotated and isinstance(parts[1], From):
        limits = parts[1]
        if not legal(parts[0], value) or not limits.least <= value <= limits.most:
            return False
        closed = {"": "[]", "least": "(]", "most": "[)", "both": "()"}[limits.without]
        return not (value == limits.least and "(" in closed) and not (
            value == limits.most and ")" in closed
        )
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    return hint not in (bool, int, str, types.NoneType) or type(value) is hint


def ends(hint: Any) -> list[float]:
    """Return numbers at and around the ends of an annotation's ranges."""
    own = [hint] if isinstance(hint, From) else []
    both = [end for limits in own for end in (limits.least, limits.most)]
    found = [end + step for end in both for step in (-1, 0, 1)]
    return found + [number for part in get_args(hint) for number in ends(part)]


def wrong(hint: Any) -> list[Any]:
    """Return values that an annotation excludes: types, ranges, words."""
    numbers = [True, False, 0, 1, 2.5, -1, 10**9, 1e400, float("nan"), *ends(hint)]
    values = [*numbers, "no such word", "5", b"5", None, [], {}, {1}, object()]
    values += [[entry] for entry in values if entry != []] if get_origin(hint) is Sequence else []
    # NumPy's kinds of the same: a whole number does for a number, and neither for a truth value.
    if not legal(hint, True):
        values.append(np.True_)
    if not legal(hint, 1) and not legal(hint, 1.0):
        values += [np.int64(1), np.float64(1)]
    return [value for value in values if not legal(hint, value)]


@each("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_field_says_what_it_takes(cls: type[Any]) -> None:
    assert gaps(cls) == []


@pytest.mark.parametrize(("cls", "name", "hint"), FIELDS)
def test_what_an_annotation_excludes_is_refused_by_the_name_of_its_field(
    cls: type[Any], name: str, hint: Any
) -> None:
    made = _made(cls)
    given = {field.name: getattr(made, field.name) for field in fields(cls) if field.init}
    for value in wrong(hint):
        for make in (lambda v: replace(made, **{name: v}), lambda v: cls(**given | {name: v})):
            with pytest.raises(cls._refusal) as refused:
                make(value)
            assert str(refused.value).startswith(f"{name} must be {requirement(hint)}, got "), value


@pytest.mark.parametrize(("cls", "name", "hint"), FIELDS)
def test_numpy_scalars_are_kept_as_those_of_python(cls: type[Any], name: str, hint: Any) -> None:
    made = _made(cls)
    value = getattr(made, name)
    kinds = {bool: np.bool_, int: np.int64, float: np.float64, str: np.str_}
    if type(value) in kinds and says(hint):
        kept = getattr(replace(made, **{name: kinds[type(value)](value)}), name)
        assert (type(kept), kept) == (type(value), value)


def test_the_cases_reach_every_kind_of_annotation() -> None:
    counts = {param.id: len(wrong(hint)) for param in FIELDS for hint in param.values[2:]}
    assert counts["Wiener.permutations"] > 12
    assert counts["SquareWave.width"] > 10
    assert counts["LeastSquares.signed"] > 10
    assert counts["SparseRecovery.method"] > 10
    assert sum(count > 0 for count in counts.values()) > 130


@dataclass(frozen=True)
class Silent(Declared):
    limit: int = 3
    signed: bool = False


@dataclass(frozen=True)
class Unchecked:
    limit: AtLeastOne = 3


@dataclass(frozen=True)
class Ranged(Declared):
    _: KW_ONLY
    steps: Annotated[int, From(3, 7)] = 3
    signed: bool = False

    name: ClassVar[str] = "ranged"


def test_a_class_that_says_too_little_is_found() -> None:
    assert gaps(Silent) == ["limit"]
    assert gaps(Unchecked) == ["limit"]
    assert gaps(Ranged) == []


def test_a_class_that_forgets_its_base_is_found() -> None:
    @dataclass(frozen=True)
    class Forgetful(Ranged):
        def __post_init__(self) -> None:
            """Check nothing."""

    with pytest.raises(pytest.fail.Exception), pytest.raises(ArgumentError):
        replace(Forgetful(), steps=8)


def test_one_range_is_read_by_constructors_and_by_the_command_line() -> None:
    said = "steps must be a whole number from 3 to 7, got 8"
    with pytest.raises(ArgumentError, match=said):
        Ranged(steps=8)
    with pytest.raises(ArgumentError, match=said):
        make_with_settings(Ranged, settings=["steps=8"])
    with pytest.raises(ArgumentError, match=r"has: steps \(a whole number from 3 to 7\), signed"):
        make_with_settings(Ranged, settings=["steep=8"])
    assert parameters_of(Ranged)["steps"] == "a whole number from 3 to 7"


@pytest.mark.parametrize("word", ["no", "yes", "1", "0"])
def test_a_truth_value_is_typed_as_true_or_false(word: str) -> None:
    with pytest.raises(ArgumentError, match="signed must be true or false, got"):
        make_with_settings(lw.LeastSquares, settings=[f"signed={word}"])
    made = make_with_settings(lw.LeastSquares, settings=["signed=TRUE"])
    assert made == lw.LeastSquares(signed=True)


@each(
    ("setting", "said"),
    [
        ("limit=true", "limit must be a whole number of at least 1, got true"),
        ("limit=2.50", "limit must be a whole number of at least 1, got 2.50"),
        ("limit=1e3", "limit must be a whole number of at least 1, got 1e3"),
        ("limit=many", "limit must be a whole number of at least 1, got 'many'"),
        ("signed=0", "signed must be true or false, got 0"),
    ],
)
def test_a_refused_setting_is_shown_as_it_was_typed(setting: str, said: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        make_with_settings(TreeConsistency, settings=[setting])
    assert str(refused.value) == said


@each("setting", ["basis=5", "basis=[1, 2]", "basis=[[]]"])
def test_a_basis_of_a_wrong_kind_is_refused(setting: str) -> None:
    with pytest.raises(ArgumentError):
        make_with_settings(PolynomialProjection, settings=[setting])


def test_a_hashing_randomizer_keeps_its_bits() -> None:
    assert LinearHashing(LABELS, 1, hash_bits=np.uint8(3)).hash_bits == 3
