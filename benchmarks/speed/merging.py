"""Logs of reports that come in many batches: the time of their sum, over the number of batches."""

from __future__ import annotations

from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import figure, table, timed
from benchmarks.timing import alternate
from lapwing.tallies import TallyLog

TITLE = "Merging logs of reports"
FULL: dict[str, Any] = {
    "reports": 20_000_000,
    "batches": [1, 50, 500, 5000, 50_000],
    "rounds": 5,
}
QUICK: dict[str, Any] = {"reports": 1_000_000, "batches": [1, 50, 5000], "rounds": 2}


def measure(*, reports: int, batches: list[int], rounds: int) -> dict[str, Any]:
    """Return the times of adding and sorting one multiset of reports, in so many batches each."""
    survey = lw.Survey("words", lw.LinearHashing(lw.HashedStrings(32), 2))
    nothing = survey.tally(survey.randomize(["word"], rng=lw.seeded(1)))
    assert isinstance(nothing, TallyLog)
    width = nothing.width
    codes = np.random.default_rng(1).integers(0, 2 ** (8 * width - 1), reports).astype(np.uint64)

    def merged(number: int) -> None:
        parts = (TallyLog([run], width, "f") for run in np.array_split(codes, number))
        total = sum(parts)
        assert isinstance(total, TallyLog) and total.codes.size == reports

    works = {str(number): lambda number=number: merged(number) for number in batches}
    return {name: one.summaries() for name, one in alternate(works, rounds=rounds).items()}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the curve as a table."""
    once = measured[str(settings["batches"][0])]["cpu"]["median"]
    lines = [
        [f"{number:,}", timed(found["cpu"]), figure(found["cpu"]["median"] / once)]
        for number in settings["batches"]
        for found in [measured[str(number)]]
    ]
    return "\n\n".join(
        [
            f"{settings['reports']:,} reports of linear hashing in a number of logs of equal "
            "size. Each log is made, all are added with `sum`, and the sum is read, which sorts "
            "its reports. CPU seconds, and how many times those of the first line.",
            table(["batches", "CPU", "times"], lines, texts=0),
        ]
    )
