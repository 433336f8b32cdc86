"""The convolution paper's figures 2 to 5, and appendix B: noise, convergence, unknown channels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.local.methods import Method
from benchmarks.accuracy.papers.convolution.convergence_claims import claims, uniform_error
from benchmarks.accuracy.papers.convolution.convolution_columns import (
    EACH_ALONE,
    ITEMS,
    MAIN,
    ORACLES,
    SMOOTH,
    Known,
    drawn_from,
    head,
    mse,
    on_rows,
    populations,
    run,
    squared_cell,
)
from benchmarks.accuracy.papers.figure_columns import Population, interval
from benchmarks.accuracy.papers.figure_runs import best, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import figure as digits
from benchmarks.markdown import table
from benchmarks.signed_decoder import SignedDecoder
from lapwing.papers.convolution.channel_identification import (
    channel_from_one_input,
    channel_from_support,
    epsilon_from_support,
)
from lapwing.papers.convolution.wiener import noise_spectrum

__all__ = ["FULL", "INDEX", "QUICK", "TITLE", "claims", "measure", "section"]

TITLE = "The convolution paper: figures 2 to 5, and unknown channels"
INDEX = (
    Entry("figure 1", "Figure 1, the framework", "figure-1"),
    Entry("figure 2", "Figure 2, the columns", "figure-2"),
    Entry("figure 3", "Figure 3, spectrum of the noise", "figure-3"),
    Entry("figure 4", "Figure 4, convergence of IIW", "figure-4"),
    Entry("figure 5", "Figure 5, IIW and IIW-G by ε", "figure-5"),
    Entry("section IV-C", "Sources of the spectra"),
    Entry("appendix B", "Channels that must be guessed (appendix B)"),
)

FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 30,
    "repeats_of_items": 10,
    "bins": 1000,
    "column": "taxi",
    "labels": "kosarak",
    "items": 41_270,
    "iterations": [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200],
    "epsilons": [1, 2, 3, 4],
}
QUICK: dict[str, Any] = {
    "seed": 0,
    "repeats": 2,
    "repeats_of_items": 2,
    "bins": 100,
    "column": "beta52",
    "labels": "beta52",
    "items": 1_000,
    "iterations": [0, 10, 30, 50],
    "epsilons": [4],
}

OF_ONE_INPUT = 1_000_000
"""Reports that the first way of appendix B asks of one known input."""

MEASURED_RUNS = 50
"""Simulated tallies whose mean power is the measured noise spectrum."""

RUNS = 10
"""Runs whose mean spectrum figure 3 shows beside that of one."""

DRAWN = 250
"""Points of a drawn spectrum or column, at most."""


def measure(
    *,
    seed: int,
    repeats: int,
    repeats_of_items: int,
    bins: int,
    column: str,
    labels: str,
    items: int,
    iterations: Sequence[int],
    epsilons: Sequence[float],
) -> dict[str, Any]:
    """Return columns, spectra, errors by iteration, and errors with a guessed channel."""
    columns = populations(column, labels, items, seed)
    smooth = columns[SMOOTH]
    shape = {
        name: (items, repeats_of_items) if name == ITEMS else (bins, repeats) for name in columns
    }
    return {
        "columns": {name: drawn_from(one, shape[name][0]) for name, one in columns.items()},
        "data": {
            name: _shown(one.law(shape[name][0]), ranked=name == ITEMS)
            for name, one in columns.items()
        },
        "spectra": [
            {"column": name, "oracle": oracle, **_spectrum(name, one, oracle, *shape[name], seed)}
            for oracle in ORACLES
            for name, one in columns.items()
        ],
        "by_column": [
            {
                "column": name,
                "oracle": oracle,
                "epsilon": MAIN,
                **_converge(
                    "figure 4", name, one, oracle, "iterative", MAIN, iterations, *shape[name], seed
                ),
            }
            for oracle in ORACLES
            for name, one in columns.items()
        ],
        "by_epsilon": [
            {
                "column": name,
                "method": label,
                "oracle": oracle,
                "epsilon": epsilon,
                "noise": bins * math.sqrt(_variance(oracle, epsilon, bins, one.people)),
                "uniform": uniform_error(one.law(bins)),
                **_converge(
                    *("figure 5", name, one, oracle, method, epsilon, iterations, bins),
                    *(repeats, seed),
                ),
            }
            for name, one in on_rows(columns)
            for oracle, method, label in (
                ("KRR", "iterative", "KRR-IIW"),
                ("KRR", "iterative-from-reports", "KRR-IIW-G"),
                ("OUE", "iterative", "OUE-IIW"),
            )
            for epsilon in epsilons
        ],
        "sources": [
            {
                "oracle": oracle,
                "epsilon": epsilon,
                "methods": _sources(smooth, oracle, bins, epsilon, repeats, seed),
            }
            for oracle in ORACLES
            for epsilon in epsilons
        ],
        "blind": [_blind(smooth, bins, epsilon, repeats, seed) for epsilon in epsilons],
    }


def _shown(law: Any, *, ranked: bool) -> dict[str, Any]:
    """Return what figure 2 draws, and the shares of the most and the tenth most frequent value."""
    step = max(1, law.size // DRAWN) if ranked else 1
    high = np.sort(law)[::-1]
    tops = [float(law[start : start + step].max()) for start in range(0, law.size, step)]
    return {
        "step": step,
        "shares": [float(f"{share:.3g}") for share in tops],
        "largest": float(high[0]),
        "tenth": float(high[9]),
    }


def _spectrum(
    name: str, one: Population, oracle: str, bins: int, repeats: int, seed: int
) -> dict[str, Any]:
    """Return the noise power of one run and of the mean of ten, over the analytic power."""
    randomizer = ORACLES[oracle](interval(bins), MAIN)
    block = randomizer.channel.blocks[0]
    analytic = noise_spectrum(block, one.people)
    off: dict[str, list[float]] = {"measured": [], "one": [], "ten": [], "zero": []}
    drawn: dict[str, list[float]] = {}
    for repeat in range(repeats):
        powers = []
        for number in range(RUNS):
            rng = stream(seed, "figure 3", name, oracle, f"{bins} values", repeat, number)
            counts = one.draw(bins, rng)
            tally = lw.simulate(randomizer, counts, rng=rng)
            noise = tally.blocks[0] / one.people - block.mean(counts / one.people)
            powers.append(np.abs(np.fft.fft(noise)) ** 2)
        first, mean = powers[0], np.mean(powers, axis=0)
        off["measured"].append(float((mean[1:] / analytic[1:]).mean()))
        off["one"].append(_far(first, analytic))
        off["ten"].append(_far(mean, analytic))
        off["zero"].append(float(mean[0] / analytic[1:].mean()))
        if not repeat:
            step = max(1, bins // 2 // DRAWN)
            drawn = {
                "frequencies": list(range(1, bins // 2, step)),
                "one": _rounded(first[1 : bins // 2 : step]),
                "ten": _rounded(mean[1 : bins // 2 : step]),
                "analytic": _rounded(analytic[1 : bins // 2 : step]),
            }
    exact = float(analytic[1:].mean())
    return {
        "methods": kept_figures({"power": off}),
        "drawn": drawn,
        "analytic_zero": float(analytic[0]) / exact,
        "printed": _equation_20(oracle, MAIN, bins, one.people) / exact,
    }


def _far(power: Any, analytic: Any) -> float:
    """Return the root mean square distance of a spectrum from the analytic one, in parts of it."""
    return float(np.sqrt(((power[1:] / analytic[1:] - 1) ** 2).mean()))


def _rounded(numbers: Any) -> list[float]:
    return [float(f"{number:.3g}") for number in numbers]


def _sources(
    one: Population, oracle: str, bins: int, epsilon: float, repeats: int, seed: int
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
        rng = stream(seed, "measured spectrum", oracle, f"epsilon {epsilon:g}", repeat)
        tally = lw.simulate(randomizer, people, rng=rng)
        difference = tally.blocks[0] / one.people - block.mean(people / one.people)
        noise += np.abs(np.fft.fft(difference)) ** 2 / MEASURED_RUNS
    direct: dict[str, Any] = {"method": "direct", "band": False}
    decoders = {
        "analytic": SignedDecoder(lw.papers.convolution.Wiener(**direct)),
        "equation 20": SignedDecoder(
            lw.papers.convolution.Wiener(
                **direct, noise=_equation_20(oracle, epsilon, bins, one.people)
            )
        ),
        "measured": SignedDecoder(
            lw.papers.convolution.Wiener(**direct, noise=tuple(noise.tolist()))
        ),
        "true signal": SignedDecoder(
            lw.papers.convolution.Wiener(**direct, signal=tuple(signal.tolist()))
        ),
    }
    return run(
        SMOOTH,
        one,
        [Method(name, ORACLES[oracle], decoder) for name, decoder in decoders.items()],
        {"mse": mse},
        figure=f"sources, {oracle}",
        bins=bins,
        epsilon=epsilon,
        repeats=repeats,
        seed=seed,
    )


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
    figure: str,
    name: str,
    one: Population,
    oracle: str,
    method: Any,
    epsilon: float,
    iterations: Sequence[int],
    bins: int,
    repeats: int,
    seed: int,
) -> dict[str, Any]:
    """Return errors by iteration; IIW and IIW-G of one oracle meet the same reports."""
    methods = [
        Method(
            str(number),
            ORACLES[oracle],
            SignedDecoder(
                lw.papers.convolution.Wiener(method=method, iterations=number, band=False)
            ),
        )
        for number in iterations
    ]
    found = run(
        *(name, one, methods, {"mse": mse}),
        figure=figure,
        bins=bins,
        epsilon=epsilon,
        repeats=repeats,
        seed=seed,
    )
    return {"methods": found}


def _blind(one: Population, bins: int, epsilon: float, repeats: int, seed: int) -> dict[str, Any]:
    """Return squared errors with the guessed channel over those with the known one."""
    domain = interval(bins)
    response, bits = (oracle(domain, epsilon) for oracle in ORACLES.values())
    found: dict[str, list[float]] = {"guess": [], "support": [], "one_input": []}
    for repeat in range(repeats):
        rng = stream(seed, "appendix B", f"epsilon {epsilon:g}", repeat)
        counts = one.draw(bins, rng)
        known = Known.of(counts)

        def over(guessed: Any, channel: Any, tally: Any, known: Known = known) -> float:
            return mse(EACH_ALONE.decode(guessed, tally), known) / mse(
                EACH_ALONE.decode(channel, tally), known
            )

        tally = lw.simulate(bits, counts, rng=rng)
        found["guess"].append(epsilon_from_support(tally, protocol="optimized-unary-encoding"))
        guessed = channel_from_support(domain, tally, protocol="optimized-unary-encoding")
        found["support"].append(over(guessed, bits.channel, tally))
        probe = np.zeros(bins, dtype=np.int64)
        probe[0] = OF_ONE_INPUT
        learned = channel_from_one_input(
            domain, lw.simulate(response, probe, rng=rng), value=domain.low
        )
        found["one_input"].append(
            over(learned, response.channel, lw.simulate(response, counts, rng=rng))
        )
    return {"epsilon": epsilon, **kept_figures({"blind": found})["blind"]}


# The page.


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables of figures 2 to 5 and what they say."""
    said: dict[str, list[str]] = {}
    for one in claims(measured):
        said.setdefault(one.where, []).append(one.line())

    def of(where: str) -> str:
        return "\n".join(said.pop(where))

    parts = [
        head(measured["columns"], settings),
        "### Figure 1, the framework",
        "![Figure 1: reports as a convolution with noise](figures/figure-1.png)",
        "A pure protocol's mean counts are the shares convolved with `[p*, q*, ..., q*]`, and the "
        "counts carry noise (theorem 1); a Wiener filter takes the place of equation 1.",
        "### Figure 2, the columns",
        "![Figure 2: the columns](figures/figure-2.png)",
        _data_table(measured),
        of("figure 2"),
        "### Figure 3, spectrum of the noise",
        "![Figure 3: spectra of the noise](figures/figure-3.png)",
        f"ε = {MAIN:g}. Power of the noise of counts / reports, over the analytic power off "
        f"frequency 0: the mean over all frequencies but 0 of the mean of {RUNS} runs; the root "
        f"mean square distance from the analytic spectrum of one run and of the mean of {RUNS}; at "
        "frequency 0 (measured, analytic); and equation 20.",
        _spectra_table(measured["spectra"]),
        of("figure 3"),
        "### Figure 4, convergence of IIW",
        "![Figure 4: error by iteration](figures/figure-4.png)",
        f"ε = {MAIN:g}. Iteration 0 is DW, which the paper counts as the first. The least of a row "
        "is bold.",
        _iterations(measured["by_column"], ["oracle", "column"]),
        of("figure 4"),
        "### Figure 5, IIW and IIW-G by ε",
        "![Figure 5: IIW and IIW-G by iteration](figures/figure-5.png)",
        "Noise: d√Var, the standard deviation of a share over the mean share.",
        *(
            _iterations(
                [row for row in measured["by_epsilon"] if row["column"] == name],
                ["column", "method", "epsilon", "noise"],
            )
            for name in dict.fromkeys(row["column"] for row in measured["by_epsilon"])
        ),
        of("figure 5"),
        "### Sources of the spectra",
        f"DW on {SMOOTH}, with the noise spectrum from the block's covariance, from equation "
        f"20, or measured in {MEASURED_RUNS} simulated tallies; and with the true spectrum of "
        "the signal.",
        _sources_table(measured["sources"]),
        of("section IV-C"),
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
        of("appendix B"),
    ]
    return "\n\n".join(parts)


def _data_table(measured: Mapping[str, Any]) -> str:
    rows = []
    for name, one in measured["data"].items():
        about = measured["columns"][name]
        rows.append(
            [
                name,
                f"{about['people']:,}",
                f"{about['bins']:,}",
                f"{about['people'] * one['largest']:,.0f}",
                f"{about['people'] * one['tenth']:,.0f}",
            ]
        )
    rows.append(["the paper's Taxi, RP Taxi", "2,834,264", "100 to 1,000", "–", "–"])
    rows.append(["the paper's Kosarak", "8,019,015", "41,270", "601,374", "65,412"])
    return table(["column", "people", "values", "of the largest", "of the tenth largest"], rows)


def _spectra_table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for row in rows:
        power = row["methods"]["power"]
        lines.append(
            [
                row["oracle"],
                row["column"],
                *(_number(power[key]) for key in ("measured", "one", "ten")),
                f"{power['zero']['mean']:.2g} ± {power['zero']['standard_error']:.1g}",
                f"{row['analytic_zero']:.2g}",
                f"{row['printed']:.5f}",
            ]
        )
    titles = ["measured", "one run off by", f"mean of {RUNS} off by", "at 0", "analytic at 0"]
    return table(["oracle", "column", *titles, "equation 20"], lines, texts=2)


def _number(found: Mapping[str, Any]) -> str:
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
    titles = ["ε" if key == "epsilon" else key for key in starts]
    return table([*titles, *names], lines, texts=len(starts))


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
