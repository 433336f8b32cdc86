"""Which pages of a news portal are read most, from one private report for each click.

The table contains real clicks on 4,096 pages. Each is reported once, by Hadamard response with
epsilon 2, in two bytes that reveal hardly anything. Most pages are hardly ever read. The default
decoder for labels learns the distribution of the shares from the reports, so it is far closer than
the usual projection. A list with a false-discovery rate shows which pages stand out.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import lapwing as lw

TABLE = Path(__file__).parent / "data" / "kosarak_clicks.csv"
MOST = 10


def main() -> None:
    with TABLE.open(newline="") as stream:
        rows = [(row["page"], int(row["count"])) for row in csv.DictReader(stream)]
    pages = lw.Categories([f"page {page}" for page, _ in rows])
    clicks = np.array([count for _, count in rows])
    truth = clicks / clicks.sum()
    survey = lw.Survey("page", lw.randomizers.HadamardResponse(pages, epsilon=2))

    # As if every click were randomized on its reader's device; the tally has exactly that law.
    tally = lw.simulate(survey.randomizer, clicks, rng=1)
    result = survey.decode(tally)
    usual = survey.decode(tally, decoder=lw.LeastSquares())
    print(
        f"{tally.total:,} clicks, {survey.randomizer.report_width} bytes each, {survey.guarantee}"
    )
    print("squared error, in millionths:")
    for name, one in (("default decoder", result), ("projection on the simplex", usual)):
        print(f"  {name:26} {1e6 * np.sum((one.mass - truth) ** 2):8.1f}")

    print(f"the {MOST} most-read pages:      estimated    true")
    for symbol in np.argsort(-result.mass, kind="stable")[:MOST]:
        name = pages.listed[symbol]
        print(f"  {name:26} {result.mass[symbol]:8.2%} {truth[symbol]:8.2%}")

    found = survey.decode(tally, decoder=lw.papers.baselines.HeavyHitterSelection())
    held = sum(truth[pages.listed.index(value)] for value in found.values)
    print(f"{len(found)} pages stand out at a false-discovery rate of 5%: {held:.0%} of all clicks")


if __name__ == "__main__":
    main()
