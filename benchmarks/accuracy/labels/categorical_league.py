"""Decoders of categories on eight sparse or heavy-tailed populations at three numbers of people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.labels.calibrate import Calibrate
from benchmarks.markdown import figure, table
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.summaries import geometric, ratio_of_means

TITLE = "League of categorical decoders"
FULL: dict[str, Any] = {
    "repeats": 8,
    "size": 10_000,
    "epsilon": 0.5,
    "people": [50_000, 200_000, 1_000_000],
    "populations": [
        "uniform on 10",
        "uniform on 25",
        "uniform on 100",
        "geometric, first .8",
        "geometric, first .2",
        "Zipf .8",
        "Zipf 1",
        "Zipf 1.5",
    ],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "size": 2000,
    "epsilon": 0.5,
    "people": [50_000],
    "populations": ["uniform on 10", "Zipf 1"],
}

ASKED = {"geometric": 1.15, "worst": 2.0}
STUDY = {"geometric": 1.14, "worst": 2.0}
"""Of the default decoder's squared error against the best of each cell."""

DEFAULT = "MixturePrior, mean"
CALIBRATE = "Calibrate, power law"
"""What section II-B of the convolution paper describes, as a benchmark: the library has none."""

DECODERS: dict[str, Any] = {
    DEFAULT: lw.MixturePrior(band=False),
    "MixturePrior, median": lw.MixturePrior(estimate="median", band=False),
    "MixturePrior, median, free total": SignedDecoder(
        lw.MixturePrior(estimate="median", band=False)
    ),
    "simplex projection": lw.LeastSquares(),
    "threshold, rest dropped": SignedDecoder(lw.papers.baselines.Threshold(band=False)),
    "threshold, rest spread": lw.papers.baselines.Threshold(band=False),
    "threshold, projected": lw.papers.baselines.Threshold(rest="project", band=False),
    "false discovery .1, rest spread": lw.papers.baselines.Threshold(
        alpha=0.1, control="false-discovery", band=False
    ),
    "false discovery .1, projected": lw.papers.baselines.Threshold(
        alpha=0.1, control="false-discovery", rest="project", band=False
    ),
    "norm-cut": lw.papers.baselines.Normalization(method="norm-cut", band=False),
    "clip and normalize": lw.papers.baselines.Normalization(band=False),
    CALIBRATE: Calibrate(),
}
"""All of them see the same tallies."""

_HEAVIEST = 10


def population(name: str, size: int) -> NDArray[np.float64]:
    """Return the shares of a population by its name: float64 [size], the largest first."""
    kind, _, number = name.rpartition(" ")
    place = np.arange(size)
    shapes: dict[str, Callable[[float], Any]] = {
        "uniform on": lambda held: (place < held).astype(np.float64),
        "geometric, first": lambda first: first * (1 - first) ** place,
        "Zipf": lambda power: (place + 1.0) ** -power,
    }
    shares: NDArray[np.float64] = shapes[kind](float(number))
    shares /= shares.sum()
    return shares


def measure(
    *, repeats: int, size: int, epsilon: Any, people: Sequence[int], populations: Sequence[str]
) -> dict[str, Any]:
    """Return the errors of every decoder in every cell, and what the band covers."""
    randomizer = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(size), epsilon)
    cells = []
    for number, name in enumerate(populations):
        law = population(name, size)
        for users in people:
            rng = np.random.default_rng([number, users])
            errors: dict[str, dict[str, list[float]]] = {
                decoder: {"l1": [], "mse": []} for decoder in DECODERS
            }
            covered, covered_heavy = [], []
            for _ in range(repeats):
                counts = rng.multinomial(users, law)
                held = counts / users
                tally = lw.simulate(randomizer, counts, rng=rng)
                for decoder, how in DECODERS.items():
                    mass = how.decode(randomizer.channel, tally).mass
                    errors[decoder]["l1"].append(float(np.abs(mass - held).sum()))
                    errors[decoder]["mse"].append(float(np.mean((mass - held) ** 2)))
                band = lw.MixturePrior().decode(randomizer.channel, tally).confidence_band(0.95)
                assert band is not None
                inside = (held >= band.low - 1e-12) & (held <= band.high + 1e-12)
                covered.append(float(inside.mean()))
                covered_heavy.append(float(inside[:_HEAVIEST].mean()))
            cells.append(
                {
                    "population": name,
                    "people": users,
                    "errors": errors,
                    "covered": float(np.mean(covered)),
                    "covered_heaviest": float(np.mean(covered_heavy)),
                }
            )
    return {"cells": cells}


def _ratios(cell: dict[str, Any], error: str) -> dict[str, dict[str, float]]:
    """Return each decoder's error against that of the best in the cell, paired."""
    by_name = {name: one[error] for name, one in cell["errors"].items()}
    best = min(by_name, key=lambda name: sum(by_name[name]))
    return {name: ratio_of_means(one, by_name[best]) for name, one in by_name.items()}


def _calibrated(cells: list[dict[str, Any]]) -> str:
    """Return what the fitted power law makes of each population, beside the default."""
    names = list(dict.fromkeys(cell["population"] for cell in cells))
    told = []
    for name in names:
        pairs = [
            ratio_of_means(cell["errors"][CALIBRATE]["mse"], cell["errors"][DEFAULT]["mse"])
            for cell in cells
            if cell["population"] == name and CALIBRATE in cell["errors"]
        ]
        if pairs:
            shown = ", ".join(f"{one['ratio']:.2f} ± {one['standard_error']:.2f}" for one in pairs)
            told.append(f"{shown} on {name}")
    return (
        f"Squared error of {CALIBRATE} divided by that of {DEFAULT}, for increasing numbers of "
        f"people: {', '.join(told)}."
        if told
        else ""
    )


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the standing of every decoder, and the default's ratio in every cell."""
    cells = measured["cells"]
    ratios = {error: [_ratios(cell, error) for cell in cells] for error in ("mse", "l1")}
    rows = []
    for name in cells[0]["errors"]:
        row = [name]
        for error in ("mse", "l1"):
            found = [one[name]["ratio"] for one in ratios[error]]
            row += [f"{geometric(found):.2f}", figure(max(found))]
        rows.append(row)
    rows.sort(key=lambda row: float(row[1]))
    default = [one[DEFAULT] for one in ratios["mse"]]
    worst = max(range(len(cells)), key=lambda i: default[i]["ratio"])
    summary = (
        f"Squared error of {DEFAULT} against the best of each of {len(cells)} cells: geometric "
        f"mean {geometric([one['ratio'] for one in default]):.3f} (target: at most "
        f"{ASKED['geometric']}, the study {STUDY['geometric']}), worst cell "
        f"{default[worst]['ratio']:.2f} ± {default[worst]['standard_error']:.2f} "
        f"({cells[worst]['population']}, {cells[worst]['people']:,} people, target at most "
        f"{ASKED['worst']:g}). The best decoder of a cell is chosen by the same repeats, which "
        "favors it."
    )
    lines = []
    for cell, ratio in zip(cells, ratios["mse"], strict=True):
        best = min(ratio, key=lambda name: ratio[name]["ratio"])
        simple = ratio["simplex projection"]["ratio"]
        lines.append(
            [
                cell["population"],
                best,
                f"{cell['people']:,}",
                f"{ratio[DEFAULT]['ratio']:.2f} ± {ratio[DEFAULT]['standard_error']:.2f}",
                f"{simple:.1f}",
                f"{100 * cell['covered']:.1f}",
                f"{100 * cell['covered_heaviest']:.1f}",
            ]
        )
    return "\n\n".join(
        [
            f"{settings['size']:,} symbols, optimized unary encoding at epsilon "
            f"{settings['epsilon']:g}, {settings['repeats']} repeats. All decoders see the same "
            "reports. Errors are about the people who reported, and each is divided by the error "
            "of the best decoder of the cell. The table has the geometric mean over the cells and "
            "the worst cell.",
            table(["decoder", "MSE", "worst", "L1", "worst"], rows),
            summary,
            *filter(None, [_calibrated(cells)]),
            "By cell: the ratios of the default and of the projection, and the percentage of all "
            "symbols and of the ten largest that a nominal 95% pointwise band of the shares "
            "covers. The band is cut at zero, where empty symbols lie, so it covers those more "
            "often.",
            table(
                [
                    "population",
                    "best",
                    "people",
                    "default",
                    "simplex",
                    "covered",
                    "ten largest",
                ],
                lines,
                texts=2,
            ),
        ]
    )
