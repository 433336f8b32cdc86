"""Heavy hitters among clicks: what a scan and prefix extension find, miss and make up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.datasets import load
from benchmarks.markdown import table
from benchmarks.summaries import summary

TITLE = "Heavy hitters among four million values"
FULL: dict[str, Any] = {
    "column": "kosarak",
    "people": 1_000_000,
    "bits": 22,
    "repeats": 6,
    "epsilons": [1, 2, 4],
}
QUICK: dict[str, Any] = {**FULL, "people": 50_000, "bits": 18, "repeats": 2, "epsilons": [2]}

SCAN, EXTENSION = "scan of all values", "prefix extension"


def measure(
    *, column: str | None, people: int, bits: int, repeats: int, epsilons: Sequence[Any]
) -> dict[str, Any]:
    """Return what both methods list, beside what people hold.

    People draw a page by its share of the clicks; pages lie at random among 2^bits values. Without
    a column the shares are a Zipf law's.
    """
    if column is None:
        clicks = 1 / np.arange(1, 201) ** 0.963
    else:
        found = load(column).counts
        assert found is not None
        clicks = found.astype(np.float64)
    rows = []
    for epsilon in epsilons:
        domain = lw.Categories(2**bits)
        methods: dict[str, Any] = {
            SCAN: (lw.LinearHashing(domain, epsilon), lw.decoders.ExhaustiveScan()),
            EXTENSION: (
                lw.papers.baselines.PrefixHashing(
                    domain, epsilon, prefixes=(max(bits - 6, 1), bits)
                ),
                lw.decoders.PrefixExtension(),
            ),
        }
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
        for repeat in range(repeats):
            rng = np.random.default_rng([repeat, 41])
            places = rng.choice(2**bits, clicks.size, replace=False)
            values = places[rng.choice(clicks.size, people, p=clicks / clicks.sum())]
            for name, (randomizer, decoder) in methods.items():
                survey = lw.Survey("clicks", randomizer)
                log = survey.tally(survey.randomize(values, rng=lw.seeded(repeat)))
                runs[name].append(_scores(survey.decode(log, decoder=decoder), values))
        for name, scores in runs.items():
            rows.append({"epsilon": epsilon, "method": name, **_summed(scores)})
    return {"held": int((clicks > 0).sum()), "rows": rows}


def _scores(found: Any, values: NDArray[np.int64]) -> dict[str, float]:
    """Return how the list of one run agrees with what people hold."""
    known, counts = np.unique(values, return_counts=True)
    shares = counts / values.size
    # The deviation of a value that nobody holds; all near the threshold have nearly the same.
    deviation = float(found.deviations.min(initial=np.inf))
    above = known[shares >= found.threshold]
    sure = known[shares >= found.threshold + 3 * deviation]
    place = {int(value): share for value, share in zip(known, shares, strict=True)}
    true = np.array([place.get(int(symbol), 0.0) for symbol in found.symbols])
    band = found.confidence_band(0.95)
    return {
        "threshold": float(found.threshold),
        "listed": len(found),
        "false": int((true == 0).sum()),
        "above": int(above.size),
        "above_found": int(np.isin(above, found.symbols).sum()),
        "sure": int(sure.size),
        "sure_found": int(np.isin(sure, found.symbols).sum()),
        "covered": int(((band.low <= true) & (true <= band.high)).sum()),
    }


def _summed(scores: list[dict[str, float]]) -> dict[str, Any]:
    summed: dict[str, Any] = {
        name: sum(score[name] for score in scores) for name in scores[0] if name != "threshold"
    }
    summed["threshold"] = summary([score["threshold"] for score in scores])
    return summed


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    lines = [
        [
            f"{row['epsilon']:g}",
            row["method"],
            f"{100 * row['threshold']['median']:.2f}%",
            f"{row['listed']:g}",
            f"{row['false']:g}",
            f"{row['above_found']:g} of {row['above']:g}",
            f"{row['sure_found']:g} of {row['sure']:g}",
            f"{row['covered']:g} of {row['listed']:g}",
        ]
        for row in measured["rows"]
    ]
    source = "Kosarak's pages" if settings["column"] else "a Zipf law"
    return "\n\n".join(
        [
            f"{settings['people']:,} people, each with one value drawn from {source} "
            f"({measured['held']:,} values), which are at random places among 2^{settings['bits']} "
            f"values. Figures are sums over {settings['repeats']} runs. The threshold is set so "
            "that at most 0.05 values that nobody has are expected per run. *Sure*: at least three "
            "standard deviations above the threshold.",
            table(
                [
                    "ε",
                    "method",
                    "threshold",
                    "listed",
                    "false ones",
                    "above the threshold, found",
                    "sure, found",
                    "in their 95% intervals",
                ],
                lines,
                texts=2,
            ),
            _reading(measured["rows"], settings),
        ]
    )


def _reading(rows: list[dict[str, Any]], settings: dict[str, Any]) -> str:
    scans = [row for row in rows if row["method"] == SCAN]
    missed = sum(row["sure"] - row["sure_found"] for row in scans)
    false = sum(row["false"] for row in scans)
    runs = settings["repeats"] * len(scans)
    parts = [
        "The scan finds all sure values"
        if missed == 0
        else f"**The scan misses {missed:g} sure values**",
        f"It lists {false:g} values that nobody has in {runs} runs, and {0.05 * runs:g} are "
        "expected",
    ]
    lost = sum(row["sure"] - row["sure_found"] for row in rows if row["method"] == EXTENSION)
    parts.append(
        "Prefix extension has a higher threshold, because it uses half of the people, and "
        + ("loses no sure value" if lost == 0 else f"loses {lost:g} sure values")
    )
    return f"{'. '.join(parts)}."
