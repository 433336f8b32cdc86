"""What is read of a difference: a table, a few lines, equality."""

import pickle

import numpy as np
import pytest

import lapwing as lw
from lapwing.results.rounding import shift_writer

DAY = lw.Interval(0, 4, bins=4, missing="bin")

ENDS = ["low", "high", "interval", "about"]


def decoded(counts: list[int], domain: lw.Interval | lw.Categories, seed: int) -> lw.Distribution:
    response = lw.RandomizedResponse(domain, 4)
    made = lw.LeastSquares().decode(response.channel, lw.simulate(response, counts, rng=seed))
    assert isinstance(made, lw.Distribution)
    return made


@pytest.fixture
def made() -> lw.Difference:
    first = decoded([400, 300, 200, 100, 50], DAY, 1)
    return first.difference(decoded([100, 200, 300, 400, 90], DAY, 2), people="different")


def test_differences_that_say_the_same_are_equal(made: lw.Difference) -> None:
    again = pickle.loads(pickle.dumps(made))
    assert again == made and hash(again) == hash(made) and {made: 1}[again] == 1
    assert made != made.first.difference(made.second, people="same")
    assert made != made.second.difference(made.first, people="different")
    assert made != made.first.difference(made.second, people="different", target="empirical")
    assert made != 1


def test_a_table_is_the_first_less_the_second(made: lw.Difference) -> None:
    table = made.to_dict(kind="simultaneous")
    assert list(table) == ["left", "right", "share", "share_of_present", "cdf", *ENDS]
    assert {len(column) for column in table.values()} == {5}
    assert table["share"] == pytest.approx((made.first.mass - made.second.mass).tolist())
    assert table["cdf"][:4] == pytest.approx(made.cdf([1, 2, 3, 4]).tolist())
    assert table["cdf"][4] is table["low"][4] is table["share_of_present"][4] is None
    band = made.confidence_band(kind="simultaneous")
    assert band is not None and table["low"][:4] == band.low.tolist()
    assert made.to_dict() != table
    labels = lw.Categories(["a", "b"])
    other = decoded([300, 200], labels, 3).difference(decoded([200, 300], labels, 4))
    assert list(other.to_dict()) == ["label", "share", *ENDS]
    assert made.to_dict()["interval"] == ["pointwise"] * 4 + [None]
    assert other.to_dict() == other.to_dict(kind="simultaneous") != other.to_dict(kind="pointwise")
    assert other.to_dict()["interval"] == ["simultaneous"] * 2
    assert other.to_dict()["share"] == pytest.approx([other.share("a"), other.share("b")])
    plain = lw.Distribution.of_counts([1, 1], labels)
    assert plain.difference(plain).to_dict()["low"] == [None, None]
    pytest.importorskip("pandas")
    assert made.to_pandas().shape == (5, 9)


def test_a_summary_says_about_whom(made: lw.Difference) -> None:
    said = made.summary()
    low, high = made.mean_interval() or (0, 0)
    assert f"({shift_writer('number').interval(low, high)})" in said
    assert "about the population" in said and "the two differ" in said
    assert "yes: the simultaneous band excludes zero" in said
    these = made.first.difference(made.second, people="different", target="empirical")
    assert "about the people in the data" in these.summary()
    labels = lw.Categories(["a", "b"])
    same = decoded([300, 200], labels, 3).difference(decoded([300, 200], labels, 4))
    assert "about the population" in same.summary()
    assert "share of a" in same.summary() and "not shown: the simultaneous" in same.summary()
    assert "<table>" in same._repr_html_()
    plain = lw.Distribution.of_counts(np.array([1, 1]), labels)
    assert "not known: one result" in plain.difference(plain).summary()


@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_the_first_row_of_a_table_holds_who_has_exactly_the_lowest_value(kind: str) -> None:
    """Its right end is `low`, and they are counted in the bin after it."""
    domain = lw.Interval(0, 10, bins=5, outside="overflow")

    def released(values: np.ndarray, seed: int) -> lw.Distribution:
        return lw.release(
            values, domain, epsilon=4, neighbors="replace-one", rng=lw.seeded(seed)
        ).distribution

    low, elsewhere = np.repeat([0.0, 5.0], 5000), np.full(10_000, 5.0)
    for first, second, truth in ((low, elsewhere, 0.5), (elsewhere, low, -0.5)):
        made = lw.Difference(released(first, 1), released(second, 2), people="different")
        table = made.to_dict(kind=kind)
        assert table["right"][0] == 0
        assert table["low"][0] <= truth <= table["high"][0]
        rows = list(zip(table["low"], table["cdf"], table["high"], strict=True))
        assert rows[0][1] is None  # at `low` it is not known
        assert all(low <= value <= high for low, value, high in rows[1:-1])  # the missing
