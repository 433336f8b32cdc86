"""Ten sites that may not pool their rows, and ten rounds of new people (figures 6, 7, 20-23)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from benchmarks.accuracy.papers.functional_approximation.central_columns import People, people_of
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    DEFAULT,
    Method,
    distances,
)
from benchmarks.accuracy.papers.functional_approximation.central_protocols import (
    PRINTED,
    RUNNING,
    after_rounds,
    from_sites,
    methods_of,
    multiplier,
    running,
)
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import (
    KEYS,
    Distances,
    means,
)
from benchmarks.markdown import listed, table
from lapwing.privacy.promise import Promise
from lapwing.protocol.messages.summary import Summary

TITLE = "The functional-approximation paper: sites and rounds (figures 6, 7, 20-23)"
FULL: dict[str, Any] = {
    "repeats": 25,
    "groups": 10,
    "people_of_a_site": 2000,
    "people_of_a_round": 1000,
    "columns": ["normal", "lognormal", "beta", "spiky", "airbnb_nyc", "kitti_yaw"],
    "epsilons": [0.1, 0.5, 1],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "groups": 3,
    "people_of_a_site": 500,
    "people_of_a_round": 300,
    "columns": ["normal"],
    "epsilons": [1],
}

REAL_PEOPLE = {"airbnb_nyc": 2260, "kitti_yaw": 3191}
"""Of a site or a round, as in the paper."""

ASKED_MULTIPLIER = 1.8
SETTINGS = {"sites": "people_of_a_site", "rounds": "people_of_a_round"}
PAPER = ("HQ 40, steps", "AQ 80", "AQ 80, Laplace", "PP, moments", "MP, its true cost")
BYTES = 8
"""Of a number on its way."""


def measure(
    *,
    repeats: int,
    groups: int,
    people_of_a_site: int,
    people_of_a_round: int,
    columns: Sequence[str],
    epsilons: Sequence[float],
) -> dict[str, Any]:
    """Return the distances of both settings, the traffic and the noise multiplier."""
    drawn = people_of(columns)
    sizes = {"sites": people_of_a_site, "rounds": people_of_a_round}
    cells: dict[str, list[dict[str, Any]]] = {"sites": [], "rounds": []}
    traffic: dict[str, dict[str, int]] = {}
    for column in drawn:
        for setting, size in sizes.items():
            people = REAL_PEOPLE.get(column.name, size)
            for epsilon in epsilons:
                cell = _cell(column, setting, people, groups, epsilon, repeats, traffic)
                cells[setting].append(cell)
    column = drawn[0]
    summaries = _groups(column, people_of_a_round, groups, seed=0)
    return {
        **cells,
        "traffic": traffic,
        "multiplier": multiplier(summaries, _promise(1, people_of_a_round)),
    }


def _promise(epsilon: float, people: int) -> Promise:
    return Promise("replace-one", epsilon=Fraction(str(epsilon)), delta=_delta(people))


def _delta(people: int) -> Fraction:
    return Fraction(str(float(people) ** -1.5))


def _groups(column: People, people: int, groups: int, *, seed: int) -> list[Summary]:
    """Return the people of each site or round; no row of a real column is in two."""
    values = column.draw(people * groups, seed=[seed, 11])
    return [
        Summary.of_values(values[people * number : people * (number + 1)], column.domain)
        for number in range(groups)
    ]


def _cell(
    column: People,
    setting: str,
    people: int,
    groups: int,
    epsilon: float,
    repeats: int,
    traffic: dict[str, dict[str, int]],
) -> dict[str, Any]:
    methods: dict[str, Method] = methods_of(column)
    if setting == "rounds":
        methods[RUNNING] = running(groups)
    kept: Distances = {name: [] for name in methods}
    for repeat in range(repeats):
        summaries = _groups(column, people, groups, seed=repeat)
        cdf = column.cdf(sum(summaries[1:], summaries[0]))
        for number, (name, method) in enumerate(methods.items()):
            seed = repeat * len(methods) + number
            promise = method.promise(column.domain, Fraction(str(epsilon)), _delta(people))
            if setting == "sites":
                release, sent = from_sites(method, summaries, promise, seed=seed)
                if name not in traffic:
                    traffic[name] = {
                        "messages": sent.messages,
                        "up": sent.up,
                        "down": sent.down,
                        "file": len(release.to_json().encode()),
                        "numbers": release.answers.size,
                    }
            else:
                release = after_rounds(method, summaries, promise, seed=seed)
            kept[name].append(distances(method.decode(release), cdf))
    return {
        "column": column.name,
        "epsilon": epsilon,
        "people": people,
        "methods": means(kept),
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return both settings with a sentence on the paper's claims, traffic and multiplier."""
    groups = settings["groups"]
    return "\n\n".join(
        [
            f"Replace-one neighbours, δ = n^-1.5 with n of a site or a round, "
            f"{settings['repeats']} repeats, distances on [-1, 1] to the law; of a real column to "
            "the people themselves, different rows at each site: "
            f"{listed([f'{n} {size:,}' for n, size in REAL_PEOPLE.items()])} (stand-ins for the "
            "paper's files). PP has 6 functions and MP 6 terms of 40; for the angles 10, and 20 "
            "of 80. *MP, as printed*, starred, spends the budget of theorem 4, which is not what "
            "it costs.",
            f"### {groups} sites",
            *_tables(measured["sites"], f"{groups} sites, {settings['people_of_a_site']:,} each"),
            _said_of_sites(measured["sites"]),
            _shown_traffic(measured["traffic"]),
            f"### {groups} rounds",
            "AQ and MP start again over all people in every round, so that a run may spend a "
            "share only: AQ the mu of the promise over the root of the rounds (Gaussian) or "
            "epsilon over the rounds (Laplace), MP epsilon over the rounds (as printed and its "
            "true cost) or rho over the rounds (repaired). The others never pay again for old "
            "rows.",
            *_tables(
                measured["rounds"], f"after {groups} rounds of {settings['people_of_a_round']:,}"
            ),
            _said_of_rounds(measured["rounds"]),
            _shown_multiplier(measured["multiplier"], groups),
        ]
    )


def _tables(cells: Sequence[dict[str, Any]], title: str) -> list[str]:
    names = list(cells[0]["methods"])
    return [
        f"{shown}, {title}:\n\n"
        + table(
            ["", "ε", *(name + "*" * (name == PRINTED and "*" not in name) for name in names)],
            [
                [cell["column"], f"{cell['epsilon']:g}"]
                + [f"{cell['methods'][name][key]['mean']:.4f}" for name in names]
                for cell in cells
            ],
            texts=1,
        )
        for key, shown in KEYS.items()
    ]


def _ks(cell: dict[str, Any], name: str) -> float:
    return float(cell["methods"][name]["ks"]["mean"])


def _verdict(cells: Sequence[dict[str, Any]], pairs: Sequence[tuple[str, str]]) -> str:
    """Return in how many cells the first of each pair has the lesser KS, and what that means."""
    counts = [sum(_ks(cell, ours) < _ks(cell, theirs) for cell in cells) for ours, theirs in pairs]
    shown = listed([f"{count} of {len(cells)}" for count in counts])
    least = min(counts) / len(cells)
    word = "holds" if least == 1 else "mostly holds" if least > 0.75 else "does not hold"
    return f"{word} ({shown})"


def _gains(cells: Sequence[dict[str, Any]], ours: str) -> str:
    gains = [min(_ks(cell, name) for name in PAPER) / _ks(cell, ours) for cell in cells]
    return f"{min(gains):.1f} to {max(gains):.1f} times below"


def _said_of_sites(cells: Sequence[dict[str, Any]]) -> str:
    least = min(cell["epsilon"] for cell in cells)
    private = [cell for cell in cells if cell["epsilon"] == least]
    ours = ("PP, moments", "MP, its true cost")

    def against(theirs: str) -> str:
        return _verdict(private, [(one, theirs) for one in ours])

    return (
        f"The paper: at small ε PP and MP are better than HQ and AQ. In KS at ε = {least:g}, for "
        f"{listed(ours)}: against {PAPER[0]} it {against(PAPER[0])}; against AQ with Laplace "
        f"noise it {against('AQ 80, Laplace')}, with Gaussian noise it {against('AQ 80')}. "
        f"Prefix sums with step pursuit are {_gains(cells, DEFAULT)} the best valid one of "
        "the paper's four in each cell."
    )


def _said_of_rounds(cells: Sequence[dict[str, Any]]) -> str:
    ours = ("PP, moments", "MP, its true cost")

    def against(theirs: str) -> str:
        return _verdict(cells, [(one, theirs) for one in ours])

    return (
        "The paper: PP is better than MP, both are better than HQ and AQ, at every ε. In KS, PP "
        f"before MP {_verdict(cells, [ours])}. For {listed(ours)}: against {PAPER[0]} it "
        f"{against(PAPER[0])}; against AQ with Laplace noise it {against('AQ 80, Laplace')}, "
        f"with Gaussian noise it {against('AQ 80')}. Added rounds of prefix sums are "
        f"{_gains(cells, DEFAULT)} the best valid one of the paper's four, running ones "
        f"{_gains(cells, RUNNING)}."
    )


def _shown_traffic(traffic: dict[str, dict[str, int]]) -> str:
    rows = [
        [
            name,
            str(sent["messages"]),
            f"{BYTES * sent['up']:,}",
            f"{BYTES * sent['down']:,}",
            f"{sent['numbers']:,}",
            f"{sent['file']:,}",
        ]
        for name, sent in traffic.items()
    ]
    one = [name for name, sent in traffic.items() if sent["messages"] == 1]
    fewest = min(traffic, key=lambda name: traffic[name]["numbers"])
    return (
        f"What a site exchanges, {BYTES} bytes a number, and what is kept in the end:\n\n"
        + table(
            ["", "messages", "bytes up", "bytes down", "numbers kept", "bytes of the file"],
            rows,
            texts=1,
        )
        + f"\n\nOne message: {listed(one)}; as in the paper, AQ and MP need a round for every "
        f"question. Fewest numbers are kept by {fewest}. The file names its mechanism, domain, "
        "promise and noise as well, one part a site."
    )


def _shown_multiplier(found: dict[str, float], groups: int) -> str:
    reached = found["running"] <= ASKED_MULTIPLIER + 0.005
    text = (
        f"Noise after {groups} rounds, in standard deviations of one round's: "
        f"{found['running']:.3f} for running prefix sums, {found['added']:.3f} for added ones"
    )
    if groups == 10:
        verdict = "reached" if reached else "not reached"
        return f"{text} (asked: {ASKED_MULTIPLIER}; {verdict})."
    return f"{text}."
