"""The finding of each picture: its title, and its alternative text on the pages.

A finding was read off the picture together with the verdicts on the paper's sentences about it.
When a result is measured again and those verdicts change, a test asks to read it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.accuracy.papers.judged import Judged
from benchmarks.verdicts import VERDICTS, sentences

FINDINGS: dict[str, dict[str, str]] = {
    "square_wave": {
        "figure-1": "Beta(5, 2) and taxi are smooth, income has spikes at round numbers",
        "figure-2": "SW-EMS has the least W1 on three of four columns, HH-ADMM the least KS on "
        "income",
        "figure-3": "errors of range queries fall with ε for every method but few bins on income",
        "figure-4": "SW-EM is close to SR and PM for the mean, and below them for the variance",
        "figure-5": "the square wave is at or near the least W1 at every width",
        "figure-6": "W1 changes little around the rule's width",
        "figure-7": "256 bins are best for Beta(5, 2) at larger ε, more bins for income",
        "branching": "branching 4 is among the best for HH, branching 2 and 4 for HH-ADMM",
        "budgets": "splitting the budget has two to three times the error of splitting the people",
        "orders": "R-B and B-R are alike but for EM in KS on income at ε = 4",
    },
    "wavelet": {
        "figure-1": "two estimates with equal l1 distance, the second with eight times the W1",
        "figure-2": "SW-EM has a smaller W1 than the wavelet in most panels",
        "figure-3": "on income the wavelet has a smaller KS than every form of SW-EM",
        "figure-4": "W1 lies below both bounds and is least at a smaller J than they are",
        "figure-5": "on narrow blocks all methods fall with ε, and bins that fit the blocks are "
        "best",
        "figure-6": "range queries of width 0.2 rank the methods as W1 does",
        "figure-7": "range queries of width 0.4 rank the methods as W1 does",
    },
    "convolution": {
        "figure-1": "counting and inverting is the same as a convolution followed by a filter",
        "figure-2": "taxi is smooth, permuted taxi and Kosarak are not",
        "figure-3": "the measured noise spectrum scatters about the analytic one",
        "figure-4": "IIW converges within about 30 iterations",
        "figure-5": "KRR-IIW-G is stuck at ε = 1 and 2, and passes a minimum at 3 and 4",
        "figure-6": "every filter lowers the squared error on taxi, few do on Kosarak at large ε",
        "figure-7": "the gain of the filters grows with the number of values",
        "figure-8": "on Kosarak the filters raise the error of the most frequent values",
        "figure-9": "on Kosarak the filters of KRR lose few true positives and many false ones",
        "figure-10": "wider smoothing is best on smooth data and worst at few values",
        "figure-10-largest": "GF3-DW has the least error on the smoothed column",
    },
    "compressive": {
        "figure-1": "a value, its public set of outputs, one report, and the recovery at the "
        "server",
        "figure-2": "compressive privatization is far below all normalized baselines, and subset "
        "selection with s known is as low",
        "figure-3": "at large ε the projected baselines catch up on geometric distributions",
        "theorem-1-1": "with balanced columns the error follows the theorem's order along every "
        "letter",
    },
    "functional_approximation": {
        "figure-1": "the people's CDF, its projection, the noise, and the isotonic step",
        "figure-2": "PP has a best number of functions, and with shaped noise it keeps falling",
        "figure-3": "MP has a best number of terms, and a larger dictionary does not help",
        "figure-4": "in one release at ε = 0.1, prefix sums are closest to the true CDF",
        "figure-5": "prefix sums have the least error at every ε",
        "figure-6": "prefix sums also have the least error from ten sites",
        "figure-7": "prefix sums also have the least error in ten rounds of new data",
        "figure-8": "after the repair, the Legendre dictionary follows the true CDF most closely",
        "figure-9": "the Legendre dictionary has the least error from ε = 0.2 on",
        "figure-10": "of four bases without privacy, Fourier overshoots at the ends",
    },
}
"""Paper -> picture -> finding; a picture of other columns that no page shows has none."""

PLACES = {
    "branching": "section 4.2, branching",
    "budgets": "section 4.2, budget",
    "orders": "section 5.4",
    "theorem-1-1": "theorem 1.1",
}
"""Where in its paper a picture belongs that is not a numbered figure."""


def title(paper: str, picture: str) -> str | None:
    """Return the finding of a picture as a title; None if it has none."""
    found = FINDINGS.get(paper, {}).get(picture)
    return found and found[0].upper() + found[1:]


def label(picture: str) -> str:
    """Return what the pages call a picture: ``Figure 2``, ``Section 4.2``."""
    if picture.endswith("-largest"):
        return f"{label(picture.removesuffix('-largest'))}, most frequent values"
    place = PLACES.get(picture, picture.replace("-", " ")).partition(",")[0]
    return place.capitalize()


def alternative(paper: str, picture: str) -> str | None:
    """Return the alternative text of a picture on the pages; None if it has no finding."""
    found = FINDINGS.get(paper, {}).get(picture)
    return found and f"{label(picture)}: {found}"


def verdicts(paper: str, picture: str, every: Sequence[Judged]) -> str:
    """Return how many sentences of a paper about a picture have which verdict."""
    own = [one.claim for one in every if one.paper == paper and _speaks(one.claim.where, picture)]
    found = [sentence.verdict for sentence in sentences(own)]
    return ", ".join(f"{one} {found.count(one)}" for one in VERDICTS if one in found)


def _speaks(where: str, picture: str) -> bool:
    """Return whether a place of a paper is that of a picture, also among other figures."""
    if picture in PLACES:
        return f"{where},".startswith(f"{PLACES[picture]},")
    (number,) = re.findall(r"\d+", picture)
    named = re.match(r"figures? (?:\d+(?:, | and )?)+", where)
    return named is not None and number in re.findall(r"\d+", named[0])
