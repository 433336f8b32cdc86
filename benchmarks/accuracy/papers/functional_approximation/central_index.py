"""The index of the paper's page: every figure with its section, its picture and its verdicts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchmarks import results
from benchmarks.accuracy.papers.functional_approximation.central_columns import REAL
from benchmarks.isolated import script
from benchmarks.markdown import table
from benchmarks.verdicts import VERDICTS, sentences

OF_M, OF_N = "figures 2 and 11 (m)", "figures 2 and 12 (n)"
PURSUIT = ("figures 3 and 13 (s)", "figures 3 and 14 (m)", "figures 3 and 15 (n)")
RECONSTRUCTED, BY_DICTIONARY = ("figures 8, 24 and 25",), ("figures 9, 26 and 27",)
CURVES = ("figures 4, 16 and 17",)
SITES = ("figures 6, 20 and 21 (sites)", "section VI-B (messages)")
ROUNDS = ("figures 7, 22 and 23 (rounds)",)

FIGURES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "figure-1": ("the stages", "central_projection", ()),
    "figure-2": ("PP against m and n, normal", "central_projection", (OF_M, OF_N)),
    "figure-3": ("MP against s, m and n, normal", "central_pursuit", PURSUIT),
    "figure-4": ("one release of each method, normal", "central_real", CURVES),
    "figure-5": ("four methods, normal", "central_figures", ("figures 5 and 18",)),
    "figure-6": ("ten sites, normal", "central_sites", SITES),
    "figure-7": ("ten rounds, normal", "central_sites", ROUNDS),
    "figure-8": ("reconstructions, normal", "central_dictionaries", RECONSTRUCTED),
    "figure-9": ("dictionaries, normal", "central_dictionaries", BY_DICTIONARY),
    "figure-10": ("four bases, no privacy", "central_projection", ("figure 10",)),
    "figure-11": ("PP against m, lognormal and beta", "central_projection", (OF_M,)),
    "figure-12": ("PP against n, lognormal and beta", "central_projection", (OF_N,)),
    "figure-13": ("MP against s, lognormal and beta", "central_pursuit", PURSUIT[:1]),
    "figure-14": ("MP against m, lognormal and beta", "central_pursuit", PURSUIT[1:2]),
    "figure-15": ("MP against n, lognormal and beta", "central_pursuit", PURSUIT[2:]),
    "figure-16": ("one release, lognormal and beta", "central_real", CURVES),
    "figure-17": ("one release, Airbnb and yaw", "central_real", CURVES),
    "figure-18": ("four methods, lognormal and beta", "central_figures", ("figures 5 and 18",)),
    "figure-19": ("four methods, Airbnb and yaw", "central_real", ("figure 19",)),
    "figure-20": ("ten sites, lognormal and beta", "central_sites", SITES),
    "figure-21": ("ten sites, Airbnb and yaw", "central_sites", SITES),
    "figure-22": ("ten rounds, lognormal and beta", "central_sites", ROUNDS),
    "figure-23": ("ten rounds, Airbnb and yaw", "central_sites", ROUNDS),
    "figure-24": ("reconstructions, lognormal and beta", "central_dictionaries", RECONSTRUCTED),
    "figure-25": ("reconstructions, Airbnb and yaw", "central_dictionaries", RECONSTRUCTED),
    "figure-26": ("dictionaries, lognormal and beta", "central_dictionaries", BY_DICTIONARY),
    "figure-27": ("dictionaries, Airbnb and yaw", "central_dictionaries", BY_DICTIONARY),
}
"""Picture -> what it shows, the benchmark in whose section it stands, the places of its claims."""


def index() -> str:
    """Return a table of all figures of the paper."""
    every = {name: judged(name) for name in {benchmark for _, benchmark, _ in FIGURES.values()}}
    rows = []
    counted: dict[str, str] = {}
    for name, (told, benchmark, where) in FIGURES.items():
        number = name.removeprefix("figure-")
        earlier = sorted({counted[place] for place in where if place in counted}, key=int)
        for place in where:
            counted.setdefault(place, number)
        rows.append(
            [
                number,
                told,
                f"[table](#{_anchor(script(f'accuracy/{benchmark}').TITLE)})",
                f"[picture](figures/{name}.png)",
                _told(every[benchmark], where, earlier),
            ]
        )
    return (
        "The paper's figures; where it splits one by data set, the sentences about the whole are "
        "counted at its first part:\n\n"
        + table(["figure", "shows", "table", "picture", "its sentences"], rows, texts=5)
    )


def _told(
    claims: list[tuple[str, str]] | None, where: Sequence[str], earlier: Sequence[str]
) -> str:
    """Return what the index says of a figure's claims, which an earlier one may have counted."""
    if not where:
        return "an illustration"
    if earlier:
        return f"with figure {' and '.join(earlier)}"
    return verdicts(claims, where)


def judged(benchmark: str) -> list[tuple[str, str]] | None:
    """Return where each sentence stands and its verdict; None if it was never measured."""
    document = results.read(f"accuracy/{benchmark}")
    if document is None:
        return None
    claims = script(f"accuracy/{benchmark}").claims(document["measured"])
    return [(each.claims[0].where, each.verdict) for each in sentences(claims)]


def verdicts(claims: list[tuple[str, str]] | None, where: Sequence[str]) -> str:
    """Return how many claims about some places hold, are contradicted and undecided."""
    if claims is None:
        return "not measured"
    own = [verdict for place, verdict in claims if place in where]
    counts = [f"{word} {own.count(word)}" for word in VERDICTS if word in own]
    return ", ".join(counts) or "an illustration"


def shown(*names: str) -> list[str]:
    """Return pictures by their names, each with the paper's number and what it shows."""
    return [
        f"![Figure {name.removeprefix('figure-')}: {FIGURES[name][0]}](figures/{name}.png)"
        for name in names
    ]


def real_columns(told: Mapping[str, str]) -> str:
    """Return a list of the real columns: the paper's file or a stand-in, its range and rows."""
    return "\n".join(f"- {one}." for name, one in told.items() if name in REAL)


def _anchor(title: str) -> str:
    """Return the anchor that a heading gets on the page."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
