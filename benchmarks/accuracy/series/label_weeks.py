"""Intervals of labels in weeks decoded together and of differences of weeks, across a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.markdown import table
from lapwing.privacy.sampling.randomness import seeded
from lapwing.registry import HOMES
from lapwing.results.uncertainty import Band, DifferenceBand, Kind, Target

TITLE = "Intervals of weeks of labels"
FULL: dict[str, Any] = {"settings": 44, "repeats": 80, "of_many": 20}
QUICK: dict[str, Any] = {"settings": 2, "repeats": 2, "of_many": 1}

WEEKS, CHANGED = 10, 5
"""Weeks of a series, and the position of the first one after the change."""

MANY = 24
"""Labels from which a series is drawn fewer times, because decoding takes longer."""

LEAST: dict[Kind, float] = {"pointwise": 0.93, "simultaneous": 0.90}
WIDEST = 1.02
TARGETS: tuple[Target, ...] = ("empirical", "population")

PLACES = ("still", "before", "after", "between")
"""Weeks not next to the change, the week before it, the first week after it, and differences."""

PAIRS = ((CHANGED - 1, CHANGED), (CHANGED - 3, CHANGED + 2))
"""Weeks that are compared: across the change, next to each other and further apart."""

RELEASE, GAUSSIAN = "release", "release, δ 1e-6"
IN_TURN = "RandomizedResponse or OptimizedUnaryEncoding"
WAYS = (
    *("RandomizedResponse", "OptimizedUnaryEncoding", "HadamardResponse", "SubsetSelection"),
    *("LocalHashing", "UnaryEncoding", "LinearHashing", "AffineSubsetSelection"),
    *(IN_TURN, RELEASE, GAUSSIAN),
)
LABELS = (2, 6, 30, 3, 12, 100, 4)
EPSILONS = (0.5, 1, 2, 3, 4, 6)
PEOPLE = (3000, 300, 30_000, 1000)
CHANGES = (0.08, 0.02, 0.0, 0.12, 0.04)


@dataclass(frozen=True)
class LabelSetting:
    """How weeks of labels are asked for, and by how much two shares change."""

    way: str
    labels: int
    epsilon: float
    people: int
    change: float

    @property
    def name(self) -> str:
        """The setting in words."""
        return (
            f"{self.way}, {self.labels} labels, ε {self.epsilon:g}, {self.people:,} a week, "
            f"{100 * self.change:g} points"
        )

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares of the population before the change and after it."""
        before = np.arange(1.0, self.labels + 1) ** -0.8
        before /= before.sum()
        after, moved = before.copy(), min(self.change, before[0])
        after[[0, -1]] += -moved, moved
        return before, after

    def week(self, counts: NDArray[np.int64], seed: int) -> tuple[Any, lw.Distribution]:
        """Return a week as a series takes it, and decoded alone."""
        domain = lw.Categories(self.labels)
        if self.way in (RELEASE, GAUSSIAN):
            asked: dict[str, Any] = {"delta": 1e-6} if self.way == GAUSSIAN else {}
            values = np.repeat(np.arange(self.labels), counts).tolist()
            published = lw.release(
                values,
                domain,
                neighbors="replace-one",
                epsilon=self.epsilon,
                rng=seeded(seed),
                **asked,
            )
            return published, published.distribution
        either = self.way.split(" or ")
        name = either[seed % len(either)]
        module = import_module(HOMES.get(name, "lapwing.randomizers"))
        made = getattr(module, name)(domain, epsilon=self.epsilon)
        survey = lw.Survey("weeks", made)
        tally = lw.simulate(made, counts, rng=seed)
        alone = survey.decode(tally)
        assert isinstance(alone, lw.Distribution)
        return (survey, tally), alone


def settings(number: int) -> list[LabelSetting]:
    """Return so many settings. The lists have lengths without common factors, nearly."""
    listed = zip(
        cycle(WAYS), cycle(LABELS), cycle(EPSILONS), cycle(PEOPLE), cycle(CHANGES), strict=False
    )
    return [LabelSetting(*one) for one in islice(listed, number)]


def measure(*, settings: int, repeats: int, of_many: int) -> dict[str, Any]:
    """Return the covered shares of each setting by place, target and kind, and the widths."""
    return {
        "cells": [
            _cell(one, number, of_many if one.labels >= MANY else repeats)
            for number, one in enumerate(_settings(settings))
        ]
    }


_settings = settings


def _cell(setting: LabelSetting, number: int, repeats: int) -> dict[str, Any]:
    held: dict[str, list[list[float]]] = {}
    widths: dict[str, list[float]] = {}
    before, after = setting.shares()
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, number, 7])
        shares = [before if week < CHANGED else after for week in range(WEEKS)]
        # One more in each week, because two equal tallies would be refused as one given twice.
        counts = [
            rng.multinomial(setting.people + week, share) for week, share in enumerate(shares)
        ]
        given, alone = zip(
            *(setting.week(week, int(rng.integers(2**31))) for week in counts), strict=True
        )
        series = lw.decode_series(given)
        own = [week / week.sum() for week in counts]
        for target in TARGETS:
            truths = own if target == "empirical" else shares
            for kind in LEAST:
                row = []
                for place, week in enumerate(series):
                    assert week.distribution is not None
                    band = week.distribution.confidence_band(kind=kind, target=target)
                    one = alone[place].confidence_band(kind=kind, target=target)
                    assert band is not None
                    row.append(_held(band, truths[place], kind))
                    if one is not None:
                        both = widths.setdefault(f"{target}, {kind}", [0.0, 0.0])
                        both[0] += float((band.high - band.low).sum())
                        both[1] += float((one.high - one.low).sum())
                for one, two in PAIRS:
                    apart = series.between(one, two, target=target).confidence_band(kind=kind)
                    assert apart is not None
                    row.append(_held(apart, truths[two] - truths[one], kind))
                held.setdefault(f"{target}, {kind}", []).append(row)
    cell: dict[str, Any] = {"setting": setting.name, "repeats": repeats}
    for name, rows in held.items():
        weeks, pairs = np.split(np.mean(rows, axis=0), [WEEKS])
        near = {CHANGED - 1, CHANGED} if setting.change else set()
        still = [week for week in range(WEEKS) if week not in near]
        cell[name] = {"still": float(weeks[still].mean()), "between": float(pairs.mean())}
        if setting.change:
            cell[name] |= {"before": float(weeks[CHANGED - 1]), "after": float(weeks[CHANGED])}
        # Over the series, which are independent, unlike the weeks of one.
        cell[name]["worst week"] = float(weeks.min())
    cell["width"] = {
        name: together / alone for name, (together, alone) in widths.items() if alone > 0
    }
    return cell


def _held(band: Band | DifferenceBand, truth: NDArray[np.float64], kind: Kind) -> float:
    """Return which part of the shares a band holds, or whether it holds all."""
    # A release has a label for missing values, which nobody lacks here.
    truth = np.append(truth, np.zeros(band.low.size - truth.size))
    inside = (band.low <= truth + 1e-12) & (truth <= band.high + 1e-12)
    return float(inside.mean() if kind == "pointwise" else inside.all())


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return coverage and width of every setting, and what missed what is asked."""
    cells: Sequence[dict[str, Any]] = measured["cells"]
    columns = [(target, kind) for target in TARGETS for kind in LEAST]
    rows, below, wide = [], [], []
    for one in cells:
        row = [one["setting"], f"{one['repeats']}"]
        for target, kind in columns:
            name = f"{target}, {kind}"
            parts = [one[name][place] for place in PLACES if place in one[name]]
            row.append(" / ".join(f"{100 * part:.0f}" for part in parts))
            below += [
                f"{one['setting']} ({name}, {place}: {100 * one[name][place]:.0f})"
                for place in PLACES
                if one[name].get(place, 1.0) < LEAST[kind]
            ]
        row.append(" / ".join(f"{part:.2f}" for part in one["width"].values()))
        wide += [
            f"{one['setting']} ({name}: {part:.2f})"
            for name, part in one["width"].items()
            if part > WIDEST
        ]
        rows.append(row)
    pooled = []
    for target, kind in columns:
        each = [one[f"{target}, {kind}"] for one in cells]
        means = [np.mean([one[place] for one in each if place in one]) for place in PLACES]
        pooled.append([target, kind, *(f"{100 * mean:.1f}" for mean in means)])
    return "\n\n".join(
        [
            f"Series of {WEEKS} weeks. In {100 * (1 - 1 / len(CHANGES)):.0f}% of the settings, the "
            f"share of the first label falls in week {CHANGED + 1} by the stated points, and the "
            "share of the last label grows by as much. The tables show how often (in percent) "
            "nominal 95% intervals cover the truth, pointwise (mean over the labels) and for all "
            "labels of a week at once. The numbers between slashes are for weeks not next to the "
            "change, for the week before it, for the first week after it, and for differences. "
            "Differences are those of the two weeks around the change, and of two weeks that are "
            f"{PAIRS[1][1] - PAIRS[1][0]} weeks apart. The width is a mean over the weeks, divided "
            "by the width of each week decoded alone. Its four numbers are for the respondents, "
            "pointwise and simultaneous, and for the population, pointwise and simultaneous. There "
            f"are {settings['repeats']} series of each setting, and {settings['of_many']} from "
            f"{MANY} labels on.",
            table(
                ["about", "kind", "still", "week before", "week after", "differences"],
                pooled,
                texts=2,
            ),
            table(
                [
                    *("setting", "series"),
                    *(f"{target}, {kind}" for target, kind in columns),
                    "relative width",
                ],
                rows,
                texts=1,
            ),
            f"Target: pointwise {100 * LEAST['pointwise']:.0f} and simultaneous "
            f"{100 * LEAST['simultaneous']:.0f} in each place, "
            f"{'met' if not below else 'missed in ' + ', '.join(below)}. Target for the width: at "
            f"most {WIDEST}, {'met' if not wide else 'missed in ' + ', '.join(wide)}.",
        ]
    )
