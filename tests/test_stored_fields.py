"""Documents that follow from the fields of a class: written, read, and refused when damaged.

Each such class is found in the stored files, so a new one has its damaged documents tested as soon
as a stored file holds one. Five that no file holds are made here.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import lapwing as lw
from lapwing.declared import AtLeastOne, Declared, declared_fields
from lapwing.documents import Stored, require_plain
from lapwing.errors import FormatError, LapwingError
from lapwing.linear.arrays import Vector
from lapwing.privacy.guarantee import PrivacyUnit
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.spread_law import Spread
from lapwing.results.walk_errors import OwnPeople
from lapwing.stored_fields import UNSAID, Exact, FromFields, StoredArray
from tests.damaged_documents import mutants, spelled
from tests.rows import each
from tests.test_every_document import FILES, READERS, current


@dataclass(frozen=True)
class Three(Declared, FromFields, Stored):
    """A new stored class."""

    most: AtLeastOne
    scale: Exact
    note: str | None = dataclasses.field(default=None, metadata=UNSAID)

    _name: ClassVar = "a three"
    _kind: ClassVar = "three"


@dataclass(frozen=True)
class Arrays(FromFields):
    listed: Annotated[Vector, StoredArray(shape=("symbols",))]
    packed: Annotated[Vector, StoredArray("<f4", packed=True, shape=("", "symbols"))]
    whole: Annotated[NDArray[np.int64], StoredArray("<i8")]

    _name: ClassVar = "some arrays"
    _sizes: ClassVar = ("symbols",)


THREE = Three(3, "1/3", "said")  # type: ignore[arg-type]  # a class reads its fractions itself


def parts(held: Any) -> Iterator[FromFields]:
    """Yield every part of an object that is written by its fields."""
    if isinstance(held, FromFields):
        yield held
    if dataclasses.is_dataclass(held):
        held = [getattr(held, field.name) for field in dataclasses.fields(held)]
    entries = held.values() if isinstance(held, dict) else held
    if isinstance(held, dict | list | tuple):
        for entry in entries:
            yield from parts(entry)


@cache
def examples() -> dict[str, FromFields]:
    """Return the first object of each class in the stored files, and three that none holds."""
    found: dict[str, FromFields] = {}
    for path in FILES:
        for part in parts(READERS[path.name][0](current(path))):
            found.setdefault(type(part).__name__, part)
    dice = lw.Distribution.of_counts([1, 2, 3], lw.Integers(1, 3))
    return found | {
        "OwnPeople": OwnPeople(*np.full((3, 2, 4), 0.5)),
        "Difference": dice.difference(dice),
        "PrivacyUnit": PrivacyUnit("patient", 3),
        "SignedEstimate": SignedEstimate(lw.Integers(0, 1), np.array([1.5, -0.5]), 3),
        "Spread": Spread(np.array([0, 2]), np.array([0.5, 0.5, 1.0])),
    }


def every(cls: type[Any]) -> set[type[Any]]:
    return {cls}.union(*map(every, cls.__subclasses__()))


def test_every_class_has_an_example() -> None:
    ours = {made.__name__ for made in every(FromFields) if made.__module__.startswith("lapwing")}
    assert ours - examples().keys() - {"FromFields"} == set()


@each("name", examples)
def test_damaged_parts_are_refused_or_what_they_say(name: str) -> None:
    part = examples()[name]
    made: Any = type(part)
    sizes = sizes_of(part)
    document = part.to_document()
    assert spelled(made.from_document(document, **sizes).to_document()) == spelled(document)
    for damaged in mutants(document, most=60, seed=zlib.crc32(name.encode())):
        try:
            require_plain(damaged, name="it")
            found = made.from_document(damaged, **sizes)
        except LapwingError:
            continue
        assert set(found.to_document()) >= document.keys() - rare(made)


def sizes_of(part: Any) -> dict[str, int]:
    """Return the sizes that the document around a part would state."""
    known: dict[str, int] = {}
    for name, hint in declared_fields(type(part)).items():
        arrays = [kind for kind in getattr(hint, "__metadata__", ()) if hasattr(kind, "shape")]
        known |= dict(
            zip(arrays[0].shape, getattr(part, name).shape, strict=True) if arrays else ()
        )
    return {name: known[name] for name in part._sizes}


def rare(made: Any) -> set[str]:
    """Return the keys that a document may leave out."""
    return {field.name for field in dataclasses.fields(made) if "absent" in field.metadata}


def test_three_fields_are_a_document() -> None:
    document = THREE.to_document()
    assert document == {
        "format": "lapwing-three", "version": 1, "most": 3, "scale": "1/3", "note": "said"
    }  # fmt: skip
    assert Three.from_json(THREE.to_json()).to_document() == document
    del document["note"]
    assert Three.from_document(document).note is None


@each(
    ("key", "value", "said"),
    [
        ("most", 0, "the most of a three must be a whole number of at least 1, got 0"),
        ("most", 3.0, "must be a whole number of at least 1, got 3.0"),
        ("most", True, "must be a whole number of at least 1, got true"),
        ("most", "3", 'must be a whole number of at least 1, got "3"'),
        ("scale", "2/6", 'must be written "1/3", got "2/6"'),
        ("scale", 1, "must be a string such as '3' or '1/3', got 1"),
        ("note", 5, "the note of a three must be a string, got 5"),
        ("note", None, "must be left out"),
        ("more", 1, "a three has the unknown key 'more'"),
        ("version", 2, "documents of version 1, but this one has version 2"),
    ],
)
def test_another_value_is_refused_by_its_key(key: str, value: Any, said: str) -> None:
    with pytest.raises(FormatError) as refused:
        Three.from_document(THREE.to_document() | {key: value})
    assert said in str(refused.value)


def test_arrays_are_written_as_lists_or_as_text() -> None:
    arrays = Arrays(np.array([0.1, 0.2]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2**62]))
    document = arrays.to_document()
    assert document["listed"] == [0.1, 0.2] and isinstance(document["packed"], str)
    found = Arrays.from_document(document, symbols=2)
    for name in document:
        np.testing.assert_array_equal(getattr(found, name), getattr(arrays, name))
    assert found.packed.dtype == np.float64 and found.whole.dtype == np.int64


@each(
    ("key", "value"),
    [
        ("listed", [0.1]),
        ("listed", [0.1, True]),
        ("listed", [0.1, "x"]),
        ("listed", "0.1"),
        ("packed", "AAAA"),
        ("packed", "not base64"),
        ("packed", "AADAfwAAwH8="),  # not finite
        ("packed", 5),
        ("whole", [1.0]),
        ("whole", [2**63]),
    ],
)
def test_arrays_of_another_kind_or_size_are_refused(key: str, value: Any) -> None:
    arrays = Arrays(np.array([0.1, 0.2]), np.array([[1.0, 2.0]]), np.array([1]))
    with pytest.raises(FormatError, match=f"the {key} of some arrays must"):
        Arrays.from_document(arrays.to_document() | {key: value}, symbols=2)


def test_stored_files_are_read() -> None:
    assert len(FILES) > 40 and all(isinstance(path, Path) for path in FILES)


def test_a_size_that_nothing_states_is_that_of_the_first_array_and_names_are_known() -> None:
    week = examples()["WeekErrors"]
    document, sizes = week.to_document(), sizes_of(week)
    sizes["state"] -= 1
    with pytest.raises(FormatError, match="must have the expected number of values"):
        type(week).from_document(document, **sizes)
    document["centers"]["sideways"] = document["pilot"]
    with pytest.raises(FormatError, match="a name in the centers of the errors of a week must be"):
        type(week).from_document(document, **sizes_of(week))
    errors = examples()["WalkErrors"]
    assert "scores" not in errors.to_document()
    long = errors.to_document()
    long["step"] = long["step"] + long["step"]
    with pytest.raises(FormatError):
        type(errors).from_document(long, **sizes_of(errors))
