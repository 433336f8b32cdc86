"""The convolution paper's figures 3 to 5, and appendix B: noise, convergence, unknown channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import UNBIASED, Method
from benchmarks.accuracy.papers.convolution.convolution_columns import (
    ITEMS,
    MAIN,
    ORACLES,
    PERMUTED,
    ROUGH,
    SMOOTH,
    Known,
    mse,
    populations,
    squared_cell,
)
from benchmarks.accuracy.papers.figure_columns import Population, interval
from benchmarks.accuracy.papers.figure_runs import best, claim, compare, figures, less
from benchmarks.markdown import figure as digits
from benchmarks.markdown import listed, table
from benchmarks.summaries import mean_and_error
from lapwing.decoders.deconvolution.channel_identification import (
    channel_from_one_input,
    channel_from_support,
    epsilon_from_support,
)
from lapwing.decoders.deconvolution.wiener import noise_spectrum

TITLE = "The convolution paper: figures 3 to 5, and unknown channels"
FULL: dict[str, Any] = {
    "repeats": 20,
    "repeats_of_items": 4,
    "bins": 1000,
    "column": "taxi",
    "labels": "kosarak",
    "items": 41_270,
    "iterations": [0, 1, 2, 5, 10, 20, 30, 50, 100, 200],
    "epsilons": [1, 2, 3, 4],
}
QUICK: dict[str, Any] = {
    "repeats": 2,
    "repeats_of_items": 1,
    "bins": 100,
    "column": "beta52",
    "labels": "beta52",
    "items": 1_000,
    "iterations": [0, 5, 30],
    "epsilons": [4],
}

OF_ONE_INPUT = 1_000_000
"""Reports that the first way of appendix B asks of one known input."""


MEASURED_RUNS = 50
"""Simulated tallies whose mean power is the measured noise spectrum."""


def measure(
    *,
    repeats: int,
    repeats_of_items: int,
    bins: int,
    column: str,
    labels: str,
    items: int,
    iterations: Sequence[int],
    epsilons: Sequence[float],
) -> dict[str, Any]:
    """Return spectra, errors by iteration, and errors with a channel that had to be guessed."""
    columns = populations(column, labels, items)
    del columns[ROUGH]
    smooth = next(iter(columns.values()))
    shape = {
        name: (items, repeats_of_items) if name == ITEMS else (bins, repeats) for name in columns
    }
    return {
        "spectra": [
            {"column": name, "oracle": oracle, **_spectrum(one, oracle, *shape[name])}
            for oracle in ORACLES
            for name, one in columns.items()
        ],
        "by_column": [
            {
                "column": name,
                "oracle": oracle,
                "epsilon": MAIN,
                **_converge(one, oracle, "iterative", MAIN, iterations, *shape[name]),
            }
            for oracle in ORACLES
            for name, one in columns.items()
        ],
        "by_epsilon": [
            {
                "method": label,
                "oracle": oracle,
                "epsilon": epsilon,
                "noise": bins * math.sqrt(_variance(oracle, epsilon, bins, smooth.people)),
                **_converge(smooth, oracle, method, epsilon, iterations, bins, repeats),
            }
            for oracle, method, label in (
                ("KRR", "iterative", "KRR-IIW"),
                ("KRR", "iterative-from-reports", "KRR-IIW-G"),
                ("OUE", "iterative", "OUE-IIW"),
            )
            for epsilon in epsilons
        ],
        "uniform": _uniform(smooth, bins),
        "sources": [
            {
                "oracle": oracle,
                "epsilon": epsilon,
                **_sources(smooth, oracle, bins, epsilon, repeats),
            }
            for oracle in ORACLES
            for epsilon in epsilons
        ],
        "blind": [_blind(smooth, bins, epsilon, repeats) for epsilon in epsilons],
    }


def _spectrum(one: Population, oracle: str, bins: int, repeats: int) -> dict[str, Any]:
    """Return measured noise power over the analytic one: off frequency 0, and at it."""
    randomizer = ORACLES[oracle](interval(bins), MAIN)
    block = randomizer.channel.blocks[0]
    analytic = noise_spectrum(block, one.people)
    printed = _equation_20(oracle, MAIN, bins, one.people)
    off, at_zero = [], []
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, bins, len(one.name), 3])
        counts = one.draw(bins, rng)
        tally = lw.simulate(randomizer, counts, rng=rng)
        noise = tally.blocks[0] / one.people - block.mean(counts / one.people)
        power = np.abs(np.fft.fft(noise)) ** 2
        off.append(float((power[1:] / analytic[1:]).mean()))
        at_zero.append(float(power[0] / analytic[1:].mean()))
    return {
        "measured": mean_and_error(off),
        "zero": mean_and_error(at_zero),
        "analytic_zero": float(analytic[0] / analytic[1:].mean()),
        "printed": float(printed / analytic[1:].mean()),
    }


def _sources(
    one: Population, oracle: str, bins: int, epsilon: float, repeats: int
) -> dict[str, Any]:
    """Return errors of DW by where its spectra come from; the methods get the same reports."""
    randomizer = ORACLES[oracle](interval(bins), epsilon)
    block = randomizer.channel.blocks[0]
    signal = np.abs(np.fft.fft(one.law(bins))) ** 2
    noise = np.zeros(bins)
    for repeat in range(MEASURED_RUNS):
        # Of people nobody meets again: everybody at the first value.
        people = np.zeros(bins, dtype=np.int64)
        people[0] = one.people
        tally = lw.simulate(randomizer, people, rng=np.random.default_rng([repeat, bins, 5]))
        difference = tally.blocks[0] / one.people - block.mean(people / one.people)
        noise += np.abs(np.fft.fft(difference)) ** 2 / MEASURED_RUNS
    direct: dict[str, Any] = {"method": "direct", "simplex": False, "band": False}
    decoders = {
        "analytic": lw.Wiener(**direct),
        "equation 20": lw.Wiener(**direct, noise=_equation_20(oracle, epsilon, bins, one.people)),
        "measured": lw.Wiener(**direct, noise=tuple(noise.tolist())),
        "true signal": lw.Wiener(**direct, signal=tuple(signal.tolist())),
    }
    samples = compare(
        [Method(name, ORACLES[oracle], decoder) for name, decoder in decoders.items()],
        one,
        {"mse": mse},
        bins=bins,
        epsilon=epsilon,
        repeats=repeats,
        known=Known.of,
    )
    return {"methods": figures(samples)}


def _chances(oracle: str, epsilon: float, bins: int) -> tuple[float, float]:
    e = math.exp(epsilon)
    return (e / (e + bins - 1), 1 / (e + bins - 1)) if oracle == "KRR" else (0.5, 1 / (e + 1))


def _equation_20(oracle: str, epsilon: float, bins: int, people: int) -> float:
    """Return the noise power of equation 20, the same at every frequency."""
    own, other = _chances(oracle, epsilon, bins)
    return (bins * other * (1 - other) + (own - other) * (1 - own - other)) / people


def _variance(oracle: str, epsilon: float, bins: int, people: int) -> float:
    """Return the approximate variance of a share, Var* of section II."""
    own, other = _chances(oracle, epsilon, bins)
    return other * (1 - other) / people / (own - other) ** 2


def _converge(
    one: Population,
    oracle: str,
    method: Any,
    epsilon: float,
    iterations: Sequence[int],
    bins: int,
    repeats: int,
) -> dict[str, Any]:
    methods = [
        Method(
            str(number),
            ORACLES[oracle],
            lw.Wiener(method=method, iterations=number, simplex=False, band=False),
        )
        for number in iterations
    ]
    samples = compare(
        methods,
        one,
        {"mse": mse},
        bins=bins,
        epsilon=epsilon,
        repeats=repeats,
        known=Known.of,
    )
    return {"methods": figures(samples)}


def _uniform(one: Population, bins: int) -> float:
    """Return the squared error of the answer 1 / bins everywhere."""
    return float(((one.law(bins) - 1 / bins) ** 2).mean())


def _blind(one: Population, bins: int, epsilon: float, repeats: int) -> dict[str, Any]:
    """Return squared errors with the guessed channel over those with the known one."""
    domain = interval(bins)
    response, bits = (oracle(domain, epsilon) for oracle in ORACLES.values())
    guesses, support, first = [], [], []
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, round(1000 * epsilon), 36])
        counts = one.draw(bins, rng)
        known = Known.of(counts)
        tally = lw.simulate(bits, counts, rng=rng)
        guesses.append(epsilon_from_support(tally, protocol="optimized-unary-encoding"))
        guessed = channel_from_support(domain, tally, protocol="optimized-unary-encoding")
        support.append(
            mse(UNBIASED.decode(guessed, tally), known)
            / mse(UNBIASED.decode(bits.channel, tally), known)
        )
        probe = np.zeros(bins, dtype=np.int64)
        probe[0] = OF_ONE_INPUT
        learnt = channel_from_one_input(
            domain, lw.simulate(response, probe, rng=rng), value=domain.low
        )
        tally = lw.simulate(response, counts, rng=rng)
        first.append(
            mse(UNBIASED.decode(learnt, tally), known)
            / mse(UNBIASED.decode(response.channel, tally), known)
        )
    return {
        "epsilon": epsilon,
        "guess": mean_and_error(guesses),
        "support": mean_and_error(support),
        "one_input": mean_and_error(first),
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of figures 3 to 5 and what they say."""
    columns = measured["by_column"]
    rows = measured["by_epsilon"]
    return "\n\n".join(
        [
            "Fang et al. 2023, section V-B and appendix B. The columns are those of the next "
            f"section; {settings['repeats']} repeats ({settings['repeats_of_items']} on {ITEMS}); "
            "squared errors ×10⁹ ± standard error, no projection.",
            "### Figure 3, spectrum of the noise",
            f"ε = {MAIN:g}. Power of the noise of counts / reports, over the analytic power off "
            "frequency 0: its mean over all frequencies but 0, at frequency 0 (measured, "
            "analytic), and equation 20.",
            table(
                ["oracle", "column", "measured", "measured at 0", "analytic at 0", "equation 20"],
                [
                    [
                        row["oracle"],
                        row["column"],
                        _number(row["measured"]),
                        f"{row['zero']['mean']:.2g} ± {row['zero']['standard_error']:.1g}",
                        f"{row['analytic_zero']:.2g}",
                        f"{row['printed']:.4f}",
                    ]
                    for row in measured["spectra"]
                ],
                texts=2,
            ),
            _spectra_say(measured["spectra"]),
            "### Figure 4, convergence of IIW",
            f"ε = {MAIN:g}. Iteration 0 is DW.",
            _iterations(columns, ["oracle", "column"]),
            "\n".join(_columns_say(columns)),
            "### Figure 5, IIW and IIW-G by ε",
            f"On {SMOOTH}. Noise: d√Var*, the standard deviation of a share over the mean share.",
            _iterations(rows, ["method", "epsilon", "noise"]),
            "\n".join(_rows_say(rows, measured["uniform"])),
            "### Sources of the spectra",
            f"DW on {SMOOTH}, with the noise spectrum from the block's covariance, from equation "
            f"20, or measured in {MEASURED_RUNS} simulated tallies; and with the true spectrum of "
            "the signal.",
            _sources_table(measured["sources"]),
            _sources_say(measured["sources"]),
            "### Channels that must be guessed (appendix B)",
            f"On {SMOOTH}: ε as the number of set bits of all reports shows it (OUE), and the "
            "squared error of the unbiased estimate with the guessed channel over that with the "
            f"known one: OUE by its support, KRR by {OF_ONE_INPUT:,} reports of one known input.",
            table(
                ["ε", "guessed ε", "ratio, by support", "ratio, by one input"],
                [
                    [
                        f"{row['epsilon']:g}",
                        f"{row['guess']['mean']:.4f} ± {row['guess']['standard_error']:.4f}",
                        _number(row["support"]),
                        _number(row["one_input"]),
                    ]
                    for row in measured["blind"]
                ],
            ),
        ]
    )


def _number(found: dict[str, float]) -> str:
    return f"{digits(found['mean'])} ± {digits(found['standard_error'], digits=2)}"


def _iterations(rows: list[dict[str, Any]], starts: list[str]) -> str:
    names = list(rows[0]["methods"])
    lines = []
    for row in rows:
        start = [one if isinstance(one := row[key], str) else f"{one:.3g}" for key in starts]
        cells = [squared_cell(row["methods"][name], "mse") for name in names]
        least = names.index(best(row["methods"], "mse"))
        cells[least] = f"**{cells[least]}**"
        lines.append([*start, *cells])
    head = ["ε" if key == "epsilon" else key for key in starts]
    return table([*head, *names], lines, texts=len(starts))


def _sources_table(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0]["methods"])
    return table(
        ["oracle", "ε", *names],
        [
            [
                row["oracle"],
                f"{row['epsilon']:g}",
                *(squared_cell(row["methods"][name], "mse") for name in names),
            ]
            for row in rows
        ],
        texts=2,
    )


def _sources_say(rows: list[dict[str, Any]]) -> str:
    def over(name: str) -> list[float]:
        return [
            row["methods"][name]["mse"]["mean"] / row["methods"]["analytic"]["mse"]["mean"]
            for row in rows
        ]

    same = over("equation 20") + over("measured")
    return claim(
        "DW is greatly improved by knowledge of the true spectrum of the signal.",
        [less(row, "mse", "true signal", ["analytic"]) for row in rows],
        f"Its error falls to {min(over('true signal')):.2g} to {max(over('true signal')):.2g} of "
        f"that with the estimated one. The other sources of the noise spectrum give "
        f"{min(same):.3f} to {max(same):.3f} times the error with the analytic one.",
    )


def _error(row: dict[str, Any], iterations: int) -> float:
    return float(row["methods"][str(iterations)]["mse"]["mean"])


def _last(row: dict[str, Any]) -> int:
    return max(int(name) for name in row["methods"])


def _spectra_say(rows: list[dict[str, Any]]) -> str:
    close = [
        (
            abs(row["measured"]["mean"] - 1) < 0.05,
            abs(row["measured"]["mean"] - 1) > 2 * row["measured"]["standard_error"],
        )
        for row in rows
    ]
    zeros = [row["zero"]["mean"] for row in rows if row["oracle"] == "KRR"]
    printed = [row["printed"] for row in rows if row["oracle"] == "KRR"]
    sizes = listed([f"{value:.5f}" for value in printed])
    return "\n".join(
        [
            claim(
                "The analytic power spectrum matches the measured one.",
                close,
                "Counted within 5 %, off frequency 0.",
            ),
            f"- *For KRR the power at frequency 0 is zero.* Measured: at most {max(zeros):.1g} of "
            f"the others. Elsewhere equation 20 gives {sizes} of the exact power for KRR, because "
            "it takes the counts for independent.",
        ]
    )


def _columns_say(rows: list[dict[str, Any]]) -> list[str]:
    found = []
    for oracle, least in (("KRR", 5), ("OUE", 30)):
        here = [row for row in rows if row["oracle"] == oracle]
        if str(least) in here[0]["methods"]:
            ends = [_error(row, least) / _error(row, _last(row)) for row in here]
            told = listed(
                [f"{end:.2f} on {row['column']}" for end, row in zip(ends, here, strict=True)]
            )
            found.append(
                claim(
                    f"IIW converges within {'a few' if least == 5 else least} iterations "
                    f"({oracle}).",
                    [abs(end - 1) < 0.05 for end in ends],
                    f"Counted where the error after {least} is within 5 % of that after "
                    f"{_last(here[0])}; it is {told} times it.",
                )
            )
    if "30" in rows[0]["methods"]:
        gains = {
            name: [
                f"{_error(row, 30) / _error(row, 0):.2f} ({row['oracle']})"
                for row in rows
                if row["column"] == name
            ]
            for name in (SMOOTH, PERMUTED, ITEMS)
        }
        told = "; ".join(f"{name} {listed(gain)}" for name, gain in gains.items())
        found.append(
            "- *IIW significantly improves DW on the smooth column, and may worsen it on the "
            f"others.* Error after 30 iterations over that of DW: {told}."
        )
    return found


def _rows_say(rows: list[dict[str, Any]], uniform: float) -> list[str]:
    krr = {row["epsilon"]: row for row in rows if row["method"] == "KRR-IIW"}
    started = {row["epsilon"]: row for row in rows if row["method"] == "KRR-IIW-G"}
    bits = {row["epsilon"]: row for row in rows if row["method"] == "OUE-IIW"}
    noise = listed([f"{row['noise']:.2f} at {epsilon:g}" for epsilon, row in started.items()])
    found = []
    if 1 in started:
        first = started[1]
        moved = _error(first, _last(first)) / _error(first, 0)
        found.append(
            "- *At ε = 1 KRR-IIW-G is stuck at its start even after 200 iterations.* Its error "
            f"after {_last(first)} iterations is {moved:.2f} times that at the start, which is "
            f"{_error(first, 0) / uniform:.2f} times that of the answer 1/d everywhere "
            f"({1e9 * uniform:.0f})."
        )
    lowest = {
        epsilon: min(one["mse"]["mean"] for one in row["methods"].values())
        for epsilon, row in started.items()
        if epsilon >= 2
    }
    if lowest:
        found.append(
            claim(
                "From ε = 2 on it passes through a much lower error than KRR-IIW, even OUE-IIW.",
                [
                    least < min(_error(krr[e], _last(krr[e])), _error(bits[e], _last(bits[e])))
                    for e, least in lowest.items()
                ],
                "Its least error over the iterations, against both after "
                f"{_last(rows[0])}: "
                + listed(
                    [
                        f"{least / _error(krr[e], _last(krr[e])):.2f} and "
                        f"{least / _error(bits[e], _last(bits[e])):.2f} at {e:g}"
                        for e, least in lowest.items()
                    ]
                )
                + ".",
            )
        )
    found.append(
        "- *It may be used where d√Var* is below 1.* Here: "
        f"{noise}; the paper prints 10.93, 2.95, 0.99 and 0.36 at 1 to 4 for KRR."
    )
    return found
