"""Coverage and width of the exact linear band, and how much of the decoded curve it holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

import lapwing as lw
from benchmarks import datasets
from benchmarks.accuracy.local.real_columns import DRAWN
from benchmarks.markdown import listed, table, uncertain
from benchmarks.summaries import summary
from lapwing.decoders.decoder import Decoder
from lapwing.errors import WeakAnswerWarning
from lapwing.protocol.randomizer import Randomizer

TITLE = "Coverage of the exact linear band"
FULL: dict[str, Any] = {
    "repeats": 100,
    "bins": 256,
    "epsilons": [0.5, 1, 2, 4],
    "columns": ["beta52", "taxi", "acs_income"],
}
QUICK: dict[str, Any] = {"repeats": 4, "bins": 256, "epsilons": [1], "columns": ["beta52"]}

LEVEL = 0.95
LOWEST, HIGHEST = 0.02, 0.98
"""Edges beyond which a CDF is too close to 0 or 1 to say anything about a band."""

BANDS = [
    (kind, target)
    for kind in ("pointwise", "simultaneous")
    for target in ("empirical", "population")
]

CHANNELS: dict[str, tuple[Callable[..., Randomizer], Decoder]] = {
    "square wave": (lw.SquareWave, lw.ExpectationMaximization(smoothed=True)),
    "GRR": (lw.RandomizedResponse, lw.LeastSquares()),
    "OUE": (lw.randomizers.OptimizedUnaryEncoding, lw.LeastSquares()),
}
"""Each with the decoder of its paper, whose curve is looked for in the band."""


def measure(
    *, repeats: int, bins: int, epsilons: Sequence[float], columns: Sequence[str]
) -> dict[str, Any]:
    """Return coverage, width and the curve's share for every column, channel and epsilon."""
    populations = {name: population(name, bins) for name in columns}
    rows = []
    for name, (domain, mass, people) in populations.items():
        for channel, (randomizer, decoder) in CHANNELS.items():
            for number, epsilon in enumerate(epsilons):
                rng = np.random.default_rng([number, len(channel), people])
                cell = _cell(randomizer(domain, epsilon), decoder, mass, people, repeats, rng)
                rows.append({"column": name, "channel": channel, "epsilon": epsilon, **cell})
    return {"people": {name: entry[2] for name, entry in populations.items()}, "rows": rows}


def population(name: str, bins: int) -> tuple[lw.Interval, NDArray[np.float64], int]:
    """Return a domain, the population's mass in its bins, and how many people are drawn from it."""
    column = datasets.load(name)
    domain = lw.Interval(column.low, column.high, bins=bins, outside="clip")
    if name == "beta52":
        mass = np.diff(beta(5, 2).cdf(np.arange(bins + 1) / bins))
    else:
        mass = lw.Distribution.of_values(column.values, domain).mass
    return domain, mass / mass.sum(), DRAWN.get(name, column.kept)


def _cell(
    randomizer: Randomizer,
    decoder: Decoder,
    mass: NDArray[np.float64],
    people: int,
    repeats: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Draw people, simulate their reports, decode, and ask each band for both of its targets."""
    cdf = np.cumsum(mass)
    edges = (cdf > LOWEST) & (cdf < HIGHEST)
    covered: dict[str, list[float]] = {}
    width: dict[str, list[float]] = {}
    inside = []
    for _ in range(repeats):
        counts = rng.multinomial(people, mass)
        targets = {"empirical": np.cumsum(counts) / people, "population": cdf}
        tally = lw.simulate(randomizer, counts, rng=rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakAnswerWarning)
            answer = decoder.decode(randomizer.channel, tally)
        assert isinstance(answer, lw.Distribution)  # both decoders give one
        for kind, target in BANDS:
            band = answer.confidence_band(LEVEL, kind=kind, target=target)
            assert band is not None  # every channel here has one
            truth = targets[target]
            holds = ((band.low <= truth) & (truth <= band.high))[edges]
            share = holds.mean() if kind == "pointwise" else holds.all()
            apart = (band.high - band.low)[edges].mean()
            covered.setdefault(f"{kind} {target}", []).append(float(share))
            width.setdefault(f"{kind} {target}", []).append(float(apart))
            if (kind, target) == ("pointwise", "empirical"):
                curve = answer.cumulative.sums
                inside.append(float(((band.low <= curve) & (curve <= band.high))[edges].mean()))
    return {
        "edges": int(edges.sum()),
        "coverage": {name: summary(found) for name, found in covered.items()},
        "width": {name: summary(found) for name, found in width.items()},
        "curve_inside": summary(inside),
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables and what they say."""
    rows = measured["rows"]
    drawn = listed([f"{number:,} for {name}" for name, number in measured["people"].items()])
    names = [f"{kind} {target}" for kind, target in BANDS]
    return "\n\n".join(
        [
            f"Level {100 * LEVEL:g}%, {settings['bins']} bins, {settings['repeats']} repeats. In "
            f"each, people are drawn from the column's law ({drawn}), so the people and their "
            "population differ; reports are simulated with their exact joint law. Over the edges "
            f"with {LOWEST:g} < F < {HIGHEST:g}: *pointwise* is the share of edges covered, "
            "*simultaneous* the share of repeats in which all are. Width is high less low, both "
            "cut to [0, 1], averaged over the edges.",
            table(
                ["column", "channel", "ε", *(f"{name}, %" for name in names)],
                [[*_place(row), *(_percent(row["coverage"][n]) for n in names)] for row in rows],
                texts=2,
            ),
            _coverage_reading(rows, names),
            table(
                ["column", "channel", "ε", *(f"width, {n}" for n in names), "curve inside, %"],
                [
                    [
                        *_place(row),
                        *(f"{row['width'][name]['mean']:.4f}" for name in names),
                        _percent(row["curve_inside"]),
                    ]
                    for row in rows
                ],
                texts=2,
            ),
            _curve_reading(rows),
        ]
    )


def _place(row: dict[str, Any]) -> list[str]:
    return [row["column"], row["channel"], f"{row['epsilon']:g}"]


def _percent(found: dict[str, Any]) -> str:
    return uncertain(found["mean"], found["standard_error"], scale=100)


def _coverage_reading(rows: list[dict[str, Any]], names: list[str]) -> str:
    parts, low = [], []
    for name in names:
        cells = [row["coverage"][name] for row in rows]
        means = [cell["mean"] for cell in cells]
        parts.append(
            f"{name} {100 * float(np.mean(means)):.1f} (lowest {100 * min(means):.1f}, highest "
            f"{100 * max(means):.1f})"
        )
        low += [
            f"{name} {row['column']} {row['channel']} ε = {row['epsilon']:g}"
            for row, cell in zip(rows, cells, strict=True)
            if cell["mean"] < LEVEL - 3 * max(cell["standard_error"], 1e-9)
        ]
    count = len(rows) * len(names)
    below = f"{len(low)} of {count} are more than three standard errors below the level"
    named = f" ({listed(low)})" if 0 < len(low) <= 8 else ""
    return (
        f"Coverage over the {len(rows)} cells, in %: {listed(parts)}; {below}{named}. The study "
        "that preceded the library has 94.8 to 95.1 for the pointwise and 93 to 97 for the "
        "simultaneous band of this kind on the square wave (9 repeats, 10 columns)."
    )


def _curve_reading(rows: list[dict[str, Any]]) -> str:
    parts = []
    for channel, (_, decoder) in CHANNELS.items():
        shares = [row["curve_inside"]["mean"] for row in rows if row["channel"] == channel]
        if shares:
            smoothed = " (EMS)" if getattr(decoder, "smoothed", False) else ""
            parts.append(
                f"{decoder.name}{smoothed} on {channel}: {100 * min(shares):.0f} to "
                f"{100 * max(shares):.0f}%"
            )
    return (
        f"Edges at which the decoded curve lies in the pointwise band: {listed(parts)}. The band "
        "is that of the unbiased estimate, not of the curve: a curve outside it has been smoothed "
        "or projected away from what the reports show."
    )
