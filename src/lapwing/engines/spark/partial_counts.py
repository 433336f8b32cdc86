"""Counts of some partitions as rows of a data frame, which other tasks or the driver add up.

A row is a label and its tally: counts as canonical JSON, a log as its reports. The rows that hold
no report are a number beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from lapwing.documents import canonical, parse
from lapwing.engines.arrow.report_count import Label, ReportCount
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import Tally, TallyLog
from lapwing.survey.survey import Survey

COLUMNS = "task int, labeled boolean, label string, content binary, refused long"
"""The schema of the rows, as Spark writes it."""

WIDE = 2**16
"""Bytes of a tally from which on tasks add them up before the driver does."""

_ROW_BYTES = 2**24
"""Most bytes of reports of a log in a row."""


def rows_of(counted: ReportCount, *, task: int) -> Iterator[Any]:
    """Yield counts as record batches of one row for each label, or more where it is a log."""
    import pyarrow as pa

    rows: list[tuple[Label, bytes | None, int]] = [(None, None, counted.refused)]
    for label, tally in counted.groups.items():
        rows += [(label, content, 0) for content in _contents(tally)]
    for label, content, refused in rows:
        if content is None and not refused:
            continue
        yield pa.record_batch(
            {
                "task": pa.array([task], pa.int32()),
                "labeled": pa.array([counted.grouped]),
                "label": pa.array([label], pa.string()),
                "content": pa.array([content], pa.binary()),
                "refused": pa.array([refused], pa.int64()),
            }
        )


def _contents(tally: Tally) -> Iterator[bytes]:
    if not isinstance(tally, TallyLog):
        yield canonical(tally.to_document())
        return
    records = tally.records()
    step = _ROW_BYTES // tally.width * tally.width
    for start in range(0, len(records), step):
        yield records[start : start + step]


def added(batches: Iterable[Any], survey: Survey) -> ReportCount:
    """Return the sum of rows; ArgumentError when there are more groups than anybody looks at."""
    total = ReportCount({})
    for batch in batches:
        for row in batch.to_pylist():
            groups: dict[Label, Tally] = {}
            if row["content"] is not None:
                groups[row["label"]] = _tally(bytes(row["content"]), survey)
            total += ReportCount(groups, row["labeled"], row["refused"])
    return total


def nothing_of(survey: Survey) -> Tally:
    """Return the tally of no reports, which says what the others are and how large."""
    none = np.zeros((0, survey.randomizer.report_width), dtype=np.uint8)
    tally: Tally = survey.tally(Reports(none, survey.randomizer.fingerprint))
    return tally


def _tally(content: bytes, survey: Survey) -> Tally:
    if not isinstance(nothing_of(survey), TallyLog):
        return Tally.from_document(parse(content, name="the count of a task"))
    data = np.frombuffer(content, dtype=np.uint8).reshape(-1, survey.randomizer.report_width)
    counted: Tally = survey.tally(Reports(data, survey.randomizer.fingerprint))
    return counted
