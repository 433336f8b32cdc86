"""Matching pursuit against its terms, its atoms and the people (figures 3, 13-15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy.papers.functional_approximation import central_index
from benchmarks.accuracy.papers.functional_approximation.central_columns import people_of
from benchmarks.accuracy.papers.functional_approximation.central_judging import (
    SLACK,
    curves,
    ends_above_its_least,
    falling,
    laws_of,
)
from benchmarks.accuracy.papers.functional_approximation.central_methods import Method
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import (
    NONE,
    PEOPLE,
    cells,
    ks_means,
    sweep_tables,
)
from benchmarks.markdown import listed
from benchmarks.verdicts import Claim
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit

TITLE = "The functional-approximation paper: matching pursuit (figures 3, 13-15)"
FULL: dict[str, Any] = {
    "repeats": 100,
    "terms": [2, 4, 6, 8, 10, 20, 30],
    "atoms": [10, 20, 40, 80, 200],
    "people": [1000, 3000, 10_000, 30_000, 100_000],
    "laws": ["normal", "lognormal", "beta"],
    "epsilon": 0.5,
    "bins": 512,
    "seed": 0,
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "terms": [2, 6, 10],
    "atoms": [10, 40],
    "people": [1000, 10_000],
    "laws": ["normal"],
    "epsilon": 0.5,
    "bins": 128,
    "seed": 0,
}

TERMS, ATOMS = 6, 40
"""Held fixed while another varies, as in the paper."""

PRINTED, VALID = "as printed*", "its true cost"
FORMS = (PRINTED, VALID, "repaired")


def forms(terms: int, **knobs: Any) -> dict[str, Method]:
    """Return matching pursuit as printed, as printed with what it costs, and repaired."""
    published = MatchingPursuit(terms, form="published", **knobs)
    return {
        "as printed*": Method(published, pure=True, valid=False),
        "its true cost": Method(published, pure=True),
        "repaired": Method(MatchingPursuit(terms, **knobs)),
    }


def published(every: dict[str, Method]) -> dict[str, Method]:
    """Return the forms that the paper has."""
    return {name: method for name, method in every.items() if name in (PRINTED, VALID)}


def measure(
    *,
    repeats: int,
    terms: Sequence[int],
    atoms: Sequence[int],
    people: Sequence[int],
    laws: Sequence[str],
    epsilon: float,
    bins: int,
    seed: int,
) -> dict[str, Any]:
    """Return the three sweeps."""
    columns = people_of(laws, bins=bins)
    sweeps = {
        "terms": [(count, forms(count, atoms=ATOMS), PEOPLE) for count in terms],
        "atoms": [
            (count, published(forms(min(TERMS, count), atoms=count)), PEOPLE) for count in atoms
        ],
        "people": [(count, published(forms(TERMS, atoms=ATOMS)), count) for count in people],
    }
    return {
        name: [
            {
                "at": at,
                "columns": cells(
                    columns, methods, size, epsilon, repeats, seed=seed, sweep=f"{name} {at}"
                ),
            }
            for at, methods, size in points
        ]
        for name, points in sweeps.items()
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what section VI-A2 says of figures 3, 13, 14 and 15."""
    laws = laws_of(measured["terms"])
    noisy = (PRINTED, VALID)
    return [
        Claim(
            "Without privacy the error falls with the number of terms and then stays.",
            falling(measured["terms"], NONE, laws=laws, slack=SLACK),
            "Each next number is a cell; up to 5% more counts as staying.",
            where="figures 3 and 13 (s)",
        ),
        *(
            Claim(
                "With privacy more terms do not necessarily reduce the error.",
                curves(measured["terms"], form, ends_above_its_least, laws=laws),
                where="figures 3 and 13 (s)",
                form=f"MP {form}",
            )
            for form in noisy
        ),
        *(
            Claim(
                "With privacy a larger dictionary does not necessarily reduce the error.",
                curves(measured["atoms"], form, ends_above_its_least, laws=laws),
                where="figures 3 and 14 (m)",
                form=f"MP {form}",
            )
            for form in noisy
        ),
        *(
            Claim(
                "With privacy more people consistently reduce the error.",
                falling(measured["people"], form, laws=laws),
                where="figures 3 and 15 (n)",
                form=f"MP {form}",
            )
            for form in noisy
        ),
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the sweeps."""
    return "\n\n".join(
        [
            f"Replace-one neighbors, δ = n^-1.5, ε = {settings['epsilon']:g}, "
            f"{settings['repeats']} repeats (the paper: 50), {settings['bins']} symbols, distances "
            "to the law on [-1, 1], ± standard error, isotonic step last. *As printed*, starred: "
            "Algorithm 2 with the budget of theorem 4, which is not what it costs; a function may "
            "be chosen again. *Its true cost*: the same noise law, scaled so that the promise "
            "holds. *Repaired*: exponential mechanism, own sensitivities, zero-concentrated, each "
            "function once. *None*: no noise and no privacy. The paper prints curves, no numbers.",
            "\n".join(claim.line() for claim in claims(measured)),
            *central_index.shown("figure-3", "figure-13", "figure-14", "figure-15"),
            sweep_tables(measured["terms"], "s", f"{ATOMS} Legendre atoms (figures 3, 13)"),
            _said_of_terms(measured["terms"]),
            sweep_tables(measured["atoms"], "m", f"s = {TERMS} (figures 3, 14)"),
            sweep_tables(measured["people"], "n", f"s = {TERMS}, {ATOMS} atoms (figures 3, 15)"),
        ]
    )


def _said_of_terms(points: Sequence[dict[str, Any]]) -> str:
    names = list(points[0]["columns"])
    places = [point["at"] for point in points]

    def best(form: str) -> list[int]:
        return [places[int(np.argmin(ks_means(points, name, form)))] for name in names]

    gains = [
        min(ks_means(points, name, "its true cost")) / min(ks_means(points, name, "repaired"))
        for name in names
    ]
    lists = [f"{form}: {listed([str(place) for place in best(form)])}" for form in FORMS]
    return (
        "Without noise the KS is least at s = "
        f"{listed([str(place) for place in best(NONE)])}, with it least at s = "
        f"{'; '.join(lists)} ({listed(names)}). At its best s the repaired form is "
        f"{min(gains):.1f} to {max(gains):.1f} times closer than the published one with its true "
        "cost."
    )
