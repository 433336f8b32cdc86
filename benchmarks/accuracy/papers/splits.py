"""Choices that the papers decide in a sentence: signs, people or budget, bins before or after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.local.scores import PAPER_GRID
from benchmarks.accuracy.papers.figure_columns import (
    Counts,
    Population,
    beta52,
    interval,
    stand_in,
    truth,
)
from benchmarks.accuracy.papers.figure_runs import apart, cell, claim, compare, figures
from benchmarks.markdown import listed, table
from benchmarks.summaries import mean_and_error, ratio_of_means
from lapwing.decoders.decoder import Decoder
from lapwing.local.numerical.signed_subset_selection import SignedSubsetSelection, summed_variance
from lapwing.local.numerical.wavelet import best_levels

TITLE = "Signed sets, split budgets, and bins before or after"
FULL: dict[str, Any] = {
    "repeats": 16,
    "prior_repeats": 5,
    "variance_repeats": 300,
    "bins": 256,
    "coordinates": [4, 16, 64],
    "epsilons": [0.5, 1, 2, 4],
    "columns": ["beta52", "taxi", "acs_income", "sf_benefits"],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "prior_repeats": 2,
    "variance_repeats": 2,
    "bins": 64,
    "coordinates": [4],
    "epsilons": [1],
    "columns": ["beta52"],
}

STATED = {
    4: {0.5: 1.65, 1: 1.40, 2: 1.00, 4: 1.00},
    16: {0.5: 1.82, 1: 1.53, 2: 1.13, 4: 1.00},
    64: {0.5: 1.87, 1: 1.56, 2: 1.15, 4: 1.01},
}
"""Variance of plain over signed sets in the study that preceded the library, exact."""

PEOPLE = {"taxi": 260_000, "acs_income": 300_000, "sf_benefits": 112_281}
"""As in the study; the first and the last are the numbers of rows."""

REPORTS = 100_000
"""People of the simulated variances, all at one signed symbol."""

FINER = 16
"""Points of the fine grid per bin, for the wave that randomises before it bins."""

JUDGES = {
    "w1": partial(lw.wasserstein, grid=PAPER_GRID),
    "ks": partial(lw.kolmogorov_smirnov, grid=PAPER_GRID),
}
ADMM = "HH-ADMM"
AVERAGED = "HH, averaged"
WAVELET = "wavelet"

PRIOR = "SpectralPrior"
ORDERED: dict[str, Decoder] = {
    "EMS": lw.ExpectationMaximization(smoothed=True, band=False),
    "EM": lw.ExpectationMaximization(band=False),
    PRIOR: lw.SpectralPrior(band=False),
}
"""Decoders of the square wave, from the one that smooths most to the sharpest."""

PRIOR_ON, PRIOR_AT = ("beta52", "acs_income"), (1, 4)
"""Where the slow one runs: on a smooth and a heaped column, at two epsilons."""


def population(name: str) -> Population:
    """Return Beta(5, 2), or a real column."""
    return beta52() if name == "beta52" else stand_in(name, PEOPLE[name])


def measure(
    *,
    repeats: int,
    prior_repeats: int,
    variance_repeats: int,
    bins: int,
    coordinates: Sequence[int],
    epsilons: Sequence[float],
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return variances of sets, errors of both ways to split, and of both orders."""
    chosen = [population(name) for name in columns]
    for one in chosen:
        one.law(bins * FINER)  # without the data folder nothing is measured in vain
    return {
        "people": {one.name: one.people for one in chosen},
        "sets": [
            _sets(number, epsilon, variance_repeats)
            for number in coordinates
            for epsilon in epsilons
        ],
        "budgets": [
            _budgets(one, bins, epsilon, repeats) for one in chosen for epsilon in epsilons
        ],
        "orders": [
            _orders(one, bins, epsilon, repeats, prior_repeats)
            for one in chosen
            for epsilon in epsilons
        ],
    }


def plain_variance(coordinates: int, members: int, epsilon: Any) -> float:
    """Return the summed variance of differences from plain sets, per report, given the people.

    From the exact second moments of the class's own law, for a person at one signed symbol; it is
    the same for every symbol.
    """
    symbols = lw.Integers(0, 2 * coordinates - 1)
    block = lw.SubsetSelection(symbols, epsilon, size=members).channel.blocks[0]
    own = np.zeros(2 * coordinates)
    own[0] = 1.0
    covariance = block.covariance(own).dense()
    plus, minus = np.arange(0, 2 * coordinates, 2), np.arange(1, 2 * coordinates, 2)
    spread = (
        covariance[plus, plus].sum()
        + covariance[minus, minus].sum()
        - 2 * covariance[plus, minus].sum()
    )
    mean = block.mean(own)
    return float(spread / (mean[0] - mean[1]) ** 2)


def _sets(coordinates: int, epsilon: Any, repeats: int) -> dict[str, Any]:
    """Return exact variances at the best sizes, and the simulated ones over the exact ones."""
    sizes = range(1, 2 * coordinates)
    plain = min(sizes, key=lambda size: plain_variance(coordinates, size, epsilon))
    symbols = lw.Integers(0, 2 * coordinates - 1)
    signed = SignedSubsetSelection(symbols, epsilon)
    exact = {
        "plain": plain_variance(coordinates, plain, epsilon),
        # Given the people: one less than about the population.
        "signed": summed_variance(coordinates, signed.members, epsilon) - 1,
    }
    people = np.zeros(2 * coordinates, dtype=np.int64)
    people[0] = REPORTS
    held = np.zeros(coordinates)
    held[0] = 1.0
    selection = lw.SubsetSelection(symbols, epsilon, size=plain)
    found: dict[str, list[float]] = {"plain": [], "signed": []}
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, coordinates, round(1000 * epsilon)])
        shares = lw.LeastSquares(simplex=False).decode(
            selection.channel, lw.simulate(selection, people, rng=rng)
        )
        counts = lw.simulate(signed, people, rng=rng).blocks[0]
        for name, difference in (
            ("plain", shares.mass[::2] - shares.mass[1::2]),
            ("signed", signed.law.differences(counts, REPORTS)),
        ):
            squared = REPORTS * float(((difference - held) ** 2).sum())
            found[name].append(squared / exact[name])
    return {
        "coordinates": coordinates,
        "epsilon": epsilon,
        "sizes": {"plain": plain, "signed": signed.members},
        "exact": exact,
        "simulated": {name: mean_and_error(kept) for name, kept in found.items()},
    }


def everybody(randomizer: Any, counts: Counts, rng: np.random.Generator) -> lw.Counts:
    """Return the tally when each person reports in every group of a mixture, not in one."""
    blocks = randomizer.channel.blocks
    sampled = [block.sample(counts, rng) for block in blocks]
    return lw.Counts(sampled, [int(counts.sum())] * len(blocks), randomizer.fingerprint)


def _budgets(one: Population, bins: int, epsilon: Any, repeats: int) -> dict[str, Any]:
    """Return errors when levels share the people, and when they share each person's epsilon."""
    whole = Fraction(str(epsilon))
    domain = interval(bins)
    levels = min(best_levels(one.people, epsilon), bins.bit_length() - 1)
    wavelet = partial(lw.Wavelet, levels=levels)
    made: dict[str, tuple[Callable[..., Any], Decoder]] = {
        ADMM: (lw.Hierarchical, lw.TreeConsistency(method="admm", band=False)),
        AVERAGED: (lw.Hierarchical, lw.TreeConsistency(band=False)),
        WAVELET: (wavelet, lw.WaveletClip(mass_sums=False, band=False)),
    }
    found: dict[str, Any] = {"column": one.name, "epsilon": epsilon, "methods": {}}
    for name, (make, decoder) in made.items():
        people = make(domain, whole)
        parts = len(people.groups)
        budget = make(domain, whole / parts)
        # Sequential composition: what a person spends is the sum over the levels.
        assert parts * budget.epsilon == whole and budget.certificate().holds
        kept: dict[str, list[float]] = {"people": [], "budget": []}
        for repeat in range(repeats):
            rng = np.random.default_rng([repeat, one.people, round(1000 * epsilon), parts])
            counts = one.draw(bins, rng)
            target = truth(counts)
            for kind, randomizer, tally in (
                ("people", people, lw.simulate(people, counts, rng=rng)),
                ("budget", budget, everybody(budget, counts, rng)),
            ):
                answer = decoder.decode(randomizer.channel, tally)
                kept[kind].append(JUDGES["w1"](answer, target))
        found["methods"][name] = {
            "levels": parts,
            **{kind: mean_and_error(samples) for kind, samples in kept.items()},
            "ratio": ratio_of_means(kept["budget"], kept["people"]),
        }
    return found


@dataclass(frozen=True)
class AtBins:
    """Decode a wave on a fine grid at its bins: randomised first, then put into bins."""

    wave: lw.SquareWave
    bins: int
    decoder: Decoder
    name: ClassVar[str] = "at-bins"
    reads: ClassVar[str] = "counts"

    def decode(self, channel: lw.Channel, tally: lw.Counts) -> Any:
        """Return the decoder's answer with the wave's channel at these bins."""
        return self.decoder.decode(self.wave.channel_at(self.bins), tally)


def _orders(
    one: Population, bins: int, epsilon: Any, repeats: int, prior_repeats: int
) -> dict[str, Any]:
    """Return errors of bins before randomising (B-R) and of a fine wave binned after (R-B)."""
    before = lw.SquareWave(interval(bins), epsilon)
    after = lw.SquareWave(interval(bins * FINER), epsilon)
    found: dict[str, Any] = {}
    for name, decoder in ORDERED.items():
        if name == PRIOR and (one.name not in PRIOR_ON or epsilon not in PRIOR_AT):
            continue
        samples = compare(
            [
                Method("B-R", lambda *_: before, decoder),
                Method("R-B", lambda *_: after, AtBins(after, bins, decoder)),
            ],
            one,
            JUDGES,
            bins=bins * FINER,
            epsilon=epsilon,
            repeats=prior_repeats if name == PRIOR else repeats,
        )
        found[name] = {
            **figures(samples),
            "ratios": {
                key: ratio_of_means(samples["R-B"][key], samples["B-R"][key]) for key in JUDGES
            },
        }
    return {
        "column": one.name,
        "epsilon": epsilon,
        "uneven": uneven(one, bins),
        "decoders": found,
    }


def uneven(one: Population, bins: int) -> float:
    """Return how far the law is from even within its bins: half the l1 distance, in [0, 1]."""
    fine = one.law(bins * FINER)
    even = np.repeat(fine.reshape(bins, -1).sum(axis=1) / FINER, FINER)
    return float(np.abs(fine - even).sum() / 2)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the three comparisons and what they say."""
    people = listed([f"{n:,} for {name}" for name, n in measured["people"].items()])
    budgets, orders = measured["budgets"], measured["orders"]
    return "\n\n".join(
        [
            "### Plain against signed subset selection",
            "d coordinates, each present with a sign or absent. Plain: sets of the 2 d signed "
            "symbols, decoded by differences. Signed: the wavelet paper's sets of coordinates with "
            "signs. Both at the size of least variance, summed over the coordinates and times the "
            "reports: exact from the second moments, and simulated over exact "
            f"({REPORTS:,} people at one symbol, {settings['variance_repeats']} repeats).",
            _sets_table(measured["sets"]),
            _sets_say(measured["sets"]),
            "### People split against budget split",
            f"{settings['bins']} bins, {settings['repeats']} repeats; people: {people}. W1 ×10⁴ on "
            "the 256 points. *People*: each person reports at one level with all of ε. *Budget*: "
            "each reports at every level with ε over the number of levels; composition adds these "
            "up to ε exactly.",
            _budgets_table(budgets),
            _budgets_say(budgets),
            "### Bins before or after randomising",
            f"B-R: the value is put into one of {settings['bins']} bins, then randomised. R-B: it "
            f"is randomised on a grid {FINER} times as fine, and decoded at the bins. "
            f"{settings['repeats']} repeats ({settings['prior_repeats']} of {PRIOR}); mean errors "
            "on the 256 points, W1 ×10⁴; KS ×10³, then R-B over B-R. Uneven: the mass that would "
            "have to move within the bins to spread evenly, which is what R-B assumes of it.",
            _orders_table(orders),
            "\n".join(_orders_say(orders)),
        ]
    )


def _sets_table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        ratio = row["exact"]["plain"] / row["exact"]["signed"]
        stated = STATED.get(row["coordinates"], {}).get(row["epsilon"])
        lines.append(
            [
                str(row["coordinates"]),
                f"{row['epsilon']:g}",
                *(str(row["sizes"][name]) for name in ("plain", "signed")),
                *(f"{row['exact'][name]:,.2f}" for name in ("plain", "signed")),
                f"{ratio:.3f}",
                "–" if stated is None else f"{stated:.2f}",
                *(cell(row["simulated"][name], scale=1, places=3) for name in ("plain", "signed")),
            ]
        )
    return table(
        [
            "d",
            "ε",
            "plain size",
            "signed size",
            "plain variance",
            "signed variance",
            "ratio",
            "stated",
            "plain simulated / exact",
            "signed simulated / exact",
        ],
        lines,
        texts=2,
    )


def _sets_say(rows: list[dict[str, Any]]) -> str:
    ratios = [row["exact"]["plain"] / row["exact"]["signed"] for row in rows]
    off = [
        abs(found["mean"] - 1) / max(found["standard_error"], 1e-12)
        for row in rows
        for found in row["simulated"].values()
    ]
    by_epsilon = {
        epsilon: [
            ratio for ratio, row in zip(ratios, rows, strict=True) if row["epsilon"] == epsilon
        ]
        for epsilon in dict.fromkeys(row["epsilon"] for row in rows)
    }
    told = listed([f"{min(v):.2f} to {max(v):.2f} at ε = {e:g}" for e, v in by_epsilon.items()])
    return claim(
        "Plain subset selection on the signed symbols is less efficient.",
        [ratio > 1.005 for ratio in ratios],
        f"Counted where the exact variance is more than 1.005 times as large: {told}. Simulated "
        f"variances are within {max(off):.1f} standard errors of the exact ones.",
    )


def _budgets_table(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0]["methods"])
    head = [f"{name}, {kind}" for name in names for kind in ("people", "budget", "ratio")]
    lines = []
    for row in rows:
        cells = []
        for name in names:
            found = row["methods"][name]
            ratio = found["ratio"]
            cells += [
                cell(found["people"], scale=1e4),
                f"{cell(found['budget'], scale=1e4)} ({found['levels']} levels)",
                f"{ratio['ratio']:.2f} ± {ratio['standard_error']:.2f}",
            ]
        lines.append([row["column"], f"{row['epsilon']:g}", *cells])
    return table(["column", "ε", *head], lines, texts=2)


def _budgets_say(rows: list[dict[str, Any]]) -> str:
    found = [(row, one) for row in rows for one in row["methods"].values()]
    small = min(row["epsilon"] for row in rows)
    first = [
        one["ratio"]["ratio"] / one["levels"] ** 0.5
        for row, one in found
        if row["epsilon"] == small
    ]
    ratios = [one["ratio"]["ratio"] for _, one in found]
    return claim(
        "Splitting the people is better than splitting the budget in the local model.",
        [
            (one["people"]["mean"] < one["budget"]["mean"], apart(one["people"], one["budget"]))
            for _, one in found
        ],
        f"Budget over people: {min(ratios):.2f} to {max(ratios):.2f}. For small ε the variance of "
        "a level grows with the inverse square of its epsilon, so the error should be √levels "
        f"times as large; at ε = {small:g} it is {min(first):.2f} to {max(first):.2f} of that.",
    )


def _orders_table(rows: list[dict[str, Any]]) -> str:
    head = [
        text
        for name in ORDERED
        for text in (f"{name}, B-R", f"{name}, R-B", "W1 ratio", "KS ratio")
    ]
    lines = []
    for row in rows:
        cells = []
        for name in ORDERED:
            found = row["decoders"].get(name)
            if found is None:
                cells += ["–"] * 4
                continue
            for order in ("B-R", "R-B"):
                one = found[order]
                cells.append(f"{cell(one['w1'], scale=1e4)}; {1e3 * one['ks']['mean']:.1f}")
            for ratio in found["ratios"].values():
                cells.append(f"{ratio['ratio']:.2f} ± {ratio['standard_error']:.2f}")
        lines.append([row["column"], f"{row['epsilon']:g}", f"{100 * row['uneven']:.0f} %", *cells])
    return table(["column", "ε", "uneven", *head], lines, texts=2)


SIMILAR = 0.1
"""Ratios this close to one are called similar."""


def _orders_say(rows: list[dict[str, Any]]) -> list[str]:
    found = []
    for name in ORDERED:
        here = [
            (row, key, row["decoders"][name]["ratios"][key])
            for row in rows
            if name in row["decoders"]
            for key in JUDGES
        ]
        if not here:
            continue
        parts = []
        for key, label in (("w1", "W1"), ("ks", "KS")):
            own = [(float(ratio["ratio"]), row) for row, one, ratio in here if one == key]
            for extreme in (min, max):
                value, row = extreme(own, key=lambda pair: pair[0])
                parts.append(f"{label} {value:.2f} ({row['column']}, ε = {row['epsilon']:g})")
        cells = []
        for _, _, ratio in here:
            gap = abs(ratio["ratio"] - 1) - SIMILAR
            cells.append((gap < 0, gap > 2 * ratio["standard_error"]))
        found.append(
            claim(
                f"R-B and B-R are very similar ({name}).",
                cells,
                f"Counted where W1 and KS, each a cell, differ by less than {100 * SIMILAR:.0f} %; "
                f"least and largest R-B over B-R: {listed(parts)}.",
            )
        )
    return found
