"""Labels of groups as numbers: of one column or of several, from whatever holds them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, kind_of
from lapwing.protocol.domains.label_columns import coded_labels, encodable
from lapwing.protocol.domains.label_text import compared_text, label_text

Label = str | None
Whole = NDArray[np.int64]

_WRITTEN = str.maketrans({mark: quote(mark, safe="") for mark in "%/="})
"""What would be read as part of the form, as in an address. All else stays as it is."""

_NO_LABELS = (float, np.floating, Decimal)
"""Kinds of numbers that may have fractions, so they are no groups."""

_SHORT_TABLE = 2**16

MOST_GROUPS = 100_000
"""More different labels than this are no groups: a name or a number of a person, say."""


def check_groups(labels: Collection[Label] | int, most: int = MOST_GROUPS) -> None:
    """Raise ArgumentError when there are more groups than anybody can look at.

    Rows without a label are no group, and count for none.
    """
    if (labels if isinstance(labels, int) else len(labels) - (None in labels)) > most:
        raise ArgumentError(
            f"there must be at most {most:,} groups, but these labels have more. Group by "
            "something coarser"
        )


def joined(columns: Sequence[str], labels: Sequence[str | None]) -> str | None:
    """Return the label of a row, None where it has none in any column.

    Characters of a label that would be read as part of the form are percent-encoded. A column
    without a label is written without one. So rows of different labels stay different.

    >>> joined(["country", "year"], ["PT", None])
    'country=PT/year='
    >>> joined(["a", "b"], ["x/b=y", "z"])
    'a=x%2Fb%3Dy/b=z'
    >>> joined(["city", "part"], ["São Paulo", "norte & sul"])
    'city=São Paulo/part=norte & sul'
    """
    if not any(labels):
        return None
    pairs = zip(columns, labels, strict=True)
    return "/".join(
        f"{name.translate(_WRITTEN)}={(label or '').translate(_WRITTEN)}" for name, label in pairs
    )


def label_in_columns(columns: Sequence[str], label: Label) -> list[Label]:
    """Return the label of each column in that of a row, as :func:`joined` wrote it.

    Raises ArgumentError when it is not of these columns.

    >>> label_in_columns(["a", "b"], "a=x%2Fb%3Dy/b=")
    ['x/b=y', None]
    """
    if label is None or len(columns) < 2:
        return [label] * max(len(columns), 1)
    pairs = [pair.partition("=") for pair in label.split("/")]
    if [unquote(name) for name, _, _ in pairs] != list(columns):
        raise ArgumentError("the names in a segment label must match the names of its columns")
    return [unquote(text) or None for _, _, text in pairs]


def clean_label(label: Any) -> Label:
    """Return a label in the form in which it is compared. None, NaN and the empty string are none.

    Raises ArgumentError when it is of a kind that no engine takes for a label.
    """
    if hasattr(label, "as_py"):
        label = label.as_py()
    if label is None or type(label).__name__ == "NAType" or label != label:
        return None
    text = None if isinstance(label, _NO_LABELS) else label_text(label)
    if text is None:
        raise ArgumentError(
            "the labels of groups must be strings, whole numbers, dates or truth values, but "
            f"one is {kind_of(label)}. Convert it to a string first"
        )
    return compared_text(text.strip()) or None


def columns_of(labels: Any) -> dict[str, Any] | None:
    """Return several columns of labels by name, None where it is one column.

    labels: A mapping or a table has named columns. A list of arrays, lists or Series is columns
        whose names are their own, or "1", "2", ...
    """
    if isinstance(labels, Mapping):
        return {str(name): labels[name] for name in labels}
    names = getattr(labels, "column_names", getattr(labels, "columns", None))
    if names is not None and hasattr(labels, "__getitem__"):
        return {str(name): labels[name] for name in names}
    if not isinstance(labels, list | tuple) or not labels:
        return None
    if not all(isinstance(each, list) or _is_array(each) for each in labels):
        return None
    named = [getattr(each, "name", None) for each in labels]
    texts = [
        name if isinstance(name, str) and name else str(place)
        for place, name in enumerate(named, start=1)
    ]
    if len(set(texts)) < len(texts):
        raise ArgumentError("by", "must name each column of labels once, but one is named twice")
    return dict(zip(texts, labels, strict=True))


def _is_array(each: Any) -> bool:
    return (
        hasattr(each, "__len__")
        and (hasattr(each, "__array__") or hasattr(each, "__arrow_array__"))
        and not isinstance(each, str | bytes)
    )


def coded_rows(labels: Any, *, columns: Mapping[str, Any] | None) -> tuple[list[Label], Whole]:
    """Return different labels, each of at least one row, and the number of that of each row.

    labels: One column of labels.
    columns: Several columns in its place, as of :func:`columns_of`.
    """
    if columns is None:
        return _coded(labels)
    if not columns:
        raise ArgumentError("by", "must name at least one column of labels, but it names none")
    coded = [_coded(each) for each in columns.values()]
    if len({numbers.size for _, numbers in coded}) > 1:
        raise ArgumentError("by", "must have columns of equal length, but these differ")
    return joined_codes(list(columns), coded)


def joined_codes(
    columns: Sequence[str], coded: Sequence[tuple[Sequence[Label], Whole]]
) -> tuple[list[Label], Whole]:
    """Return the labels of several columns as those of one.

    coded: The different labels of each column, and the number of that of each row.
    """
    names, numbers = coded[0]
    if len(columns) == 1:
        return list(names), numbers
    chosen: list[tuple[Label, ...]] = [(name,) for name in names]
    for names, more in coded[1:]:
        # Numbered anew after each column: below the square of the rows, however many columns.
        size = max(len(names), 1)
        different, numbers = compact(numbers * size + more, len(chosen) * size)
        places = (divmod(pair, size) for pair in different.tolist())
        chosen = [(*chosen[before], names[place]) for before, place in places]
    return [joined(columns, labels) for labels in chosen], numbers


def compact(numbers: Whole, size: int) -> tuple[Whole, Whole]:
    """Return the different ones of numbers below a size, in order, and the place of each."""
    if size > 4 * numbers.size + _SHORT_TABLE:
        different, places = np.unique(numbers, return_inverse=True)
        return different, places.astype(np.int64).ravel()
    occurs = np.zeros(size, dtype=bool)
    occurs[numbers] = True
    different = np.flatnonzero(occurs)
    if different.size == size:
        return different, numbers
    places = np.zeros(size, dtype=np.int64)
    places[different] = np.arange(different.size)
    return different, places[numbers]


def _coded(labels: Any) -> tuple[list[Label], Whole]:
    distinct, numbers = _distinct(labels)
    names: dict[Label, int] = {}
    renamed = np.zeros(len(distinct), dtype=np.int64)
    for place, one in enumerate(distinct):
        renamed[place] = names.setdefault(clean_label(one), len(names))
        if len(names) > MOST_GROUPS:  # before the others are read, of which there may be millions
            check_groups(names)
    if len(names) < len(distinct):
        numbers = renamed[numbers]
    return list(names), numbers


def _distinct(labels: Any) -> tuple[list[Any], Whole]:
    """Return different labels as they are, and the number of that of each row."""
    coded = coded_labels(encodable(labels), [])
    if coded is not None:
        missing = len(coded.distinct)
        codes = np.asarray(coded.codes, dtype=np.int64)
        used, numbers = compact(np.where(codes < 0, missing, codes), missing + 1)
        return [None if one == missing else coded.distinct[one] for one in used.tolist()], numbers
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low <= 4 * labels.size + _SHORT_TABLE:
            # In 8 bits, 100 less -100 would be -56; of unsigned ones no difference is negative.
            wide = labels.astype(np.int64) if labels.dtype.kind == "i" else labels
            shifted = (wide - wide.dtype.type(low)).astype(np.int64, copy=False)
            used, numbers = compact(shifted, high - low + 1)
            return [low + one for one in used.tolist()], numbers
    # Of times in nanoseconds `tolist` makes numbers.
    plain = isinstance(labels, np.ndarray) and labels.dtype.kind not in "mM"
    rows: Iterable[Any] = labels.tolist() if plain else labels
    rows = rows if isinstance(rows, list) else list(rows)
    if not set(map(type, rows)) <= {str, int, type(None)}:
        # True is 1 is 1.0 to a dictionary, and no array of labels must be hashed.
        rows = [clean_label(label) for label in rows]
    places: dict[Any, int] = {label: place for place, label in enumerate(dict.fromkeys(rows))}
    numbers = np.fromiter(map(places.__getitem__, rows), dtype=np.int64, count=len(rows))
    return list(places), numbers
