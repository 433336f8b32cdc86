"""The core that two-level randomizers share: its threshold, its sizes, its refusals.

Privacy, reports, tallies and simulation are checked for every class in `tests/contracts`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing import Categories, Integers, Interval, RandomizedResponse, SquareWave
from lapwing.errors import DomainError, PrivacyError, ReportError
from lapwing.linear.operators.banded import SlidingWindow
from lapwing.privacy.sampling.randomness import WORD, seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.randomizer import CHUNK
from lapwing.randomizers.two_level import TwoLevel
from tests.false_alarms import accepts, binomial_tail


@dataclass(frozen=True)
class Sized(TwoLevel):
    """Near sets of any size, for the arithmetic alone."""

    name = "sized"

    @property
    def _near(self) -> int:
        return 3

    @property
    def _outputs(self) -> int:
        return self.domain.size + 2

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return point + offset

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        return people

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        return SlidingWindow(self.domain.size, width=3, inside=inside, outside=outside)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "1/3", "4", "17.25", "24"])
@pytest.mark.parametrize("size", [2, 3, 1000, 2**20])
def test_threshold_is_the_largest_that_keeps_the_promise(epsilon: str, size: int) -> None:
    """Against e^epsilon to 60 digits from another library."""
    with mpmath.workdps(60):
        exact = Fraction(epsilon)
        e = mpmath.exp(mpmath.mpf(exact.numerator) / exact.denominator)
        for randomizer in (
            RandomizedResponse(Categories(size), epsilon),
            Sized(Categories(size), epsilon),
        ):
            near, far, T = randomizer._near, randomizer._far, randomizer._threshold
            assert mpmath.mpf(T * far) / ((WORD - T) * near) <= e
            assert mpmath.mpf((T + 1) * far) / ((WORD - T - 1) * near) > e


@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 8, 16, 24])
def test_little_of_epsilon_is_lost(epsilon: float) -> None:
    loss = RandomizedResponse(Categories(1000), epsilon).certificate().loss
    # One step of T changes the ratio by 2^64 / (T (2^64 - T)) of itself.
    p = math.exp(epsilon) / (math.exp(epsilon) + 999)
    assert 0 <= loss <= 2 / (WORD * p * (1 - p))


def test_a_near_set_that_is_too_unlikely_breaks_the_promise_too() -> None:
    tampered = RandomizedResponse(Categories(1000), 1)
    assert tampered.certificate().holds
    tampered.__dict__["_threshold"] = WORD // 10**6
    # The own symbol is now about a thousand times less likely than each of the others.
    assert tampered.certificate().ratio > 1000
    assert not tampered.certificate().holds


def test_probabilities_are_those_of_the_threshold_not_of_epsilon() -> None:
    randomizer = RandomizedResponse(Categories(5), 1)
    inside, outside = randomizer._probabilities
    assert inside == float(Fraction(randomizer._threshold, WORD))
    assert outside == float(Fraction(WORD - randomizer._threshold, 4 * WORD))
    assert randomizer._derived == {
        "thresholds": {"near": f"{randomizer._threshold:#018x}"},
        "points": 5,
        "near": 1,
        "outputs": 5,
        "report_width": 1,
    }


@pytest.mark.parametrize(
    ("size", "width"), [(2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3), (2**24 + 1, 4)]
)
def test_reports_of_every_width_are_little_endian(size: int, width: int) -> None:
    randomizer = RandomizedResponse(Categories(size), 24)
    assert randomizer.report_width == width
    values = np.array([0, 1, size // 2, size - 1])
    reports = randomizer.randomize(values, rng=seeded(1))
    # At epsilon = 24 these four report themselves; the far ones are rare.
    codes = [int.from_bytes(row.tobytes(), "little") for row in reports.data]
    assert codes == values.tolist()
    for value in values.tolist():
        report = randomizer.from_words(value, iter([0, WORD // 2]))
        assert report == value.to_bytes(width, "little")
    tally = randomizer.tally(reports)
    assert tally.blocks[0].sum() == 4 and (tally.blocks[0][values] >= 1).all()
    if 256**width > size:
        wrong = reports.data.copy()
        wrong[2] = np.frombuffer(size.to_bytes(width, "little"), dtype=np.uint8)
        with pytest.raises(ReportError, match="position 2 "):
            randomizer.tally(Reports(wrong, randomizer.fingerprint))


def test_large_batches_are_worked_on_in_pieces() -> None:
    """Across the ends of the pieces nobody is lost, doubled or swapped."""
    randomizer = RandomizedResponse(Categories(300), 20)
    values = np.random.default_rng(1).integers(300, size=2 * CHUNK + 17)
    reports = randomizer.randomize(values, rng=seeded(2))
    codes = reports.data.view("<u2").ravel()
    kept = codes == values
    for start in (0, CHUNK, 2 * CHUNK):
        assert kept[start : start + CHUNK].mean() > 0.99
    np.testing.assert_array_equal(
        randomizer.tally(reports).blocks[0], np.bincount(codes, minlength=300)
    )


def test_far_reports_of_a_large_domain_are_uniform_over_the_others() -> None:
    size, people = 1000, 300_000
    randomizer = RandomizedResponse(Categories(size), 1)
    reports = randomizer.randomize(np.full(people, 123), rng=seeded(3))
    counts = randomizer.tally(reports).blocks[0]
    inside, outside = randomizer._probabilities
    law = np.full(size, outside)
    law[123] = inside
    assert accepts(binomial_tail(counts, people, law))


@pytest.mark.parametrize("domain", [Categories(1), Interval(0, 1, bins=1), Integers(4, 4)])
def test_one_symbol_is_not_randomized(domain: Domain) -> None:
    with pytest.raises(DomainError, match="at least 2 symbols, got 1"):
        RandomizedResponse(domain, 1)


def test_near_sets_must_leave_something_out() -> None:
    @dataclass(frozen=True)
    class Everywhere(Sized):
        @property
        def _outputs(self) -> int:
            return 3

    with pytest.raises(DomainError, match="must leave some output out: got 3 of 3"):
        Everywhere(Categories(4), Fraction(1))


def test_too_many_outputs_to_count() -> None:
    RandomizedResponse(Categories(2**26), 1)
    with pytest.raises(DomainError, match="at most 67108864 outputs can be counted"):
        RandomizedResponse(Categories(2**26 + 1), 1)


def test_an_epsilon_that_no_threshold_can_express() -> None:
    """On 2^26 symbols near and far differ by less than one word of 2^64: refused, not flat."""
    with pytest.raises(PrivacyError, match="too small for 64-bit thresholds"):
        RandomizedResponse(Categories(2**26), "1e-12")
    small = RandomizedResponse(Categories(2), "1e-12")
    assert small.certificate().holds and small.certificate().ratio > 1


def test_the_core_is_not_used_by_itself() -> None:
    """Whoever leaves out one of the five parts hears which, before any report is made."""
    with pytest.raises(TypeError, match=r"abstract.*locate.*near.*operator.*outputs.*spread_near"):
        TwoLevel(Categories(3), 1)  # type: ignore[abstract]  # that is the test


@pytest.mark.parametrize(
    "randomizer",
    [
        RandomizedResponse(Categories(7), 1),
        SquareWave(Interval(0, 1, bins=9), 1),
        SquareWave(Interval(0, 1, bins=9, circular=True), 1, width=0.25),
        SquareWave(Interval(0, 1, bins=3), 1, grid=9, width=0.2),
    ],
    ids=["response", "wave", "circle", "fine grid"],
)
def test_near_and_far_outputs_partition_all_of_them(randomizer: TwoLevel) -> None:
    for point in range(randomizer._points):
        near, far = (
            randomizer._locate(np.full(size, point), np.full(size, where), np.arange(size)).tolist()
            for where, size in ((True, randomizer._near), (False, randomizer._far))
        )
        assert sorted(near + far) == list(range(randomizer._outputs))
