"""Heavy hitters: what they refuse, their intervals, their file."""

from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, Guarantee, HashedStrings, HeavyHitters, Integers
from lapwing.errors import ArgumentError

PROMISE = Guarantee(Fraction(1), Fraction(0), "replace-one", "local")


def found(**changes: Any) -> HeavyHitters:
    arguments: dict[str, Any] = {
        "domain": Categories(2**32),
        "symbols": np.array([7, 2**31, 3]),
        "shares": np.array([0.5, 0.25, 0.0625]),
        "deviations": np.array([0.01, 0.01, 0.02]),
        "threshold": 0.06,
        "searched": 2**32,
        "reports": 100_000,
        "expected_false": 0.05,
        "guarantee": PROMISE,
        "provenance": {"class": "by-hand"},
    }
    arguments |= changes
    return HeavyHitters(
        arguments.pop("domain"),
        arguments.pop("symbols"),
        arguments.pop("shares"),
        arguments.pop("deviations"),
        **arguments,
    )


def test_values_and_remainder() -> None:
    assert found().values == [7, 2**31, 3] and len(found()) == 3
    assert found().remainder == 0.1875
    whole = found(domain=Integers(10, 30), symbols=np.array([7, 20, 3]))
    assert whole.values == [17, 30, 13]
    named = found(domain=HashedStrings(32), labels=["a", "b", "c"])
    assert named.values == ["a", "b", "c"]
    missing = found(domain=Categories(7, missing="category"), symbols=np.array([7, 0, 3]))
    assert missing.values == [None, 0, 3]
    none = found(symbols=np.zeros(0, dtype=int), shares=np.zeros(0), deviations=np.zeros(0))
    assert none.values == [] and none.remainder == 1 and none.confidence_band().low.size == 0


def test_the_share_of_one_listed_value() -> None:
    """It was listed because it came out large, so its interval is that of the list."""
    hitters, band = found(), found().confidence_band(0.9)
    assert hitters.share(2**31) == 0.25
    assert hitters.share_interval(2**31, level=0.9) == (band.low[1], band.high[1])
    wide = hitters.confidence_band(target="population")
    assert hitters.share_interval(7, target="population") == (wide.low[0], wide.high[0])
    assert hitters.to_dict()["interval"] == ["simultaneous"] * 3
    assert set(hitters.to_dict(kind="pointwise")["interval"]) == {"pointwise"}
    with pytest.raises(ArgumentError, match="Only values with an estimated share of at least 6"):
        hitters.share_interval(8)


@pytest.mark.parametrize(
    "changes",
    [
        {"symbols": np.array([7, 7, 3])},
        {"symbols": np.array([7, 2**32, 3])},
        {"symbols": np.array([7, -1, 3])},
        {"symbols": np.array([7, 3])},
        {"shares": np.array([0.25, 0.5, 0.0625])},
        {"shares": np.array([0.5, np.nan, 0.0625])},
        {"deviations": np.array([0.01, -0.01, 0.02])},
        {"deviations": np.array([0.01, np.inf, 0.02])},
        {"threshold": float("nan")},
        {"searched": 2},
        {"reports": 0},
        {"labels": ["a", "b"]},
    ],
)
def test_what_is_none_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        found(**changes)


def test_intervals() -> None:
    """Bonferroni over all values searched; the population's sampling on top."""
    band = found().confidence_band(0.9)
    reach = -NormalDist().inv_cdf(0.05 / 2**32) * np.array([0.01, 0.01, 0.02])
    np.testing.assert_allclose(band.low, np.clip(found().shares - reach, 0, 1))
    np.testing.assert_allclose(band.high, found().shares + reach)
    assert band.kind == "simultaneous" and band.target == "empirical" and band.level == 0.9
    alone = found().confidence_band(0.9, kind="pointwise")
    np.testing.assert_allclose(alone.high - found().shares, 1.6448536 * found().deviations)
    wide = found().confidence_band(0.9, kind="pointwise", target="population")
    variance = found().deviations ** 2 + found().shares * (1 - found().shares) / 100_000
    np.testing.assert_allclose(wide.high - found().shares, 1.6448536 * np.sqrt(variance))
    for wrong in ({"level": 0}, {"level": 1}, {"kind": "both"}, {"target": "nobody"}):
        with pytest.raises(ArgumentError):
            found().confidence_band(**wrong)  # type: ignore[arg-type]


def test_frozen_and_quiet() -> None:
    with pytest.raises(ValueError, match="read-only"):
        found().shares[0] = 1
    with pytest.raises(AttributeError):
        found().threshold = 0  # type: ignore[misc]
    assert "2147483648" not in repr(found())


def test_picture() -> None:
    pytest.importorskip("matplotlib")
    ax = found().plot()
    assert len(ax.patches) == 3 and "3 of 4,294,967,296" in ax.get_title()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["7", "2147483648", "3"]
    none = replace(
        found(), symbols=np.zeros(0, dtype=int), shares=np.zeros(0), deviations=np.zeros(0)
    )
    none.plot()
    from matplotlib import pyplot

    pyplot.close("all")
