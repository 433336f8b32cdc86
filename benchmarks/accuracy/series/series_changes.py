"""How often a jump is found or only thought to be, and how often bands hold, also beside one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.series import made_up
from benchmarks.markdown import table
from lapwing.results.uncertainty import Kind

TITLE = "Changes and bands of a series"
FULL: dict[str, Any] = {"repeats": 100, "moving": 10}
QUICK: dict[str, Any] = {"repeats": 2, "moving": 1}

NEAR, ELSEWHERE = "series: in its week or the next", "series: elsewhere"
IN_TIME, LATER, FALSE = "watch: by the week after", "watch: later", "watch: where there is none"

LEVEL = 0.95
LOWEST, HIGHEST = 0.02, 0.98
KINDS: tuple[Kind, ...] = ("pointwise", "simultaneous")

_BESIDE = {-1: "the week before", 0: "the week of the jump", 1: "the week after"}


def measure(*, repeats: int, moving: int) -> dict[str, Any]:
    """Return in how many series a change was found, and how often bands of weeks held."""
    found: dict[str, dict[str, int]] = {}
    covered: dict[str, list[list[float]]] = {}
    for name in made_up.MADE_UP:
        number = repeats if name in ("jump", "still") else moving
        counted: Counter[str] = Counter()
        for repeat in range(number):
            _one(name, repeat, counted, covered)
        found[name] = {"series": number, **counted}
    return {
        "found": found,
        "covered": {
            name: {"weeks": len(rows), "means": np.mean(rows, axis=0).tolist()}
            for name, rows in covered.items()
        },
    }


def _one(
    name: str, repeat: int, counted: Counter[str], covered: dict[str, list[list[float]]]
) -> None:
    survey = made_up.survey()
    counts = made_up.drawn(made_up.MADE_UP[name](), seed=[repeat, 2])
    tallies = made_up.tallies(survey, counts, seed=1000 + repeat)
    there = made_up.JUMP_WEEK if name == "jump" else -9
    series = lw.decode_series([(survey, tally) for tally in tallies])
    weeks = {change.week for change in series.changes}
    near = {there, there + 1}
    counted[NEAR] += bool(weeks & near)
    counted[ELSEWHERE] += bool(weeks - near)
    for number, (week, people) in enumerate(zip(series, counts, strict=True)):
        where = _BESIDE.get(number - there, "ordinary weeks")
        assert week.distribution is not None
        covered.setdefault(f"{name}, {where}", []).append(_covered(week.distribution, people))
    watch = lw.Watch(alpha=0.05)
    for number, tally in enumerate(tallies):
        watch, noticed = watch.look((survey, tally))
        if noticed.change is not None:
            late = number - there
            false = name != "jump" or late < 0
            counted[FALSE if false else IN_TIME if late <= 1 else LATER] += 1
            return


def _covered(answer: lw.Distribution, people: Any) -> list[float]:
    """Return the covered share of the edges, whether all were, and the width."""
    truth = np.cumsum(people) / people.sum()
    used = (truth > LOWEST) & (truth < HIGHEST)
    row, width = [], 0.0
    for kind in KINDS:
        band = answer.confidence_band(LEVEL, kind=kind)
        assert band is not None
        inside = ((band.low - 1e-12 <= truth) & (truth <= band.high + 1e-12))[used]
        row.append(float(inside.mean() if kind == "pointwise" else inside.all()))
        if kind == "pointwise":
            width = float((band.high - band.low)[used].mean())
    return [*row, width]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the counts and the coverage beside what is asked."""
    found, covered = measured["found"], measured["covered"]
    ways = ("series", NEAR, ELSEWHERE, IN_TIME, LATER, FALSE)
    rows = [[way, *(str(found[name].get(way, 0)) for name in found)] for way in ways]
    seen, false = found["jump"].get(NEAR, 0), found["still"].get(ELSEWHERE, 0)
    repeats = settings["repeats"]
    bands = [
        [
            name,
            str(one["weeks"]),
            *(f"{100 * share:.1f}" for share in one["means"][:2]),
            f"{one['means'][2]:.3f}",
        ]
        for name, one in covered.items()
    ]
    points = [100 * one["means"][0] for one in covered.values()]
    return "\n\n".join(
        [
            f"{made_up.WEEKS} weeks of {made_up.PEOPLE:,} people, epsilon 1, {made_up.BINS} bins. "
            f"*jump* has one jump, of {made_up.JUMP:g} in KS, in week {made_up.JUMP_WEEK + 1}. "
            "*Series* counts what `decode_series` lists when all weeks are known, and *watch* the "
            "first report at alpha 0.05. *drift* and *season* change in every week, so a watch is "
            "right to report a change, and a series is right to list no jump.",
            table(["number of", *found], rows, texts=1),
            f"A jump is detected in its week or the next in {seen} of {repeats} series (target: 95 "
            f"of 100). In {false} of {repeats} series without a change, one is listed (target: at "
            "most 5 of 100).",
            "Coverage of the nominal 95% bands for each week's own people, in percent, over the "
            "edges with 0.02 < F < 0.98:",
            table(["weeks", "number", "pointwise", "whole curve", "width"], bands, texts=1),
            f"Pointwise {min(points):.1f} to {max(points):.1f}% (target: 93 to 97).",
        ]
    )
