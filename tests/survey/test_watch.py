"""A watch looks at a week at a time, says what changed, and is hard to confuse."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, FormatError, MismatchError
from tests.survey.test_series_decoding import AFTER, BEFORE, DOMAIN, SURVEY, counted, nobody, pairs


def looked(weeks: list[Any], watch: lw.Watch | None = None) -> tuple[lw.Watch, list[Any]]:
    """Return the watch after all weeks, read from its file before each, and what it noticed."""
    watch = watch or lw.Watch()
    noticed = []
    for week in weeks:
        watch, found = lw.Watch.from_json(watch.to_json()).look(week)
        noticed.append(found)
    return watch, noticed


@pytest.fixture(scope="module")
def seen() -> tuple[lw.Watch, list[Any], list[Any]]:
    weeks = pairs(counted([BEFORE] * 5 + [AFTER] * 5))
    return *looked(weeks), weeks


def test_a_change_is_reported_once_with_its_week_size_and_place(seen: Any) -> None:
    watch, noticed, _ = seen
    reported = [found.change for found in noticed if found.change is not None]
    (change,) = reported
    assert change.week == "6" and change.detection_week in ("6", "7")
    true = np.abs(np.cumsum(AFTER - BEFORE)).max()
    assert change.shift.low <= true <= change.shift.high
    assert change.shift.fewer and "fewer up to" in change.shift.in_words(DOMAIN)
    assert watch.changes == (change,)
    # It starts anew: what was seen before a report never counts again.
    after = noticed[[found.change for found in noticed].index(change) + 1]
    assert after.evidence == 0.0
    assert watch.since == int(change.detection_week)
    # A week counts at its own look, from the second on.
    assert noticed[0].evidence == 0.0 != noticed[1].evidence
    assert after.needed == pytest.approx(noticed[0].needed + np.log(3))


def test_the_same_weeks_in_one_go_or_from_its_file_say_the_same(seen: Any) -> None:
    watch, noticed, weeks = seen
    straight = lw.Watch()
    for week, before in zip(weeks, noticed, strict=True):
        straight, found = straight.look(week)
        assert found == before
    assert straight.to_json() == watch.to_json()


def test_still_weeks_with_a_gap_are_not_reported() -> None:
    weeks = pairs(counted([BEFORE] * 6, seed=8))
    weeks[2] = None
    weeks[4] = (SURVEY, nobody())
    watch, noticed = looked(weeks)
    assert all(found.change is None for found in noticed)
    assert [found.gap for found in noticed].count("nobody reported") == 2
    assert len(watch.weeks) == 6


def test_detail_that_is_not_watched_is_no_change_under_another_epsilon() -> None:
    domain = lw.Interval(0, 1, bins=64, outside="clip")
    spikes = np.zeros(64)
    spikes[[20, 30, 63]] = 0.3, 0.3, 0.4
    surveys = [lw.Survey("wait", lw.SquareWave(domain, epsilon)) for epsilon in (1, 4)]
    people = counted([spikes] * 4, people=1_000_000)
    weeks = [pairs([one], surveys[week % 2])[0] for week, one in enumerate(people)]
    _, noticed = looked(weeks)
    # 19 where the 24 lowest waves were watched as if there were nothing else.
    assert max(found.evidence for found in noticed) < 1


def test_labels_and_releases_are_watched() -> None:
    labels = lw.Survey(
        "app", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(list("abcdef")), 1)
    )
    shares = np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    weeks = pairs(counted([shares] * 3 + [shares[::-1]] * 2), labels)
    _, noticed = looked(weeks)
    (change,) = [found.change for found in noticed if found.change is not None]
    assert change.week == "4"
    assert "more f" in change.shift.in_words(labels.randomizer.domain)
    many = lw.Survey("many", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(100), 1))
    with pytest.raises(ArgumentError, match="at most 64 labels"):
        lw.Watch().look(*pairs([np.full(100, 50)], many))


def test_equal_counts_by_chance_are_looked_at_and_leave_no_hash() -> None:
    coin = lw.Survey("coin", lw.RandomizedResponse(lw.Categories(2), epsilon=1))
    watch = lw.Watch()
    for week in range(3):
        tally = lw.tallies.CountTally([np.array([90, 110])], [200], coin.randomizer.fingerprint)
        watch, _ = watch.look((coin, tally), name=f"W{week}")
    assert [week["identity"] for week in watch.to_document()["weeks"]] == [None] * 3


def test_the_file_of_a_tally_is_looked_at_once_however_few_people_are_in_it() -> None:
    coin = lw.Survey("coin", lw.RandomizedResponse(lw.Categories(2), epsilon=1))
    tally = lw.tallies.CountTally([np.array([90, 110])], [200], coin.randomizer.fingerprint)
    file = tally.file_text()
    watch, _ = lw.Watch().look((coin, lw.tallies.CountTally.from_json(file)), name="W1")
    watch = lw.Watch.from_json(watch.to_json())
    with pytest.raises(MismatchError, match="week W2 is the same as week W1"):
        watch.look((coin, lw.tallies.CountTally.from_json(file)), name="W2", allow_equal=["W2"])
    other = lw.tallies.CountTally([np.array([90, 110])], [200], coin.randomizer.fingerprint)
    other.file_text()
    assert watch.look((coin, other), name="W2")[0].names == ["W1", "W2"]


def test_a_week_twice_out_of_order_or_of_another_domain_is_refused(seen: Any) -> None:
    watch, _, weeks = seen
    with pytest.raises(MismatchError, match=r"weeks 3 and .* have the same counts"):
        watch.look(weeks[2])
    name = str(len(watch.weeks) + 1)
    assert watch.look(weeks[2], allow_equal=[name])[0].names[-1] == name
    with pytest.raises(MismatchError, match="week 4 was already examined"):
        watch.look(weeks[2], name="4")
    dated, _ = lw.Watch().look(weeks[0], name="2026-W10")
    dated, _ = dated.look(None)
    with pytest.raises(ArgumentError, match="2026-W09 comes after 2026-W10"):
        dated.look(weeks[1], name="2026-W09")
    for name in ("", "a\nb", 3):
        with pytest.raises(ArgumentError, match="1 to 100 printable characters"):
            dated.look(weeks[1], name=name)  # type: ignore[arg-type]
    assert repr(dated) == "<Watch at alpha 0.05, 2 weeks examined, 0 reported>"
    other = lw.Survey("wait", lw.SquareWave(lw.Interval(0, 2, bins=24), 1))
    (week,) = pairs(counted([BEFORE]), other)
    with pytest.raises(MismatchError, match="one domain"):
        watch.look(week)


def test_a_damaged_state_and_a_wrong_level_are_refused(seen: Any) -> None:
    watch, _, _ = seen
    document = watch.to_document()
    week = {**document["weeks"][-1]}
    for key, value in (
        ("alpha", 2),
        ("since", 99),
        ("pilot", [1.0]),
        ("pilot", [-1.0] * DOMAIN.size),
        ("weeks", [{**week, "look": "AAAA"}]),
        ("weeks", [{**week, "name": 3}]),
        ("changes", [{}]),
        ("changes", [{**document["changes"][0], "evidence": "much"}]),
    ):
        with pytest.raises(FormatError):
            lw.Watch.from_document({**document, key: value})
    for alpha in (0, 0.6, True, "x"):
        with pytest.raises(ArgumentError, match="alpha must be a number greater than 0"):
            lw.Watch(alpha)  # type: ignore[arg-type]
