"""Labels of several columns as one: two rows have the same exactly where every column has."""

from __future__ import annotations

import pyarrow as pa

from lapwing import Interval, SquareWave, Survey
from lapwing.engines.arrow.report_count import ReportCounter

SURVEY = Survey("age", SquareWave(Interval(0, 1, bins=4), 1))


def _joined(columns: dict[str, pa.Array]) -> list[str | None]:
    counter = ReportCounter(SURVEY, by=list(columns))
    labels, places = counter._coded_columns(list(columns.values()))
    return [labels[place] for place in places.tolist()]


def test_many_columns_of_many_labels() -> None:
    """Eight columns of 900 labels each have more combinations than 64 bits can number."""
    rows = 900
    steps = {f"c{k}": [row * (2 * k + 1) % rows for row in range(rows)] for k in range(8)}
    columns = {name: pa.array([str(label) for label in held]) for name, held in steps.items()}
    assert _joined(columns) == [
        "/".join(f"{name}={held[row]}" for name, held in steps.items()) for row in range(rows)
    ]


def test_labels_of_any_letters() -> None:
    odd = ["/", "=", "%", "%2F", "a=b/c=d", "São Paulo", "é", "0", " ", "", None]
    pairs = [(one, other) for one in odd for other in odd]
    first, second = (pa.array(cells) for cells in zip(*pairs, strict=True))
    made = _joined({"a/b": first, "c": second.dictionary_encode()})
    known = {(one or "").strip() for one in odd}
    assert len(set(made)) == len(known) ** 2
    assert made[5 * len(odd) + 6] == "a%2Fb=São Paulo/c=é" and made[-1] is None
    assert made[3 * len(odd)] == "a%2Fb=%252F/c=%2F" and made[7 * len(odd) - 1] == "a%2Fb=é/c="
