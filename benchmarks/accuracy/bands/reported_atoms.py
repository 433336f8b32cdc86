"""Atoms of reports: of found ones whether share and truth lie in the interval, of declared ones
how far the printed share is off."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.datasets import load
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning
from lapwing.results.atoms import expected_mass

TITLE = "Atoms of reports"

MADE_UP: dict[str, tuple[list[float], list[float]]] = {
    "three heavy": ([0.1003, 0.3003, 0.7003], [0.18, 0.09, 0.03]),
    "seventeen": ([0.05 * k + 0.0003 for k in range(1, 18)], [0.087 / k for k in range(1, 18)]),
}
"""Places and shares of single values on a Beta(2, 5) of 150,000 people."""

FULL: dict[str, Any] = {
    "repeats": 25,
    "bins": 1024,
    "columns": [
        *("sf_base_pay", "sf_benefits", "acs_income", "flights_distance", "adult_hours"),
        *("airbnb_nyc", "three heavy", "seventeen"),
    ],
    "epsilon": 2,
    "declared": {
        "repeats": 40,
        "bins": 128,
        "shares": [0.0, 0.003, 0.02, 0.12, 0.5],
        "epsilons": [0.5, 1, 2],
        "people": [10_000, 100_000],
    },
}
QUICK: dict[str, Any] = FULL | {
    "repeats": 2,
    "columns": ["three heavy"],
    "declared": FULL["declared"] | {"repeats": 3, "epsilons": [2]},
}

ASKED = 0.93


def measure(
    *, repeats: int, bins: int, columns: Sequence[str], epsilon: float, declared: dict[str, Any]
) -> dict[str, Any]:
    """Return what was found, and how far the shares of a declared atom are off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        found = [_found(name, bins=bins, epsilon=epsilon, repeats=repeats) for name in columns]
        return {"found": found, "declared": _declared(**declared)}


def _found(name: str, *, bins: int, epsilon: float, repeats: int) -> dict[str, Any]:
    """Return how many atoms are found in so many polls, and what their intervals hold."""
    values = _made_up(name) if name in MADE_UP else load(name).values
    assert values is not None
    domain = lw.Interval(float(values.min()), float(values.max()), bins=bins, outside="clip")
    counts = np.bincount(domain.index(values), minlength=bins)
    truth = counts / counts.sum()
    heaviest = int(np.argmax(truth))
    pair = lw.recommend(domain, epsilon=epsilon, users=values.size)
    own, true, seen = [], [], 0
    for repeat in range(repeats):
        tally = lw.simulate(pair.randomizer, counts, rng=repeat)
        atoms = pair.decoder.decode(pair.randomizer.channel, tally).atoms
        places = np.searchsorted(domain.left, [atom.left for atom in atoms]).astype(np.int64)
        usual = expected_mass(truth, domain.left, domain.right, places, circular=False)
        seen += heaviest in places
        for atom, excess in zip(atoms, truth[places] - usual, strict=True):
            assert atom.low is not None and atom.high is not None
            own.append(atom.low <= atom.share <= atom.high)
            true.append(atom.low <= excess <= atom.high)
    return {
        "column": name,
        "people": int(values.size),
        "heaviest": float(truth[heaviest]),
        "heaviest_found": seen,
        "found": len(own),
        "own": int(sum(own)),
        "true": int(sum(true)),
    }


def _made_up(name: str) -> NDArray[np.float64]:
    places, shares = MADE_UP[name]
    rng, people = np.random.default_rng(5), 150_000
    number = np.rint(np.array(shares) * people).astype(np.int64)
    return np.append(np.repeat(places, number), rng.beta(2, 5, people - number.sum()))


def _declared(
    *,
    repeats: int,
    bins: int,
    shares: Sequence[float],
    epsilons: Sequence[float],
    people: Sequence[int],
) -> list[dict[str, float]]:
    """Return mean, standard error and root mean square of the errors of a declared atom's share."""
    domain = lw.Interval(0, 1, bins=bins, atoms=[0], outside="clip")
    cells = []
    for share, epsilon, number in [(s, e, n) for s in shares for e in epsilons for n in people]:
        there = round(share * number)
        rest = np.random.default_rng(3).exponential(0.15, number - there).clip(0.001, 1)
        counts = np.bincount(domain.index(np.append(rest, np.zeros(there))), minlength=domain.size)
        randomizer = lw.MultiscaleWave(domain, epsilon)
        errors, inside = [], 0
        for repeat in range(repeats):
            tally = lw.simulate(randomizer, counts, rng=repeat)
            result = lw.SpectralPrior().decode(randomizer.channel, tally)
            (atom,) = (each for each in result.atoms if each.declared)
            assert atom.low is not None and atom.high is not None
            errors.append(atom.share - share)
            inside += atom.low <= share <= atom.high
        cells.append(
            {
                "share": share,
                "epsilon": epsilon,
                "people": number,
                "mean": float(np.mean(errors)),
                "deviation": float(np.std(errors, ddof=1) / np.sqrt(repeats)),
                "root_mean_square": float(np.sqrt(np.mean(np.square(errors)))),
                "inside": inside / repeats,
            }
        )
    return cells


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return both tables beside what is asked."""
    rows = [
        [
            one["column"],
            f"{one['people']:,}",
            f"{100 * one['heaviest']:.1f}",
            f"{one['heaviest_found']}",
            *(f"{one[key]}" for key in ("found", "own", "true")),
        ]
        for one in measured["found"]
    ]
    found, own, true = (
        sum(one[key] for one in measured["found"]) for key in ("found", "own", "true")
    )
    good = own == found and true >= ASKED * found
    heads = ["column", "people", "heaviest bin, %", "it was found", "found"]
    declared = [
        [
            f"{100 * one['share']:g}",
            f"{one['epsilon']:g}",
            f"{one['people']:,}",
            f"{100 * one['mean']:+.2f} ± {100 * one['deviation']:.2f}",
            f"{100 * one['root_mean_square']:.2f}",
            f"{100 * one['inside']:.0f}",
        ]
        for one in measured["declared"]
    ]
    return "\n\n".join(
        [
            f"Atoms found in {settings['repeats']} simulated polls with the recommended pair at "
            f"{settings['bins']:,} bins and ε = {settings['epsilon']}: how many of their shares "
            "lie in their own 95% interval, how many intervals hold the true share, and in how "
            "many polls the heaviest bin was found. A bin is found where it holds more than twice "
            "what the bins beside it hold, by more than the noise of one bin among all. "
            "The true share here is what a bin holds beyond what the bins around it suggest. "
            "The figures are of intervals for that alone; those printed today contain them "
            "and reach to the whole bin.",
            table([*heads, "share inside", "truth inside"], rows, texts=1),
            f"Of {found} atoms {own} shares and {true} true shares. Target: all, and "
            f"{100 * ASKED:.0f}%: {'reached' if good else 'missed'}.",
            f"An atom that the domain declares at the low end of an exponential column of "
            f"{settings['declared']['bins']} bins, {settings['declared']['repeats']} polls: error "
            "of the share that is printed, in percent of the people (mean and its standard error, "
            "root of the mean square), and percent of the intervals that hold the truth. A share "
            "is never negative, so that of an atom that is not there is too large on average.",
            table(
                ["share, %", "ε", "people", "mean error", "root mean square", "truth inside, %"],
                declared,
                texts=0,
            ),
        ]
    )
