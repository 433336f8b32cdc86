"""The whole job on two real columns: randomize, tally in batches, merge, decode, compare, plot.

Both surveys use the randomizer that `lapwing.recommend` names, and decode with its decoder. Run it
with `make demo`, or `python examples/demo.py [folder for the files]`. Nothing is simulated:
every person's value is randomized on its own, with secure randomness, so each run differs a little.
Here the truth is known and shown next to every answer. In real use, nobody would know it.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

import lapwing as lw
from lapwing.protocol.domains.units import to_text

BATCHES = 8
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
BEFORE = {
    "nothing": "who knew nothing (every bin equally likely)",
    "the answer": "who knew the published answer above",
}


@dataclass(frozen=True)
class Column:
    """One real column, what is asked about it, and how its numbers are written."""

    title: str
    finding: str  # the title of the picture
    table: lw.datasets.CountTable
    folder: str
    survey: lw.Survey
    text: Callable[[float], str]
    length: str  # a distance in this unit, for people; formatted with the number
    length_scale: float
    label: str  # of the values, in the picture
    person: int  # whose single report is looked at
    ranges: tuple[tuple[str, float, float], ...]  # of values: (name, from, up to but without)
    knows: str  # what the observer of that report knew before: "nothing" or "the answer"


TAXI = Column(
    title="NYC taxi trips: time of day of the pick-up",
    finding="Taxi trips peak in the evening",
    table=lw.datasets.load_taxi(),
    folder="taxi",
    survey=lw.Survey(
        "taxi pick-up time",
        lw.MultiscaleWave(
            lw.Interval("00:00", "24:00", bins=144, unit="time-of-day", circular=True), epsilon=1
        ),
    ),
    text=lambda seconds: to_text(seconds, unit="time-of-day")[:5],
    length="{:.1f} minutes",
    length_scale=1 / 60,
    label="time of day",
    person=1234,
    ranges=(
        ("00:00-06:00", 0, 6 * 3600),
        ("06:00-12:00", 6 * 3600, 12 * 3600),
        ("12:00-18:00", 12 * 3600, 18 * 3600),
        ("18:00-24:00", 18 * 3600, 24 * 3600),
    ),
    knows="nothing",
)

INCOME = Column(
    title="Incomes: US dollars in a year, American Community Survey 2019",
    finding="Half of the people earn at most about 30,000 dollars",
    table=lw.datasets.load_income(),
    folder="income",
    # Many people have exactly 0, so 0 is declared to be a symbol of its own.
    survey=lw.Survey(
        "income in 2019",
        lw.MultiscaleWave(lw.Interval(0, 2**19, bins=128, atoms=(0,)), epsilon=2),
    ),
    text=lambda dollars: f"{dollars:,.0f}",
    length="{:,.0f} dollars",
    length_scale=1,
    label="income, dollars a year",
    person=42,
    ranges=(
        ("exactly 0", 0, 0),
        ("up to 24,576", 0, 24_576),
        ("up to 49,152", 24_576, 49_152),
        ("up to 98,304", 49_152, 98_304),
        ("more", 98_304, 2**19),
    ),
    knows="the answer",
)


def read_values(column: Column) -> np.ndarray:
    """Return one value per person from a table of counts, in an order that says nothing."""
    return np.random.default_rng(1).permutation(column.table.values())


def new_table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def say(console: Console, text: str) -> None:
    """Print an indented paragraph, wrapped to the width of the terminal (80 when piped)."""
    console.print(Padding(text, (0, 0, 0, 2)))


class Steps:
    """Prints each step in one line, with the time since the one before."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.started = time.perf_counter()

    def done(self, verb: str, what: str) -> None:
        seconds = time.perf_counter() - self.started
        self.console.print(f"  [bold]{verb:<10}[/bold] {what} [dim]({seconds:.2f} s)[/dim]")
        self.started = time.perf_counter()


def collect(column: Column, values: np.ndarray, console: Console) -> lw.Distribution:
    """Send every person's value through the survey, and return the decoded distribution."""
    survey, steps = column.survey, Steps(console)
    randomizer = survey.randomizer
    console.print(
        f"  [bold]{'survey':<10}[/bold] {randomizer.domain.size} symbols, epsilon "
        f"{float(randomizer.epsilon):g}, fingerprint {survey.fingerprint[:12]}"
    )
    batches = [survey.randomize(part) for part in np.array_split(values, BATCHES)]
    steps.done("randomize", f"{values.size:,} values, {randomizer.report_width} bytes a report")
    tallies = [survey.tally(batch) for batch in batches]
    counts = sum(block.size for block in tallies[0].blocks)
    steps.done("tally", f"{BATCHES} batches, each into {counts:,} counts")
    tally = sum(tallies)
    same = "the same" if sum(tallies[::-1]) == tally else "NOT the same"
    steps.done("merge", f"{tally.total:,} reports, and backwards it is {same} tally")
    answer = survey.decode(tally)
    steps.done("decode", f"by {answer.provenance['class']}")
    return save(column, tally, answer)


def save(column: Column, tally: lw.tallies.CountTally, answer: lw.Distribution) -> lw.Distribution:
    """Write the three documents that the commands read, and return the answer as read back."""
    folder = FOLDER / column.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "survey.json").write_text(column.survey.to_json())
    (folder / "tally.json").write_text(json.dumps(tally.to_document()))
    (folder / "distribution.json").write_text(answer.to_json())
    return lw.Distribution.from_json((folder / "distribution.json").read_text())


def compare(column: Column, values: np.ndarray, answer: lw.Distribution, console: Console) -> None:
    """Print quantiles and distances, with the truth."""
    truth = lw.results.Cumulative.of_values(values)
    band = answer.confidence_band(0.95)
    table = new_table("quantile", "estimate", "95% interval", "truth", "inside")
    domain = column.survey.randomizer.domain
    start = domain.low if domain.circular else None  # the band begins there
    for probability in QUANTILES:
        low, high = band.quantile(probability)
        true = float(truth.quantile(probability))
        table.add_row(
            f"{probability:g}",
            column.text(float(answer.cumulative.quantile(probability, start=start))),
            f"{column.text(low)} to {column.text(high)}",
            column.text(true),
            "yes" if low <= true <= high else "no",
        )
    console.print(table)
    say(
        console,
        f"The method of the band: {band.method}. It misses one time in twenty, by chance. "
        "Intervals end at whole bins.",
    )
    length = domain.high - domain.low
    distance = lw.distances.wasserstein(answer, truth)
    table = new_table("distance to the truth", "value", "on a domain of length 1")
    table.add_row(
        "Wasserstein-1",
        column.length.format(distance * column.length_scale),
        f"{distance / length:.5f}",
    )
    table.add_row(
        "Kolmogorov-Smirnov", f"{lw.distances.kolmogorov_smirnov(answer, truth):.4f}", "the same"
    )
    table.add_row("energy", "", f"{lw.distances.energy(answer, truth) / math.sqrt(length):.5f}")
    console.print(table)
    inside = band.share_inside(truth.at(band.points))
    say(
        console,
        f"The band holds the truth at {inside:.0%} and the estimate at "
        f"{band.share_inside(answer.cumulative.sums):.0%} of the bin edges.",
    )


def observe(column: Column, values: np.ndarray, answer: lw.Distribution, console: Console) -> None:
    """Print what an observer of one person's report could learn."""
    randomizer = column.survey.randomizer
    domain = randomizer.domain
    report = randomizer.randomize(values[column.person : column.person + 1])
    certificate = randomizer.certificate().check()
    console.print()
    say(
        console,
        f"[bold]One report.[/bold] Person {column.person} has "
        f"{column.text(float(values[column.person]))}, and their device sent "
        f"{report.data[0].tobytes().hex()}. The first byte is the group, drawn by public "
        "randomness. The rest marks a set of values as likelier, all by the same factor. "
        f"An observer {BEFORE[column.knows]} learns this:",
    )
    # How often values send what was counted here takes two levels, near and far, whose
    # probabilities have the certified ratio.
    sent = randomizer.tally(report)
    group = int(np.argmax(sent.reports))
    chance = randomizer.channel.blocks[group].operator.rmatvec(sent.blocks[group].astype(float))
    # A group may hold all values in one set: its reports tell nothing.
    nearness = (chance - chance.min()) / (np.ptp(chance) or 1.0)
    likelihood = 1 + (float(certificate.ratio) - 1) * nearness
    uniform = np.full(domain.size, 1 / domain.size)
    prior = uniform if column.knows == "nothing" else answer.mass
    posterior = prior * likelihood / float(prior @ likelihood)
    table = new_table("the value is", "before", "after", "factor")
    for name, low, high in column.ranges:
        part = (domain.left >= low) & (domain.right <= high)
        if low < high:
            part &= domain.left < domain.right
        before, after = float(prior[part].sum()), float(posterior[part].sum())
        table.add_row(name, f"{before:.1%}", f"{after:.1%}", f"{after / before:.2f}")
    console.print(table)
    epsilon, ratio = float(certificate.epsilon), certificate.ratio
    say(
        console,
        f"For any value, report and earlier knowledge, no factor can exceed "
        f"e^{epsilon:g} = {math.exp(epsilon):.6f}. The certificate: the exact worst ratio of two "
        f"probabilities is {float(ratio):.15f}, a quotient of whole numbers, and below "
        f"e^{epsilon:g} by a part of {float((certificate.bound - ratio) / certificate.bound):.0e}. "
        f"A second report about the same value would make it e^{2 * epsilon:g}.",
    )


def draw(column: Column, values: np.ndarray, answer: lw.Distribution) -> Path:
    """Write the density and the CDF with its band, and the truth."""
    truth = lw.Distribution.of_values(values, answer.domain)
    axes = answer.plot(truth=truth, title=column.finding, label=column.label)
    path = FOLDER / f"{column.folder}.png"
    axes.figure.savefig(path, dpi=180)
    return path


def main() -> None:
    """Run both columns."""
    console = Console(highlight=False)
    started = time.perf_counter()
    pictures = []
    for number, column in enumerate((TAXI, INCOME), start=1):
        console.rule(f"[bold]{number}. {column.title}", align="left", characters="-")
        values = read_values(column)
        answer = collect(column, values, console)
        compare(column, values, answer, console)
        observe(column, values, answer, console)
        pictures.append(draw(column, values, answer))
        console.print()
    console.rule("[bold]Files", align="left", characters="-")
    for picture in pictures:
        folder = picture.with_suffix("")
        say(console, f"{picture}, and {folder}/: survey.json, tally.json, distribution.json")
    say(console, f"All of it took {time.perf_counter() - started:.1f} s.")
    survey = FOLDER / TAXI.folder / "survey.json"
    console.print("\n  Next, in the environment where this ran:", soft_wrap=True)
    console.print(f"    lapwing verify {survey}", soft_wrap=True)
    console.print(
        f"    lapwing decode {survey} {survey.with_name('tally.json')} --decoder "
        "penalized-likelihood",
        soft_wrap=True,
    )


FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-output")

if __name__ == "__main__":
    main()
