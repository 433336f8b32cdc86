"""Columns of labels as numbers into a short list: texts become no Python objects, row by row.

Frames keep texts in Arrow's memory format, and categories as numbers already. The result of a
column is what the loop over its values would give, including missing and unknown values. Columns of
other kinds are left to that loop.

==============================================  ================================================
polars.Series of String, Categorical, Enum       read through Arrow's C interface, without a copy
pandas.Series of StringDtype, ArrowDtype         the same
pandas.Series or Categorical of any categories   its own numbers. The categories are few
pyarrow.Array and ChunkedArray                   texts (also views), dictionaries of anything
any of them, of whole numbers                    the same, without a loop
==============================================  ================================================

pyarrow does the work. Where it is not installed, or too old for a type, the loop does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.protocol.domains.label_text import compared_text


def places_of(column: Any, value_set: Any) -> NDArray[np.int64]:
    """Return the place of each string or number in a list, or the length of the list.

    A string in another Unicode form has the place of the label that it is compared with.

    column, value_set: Of one type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.fill_null(pc.index_in(column, value_set=value_set), len(value_set))
    places: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not texts or places.max(initial=0) < len(value_set) or _is_ascii(column):
        return places
    # Only what is in the list in no form costs anything here, and of that no ASCII.
    odd = pc.and_(pc.equal(found, len(value_set)), pc.invert(pc.string_is_ascii(column)))
    rows = np.flatnonzero(pc.fill_null(odd, False).to_numpy(zero_copy_only=False))
    if rows.size:
        forms = {compared_text(one): number for number, one in enumerate(value_set.to_pylist())}
        texts = column.take(pa.array(rows)).to_pylist()
        places[rows] = [forms.get(compared_text(text), len(value_set)) for text in texts]
    return places


def _is_ascii(column: Any) -> bool:
    """Return whether no byte of a column of strings is beyond ASCII: a pass over its bytes."""
    for part in getattr(column, "chunks", [column]):
        _, ends, content = part.buffers()
        if content is None or not len(part):
            continue
        width = np.int32 if str(part.type) == "string" else np.int64
        places = np.frombuffer(ends, dtype=width)[[part.offset, part.offset + len(part)]]
        first, last = places.tolist()
        if np.frombuffer(content, dtype=np.int8)[first:last].min(initial=0) < 0:
            return False
    return True


UNKNOWN: Any = type("Unknown", (), {})()
"""Stands among the distinct values for one that is no label, so that a domain refuses it."""


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """Labels by their numbers.

    codes: int [n], numbers into `distinct`, and -1 for missing.
    distinct: The values that occur, and maybe others.
    column: The values themselves, where one of `distinct` stands for all that are no label.
    """

    codes: NDArray[Any]
    distinct: Sequence[Any]
    column: Any = None

    @property
    def shape(self) -> tuple[int]:
        """The number of values, as of an array."""
        return (self.codes.size,)

    def __len__(self) -> int:
        """Return the number of values."""
        return int(self.codes.size)

    def cells(self, positions: NDArray[np.int64]) -> list[Any]:
        """Return the values of some rows, None for missing."""
        if self.column is not None:
            import pyarrow as pa

            found: list[Any] = self.column.take(pa.array(positions)).to_pylist()
            return found
        codes = self.codes[positions].tolist()
        return [None if code < 0 else self.distinct[code] for code in codes]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values themselves, None for missing."""
        values = np.empty(len(self.distinct) + 1, dtype=object)
        values[:-1] = self.distinct
        chosen: NDArray[Any] = values[self.codes]
        return chosen


def encodable(labels: Any) -> Any:
    """Return strings of NumPy as pyarrow's, which encodes many of them several times faster."""
    if not (isinstance(labels, np.ndarray) and labels.dtype.kind == "U" and labels.size):
        return labels
    signs = np.ascontiguousarray(labels).view(np.uint32).reshape(labels.size, -1)
    if ((signs[:, :-1] == 0) & (signs[:, 1:] != 0)).any():
        return labels  # pyarrow ends a text at its first NUL
    try:
        import pyarrow as pa

        return pa.array(labels)
    except (ImportError, ValueError):  # ValueError: half of a surrogate pair is no UTF-8
        return labels


def coded_labels(values: Any, labels: Sequence[str | int]) -> CodedLabels | None:
    """Return a column as numbers into a list, or None where it is of another kind.

    labels: Labels with which the column is compared, where it holds no list of its own. None of
        them: its distinct values are found.
    """
    if isinstance(values, CodedLabels):
        return values
    home = type(values).__module__.partition(".")[0]
    if home not in ("polars", "pandas", "pyarrow"):
        return None
    if home == "pandas":
        if type(getattr(values, "dtype", None)).__name__ == "CategoricalDtype":
            held = getattr(values, "cat", values)  # a Series, or a Categorical itself
            return CodedLabels(np.asarray(held.codes), list(held.categories))
        if type(getattr(values, "dtype", None)).__name__ not in _PANDAS:
            return None  # objects may be of any kind
    try:
        column = _column(values, home)
        return None if column is None else _coded(column, labels)
    except Exception:  # a type that this release does not know; a text that is no UTF-8
        return None


_WHOLE = re.compile("0|-?[1-9][0-9]{0,18}")
"""Texts of whole numbers, as Python writes them."""

_PANDAS = {
    *("StringDtype", "ArrowDtype"),
    *(f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)),
}
"""Those of pandas' types whose values are of one kind."""


def _column(values: Any, home: str) -> Any:
    """Return a column as a pyarrow.ChunkedArray of strings, whole numbers or a dictionary."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    elif home == "pandas":
        values = pa.chunked_array([pa.Array.from_pandas(values)])
    elif not isinstance(values, pa.ChunkedArray):
        if not hasattr(values, "__arrow_c_stream__") or type(values).__name__ != "Series":
            return None
        values = pa.chunked_array(values)
    return values


def _coded(column: Any, labels: Sequence[str | int]) -> CodedLabels | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        whole = column.unify_dictionaries().combine_chunks()
        if isinstance(whole, pa.ChunkedArray):
            whole = whole.chunk(0) if whole.num_chunks else pa.array([], kind)
        codes = pc.fill_null(whole.indices.cast(pa.int64()), -1)
        return CodedLabels(codes.to_numpy(zero_copy_only=False), whole.dictionary.to_pylist())
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if pa.types.is_string_view(kind):
        column, texts = column.cast(pa.large_string()), True
    if not texts and not pa.types.is_integer(kind):
        return None
    if not labels:
        return _coded(column.dictionary_encode(), labels)
    # A label itself goes before one of another type that has the same text.
    forms: dict[Any, str | int] = {}
    for label in sorted(labels, key=lambda label: isinstance(label, str) != texts):
        if texts:
            forms.setdefault(compared_text(str(label)), label)
        elif isinstance(label, int) or _WHOLE.fullmatch(label):
            forms.setdefault(int(label), label)
    listed = list(forms.values())
    if not listed:
        known = np.full(len(column), 0)
    else:
        value_set = pa.array(list(forms), column.type if texts else pa.int64())
        if not texts:
            column = column.cast(pa.int64())
        known = places_of(column, value_set)
    missing = pc.is_null(column).to_numpy()
    return CodedLabels(np.where(missing, -1, known), [*listed, UNKNOWN], column)
