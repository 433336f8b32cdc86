"""Ten sites that may not pool their rows, and ten rounds of new people (figures 6, 7, 20-23)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from benchmarks.accuracy.papers.functional_approximation import central_index
from benchmarks.accuracy.papers.functional_approximation.central_columns import (
    REAL,
    SMOOTH,
    People,
    people_of,
)
from benchmarks.accuracy.papers.functional_approximation.central_judging import (
    AQ,
    HQ,
    at,
    below,
    comparable,
)
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    DEFAULT,
    Method,
    distances,
)
from benchmarks.accuracy.papers.functional_approximation.central_protocols import (
    PRINTED,
    RUNNING,
    after_rounds,
    as_many_messages,
    from_sites,
    methods_of,
    multiplier,
    running,
)
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import (
    Distances,
    cell_tables,
    figures,
    number,
)
from benchmarks.markdown import listed, table
from benchmarks.verdicts import Claim, certain
from lapwing.privacy.promise import Promise
from lapwing.protocol.messages.exact_counts import ExactCounts

TITLE = "The functional-approximation paper: sites and rounds (figures 6, 7, 20-23)"
FULL: dict[str, Any] = {
    "repeats": 50,
    "repeats_between": 10,
    "groups": 10,
    "people_of_a_site": 2000,
    "people_of_a_round": 1000,
    "columns": [*SMOOTH, *REAL],
    "epsilons": [0.1, 0.5, 1],
    "between": [0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9],
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "repeats_between": 2,
    "groups": 3,
    "people_of_a_site": 500,
    "people_of_a_round": 300,
    "columns": ["normal"],
    "epsilons": [1],
    "between": [0.5],
    "seed": 0,
}

REAL_PEOPLE = {"airbnb": 2260, "yaw": 3191}
"""Of a site or a round, as in the paper."""

ASKED_MULTIPLIER = 1.8
PP, MP = "PP, algorithm 1", PRINTED
VALID = (HQ, *AQ.values(), PP, "MP, its true cost")
FEW = "AQ, as few messages"
"""Adaptive quantiles with as many rounds of messages as matching pursuit has."""

COMPETITIVE = 1.5
"""Factor up to which one method is "competitive" with another."""

BYTES = 8
"""Of a number on its way."""


def measure(
    *,
    repeats: int,
    repeats_between: int,
    groups: int,
    people_of_a_site: int,
    people_of_a_round: int,
    columns: Sequence[str],
    epsilons: Sequence[float],
    between: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Return the distances of both settings, the traffic and the noise multiplier.

    The epsilons between have fewer repeats: they are drawn, and no sentence is judged by them.
    """
    drawn = people_of(columns)
    sizes = {"sites": people_of_a_site, "rounds": people_of_a_round}
    cells: dict[str, list[dict[str, Any]]] = {
        part: [] for one in sizes for part in (one, f"{one}, between")
    }
    traffic: dict[str, dict[str, int]] = {}
    for column in drawn:
        for setting, size in sizes.items():
            people = REAL_PEOPLE.get(column.name, size)
            for part, wanted, times in (
                (setting, epsilons, repeats),
                (f"{setting}, between", between, repeats_between),
            ):
                for epsilon in wanted:
                    cell = _cell(column, setting, people, groups, epsilon, times, traffic, seed)
                    cells[part].append(cell)
    column = drawn[0]
    summaries = _groups(column, people_of_a_round, groups, seed=number("multiplier", seed))
    return {
        **cells,
        "columns": {column.name: column.told for column in drawn},
        "traffic": traffic,
        "multiplier": multiplier(summaries, _promise(1, people_of_a_round)),
    }


def _promise(epsilon: float, people: int) -> Promise:
    return Promise("replace-one", epsilon=Fraction(str(epsilon)), delta=_delta(people))


def _delta(people: int) -> Fraction:
    return Fraction(str(float(people) ** -1.5))


def _groups(column: People, people: int, groups: int, *, seed: int) -> list[ExactCounts]:
    """Return the people of each site or round; no row of a real column is in two."""
    values = column.draw(people * groups, seed=[seed])
    return [
        ExactCounts.of_values(values[people * group : people * (group + 1)], column.domain)
        for group in range(groups)
    ]


def _cell(
    column: People,
    setting: str,
    people: int,
    groups: int,
    epsilon: float,
    repeats: int,
    traffic: dict[str, dict[str, int]],
    seed: int,
) -> dict[str, Any]:
    methods: dict[str, Method] = methods_of(column)
    if setting == "rounds":
        methods[RUNNING] = running(groups)
    else:
        methods[FEW] = as_many_messages(column)
    kept: Distances = {name: [] for name in methods}
    for repeat in range(repeats):
        cell = (setting, seed, column.name, people, groups, epsilon, repeat)
        summaries = _groups(column, people, groups, seed=number("people", *cell))
        cdf = column.cdf(sum(summaries[1:], summaries[0]))
        for name, method in methods.items():
            drawn = number("noise", name, *cell)
            promise = method.promise(column.domain, Fraction(str(epsilon)), _delta(people))
            if setting == "sites":
                release, sent = from_sites(method, summaries, promise, seed=drawn)
                if name not in traffic:
                    traffic[name] = {
                        "messages": sent.messages,
                        "up": sent.up,
                        "down": sent.down,
                        "file": len(release.to_json().encode()),
                        "numbers": release.answers.size,
                    }
            else:
                release = after_rounds(method, summaries, promise, seed=drawn)
            kept[name].append(distances(method.decode(release), cdf))
    return {
        "column": column.name,
        "epsilon": epsilon,
        "people": people,
        "methods": figures(kept),
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what section VI-B says of sites (figures 6, 20, 21) and rounds (7, 22, 23)."""
    sites, rounds = measured["sites"], measured["rounds"]
    few = ", KS, W1 and energy each a cell"
    found = []
    for kind, aq in AQ.items():
        form = f"AQ with {kind} noise"
        for name, ours in (("PP", PP), ("MP", MP)):
            found += [
                Claim(
                    f"Sites: at small ε {name} is in general better than HQ and AQ.",
                    below(at(sites, 0.1), ours, [HQ, aq]),
                    f"ε = 0.1{few}.",
                    most=True,
                    where="figures 6, 20 and 21 (sites)",
                    form=form,
                ),
                Claim(
                    f"Sites: at large ε {name} is in general competitive with HQ and AQ.",
                    comparable(at(sites, 1), ours, [HQ, aq], factor=COMPETITIVE),
                    f"ε = 1, within a factor of {COMPETITIVE:g} of both{few}.",
                    most=True,
                    where="figures 6, 20 and 21 (sites)",
                    form=form,
                ),
                Claim(
                    f"Rounds: {name} is consistently better than HQ and AQ, at every ε.",
                    below(rounds, ours, [HQ, aq]),
                    where="figures 7, 22 and 23 (rounds)",
                    form=form,
                ),
            ]
        found.append(
            Claim(
                "Rounds: under the same conditions MP is better than AQ.",
                below(rounds, MP, [aq]),
                where="figures 7, 22 and 23 (rounds)",
                form=form,
            )
        )
    return [
        *found,
        Claim(
            "Sites: with as many messages MP is better than AQ.",
            below(sites, MP, [FEW]),
            "AQ with Gaussian noise and a step for each of MP's votes and products.",
            where="figures 6, 20 and 21 (sites)",
        ),
        Claim(
            "Rounds: PP is better than MP, because it never goes back to old rows.",
            below(rounds, PP, [MP]),
            where="figures 7, 22 and 23 (rounds)",
        ),
        Claim(
            "One message from each site is enough for HQ and PP; AQ and MP need several.",
            [certain(measured["traffic"][one]["messages"] == 1) for one in (HQ, PP)]
            + [certain(measured["traffic"][one]["messages"] > 1) for one in (AQ["Gaussian"], MP)],
            where="section VI-B (messages)",
        ),
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return both settings with the paper's claims, traffic and multiplier."""
    groups = settings["groups"]
    judged = claims(measured)

    def said(start: str) -> str:
        return "\n".join(claim.line() for claim in judged if start in claim.where)

    return "\n\n".join(
        [
            f"Replace-one neighbors, δ = n^-1.5 with n of a site or a round, "
            f"{settings['repeats']} repeats as in the paper, distances on [-1, 1] to the law; of a "
            "real column to the people themselves, different rows at each site: "
            f"{listed([f'{n} {size:,}' for n, size in REAL_PEOPLE.items()])} each. PP has 6 "
            "functions and MP 6 terms of 40; for the angles 10, and 20 of 80. *MP, as printed*, "
            "starred, spends the budget of theorem 4, which is not what it costs.",
            central_index.real_columns(measured["columns"]),
            f"### {groups} sites (figures 6, 20, 21)",
            "Every site has noise of its own for the whole promise. The hub asks them for AQ and "
            "MP (`quantiles_of_sites`, `pursuit_of_sites`); of the others it adds the releases.",
            said("(sites)"),
            said("(messages)"),
            *central_index.shown("figure-6", "figure-20", "figure-21"),
            *cell_tables(
                measured["sites"], f"{groups} sites, {settings['people_of_a_site']:,} each"
            ),
            f"Prefix sums have a KS {_gains(measured['sites'], DEFAULT)} that of the best valid "
            "one of the paper's four.",
            _shown_traffic(measured["traffic"]),
            f"### {groups} rounds (figures 7, 22, 23)",
            "AQ and MP start again over all people in every round, so that a run may spend a "
            "part only (`Promise.split`): AQ the mu of the promise over the root of the rounds "
            "(Gaussian) or epsilon over the rounds (Laplace), MP epsilon over the rounds. The "
            "others never pay again for old rows.",
            said("(rounds)"),
            *central_index.shown("figure-7", "figure-22", "figure-23"),
            *cell_tables(
                measured["rounds"], f"after {groups} rounds of {settings['people_of_a_round']:,}"
            ),
            f"Added rounds of prefix sums have a KS {_gains(measured['rounds'], DEFAULT)} that of "
            f"the best valid one of the paper's four, running ones "
            f"{_gains(measured['rounds'], RUNNING)}.",
            _shown_multiplier(measured["multiplier"], groups),
        ]
    )


def _gains(cells: Sequence[dict[str, Any]], ours: str) -> str:
    def ks(cell: dict[str, Any], name: str) -> float:
        return float(cell["methods"][name]["ks"]["mean"])

    gains = [min(ks(cell, name) for name in VALID) / ks(cell, ours) for cell in cells]
    return f"{min(gains):.1f} to {max(gains):.1f} times below"


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
        return f"{text} (target: {ASKED_MULTIPLIER}; {verdict})."
    return f"{text}."
