"""Where a domain says that values are whole numbers, means and moments take such numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import DomainError
from lapwing.planning.chosen_bins import ADVICE, advice_on, with_bins
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.ranges import held_values
from lapwing.protocol.messages.exact_counts import counts_of
from tests.cli.running import Program
from tests.rows import each

MINUTES = lw.Interval(0, 240, bins=240)
WAITING = np.minimum(np.random.default_rng(3).gamma(3, 30, 20_000).round() + 1, 240)

DOMAINS = [
    lw.Interval(0, 600, bins=bins, whole=True, closed=closed, atoms=atoms, outside=outside)
    for bins in (600, 60, 37)
    for closed in ("left", "right")
    for atoms in ((), (0,), (0, 30, 600))
    for outside in ("overflow", "clip", "refuse")
]


@each("domain", DOMAINS)
def test_moments_are_those_of_the_numbers_in_each_bin(domain: lw.Interval) -> None:
    made = lw.Distribution.of_values(WAITING, domain)
    numbers = np.arange(601.0)
    symbols = domain.index(numbers)
    first, last = held_values(domain)
    expected = {}
    for order in range(5):
        held = first**order  # outside there is nobody
        for symbol in set(symbols.tolist()):
            inside = numbers[symbols == symbol]
            assert (first[symbol], last[symbol]) == (inside.min(), inside.max())
            held[symbol] = np.mean(inside**order)
        expected[order] = float(made.mass @ held)
        assert made.cumulative.moment(order) == pytest.approx(expected[order], rel=1e-9)
    assert made.cumulative.mean == pytest.approx(expected[1])
    assert made.variance() == pytest.approx(expected[2] - expected[1] ** 2)


@pytest.mark.parametrize(
    ("epsilon", "draws", "most"), [pytest.param(1, 6, 6, marks=pytest.mark.soak), (4, 3, 4)]
)
def test_the_mean_of_whole_minutes_is_not_moved(epsilon: float, draws: int, most: int) -> None:
    """Middles of bins of one minute move it by half a minute, which is more than the noise."""
    truth = float(WAITING.mean())
    errors: dict[bool, list[float]] = {True: [], False: []}
    held: list[bool] = []
    for whole in (True, False):
        domain = replace(MINUTES, whole=whole)
        for seed in range(draws):
            made = lw.release(
                WAITING,
                domain,
                epsilon=epsilon,
                delta="1e-6",
                neighbors="replace-one",
                rng=lw.seeded(seed),
            ).distribution
            errors[whole].append(made.cumulative.mean - truth)
            ends = made.mean_interval()
            spread = made.variance_interval()
            assert ends is not None and spread is not None
            held += [ends[0] <= truth <= ends[1], spread[0] <= WAITING.var() <= spread[1]]
    # At 95% more than 6 of 24 intervals fail with a probability of 1e-4, more than 4 of 12 2e-4.
    assert held.count(False) <= most
    assert abs(np.mean(errors[True])) < 0.1
    assert abs(np.mean(errors[False]) + 0.5) < 0.1


def test_reports_and_differences_of_whole_minutes() -> None:
    domain = lw.Interval(0, 240, bins=240, whole=True)
    survey = lw.Survey("waiting", lw.recommend(domain, epsilon=4, users=WAITING.size))
    one, two = (
        survey.decode(survey.tally(survey.randomize(values, rng=lw.seeded(seed))))
        for seed, values in enumerate((WAITING, np.minimum(WAITING + 5, 240)))
    )
    assert isinstance(one, lw.Distribution) and isinstance(two, lw.Distribution)
    ends = one.mean_interval()
    assert ends is not None and ends[0] <= WAITING.mean() <= ends[1]
    assert abs(one.cumulative.mean - WAITING.mean()) < (ends[1] - ends[0]) / 2
    two_moved = float((np.minimum(WAITING + 5, 240) - WAITING).mean())
    shift = two.difference(one, people="different").mean_interval()
    assert shift is not None and shift[0] <= two_moved <= shift[1]
    sample = one.sample(200, rng=1)
    assert (sample == np.rint(sample)).all() and sample.min() >= 0


def test_days_are_whole_numbers() -> None:
    days = lw.Interval("2026-01-01", "2026-03-02", bins=60, unit="date", whole=True)
    made = lw.Distribution.of_values(["2026-01-10", "2026-01-12"], days)
    assert str(made.mean()) == "2026-01-11" and made.variance() == pytest.approx(1.0)
    assert made.cumulative.mean == int(made.cumulative.mean)


def test_a_device_refuses_a_fraction_and_a_curator_rounds_it() -> None:
    domain = lw.Interval(0, 10, bins=10, whole=True)
    with pytest.raises(DomainError, match="the one at position 1 is not"):
        domain.index([3, 3.5])
    assert counts_of([3.4, 2.6, np.nan], domain.for_curator()).tolist()[2] == 2
    for wrong in ({"circular": True}, {"unit": "time-of-day"}):
        with pytest.raises(DomainError, match="whole is only for numbers and dates on a line"):
            lw.Interval(0, 10, bins=10, whole=True, **wrong)  # type: ignore[call-overload]
    with pytest.raises(DomainError, match="whole must be True or False"):
        lw.Interval(0, 10, bins=10, whole="yes")  # type: ignore[call-overload]


def test_a_document_of_before_has_no_word_of_it() -> None:
    assert "whole" not in MINUTES.to_document()
    whole = replace(MINUTES, whole=True)
    assert whole.to_document()["whole"] is True
    assert build_domain(whole.to_document()) == whole
    assert build_domain(MINUTES.to_document()) == MINUTES


def test_bins_of_whole_numbers_have_a_whole_width() -> None:
    for high, bins in ((100, 100), (10_000, 1000), (5000, 1000), (7, 7), (1009, 1009)):
        domain, _ = with_bins(lw.Interval(0, high, whole=True), 1024)
        assert isinstance(domain, lw.Interval) and domain.bins == bins
    domain, said = with_bins(lw.Interval(0, 100, whole=True), 1024)
    assert said == "The interval has one bin for each number."


@each(
    "domain, advised",
    [
        (lw.Interval(0, 600), True),
        (lw.Interval(0, 600, bins=50), True),
        (lw.Interval(edges=[0, 18, 65, 120]), True),
        (lw.Interval(0, 0.5), False),
        (lw.Interval(0, 500_000), False),
        (lw.Interval(0, 600, whole=True), False),
        (lw.Interval(1, 1000, scale="log"), False),
        (lw.Interval("2026-01-01", "2026-03-02", unit="date"), False),
        (lw.Integers(0, 600, outside="clip"), False),
    ],
)
def test_bounds_alone_advise_it(domain: Any, advised: bool) -> None:
    assert (advice_on(domain) == ADVICE) == advised
    found = lw.recommend(domain, epsilon=1, users=10_000)
    assert (ADVICE in found.reason) == advised
    assert found.reason.count("whole=True") == advised


def test_the_command_line_advises_and_declares_it(done: Program) -> None:
    column = "minutes\n" + "\n".join(f"{value:g}" for value in WAITING[:2000])
    Path("a.csv").write_text(column)
    bounds = ("--low", "0", "--high", "240")
    plain = done("new", "--domain-only", *bounds, "-o", "d.json")
    assert ADVICE in " ".join(plain.out.split())
    run = done("new", "--domain-only", *bounds, "--unit", "whole", "-o", "w.json", "--json")
    assert run.document["domain"]["whole"] is True and ADVICE not in run.out
    assert (
        ADVICE
        not in done("recommend", "--domain", "w.json", "--epsilon", "1", "--users", "2000").out
    )
    said = done(
        "recommend", "--domain", "d.json", "--epsilon", "1", "--users", "2000", "--json"
    ).document
    assert said["reason"].count(ADVICE) == 1
    survey = ("new", "-o", "s.json", "--name", "x", *bounds, "--epsilon", "1", "--json")
    assert ADVICE in done(*survey).document["note"]
    promise = ("--epsilon", "1", "--delta", "1e-6", "--neighbors", "replace-one")
    for name, advised in (("d", True), ("w", False)):
        asked = ("release", "a.csv", "--domain", f"{name}.json", *promise, "-o", f"{name}r.json")
        found = done(*asked, "--json", "--yes").document
        assert (ADVICE in found["note"]) == advised
