"""The headline tables of the page on pairs of attributes."""

from __future__ import annotations

from statistics import fmean

from benchmarks.accuracy.pairs import marginal_cost
from benchmarks.accuracy.pairs.league import FAMILIES, FIGURES, mean_ratios, ratios
from benchmarks.headline_parts import kept, measured_by, percent
from benchmarks.markdown import figure, listed, seconds, table, timed
from benchmarks.summaries import geometric


def pairs() -> str:
    """Return the errors of the other methods for pairs over those of the default."""
    document = kept("accuracy/league")
    cells = document["measured"]["cells"]
    rows = []
    for people, epsilon in dict.fromkeys((one["people"], one["epsilon"]) for one in cells):
        here = [one for one in cells if (one["people"], one["epsilon"]) == (people, epsilon)]
        for key, name in FIGURES.items():
            means = mean_ratios(here, key)
            told = [
                f"{means[one]['ratio']:.2f} [{means[one]['low']:.2f}, {means[one]['high']:.2f}]"
                for one in ("best", *FAMILIES)
            ]
            least = min(ratios(one, key)["best"] for one in here)
            rows.append([f"{people:,}", f"{epsilon:g}", name, told[0], f"{least:.2f}", *told[1:]])
    repeats = listed(
        [f"{number} for {int(n):,} people" for n, number in document["settings"]["repeats"].items()]
    )
    header = ["people", "ε", "error", "best other", "smallest of any pair", *FAMILIES]
    return "\n\n".join(
        [
            table(header, rows, texts=3),
            "Each figure is the error of the other method divided by that of the default. It is "
            f"the geometric mean over {len(document['settings']['pairs'])} pairs, with its 95% "
            f"confidence interval. Repeats: {repeats}. The best other method is chosen in "
            "hindsight for each pair and error, which favors it. The column after it is "
            "the smallest of these ratios for any pair.",
            measured_by(document),
        ]
    )


def pairs_coverage() -> str:
    """Return how often 95% intervals of a joint distribution hold the truth."""
    document = kept("accuracy/league")
    cells = document["measured"]["cells"]
    whats = list(cells[0]["coverage"])
    rows = []
    for people, epsilon in dict.fromkeys((one["people"], one["epsilon"]) for one in cells):
        here = [one for one in cells if (one["people"], one["epsilon"]) == (people, epsilon)]
        row = [f"{people:,}", f"{epsilon:g}"]
        for what in whats:
            held = [one["coverage"][what]["people"]["mean"] for one in here]
            row.append(f"{percent(fmean(held))}, {percent(min(held))}")
        rows.append(row)
    return "\n\n".join(
        [
            table(["people", "ε", *whats], rows),
            "Coverage of 95% intervals for the people's own table: the mean over the pairs, then "
            "the smallest coverage of any pair.",
            measured_by(document),
        ]
    )


def pairs_times() -> str:
    """Return the time of decoding pairs, and of their reports and those of one attribute."""
    document = kept("speed/pairs")
    measured, settings = document["measured"], document["settings"]
    rows = [
        [
            f"{one['bins']} x {one['bins']}",
            f"{one['epsilon']:g}",
            one["shape"],
            timed(one["with_intervals"]),
            timed(one["without"]),
        ]
        for one in measured["decodes"]
    ]
    cpu = {name: one["cpu"]["median"] for name, one in measured["reports"].items()}
    return "\n\n".join(
        [
            table(["cells", "ε", "data", "with intervals", "without"], rows, texts=3),
            f"CPU time of a decode on one core, {settings['people']:,} people: the median of "
            f"{settings['repeats']} runs, with the fastest and the slowest in brackets. "
            f"Randomizing and tallying {settings['reported']:,} pairs took "
            f"{seconds(cpu['pairs'])}, which is "
            f"{figure(cpu['pairs'] / cpu['one attribute'])} times as long "
            "as for the first attribute alone.",
            measured_by(document),
        ]
    )


def pairs_marginals() -> str:
    """Return the error of the marginals of pairs over that of surveys of one attribute."""
    document = kept("accuracy/marginal_cost")
    settings = document["settings"]
    rows = []
    for epsilon in settings["epsilons"]:
        here = [one for one in document["measured"]["cells"] if one["epsilon"] == epsilon]
        row = [f"{epsilon:g}"]
        for other in marginal_cost.OTHERS:
            each = [ratio for one in here for ratio in marginal_cost.ratios(one, other)]
            row.append(f"{geometric(each):.2f} ({min(each):.2f} to {max(each):.2f})")
        rows.append(row)
    return "\n\n".join(
        [
            table(["ε", *(f"over {name}" for name in marginal_cost.OTHERS)], rows),
            f"Geometric means over the attributes of {len(settings['pairs'])} pairs, with "
            f"the ranges in parentheses: {settings['people']:,} people, {settings['bins']} "
            f"bins, {settings['repeats']} repeats.",
            measured_by(document),
        ]
    )
