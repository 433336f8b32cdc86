"""Weeks decoded together beside the same weeks decoded one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.series import made_up
from benchmarks.markdown import table, uncertain
from benchmarks.summaries import mean_and_error, ratio_of_means
from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior

TITLE = "A series decoded together"
FULL: dict[str, Any] = {"repeats": 4, "series": ["taxi", *made_up.MADE_UP]}
QUICK: dict[str, Any] = {"repeats": 2, "series": ["jump"]}

REFERENCE = "month by month"
"""The spectral prior on each week alone, as it was at commit 3a0ae02, before series came."""

FIGURES = ("w1", "ks")

ASKED = {"all weeks": (0.60, 0.65), "weeks so far": (0.70, 0.77)}


def measure(*, repeats: int, series: Sequence[str]) -> dict[str, Any]:
    """Return mean W1 and KS over the weeks, for every series and way of decoding."""
    found = []
    for name in series:
        samples: dict[str, dict[str, list[float]]] = {}
        for repeat in range(repeats):
            for way, both in _one(name, repeat).items():
                for figure, value in zip(FIGURES, both, strict=True):
                    samples.setdefault(way, {}).setdefault(figure, []).append(value)
        found.append(
            {
                "series": name,
                "errors": {
                    way: {figure: mean_and_error(values) for figure, values in each.items()}
                    for way, each in samples.items()
                },
                "ratios": {
                    way: {
                        figure: ratio_of_means(samples[way][figure], samples[REFERENCE][figure])
                        for figure in FIGURES
                    }
                    for way in ASKED
                },
            }
        )
    return {"series": found}


def _one(name: str, repeat: int) -> dict[str, tuple[float, float]]:
    survey = made_up.survey(circular=name == "taxi")
    if name == "taxi":
        counts = made_up.taxi_months()[1]
    else:
        counts = made_up.drawn(made_up.MADE_UP[name](), seed=[repeat, 1])
    tallies = made_up.tallies(survey, counts, seed=repeat)
    pairs = [(survey, tally) for tally in tallies]
    alone = SpectralPrior(band=False)
    answers = {
        REFERENCE: [survey.decode(tally, decoder=alone).mass for tally in tallies],
        "all weeks": _masses(lw.decode_series(pairs)),
        "weeks so far": _masses(lw.decode_series(pairs, smooth=False)),
        "one curve for all": [np.mean(counts, axis=0) / counts[0].sum()] * len(counts),
    }
    return {
        way: tuple(  # type: ignore[misc]
            np.mean([made_up.errors(m, c) for m, c in zip(masses, counts, strict=True)], axis=0)
        )
        for way, masses in answers.items()
    }


def _masses(series: lw.Series) -> list[made_up.Mass]:
    return [week.distribution.mass for week in series if week.distribution is not None]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return errors and ratios of every series beside what is asked."""
    rows = []
    for one in measured["series"]:
        before = one["errors"][REFERENCE]
        cells = [f"{1e4 * before['w1']['mean']:.0f}", f"{1e3 * before['ks']['mean']:.1f}"]
        for way in ASKED:
            for figure in FIGURES:
                ratio = one["ratios"][way][figure]
                cells.append(uncertain(ratio["ratio"], ratio["standard_error"], places=3))
        rows.append([one["series"], *cells])
    means = {
        way: [
            float(np.mean([one["ratios"][way][figure]["ratio"] for one in measured["series"]]))
            for figure in FIGURES
        ]
        for way in ASKED
    }
    said = ", and ".join(
        f"{way} {mean[0]:.3f} and {mean[1]:.3f} (target: {ASKED[way][0]:.2f} and "
        f"{ASKED[way][1]:.2f})"
        for way, mean in means.items()
    )
    header = ["series", "W1 x 10^4, week by week", "KS x 10^3"]
    header += [f"{way}: {figure.upper()}" for way in ASKED for figure in FIGURES]
    return "\n\n".join(
        [
            f"{made_up.WEEKS} weeks of {made_up.PEOPLE:,} people, epsilon 1, {made_up.BINS} bins, "
            f"{settings['repeats']} repeats. Errors are relative to the week's own people and "
            "averaged over the weeks. The reference is the spectral prior on each week alone "
            "(commit 3a0ae02). *Weeks so far*: each week is decoded from the weeks up to it, with "
            "nothing learned from later ones.",
            table(header, rows, texts=1),
            f"Means of the ratios of W1 and KS: {said}.",
        ]
    )
