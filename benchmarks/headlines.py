"""The headline tables of the documentation's pages on benchmarks, written between their marks.

``<!-- headline: bands -->`` up to ``<!-- end of headline -->`` holds one table with the line that
says what was measured, at which commit and on which machine. A mark is on a page once.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from scipy import stats

from benchmarks import pair_headlines, results
from benchmarks.accuracy.local.paired_errors import OURS, mean_ratio
from benchmarks.headline_parts import (
    LEVEL,
    NotMeasuredError,
    file_of,
    interval,
    kept,
    margin,
    measured_by,
    percent,
)
from benchmarks.markdown import figure, listed, seconds, table
from benchmarks.runner import BENCHMARKS
from benchmarks.summaries import ratio_of_means

WIDTH = 118
"""Characters in a line of prose, as in the pages by hand."""

_MARK = re.compile(
    r"(<!-- headline: ([\w-]+) -->\n).*?(<!-- end of headline -->)",
    re.DOTALL,
)

METHODS = {
    "wavelet": "wavelet, J of the paper",
    "bound's J": "wavelet, J by its bound",
    "SW-EM": "square wave, EM",
    "SW-EMS": "square wave, EMS",
    "HH-ADMM": "hierarchy, ADMM",
    "HH": "hierarchy, unbiased",
    "DW": "direct Wiener filter",
    "IIW": "iterated Wiener filter",
    "HaarHRR": "Haar tree, Hadamard response",
    "GF3-DW": "Gaussian and Wiener filter",
}
"""Readable names of the papers' methods. The number of bins is added to that of ``bins 8``."""

COLUMNS = {
    "taxi": "times of day of taxi rides, New York",
    "acs_income": "incomes, US Census",
    "sf_base_pay": "base pay, San Francisco",
    "sf_benefits": "benefits, San Francisco",
    "kitti_yaw": "angles of objects, KITTI",
    "airbnb_nyc": "days available, Airbnb New York",
}


MECHANISMS = {
    "HQ 40, steps": "histogram queries",
    "AQ 80": "adaptive quantiles, Gaussian noise",
    "AQ 80, Laplace": "adaptive quantiles, Laplace noise",
    "PP 6, moments": "polynomial projection",
    "MP 6, its true cost": "matching pursuit, at its true cost",
}
"""The published mechanisms of the central model whose budget is what they state."""

LABELS = {
    "20 labels": "20, all alike",
    "1000, long tail": "1,000, a long tail",
    "50 of 10,000 held": "10,000, of which 50 are held",
}


def in_page(text: str) -> str:
    """Return a page with its headline tables written from the kept results.

    Raises
    ------
    ValueError
        If a mark names no headline, or is on the page twice.
    """
    names = [mark[2] for mark in _MARK.finditer(text)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"a page has the headline {twice[0]!r} twice")

    def written(mark: re.Match[str]) -> str:
        if mark[2] not in HEADLINES:
            raise ValueError(f"no headline is named {mark[2]!r}; there are {listed([*HEADLINES])}")
        return f"{mark[1]}\n{headline(mark[2])}\n\n{mark[3]}"

    return _MARK.sub(written, text)


def headline(name: str) -> str:
    """Return a headline, or which benchmark must run before there is one."""
    try:
        parts = HEADLINES[name]().split("\n\n")
    except NotMeasuredError as missing:
        return f"Not measured yet: `python -m benchmarks {missing}`."
    return "\n\n".join(part if part.startswith("|") else wrapped(part) for part in parts)


def wrapped(prose: str) -> str:
    """Return a paragraph in lines of the width of the pages."""
    return textwrap.fill(prose, WIDTH, break_long_words=False, break_on_hyphens=False)


def ranged(summary: dict[str, Any], told: Callable[[float], str]) -> str:
    """Return a median with the smallest and the largest repeat."""
    return f"{told(summary['median'])} [{told(summary['min'])}, {told(summary['max'])}]"


def count(number: float) -> str:
    """Return a rate as a whole number."""
    return f"{number:,.0f}"


def _method(name: str) -> str:
    return METHODS.get(name) or f"{name.removeprefix('bins ')} bins, least squares"


def _overall(cells: Iterable[dict[str, Any]], key: str) -> dict[str, float]:
    return mean_ratio([cell["ratios"][key] for cell in cells])


def local_by_epsilon() -> str:
    """Return the recommended pair over the best of the papers' methods, by epsilon."""
    document = kept("accuracy/best_of_papers")
    settings, cells = document["settings"], document["measured"]["cells"]
    rows = []
    for epsilon in settings["epsilons"]:
        here = [cell for cell in cells if cell["epsilon"] == epsilon]
        row = [f"{epsilon:g}"]
        for key in ("w1", "ks"):
            ratio = _overall(here, key)
            below = sum(cell["ratios"][key]["ratio"] < 1 for cell in here)
            row += [
                interval(ratio["ratio"], ratio["standard_error"], settings["repeats"]),
                f"{below} of {len(here)}",
            ]
        rows.append(row)
    people = [cell["people"] for cell in cells]
    others = len(cells[0]["methods"]) - 1
    return "\n\n".join(
        [
            table(
                ["ε", "W1 ratio", "columns with lower W1", "KS ratio", "columns with lower KS"],
                rows,
            ),
            f"{len(settings['columns'])} real columns of {min(people):,} to {max(people):,} "
            f"people, {settings['bins']} bins, {settings['repeats']} repeats. A ratio is the "
            f"geometric mean over the columns, with its 95% confidence interval. The other method "
            f"is the best of {others} for each column, ε and distance. It is chosen in hindsight, "
            "which favors it. The default's mixtures were chosen with knowledge of these "
            "columns, which favors the default.",
            _fresh(),
            measured_by(document),
        ]
    )


def _fresh() -> str:
    """Return a sentence on the columns on which nothing was chosen, against EMS alone."""
    cells = kept("accuracy/fresh_columns")["measured"]["cells"]
    some = [cell for cell in cells if cell["kind"] == "real" and cell["epsilon"] == 1]
    ratio = _overall(some, "w1")
    return (
        f"On {len(some)} other real columns, the recommended pair was compared only with EMS on "
        f"one square wave. At ε = 1 its W1 is {ratio['ratio']:.2f} ± "
        f"{ratio['standard_error']:.2f} (standard error) times that of EMS."
    )


def local_by_column() -> str:
    """Return the errors of the recommended pair and of the best other method at epsilon 1."""
    document = kept("accuracy/best_of_papers")
    repeats = document["settings"]["repeats"]
    rows = []
    for cell in document["measured"]["cells"]:
        if cell["epsilon"] != 1:
            continue
        best = cell["best"]["w1"]
        ours, theirs = (cell["methods"][name]["w1"] for name in (OURS.name, best))
        rows.append(
            [
                COLUMNS[cell["column"]],
                _method(best),
                f"{cell['people']:,}",
                *(
                    interval(one["mean"], one["standard_error"], repeats, scale=100)
                    for one in (ours, theirs)
                ),
            ]
        )
    header = ["column", "best other method", "people", "W1, recommended, %", "W1, best other, %"]
    return "\n\n".join(
        [
            table(header, rows, texts=2),
            f"ε = 1, {document['settings']['bins']} bins, {repeats} repeats. W1 is in percent of "
            "the domain's length, with the 95% confidence interval of its mean.",
            measured_by(document),
        ]
    )


def bands() -> str:
    """Return how often the band of the recommended pair contains the truth, by epsilon."""
    document = kept("accuracy/posterior_coverage")
    settings = document["settings"]
    rows = [
        [
            COLUMNS[cell["column"]],
            f"{cell['epsilon']:g}",
            percent(cell["pointwise"]),
            f"{percent(cell['simultaneous'])} [{_ends(cell['simultaneous'], settings['repeats'])}]",
            f"{cell['width_to_linear']:.2f}",
        ]
        for cell in document["measured"]["cells"]
    ]
    header = ["column", "ε", "points inside", "whole curves inside", "relative width"]
    return "\n\n".join(
        [
            table(header, rows, texts=2),
            f"Nominal level 95%, about the respondents, {settings['bins']} bins, "
            f"{settings['repeats']:,} repeats. Points inside: the share of the bin edges with "
            "0.02 < F < 0.98 at which the pointwise band contains the true CDF. Whole curves "
            "inside: the share of repeats in which the simultaneous band contains it at all of "
            "these edges, with its 95% confidence interval. Relative width: the width of the "
            "pointwise band divided by that of the exact linear band of the same reports.",
            measured_by(document),
        ]
    )


def _ends(share: float, repeats: int) -> str:
    """Return the Clopper-Pearson interval of a share of repeats."""
    found = stats.binomtest(round(share * repeats), repeats).proportion_ci(LEVEL)
    return f"{100 * found.low:.1f}, {100 * found.high:.1f}"


def labels() -> str:
    """Return the squared error of the default of many labels, relative to that of two others."""
    document = kept("accuracy/click_counts")
    settings = document["settings"]
    rows = []
    for cell in document["measured"]["cells"]:
        errors = cell["errors"]
        row = [f"{cell['clicks']:,}", f"{cell['epsilon']:g}"]
        for part in ("all", "largest"):
            for other in ("unbiased", "simplex projection"):
                ratio = ratio_of_means(errors["MixturePrior"][part], errors[other][part])
                row.append(interval(ratio["ratio"], ratio["standard_error"], settings["repeats"]))
        rows.append(row)
    header = ["clicks", "ε", "all pages, over unbiased", "all pages, over projection"]
    header += ["50 largest, over unbiased", "50 largest, over projection"]
    return "\n\n".join(
        [
            table(header, rows),
            f"Clicks on {settings['size']:,} pages (Kosarak), optimized unary encoding, "
            f"{settings['repeats']} repeats. The file has a tenth of the paper's clicks. For the "
            "larger number of clicks, all counts are multiplied by ten. A cell is the mean squared "
            "error of `MixturePrior` divided by that of another estimate from the same reports, "
            "with its 95% confidence interval. The other estimates are the unbiased one and its "
            "projection onto the simplex. If a ratio is above 1, the default has a larger error.",
            measured_by(document),
        ]
    )


def series() -> str:
    """Return the errors of weeks decoded together over those of weeks decoded alone."""
    document = kept("accuracy/series_errors")
    repeats = document["settings"]["repeats"]
    rows = []
    for one in document["measured"]["series"]:
        row = [one["series"]]
        for way in ("all weeks", "weeks so far"):
            for key in ("w1", "ks"):
                ratio = one["ratios"][way][key]
                row.append(interval(ratio["ratio"], ratio["standard_error"], repeats))
        rows.append(row)
    header = ["series", "W1, all weeks", "KS, all weeks", "W1, weeks so far", "KS, weeks so far"]
    return "\n\n".join(
        [
            table(header, rows),
            f"36 weeks of 10,000 people, ε = 1, 64 bins, {repeats} repeats. *taxi* consists of "
            "real months, and the other series are synthetic. A cell is the error of weeks decoded "
            "together divided by that of weeks decoded alone, with its 95% confidence interval. "
            "*Weeks so far* uses no later week.",
            measured_by(document),
        ]
    )


def central() -> str:
    """Return the error of the curator's default, and of the papers' best, by epsilon."""
    document = kept("accuracy/central_default")
    settings, cells = document["settings"], document["measured"]["cells"]
    rows = []
    for cell in cells:
        ours = cell["scores"]["default"]
        gain = cell["gain"]
        rows.append(
            [
                cell["law"],
                MECHANISMS[cell["best_of_paper"]],
                f"{cell['epsilon']:g}",
                interval(ours["mean"], ours["standard_error"], settings["repeats"], scale=100),
                interval(gain["ratio"], gain["standard_error"], settings["repeats"]),
            ]
        )
    header = ["synthetic column", "best published", "ε", "KS, default, %"]
    header += ["best published / default"]
    return "\n\n".join(
        [
            table(header, rows, texts=2),
            f"{settings['people']:,} people, {settings['bins']} bins, δ = "
            f"{document['measured']['delta']:g}, neighbors `replace-one`, {settings['repeats']} "
            "repeats with new people in each. KS is in percentage points, with the 95% "
            "confidence interval of its mean. Best published: the best of the paper's mechanisms "
            "whose true privacy loss equals the stated one. All columns are synthetic.",
            measured_by(document),
        ]
    )


def opendp_labels() -> str:
    """Return the errors of label shares released by OpenDP and by this library."""
    document = kept("accuracy/central_labels")
    settings, found = document["settings"], document["measured"]
    rows = []
    for row in found["rows"]:
        theirs, ours = (f"{figure(one)}" for one in row["deviations"])
        sums = [
            interval(
                row["sum"][way]["mean"], row["sum"][way]["standard_error"], settings["repeats"]
            )
            for way in ("OpenDP", "nearest", "default")
        ]
        rows.append(
            [LABELS[row["labels"]], f"{row['epsilon']}, {row['delta']}", theirs, ours, *sums]
        )
    header = ["labels", "ε, δ", "noise: OpenDP", "noise: Lapwing"]
    header += ["error: OpenDP", "error: nearest", "error: default"]
    version = found.get("opendp")
    return "\n\n".join(
        [
            table(header, rows, texts=2),
            f"OpenDP {version or '(version not recorded)'}, {settings['people']:,} people, newly "
            f"drawn in each of {settings['repeats']} repeats, neighbors `replace-one`. Noise: the "
            "standard deviation of one count. Error: the sum of the absolute errors of all shares, "
            "with the 95% confidence interval of its mean.",
            measured_by(document),
        ]
    )


def reports() -> str:
    """Return the times of randomizing and of tallying a million people."""
    document = kept("speed/randomizers")
    settings, found = document["settings"], document["measured"]
    names = {
        "square wave": "square wave",
        "GRR": "randomized response",
        "OUE": "optimized unary encoding",
    }
    rows = [
        [
            told,
            str(found["bytes_per_report"][name]),
            *(
                ranged(found["times"][f"{name}: {work}"]["cpu"], seconds)
                for work in ("randomize", "tally")
            ),
        ]
        for name, told in names.items()
    ]
    return "\n\n".join(
        [
            table(["randomizer", "bytes per report", "randomize", "tally"], rows),
            f"n = {settings['people']:,}, {settings['bins']:,} bins, ε = 1, secure randomness, one "
            f"thread. CPU time: the median of {settings['rounds']} rounds, with the fastest "
            "and the slowest in brackets.",
            measured_by(document),
        ]
    )


def decodes() -> str:
    """Return the times of the recommended estimator with its band."""
    document = kept("speed/numeric")
    rows = [
        [
            f"{one['size']:,}",
            f"{one['reports']:,}",
            ranged(one["with"]["cpu"], seconds),
            str(one["with"]["cpu"]["repeats"]),
        ]
        for one in document["measured"]["decodes"]
    ]
    return "\n\n".join(
        [
            table(["bins", "reports", "estimate with bands", "rounds"], rows),
            "`SpectralPrior` on a tally of `MultiscaleWave` reports at ε = 1. The data are "
            "synthetic: Beta(5, 2) with a fifth of the people at three point masses. CPU time "
            "of one thread: the median, with the fastest and the slowest round in brackets.",
            measured_by(document),
        ]
    )


def releases() -> str:
    """Return the times of a release in the central model with its estimate."""
    document = kept("speed/central")
    settings = document["settings"]
    rows = [
        [
            f"{one['size']:,}",
            *(ranged(one[way]["cpu"], seconds) for way in ("with", "without", "steps")),
        ]
        for one in document["measured"]["releases"]
    ]
    return "\n\n".join(
        [
            table(
                [
                    "bins",
                    "`SpectralPursuit` with band",
                    "`SpectralPursuit` without band",
                    "`StepPursuit` without band",
                ],
                rows,
            ),
            f"`lw.release` of {settings['people']:,} rows at ε = 1 and δ = 1e-9, with the "
            "estimate. `SpectralPursuit` is the default estimator. The data are synthetic "
            "(lognormal). The first release of each size is not counted. CPU time of one thread: "
            f"the median of {settings['rounds']} rounds, with the fastest and the slowest in "
            "brackets.",
            measured_by(document),
        ]
    )


def streaming() -> str:
    """Return memory and time of a tally of many reports."""
    document = kept("speed/streaming")
    settings, found = document["settings"], document["measured"]
    rows = [
        [name, f"{found[key]['peak']:.0f} MB", seconds(found[key]["cpu"])]
        for key, name in (("library", "`read_blocks` and `tally`"), ("command", "`lapwing tally`"))
    ]
    return "\n\n".join(
        [
            table(["method", "peak memory", "CPU time"], rows),
            f"A file of {settings['reports']:,} square-wave reports ({found['megabytes']:.0f} MB, "
            f"{settings['bins']:,} bins, ε = 1), tallied once by each method in a fresh process. "
            "The peak includes the whole process.",
            measured_by(document),
        ]
    )


def uploads() -> str:
    """Return how many uploads a collector takes in a second."""
    document = kept("service/uploads")
    settings, found = document["settings"], document["measured"]
    rows = []
    for key, name, reports_in_one in (
        ("single", "an upload of one report", 1),
        ("batches", "an upload of 100 reports", 100),
        ("nothing", "`GET /healthz`, for comparison", 0),
    ):
        kind = found["kinds"][key]
        stored = count(reports_in_one * kind["rate"]["median"]) if reports_in_one else "–"
        rows.append(
            [
                name,
                ranged(kind["rate"], count),
                stored,
                *(ranged(kind[part], seconds) for part in ("middle", "p99")),
            ]
        )
    header = ["request", "requests per second", "reports per second"]
    header += ["median delay", "99th percentile of delay"]
    return "\n\n".join(
        [
            table(header, rows),
            f"`lapwing serve` with SQLite. Every upload is synced to disk before it is "
            f"acknowledged. Reports of randomized response with {settings['symbols']:,} "
            f"categories, two bytes each, over {settings['connections']} connections from the same "
            f"machine. Medians of {settings['rounds']} rounds of {settings['seconds']:g} s, with "
            f"the smallest and the largest round in brackets. At the same load, the disk can sync "
            f"{count(found['syncs']['median'])} times a second. All {found['stored']:,} "
            "acknowledged reports were counted exactly once.",
            measured_by(document),
        ]
    )


def delays() -> str:
    """Return the delays of uploads while estimates are computed."""
    document = kept("service/delays")
    settings, found = document["settings"], document["measured"]
    rows = [
        [
            name,
            count(found["kinds"][key]["rate"]["median"]),
            *(ranged(found["kinds"][key][part], seconds) for part in ("middle", "p99")),
        ]
        for key, name in (
            ("alone", "half of the highest rate"),
            ("beside", "the same, while estimates are computed"),
        )
    ]
    return "\n\n".join(
        [
            table(["load", "uploads per second", "median delay", "99th percentile"], rows),
            f"Uploads of one report, {settings['connections']} connections, {settings['rounds']} "
            f"rounds of {settings['seconds']:g} s. Meanwhile, the recommended estimator decodes "
            f"{settings['people']:,} reports in {settings['bins']:,} bins with bands, again and "
            "again. Medians, with the smallest and the largest round in brackets.",
            measured_by(document),
        ]
    )


def devices() -> str:
    """Return the times of the JavaScript client."""
    document = kept("service/javascript_reports")
    settings, found = document["settings"], document["measured"]
    names = {
        "GRR": "randomized response, 256 labels",
        "recommended": "the recommended multiscale wave, 256 bins",
        "square wave": "square wave, 1,024 bins",
        "OUE": "optimized unary encoding, 256 labels",
        "words": "linear hashing of strings to 32 bits",
    }
    rows = [[told, ranged(found["times"][name]["cpu"], seconds)] for name, told in names.items()]
    return "\n\n".join(
        [
            table(["survey", "CPU time per report"], rows),
            f"Node {found['node']}, ε = 1, secure randomness, {settings['reports']:,} reports per "
            f"round: the median of {settings['rounds']} rounds, with the fastest and the "
            "slowest in brackets.",
            measured_by(document),
        ]
    )


def index() -> str:
    """Return one figure per question, with the page that has its table."""
    found = kept("accuracy/best_of_papers")
    repeats = found["settings"]["repeats"]
    cells = [cell for cell in found["measured"]["cells"] if cell["epsilon"] == 1]
    ratio = _overall(cells, "w1")
    coverage = kept("accuracy/posterior_coverage")
    inside = [cell["pointwise"] for cell in coverage["measured"]["cells"]]
    curves = [cell["simultaneous"] for cell in coverage["measured"]["cells"]]
    curator = kept("accuracy/central_default")
    gains = [cell["gain"] for cell in curator["measured"]["cells"] if cell["epsilon"] == 1]
    times = kept("speed/randomizers")["measured"]["times"]
    (decode,) = (
        one["with"]["cpu"]["median"]
        for one in kept("speed/numeric")["measured"]["decodes"]
        if (one["size"], one["reports"]) == (1024, 1_000_000)
    )
    rates = kept("service/uploads")["measured"]["kinds"]
    randomize, tally = (
        seconds(times[f"square wave: {work}"]["cpu"]["median"]) for work in ("randomize", "tally")
    )
    whole = kept("accuracy/whole_curves")
    edges = [one["whole"] / whole["settings"]["repeats"] for one in whole["measured"]["cells"]]
    half = margin(ratio["standard_error"], repeats)
    ends = f"{ratio['ratio'] - half:.2f} to {ratio['ratio'] + half:.2f}"
    lowest, highest = min(one["ratio"] for one in gains), max(one["ratio"] for one in gains)
    rows = [
        [
            "How large is the error of the recommended pair, compared with the papers' methods?",
            f"Its W1 is {ratio['ratio']:.2f} times that of the best other method, with a 95% "
            f"interval of {ends} (ε = 1, {repeats} repeats). The {len(cells)} real columns are "
            f"{listed([cell['column'] for cell in cells])}. {_fresh()}",
            "[Accuracy](accuracy.md#numbers-local-model)",
        ],
        [
            "How often do 95% bands contain the truth?",
            f"Pointwise {100 * min(inside):.1f} to {100 * max(inside):.1f}%, simultaneous "
            f"{100 * min(curves):.1f} to {100 * max(curves):.1f}% "
            f"(ε from 0.5 to 4, two columns without their tails, "
            f"{coverage['settings']['repeats']:,} repeats). Simultaneous at all bin edges, tails "
            f"included {100 * min(edges):.0f} to {100 * max(edges):.0f}% (seven kinds of columns, "
            f"{whole['settings']['repeats']} repeats each)",
            "[Accuracy](accuracy.md#confidence-bands-and-intervals)",
        ],
        [
            "How large is the error of a central release, compared with published mechanisms?",
            f"The KS of the best published mechanism is {lowest:.1f} to {highest:.1f} times that "
            f"of the default (ε = 1, {len(gains)} synthetic columns of "
            f"{curator['settings']['people']:,} people)",
            "[Accuracy](accuracy.md#central-model)",
        ],
        [
            "How long does the work for a million people take?",
            f"{randomize} to randomize and {tally} to tally (square wave), and {seconds(decode)} "
            "to estimate (recommended pair, with bands). All with 1,024 bins and one thread",
            "[Speed and memory](speed.md)",
        ],
        [
            "How many uploads can a collector accept?",
            f"{count(rates['single']['rate']['median'])} per second, each synced to disk. "
            "With 100 reports in an upload: "
            f"{count(100 * rates['batches']['rate']['median'])} reports per second",
            "[Service and clients](service.md)",
        ],
    ]
    return table(["question", "figure", "page"], rows, texts=3)


def unmeasured() -> str:
    """Return the benchmarks without a kept result."""
    names = [name for name in BENCHMARKS if results.read(name) is None]
    if not names:
        return "Every benchmark has a result."
    told = [f"- {{source}}`{file_of(name)}`: {BENCHMARKS[name]}" for name in names]
    return "\n\n".join(["Benchmarks without a result:", *told])


HEADLINES: dict[str, Callable[[], str]] = {
    "local-by-epsilon": local_by_epsilon,
    "local-by-column": local_by_column,
    "bands": bands,
    "labels": labels,
    "series": series,
    "central": central,
    "opendp-labels": opendp_labels,
    "pairs": pair_headlines.pairs,
    "pairs-coverage": pair_headlines.pairs_coverage,
    "pairs-times": pair_headlines.pairs_times,
    "pairs-marginals": pair_headlines.pairs_marginals,
    "reports": reports,
    "decodes": decodes,
    "releases": releases,
    "streaming": streaming,
    "uploads": uploads,
    "delays": delays,
    "devices": devices,
    "index": index,
    "unmeasured": unmeasured,
}
"""Every headline by the name in its mark."""


def unused(texts: Sequence[str]) -> list[str]:
    """Return the headlines that no page shows."""
    shown = {mark[2] for text in texts for mark in _MARK.finditer(text)}
    return [name for name in HEADLINES if name not in shown]
