"""Counts travel as rows and add up again, of every kind of randomizer; Spark is not needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lapwing import Survey
from lapwing.documents import canonical
from lapwing.engines.arrow import ReportCount, count
from lapwing.engines.spark import worker_jobs
from lapwing.engines.spark.worker_jobs import add_counts, added, rows_of
from lapwing.protocol.messages.tally import TallyLog
from tests.contracts.registered import RandomizerCase
from tests.engines.arrow.test_same_tallies import _one_of_each, _survey, _table


def _told(counted: ReportCount) -> tuple[dict[str | None, bytes], bool, int]:
    groups = {label: canonical(one.to_document()) for label, one in counted.groups.items()}
    return groups, counted.grouped, counted.refused


def _parts(survey: Survey, table: pa.Table, by: str | None) -> list[ReportCount]:
    return [
        count(batch, survey, by=by, skip_bad=True) for batch in table.to_batches(max_chunksize=150)
    ]


@pytest.mark.parametrize("case", _one_of_each())
def test_of_every_randomizer(case: RandomizerCase, monkeypatch: pytest.MonkeyPatch) -> None:
    survey, reports = _survey(case)
    table = _table(reports)
    bad = pa.array([None, *table["report"].to_pylist()[1:]], table["report"].type)
    table = table.set_column(0, "report", bad)
    # A log in rows of three reports.
    monkeypatch.setattr(worker_jobs, "_ROW_BYTES", 3 * survey.randomizer.report_width)
    for by in (None, "place"):
        parts = _parts(survey, table, by)
        assert len(parts) == 3
        wanted = _told(parts[0] + parts[1] + parts[2])
        rows = [row for number, part in enumerate(parts) for row in rows_of(part, task=number)]
        assert _told(added(rows, survey)) == wanted and wanted[2] == 1
        assert _told(added(rows[::-1], survey)) == wanted
        given = {"survey": survey.to_json(), "most_groups": 5}
        twice = [*add_counts(given, iter(rows[:2])), *add_counts(given, iter(rows[2:]))]
        assert _told(added(twice, survey)) == wanted
        if by is None and isinstance(parts[0].tally, TallyLog):
            assert len(rows) > np.ceil(len(reports) / 3)
