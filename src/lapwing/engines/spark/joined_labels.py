"""Labels of several columns as one, in the words of partitioned folders: country=PT/year=2026."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.arrow_values import labels_of

_WRITTEN = str.maketrans({mark: quote(mark, safe="") for mark in "%/="})
"""What would be read as part of the form, as in an address; all else stays as it is."""


def joined(columns: Sequence[str], labels: Sequence[str | None]) -> str | None:
    """Return the label of a row; None where it has none in any column.

    What stands in a label and would be read as part of the form is written as in an address, and a
    column without a label is written without one; so no two rows of different labels are one.

    Examples
    --------
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


def with_joined_labels(batch: Any, columns: Sequence[str]) -> Any:
    """Return a record batch with one more column, of the labels of several joined.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    columns : sequence of str
    """
    import pyarrow as pa

    numbers: NDArray[np.int64] = np.zeros(batch.num_rows, dtype=np.int64)
    chosen: list[tuple[str | None, ...]] = [()]
    for column in columns:
        array = batch.column(column)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        coded = array.dictionary_encode(null_encoding="encode")
        labels = labels_of(coded.dictionary, column=column)
        names = [label and (label.strip() or None) for label in labels]
        # Numbered anew after each column: below the square of the rows, however many columns.
        pairs = numbers * max(len(names), 1) + coded.indices.to_numpy(zero_copy_only=False)
        different, numbers = np.unique(pairs, return_inverse=True)
        places = (divmod(pair, max(len(names), 1)) for pair in different.tolist())
        chosen = [(*chosen[before], names[place]) for before, place in places]
    texts = [joined(columns, labels) for labels in chosen]
    made = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(texts, "string"))
    return batch.append_column("/".join(columns), made)
