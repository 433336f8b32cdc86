"""Whether the bands of a week cover as often as they say, also where something jumped."""

from __future__ import annotations

from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.series import made_up
from benchmarks.markdown import table

TITLE = "Bands of a series"
FULL: dict[str, Any] = {"repeats": 50}
QUICK: dict[str, Any] = {"repeats": 1}

LEVEL = 0.95
LOWEST, HIGHEST = 0.02, 0.98


def measure(*, repeats: int) -> dict[str, Any]:
    """Return pointwise and whole-curve coverage and width, by series and kind of week."""
    found: dict[str, list[list[float]]] = {}
    for name, masses in made_up.MADE_UP.items():
        survey = made_up.survey()
        for repeat in range(repeats):
            counts = made_up.drawn(masses(), seed=[repeat, 3])
            tallies = made_up.tallies(survey, counts, seed=2000 + repeat)
            series = lw.decode_series([(survey, tally) for tally in tallies])
            for number, (week, people) in enumerate(zip(series, counts, strict=True)):
                where = "ordinary weeks"
                if name == "jump" and number - made_up.JUMP_WEEK in (-1, 0, 1):
                    where = {
                        -1: "the week before", 0: "the week of the jump", 1: "the week after"
                    }[number - made_up.JUMP_WEEK]  # fmt: skip
                assert week.distribution is not None
                found.setdefault(f"{name}, {where}", []).append(_covered(week.distribution, people))
    return {
        "weeks": {
            name: {
                "weeks": len(rows),
                **dict(
                    zip(
                        ("pointwise", "whole", "width"),
                        np.mean(rows, axis=0).tolist(),
                        strict=True,
                    )
                ),
            }
            for name, rows in found.items()
        }
    }


def _covered(answer: lw.Distribution, people: Any) -> list[float]:
    truth = np.cumsum(people) / people.sum()
    used = (truth > LOWEST) & (truth < HIGHEST)
    row = []
    for kind in ("pointwise", "simultaneous"):
        band = answer.confidence_band(LEVEL, kind=kind)  # type: ignore[arg-type]
        assert band is not None
        inside = ((band.low - 1e-12 <= truth) & (truth <= band.high + 1e-12))[used]
        row.append(float(inside.mean() if kind == "pointwise" else inside.all()))
        if kind == "pointwise":
            width = float((band.high - band.low)[used].mean())
    return [*row, width]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage of every kind of week beside what is asked."""
    weeks = measured["weeks"]
    rows = [
        [
            name,
            str(one["weeks"]),
            f"{100 * one['pointwise']:.1f}",
            f"{100 * one['whole']:.1f}",
            f"{one['width']:.3f}",
        ]
        for name, one in weeks.items()
    ]
    points = [one["pointwise"] for one in weeks.values()]
    return "\n\n".join(
        [
            f"Percent covered by the nominal 95 % bands about each week's own people, "
            f"{settings['repeats']} series of each kind ({4 * settings['repeats']} in all), "
            f"{made_up.WEEKS} weeks of {made_up.PEOPLE:,} people, epsilon 1, {made_up.BINS} bins, "
            "edges with 0.02 < F < 0.98.",
            table(["weeks", "number", "pointwise", "whole curve", "width"], rows, texts=1),
            f"Pointwise {100 * min(points):.1f} to {100 * max(points):.1f} % (asked: 93 to 97).",
        ]
    )
