"""Many people hold just the lowest value: every answer there holds how many they are."""

from __future__ import annotations

import asyncio
import csv
import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import LimitedWarning
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import open_end
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answers import answer_of
from lapwing.results.picture import Outline
from tests.cli.running import Program
from tests.service.one_collector import Site, site
from tests.service.pages.test_pages_html import fill, look, page_of

PEOPLE = 32_561
ADVICE = "not known. Declare 0 as an atom (--atom 0)"
INCOME = lw.Interval(0, 150_000)


def incomes() -> np.ndarray:
    """Incomes of which 24.8% are exactly 0."""
    rng = np.random.default_rng(4)
    earned = np.round(rng.lognormal(10.5, 0.8, PEOPLE)).clip(1, 150_000)
    return np.where(np.arange(PEOPLE) < round(0.248 * PEOPLE), 0.0, earned)


VALUES = incomes()
NOBODY = float((VALUES <= 0).mean())


def released(epsilon: float, **fields: Any) -> lw.Distribution:
    domain = lw.Interval(0, 150_000, **fields)
    made = lw.release(
        VALUES, domain, epsilon=epsilon, delta="1e-6", neighbors="replace-one", rng=lw.seeded(7)
    )
    return made.distribution


def survey_of(epsilon: float) -> lw.Survey:
    return lw.Survey("income", lw.recommend(INCOME, epsilon=epsilon, users=PEOPLE))


def reported(epsilon: float) -> lw.Distribution:
    survey = survey_of(epsilon)
    made = survey.decode(survey.tally(survey.randomize(VALUES, rng=lw.seeded(8))))
    assert isinstance(made, lw.Distribution)
    return made


@pytest.fixture(scope="module")
def results() -> dict[str, lw.Distribution]:
    makers = {"release": released, "reports": reported}
    return {
        f"{name} {epsilon}": make(epsilon) for name, make in makers.items() for epsilon in (1, 4)
    }


CASES = [f"{name} {epsilon}" for name in ("release", "reports") for epsilon in (1, 4)]


def holds(low: Any, high: Any, *, truth: float = NOBODY) -> bool:
    return float(low) <= truth <= float(high)


@pytest.mark.parametrize("case", CASES)
def test_python_holds_the_lowest_value(results: dict[str, lw.Distribution], case: str) -> None:
    result = results[case]
    first = float(result.domain.right[1])
    with pytest.warns(
        LimitedWarning, match=r"Declare 0 as an atom of the domain: atoms=\[0\]"
    ) as told:
        at_low = float(result.cdf(0))
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        assert result.cdf([0.0, first]).tolist()[0] == at_low
    ends = result.probability_interval(-math.inf, 0)
    assert ends is not None and holds(*ends) and ends[0] <= at_low <= ends[1]
    ends = result.probability_interval(0, math.inf, closed="right")
    assert ends is not None and holds(*ends, truth=1 - NOBODY)
    whole = result.probability_interval(-math.inf, first)
    for kind in ("pointwise", "simultaneous"):
        band = result.confidence_band(kind=kind)  # type: ignore[arg-type]
        assert band is not None and band.points[0] == 0
        assert holds(band.low[0], band.high[0]) and band.high[0] == band.high[1]
        assert holds(band.monotone().low[0], band.monotone().high[0])
        assert band.quantile(0.1) == (0.0, first)  # and not below 0
        table = result.to_dict(kind=kind)  # type: ignore[arg-type]
        assert table["right"][0] == 0 and table["cdf"][0] is None
        assert holds(table["low"][0], table["high"][0])
        frame = result.to_pandas(kind=kind)  # type: ignore[arg-type]
        assert math.isnan(frame["cdf"][0]) and holds(frame["low"][0], frame["high"][0])
        assert str(frame["cdf"].dtype) == "float64"
    assert whole is not None and result.quantile_interval(0.1) == (0.0, first)


@pytest.mark.parametrize("case", CASES)
def test_a_range_that_begins_at_low_holds_it(
    results: dict[str, lw.Distribution], case: str
) -> None:
    result = results[case]
    edge = float(result.domain.right[6])
    truth = float((edge >= VALUES).mean())
    assert result.probability(0, edge) == result.probability(0, edge, closed="both")
    ends = result.probability_interval(0, edge)
    assert ends == result.probability_interval(0, edge, closed="both")
    assert ends is not None and ends[0] > 0.1 and holds(*ends, truth=truth)
    ends = result.probability_interval(0, edge, closed="right")
    assert ends is not None and holds(*ends, truth=truth - NOBODY)


def test_a_refused_value_is_not_below() -> None:
    domain = lw.Interval(0, 150_000, bins=64, outside="refuse")
    channel = lw.RandomizedResponse(domain, 4)
    counts = np.bincount(domain.index(VALUES), minlength=64)
    made = lw.LeastSquares().decode(channel.channel, lw.simulate(channel, counts, rng=5))
    edge = float(domain.right[3])
    assert made.probability_interval(0, edge) == made.probability_interval(-math.inf, edge)
    ends = made.probability_interval(-math.inf, 0)
    assert ends is not None and holds(*ends)


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_holds_it(
    results: dict[str, lw.Distribution], case: str, done: Program
) -> None:
    result = results[case]
    Path("r.json").write_text(result.to_json())
    asked = ("answer", "r.json", "--at-most", "0")
    run = done(*asked)
    assert ADVICE in " ".join(run.out.replace("│", " ").split())
    (row,) = done(*asked, "--json").document["questions"]
    assert row["share"] is None and row["reason"] == ADVICE and holds(row["low"], row["high"])
    assert row["low"] < 0.01
    (row,) = done("answer", "r.json", "--above", "0", "--json").document["questions"]
    assert row["reason"] == ADVICE and holds(row["low"], row["high"], truth=1 - NOBODY)
    done(*asked, "--csv", "a.csv")
    (cells,) = csv.DictReader(Path("a.csv").read_text().splitlines())
    assert cells["share"] == ADVICE and holds(cells["low"], cells["high"])
    done("show", "r.json", "--csv", "t.csv")
    cells = next(csv.DictReader(Path("t.csv").read_text().splitlines()))
    assert float(cells["right"]) == 0 and cells["cdf"] == ""
    assert holds(cells["low"], cells["high"])


@pytest.mark.parametrize("case", CASES)
def test_pictures_and_curves_hold_it(results: dict[str, lw.Distribution], case: str) -> None:
    result = results[case]
    (_, curves) = result._pictures()
    for band in curves.bands:  # type: ignore[union-attr]
        outline = Outline.of_band(band, curves.axis, stepped=False, outside=True)  # type: ignore[union-attr]
        assert outline.x[0] == 0 and holds(outline.low[0], outline.high[0])
    answer: Any = answer_of(result, AnswerRequest(curve=True))
    start = answer["curve"]["start"]
    assert holds(start["low"], start["high"])
    assert holds(start["simultaneous_low"], start["simultaneous_high"])


@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_a_difference_holds_it(results: dict[str, lw.Distribution], kind: Any) -> None:
    domain = lw.Interval(0, 150_000, bins=150)
    rest = np.where(VALUES == 0, 700.0, VALUES)  # nobody has nothing, and as many as before little
    one, two = (
        lw.release(
            values, domain, epsilon=1, delta="1e-6", neighbors="replace-one", rng=lw.seeded(seed)
        ).distribution
        for seed, values in enumerate((VALUES, rest))
    )
    difference = one.difference(two, people="different")
    band = difference.confidence_band(kind=kind)
    assert band is not None and holds(band.low[0], band.high[0])
    assert band.low[0] < -0.2  # as well as that, nobody knows it
    table = difference.to_dict(kind=kind)
    assert table["cdf"][0] is None and holds(table["low"][0], table["high"][0])
    assert (table["low"][0], table["high"][0]) == (band.low[0], band.high[0])


def test_an_atom_at_low_changes_nothing() -> None:
    result = released(1, atoms=[0])
    ends = result.probability_interval(-math.inf, 0)
    assert ends is not None and holds(*ends) and ends[1] - ends[0] < 0.01
    assert float(result.cdf(0)) == pytest.approx(NOBODY, abs=0.01)
    band = result.confidence_band()
    assert band is not None and band.below is None and band.high[0] < 0.01
    answer: Any = answer_of(result, AnswerRequest(shares=[lw.questions.Share(above=0)]))
    assert answer["questions"][0]["share"] == pytest.approx(1 - NOBODY, abs=0.01)
    assert result.to_dict()["cdf"][0] < 0.01
    assert result.probability(0, 1000) < 0.1  # the atom is not in (0, 1000]


def test_the_highest_value_of_bins_closed_on_the_left() -> None:
    values = np.where(np.arange(10_000) < 3000, 100.0, np.arange(10_000) % 97)
    domain = lw.Interval(0, 100, bins=10, closed="left")
    made = lw.release(
        values, domain, epsilon=1, delta="1e-6", neighbors="replace-one", rng=lw.seeded(1)
    ).distribution
    for asked, truth in (
        (lw.questions.Share(at_least=100), 0.3),
        (lw.questions.Share(below=100), 0.7),
    ):
        answer: Any = answer_of(made, AnswerRequest(shares=[asked]))
        (row,) = answer["questions"]
        assert row["share"] is None and "Declare 100" in row["reason"]
        assert holds(row["low"], row["high"], truth=truth)


@pytest.mark.parametrize(
    ("domain", "below", "above"),
    [
        (lw.Integers(0, 20), None, "at_least"),
        (lw.Integers(1, 20), "at_most", "at_least"),
        (lw.Integers(0, 20, outside="refuse"), None, None),
        (lw.Interval(0, 20, bins=5, outside="refuse"), None, None),
        (lw.Interval(0, 20, bins=5), "at_most", "above"),
    ],
)
def test_a_hard_end_is_not_open(domain: Domain, below: str | None, above: str | None) -> None:
    assert (open_end(domain, 0), open_end(domain, domain.size - 1)) == (below, above)


def test_a_count_of_none_is_not_called_none_or_less() -> None:
    children = np.random.default_rng(2).poisson(0.7, 5000)
    made = lw.release(
        children,
        lw.Integers(0, 12),
        epsilon=1,
        delta="1e-6",
        neighbors="replace-one",
        rng=lw.seeded(1),
    )
    answer: Any = answer_of(made.distribution, AnswerRequest(shares=[lw.questions.Share(label=0)]))
    assert "or less" not in made.distribution.summary() and "at_most" not in str(
        [answer["quantiles"], answer["atoms"]]
    )
    assert answer["questions"][0]["left"] is None is answer["questions"][0]["right"]


def test_a_page_of_the_collector_holds_it(tmp_path: Path) -> None:
    survey = survey_of(4)

    async def run() -> None:
        async with site(tmp_path) as here:
            await here.publish(survey)
            await asked(here)

    async def asked(here: Site) -> None:
        await fill(here, survey, VALUES)
        page = await look(here, page_of(survey, high="0"))
        said = re.search(r"Share of people at most 0.*?interval ([\d.]+)% to ([\d.]+)%", page)
        assert said is not None and ADVICE in said[0]
        low, high = (float(end) / 100 for end in said.groups())
        assert holds(low, high)
        page = await look(here, page_of(survey, low="0", high="60000"))
        assert "Share of people at least 0, at most 60000" in page

    asyncio.run(run())
