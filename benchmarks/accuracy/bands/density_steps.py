"""Pictures of densities: how often they show a peak that is not there, and one that is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning
from lapwing.results.steps import KEY, Steps

TITLE = "Steps of densities"
FULL: dict[str, Any] = {"people": 60_000, "bins": 256, "repeats": 200}
QUICK: dict[str, Any] = FULL | {"bins": 64, "repeats": 3}

ASKED_FALSE, ASKED_BOTH = 0.05, 0.95


def one_peak(rng: Any, people: int) -> NDArray[np.float64]:
    """Return values with one smooth peak."""
    return np.clip(rng.normal(50, 15, people), 0, 99.9)


def two_peaks(rng: Any, people: int) -> NDArray[np.float64]:
    """Return values with two peaks that are three standard deviations apart."""
    return np.clip(rng.normal(np.where(rng.random(people) < 0.5, 35, 65), 10), 0, 99.9)


CASES = {"one peak": (one_peak, 1), "two peaks": (two_peaks, 3)}


def measure(*, people: int, bins: int, repeats: int) -> dict[str, Any]:
    """Return for each column and detail how often further maxima are seen and are sure."""
    domain = lw.Interval(0, 100, bins=bins)
    rows = []
    for column, (draw, epsilon) in CASES.items():
        survey = lw.Survey("column", lw.recommend(domain, epsilon=epsilon, users=people))
        seen: dict[str, list[tuple[int, int, bool]]] = {"resolved": [], "all": []}
        rng = np.random.default_rng([23, epsilon])
        for repeat in range(repeats):
            values = draw(rng, people)
            counts = np.bincount(domain.index(values), minlength=domain.size)
            tally = lw.simulate(survey.randomizer, counts, rng=repeat)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LapwingWarning)
                result = survey.decode(tally)
            truth = lw.Distribution.of_counts(counts, domain).cumulative.mass
            for detail, found in seen.items():
                steps = result._steps(steps=result.provenance[KEY] if detail != "all" else None)
                drawn = Steps.of_mass(domain, truth, steps.shares.size, atom_bins=_NONE)
                low, high = _ends(steps)
                held = bool(np.all((low <= drawn.shares) & (drawn.shares <= high)))
                found.append((steps.shares.size, *further_maxima(steps), held))
        for detail, found in seen.items():
            count, maxima, sure, held = (np.array(each) for each in zip(*found, strict=True))
            rows.append(
                {
                    "column": column,
                    "epsilon": epsilon,
                    "detail": detail,
                    "steps": int(np.median(count)),
                    "maxima": float((maxima > 0).mean()),
                    "sure": float((sure > 0).mean()),
                    "held": float(held.mean()),
                }
            )
    return {"rows": rows}


_NONE = np.zeros(0, dtype=np.int64)


def _ends(steps: Steps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    assert steps.low is not None
    assert steps.high is not None
    return steps.low, steps.high


def further_maxima(steps: Steps) -> tuple[int, int]:
    """Return how many maxima there are beside the highest, and of how many the band is sure.

    Of a maximum it is sure when its interval, and that of the highest, leave that of the dip
    between the two.
    """
    widths = np.diff(steps.edges)
    heights, low, high = (each / widths for each in (steps.shares, *_ends(steps)))
    kept = np.flatnonzero(np.diff(heights, prepend=-1.0) != 0)
    padded = np.pad(heights[kept], 1, constant_values=-1.0)
    places = kept[(padded[1:-1] > padded[:-2]) & (padded[1:-1] > padded[2:])]
    top = int(np.argmax(heights))
    others = [int(place) for place in places if heights[place] < heights[top]]
    sure = 0
    for place in others:
        first, last = sorted((place, top))
        dip = first + int(np.argmin(heights[first:last]))
        sure += bool(high[dip] < min(low[place], low[top]))
    return len(others), sure


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table, and whether the two figures that were asked are reached."""
    rows = measured["rows"]
    cells = [
        [
            row["column"],
            row["detail"],
            f"{row['epsilon']:g}",
            str(row["steps"]),
            *(f"{100 * row[name]:.1f}" for name in ("maxima", "sure", "held")),
        ]
        for row in rows
    ]
    resolved = {row["column"]: row for row in rows if row["detail"] == "resolved"}
    false, both = resolved["one peak"]["sure"], resolved["two peaks"]["sure"]
    reached = false <= ASKED_FALSE and both >= ASKED_BOTH
    return "\n\n".join(
        [
            f"{settings['people']:,} people, {settings['bins']} bins, the recommended survey, "
            f"{settings['repeats']} repeats; the two peaks are three standard deviations apart. "
            "*Further maximum*: percent of the pictures with a maximum beside the highest one. "
            "*Sure*: percent in which its interval, and that of the highest, leave that of the dip "
            "between the two. *Band holds*: percent in which the 95 % band holds the people's "
            "shares of all steps. *All*: every bin drawn.",
            table(
                ["column", "detail", "ε", "steps", "further maximum", "sure", "band holds"],
                cells,
                texts=2,
            ),
            f"Asked: one peak with a sure second maximum in at most {100 * ASKED_FALSE:.0f} %, two "
            f"peaks both sure in at least {100 * ASKED_BOTH:.0f} %; measured: {100 * false:.1f} "
            f"and {100 * both:.1f} %: {'reached' if reached else 'missed'}.",
        ]
    )
