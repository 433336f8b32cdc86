"""How often a jump is found, and how often one is found where there was none."""

from __future__ import annotations

from typing import Any

import lapwing as lw
from benchmarks.accuracy.series import made_up
from benchmarks.markdown import table

TITLE = "Changes of a series: found, and false"
FULL: dict[str, Any] = {"repeats": 100, "moving": 20}
QUICK: dict[str, Any] = {"repeats": 2, "moving": 1}


def measure(*, repeats: int, moving: int) -> dict[str, Any]:
    """Return in how many series of each kind a change was found, by the series and by the watch."""
    found: dict[str, dict[str, int]] = {}
    for name in ("jump", "still", "drift", "season"):
        counted = dict.fromkeys(
            ("series, in its week or the next", "series, elsewhere", "watch, by the week after",
             "watch, later", "watch, too early or where there is none"), 0
        )  # fmt: skip
        for repeat in range(repeats if name in ("jump", "still") else moving):
            _count(name, repeat, counted)
        found[name] = counted
    return {"series": found}


def _count(name: str, repeat: int, counted: dict[str, int]) -> None:
    survey = made_up.survey()
    counts = made_up.drawn(made_up.MADE_UP[name](), seed=[repeat, 2])
    tallies = made_up.tallies(survey, counts, seed=1000 + repeat)
    there = made_up.JUMP_WEEK if name == "jump" else -9
    weeks = {change.week for change in lw.decode_series([(survey, t) for t in tallies]).changes}
    near = {there, there + 1}
    counted["series, in its week or the next"] += bool(weeks & near)
    counted["series, elsewhere"] += bool(weeks - near)
    watch = lw.Watch(alpha=0.05)
    for week, tally in enumerate(tallies):
        watch, noticed = watch.look((survey, tally))
        if noticed.change is not None:
            late = week - there
            if name != "jump" or late < 0:
                counted["watch, too early or where there is none"] += 1
            else:
                counted["watch, by the week after" if late <= 1 else "watch, later"] += 1
            return


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the counts beside what is asked."""
    found = measured["series"]
    ways = list(found["jump"])
    rows = [[way, *(str(found[name][way]) for name in found)] for way in ways]
    seen, false = found["jump"][ways[0]], found["still"]["series, elsewhere"]
    repeats = settings["repeats"]
    return "\n\n".join(
        [
            f"Of {repeats} series each ({settings['moving']} of drift and of season), "
            f"{made_up.WEEKS} weeks of {made_up.PEOPLE:,} people, "
            f"epsilon 1, {made_up.BINS} bins; *jump* has one, of {made_up.JUMP:g} in KS, in week "
            f"{made_up.JUMP_WEEK + 1}. *Series* is what `decode_series` lists when all weeks are "
            "known, *watch* the first report at alpha .05. *Drift* and *season* change in every "
            "week, so a watch is right to report them, and the series to list no jump.",
            table(["found", *found], rows, texts=1),
            f"A jump is found in its week or the next in {seen} of {repeats} (asked: 95 of 100); "
            f"in {false} of {repeats} still series one is listed (asked: at most 5 of 100).",
        ]
    )
