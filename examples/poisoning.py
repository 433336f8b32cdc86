"""How far a few fake reports move an answer, if each says "high" as strongly as a report can.

A collector cannot distinguish a fabricated report from an honest one, because every accepted
report can come from every value. The collector can only count each report once. A fabricated
report moves the estimate by 1 / (p - q) people on average. Here p and q are the probabilities of
its output from its own value and from another one. This is the price of deniability, and it falls
with epsilon. Table: docs/guides/local/fabricated-reports.md
"""

from __future__ import annotations

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import lapwing as lw
from lapwing.protocol.messages.reports import pack_codes

FAKES = (0.0, 0.001, 0.01, 0.05)
HIGH = 262_144  # the upper half of the domain, which few people really reach
REPEATS = 5


def fake_reports(
    randomizer: lw.SquareWave | lw.randomizers.OptimizedUnaryEncoding, number: int
) -> lw.Reports:
    """Return legal reports that push as much mass as they can into the upper half."""
    if isinstance(randomizer, lw.randomizers.OptimizedUnaryEncoding):
        bits = np.zeros(8 * randomizer.report_width, dtype=np.uint8)
        bits[randomizer.domain.size // 2 : randomizer.domain.size] = 1
        data = np.tile(np.packbits(bits, bitorder="little"), (number, 1))
    else:
        # As if the value were the highest and chance always told the truth.
        window = np.arange(randomizer._outputs - randomizer._near, randomizer._outputs)
        data = pack_codes(np.resize(window, number), width=randomizer.report_width)
    return lw.Reports(data, randomizer.fingerprint)


def answers(
    randomizer: lw.SquareWave | lw.randomizers.OptimizedUnaryEncoding,
    counts: np.ndarray,
    share: float,
) -> tuple[float, float]:
    """Return the estimated median and share above HIGH when a share of all reports is fake."""
    honest = int(counts.sum())
    fakes = round(honest * share / (1 - share))
    decoder = (
        lw.ExpectationMaximization(smoothed=True, band=False)
        if isinstance(randomizer, lw.SquareWave)
        else lw.LeastSquares()
    )
    medians, highs = [], []
    for repeat in range(REPEATS):
        tally = lw.simulate(randomizer, counts, rng=repeat)
        if fakes:
            tally = tally + randomizer.tally(fake_reports(randomizer, fakes))
        answer = decoder.decode(randomizer.channel, tally)
        medians.append(float(answer.quantile(0.5)))
        highs.append(answer.probability(HIGH, np.inf))
    return float(np.mean(medians)), float(np.mean(highs))


def main() -> None:
    """Print the table of docs/guides/local/fabricated-reports.md."""
    values = lw.datasets.load_income().values()
    domain = lw.Interval(0, 2**19, bins=128)
    counts = np.bincount(domain.index(values), minlength=domain.size)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("randomizer", "epsilon", "fakes", "median", f"share above {HIGH:,}"):
        table.add_column(heading, justify="right", no_wrap=True)
    truth = lw.Distribution.of_counts(counts, domain)
    for share in FAKES:
        median = np.quantile(np.append(values, np.full(round(values.size * share), 2**19)), 0.5)
        high = truth.probability(HIGH, np.inf) * (1 - share) + share
        table.add_row("none: raw values", "-", f"{share:.1%}", f"{median:,.0f}", f"{high:.1%}")
    for kind in (lw.SquareWave, lw.randomizers.OptimizedUnaryEncoding):
        for epsilon in (1, 4):
            randomizer = kind(domain, epsilon)
            for share in FAKES:
                median, high = answers(randomizer, counts, share)
                table.add_row(
                    randomizer.name, f"{epsilon}", f"{share:.1%}", f"{median:,.0f}", f"{high:.1%}"
                )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
