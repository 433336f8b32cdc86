"""What the contract suites run over. A new class gets all of them by a row here.

Randomizers: :data:`RANDOMIZERS`, on every domain of :data:`DOMAINS` that they name. Operators:
:data:`OPERATORS`. Decoders: `registered_decoders.py`. A test fails when a class that a survey may
name has no row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from lapwing import (
    Categories,
    Channel,
    GeneralizedRandomizedResponse,
    GeneralWave,
    HaarHadamard,
    Hierarchical,
    Integers,
    Interval,
    MultiscaleWave,
    OptimizedUnaryEncoding,
    Piecewise,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    Wavelet,
)
from lapwing.domain import Domain
from lapwing.guarantee import exponential_bounds
from lapwing.laws import FixedSizeSubset, Multinomial, ProductOfBits
from lapwing.linear.banded import SlidingBox, SlidingWindow
from lapwing.linear.binned import Coarsened
from lapwing.linear.circulant import Circulant, circular_window
from lapwing.linear.compound_symmetric import CompoundSymmetric
from lapwing.linear.repeated import Repeated
from lapwing.linear.stacked import Stacked, dense
from lapwing.local.grouped import Grouped
from lapwing.local.haar_hadamard import SignedHadamard
from lapwing.local.signed_subset_selection import SignedSubsetSelection
from lapwing.randomizer import Randomizer
from lapwing.randomness import WORD
from lapwing.signed_subset_law import SignedSubset

DOMAINS: dict[str, Domain] = {
    "linear": Interval(0, 1, bins=6),
    "eight": Interval(0, 1, bins=8),
    "circular": Interval(0, 24, bins=6, circular=True),
    "log": Interval(1, 1000, bins=5, scale="log"),
    "atoms-and-missing": Interval(0, 100, bins=3, atoms=(0, 40), missing="bin"),
    "integers": Integers(3, 8),
    "categories": Categories(["red", "green", "blue"]),
    "categories-missing": Categories(4, missing="category"),
}

ORDERED = ("linear", "circular", "log", "atoms-and-missing", "integers")
ALL = (*ORDERED, "categories", "categories-missing")


@dataclass(frozen=True)
class RandomizerRow:
    """How the contracts make and break one kind of randomizer.

    `make(domain, epsilon)`; `loosen(randomizer)` moves a threshold by one unit past its legal
    limit; `impossible(randomizer)` lists reports that it cannot send; `adds(randomizer, report)`
    says by hand in which block and outputs a report is counted.
    """

    make: Callable[[Domain, Any], Randomizer]
    domains: tuple[str, ...]
    loosen: Callable[[Any], Randomizer]
    impossible: Callable[[Any], list[bytes]]
    adds: Callable[[Any, bytes], tuple[int, list[int]]]


def _with_attributes(randomizer: Any, **cached: Any) -> Any:
    """Return a copy with cached thresholds overwritten: what a tampered client would hold."""
    changed = replace(randomizer)
    changed.__dict__.update(cached)
    return changed


def _loosen_near(randomizer: Any) -> Any:
    return _with_attributes(randomizer, threshold=randomizer.threshold + 1)


def _loosen_symmetric(randomizer: Any) -> Any:
    own = randomizer.thresholds["own"] + 1
    return _with_attributes(randomizer, _thresholds=(own, WORD - own))


def _loosen_optimized(randomizer: Any) -> Any:
    own, other = randomizer.thresholds["own"], randomizer.thresholds["other"]
    return _with_attributes(randomizer, _thresholds=(own, other - 1))


def _loosen_peak(wave: Any) -> Any:
    """Raise the peak by the least number with which it is above the bound times an outside point.

    Outside points lose as much as the peak gains.
    """
    table = list(wave.table)
    place = table.index(max(table))
    bound, outside = exponential_bounds(wave.epsilon)[0], WORD - sum(table)
    table[place] += int((bound * outside / wave.far - table[place]) / (1 + bound / wave.far)) + 1
    return _with_attributes(wave, table=tuple(table))


def _loosen_first_group(randomizer: Any) -> Any:
    first, *others = randomizer.groups
    loose = replace(first, randomizer=_loosen_near(first.randomizer))
    return _with_attributes(randomizer, groups=(loose, *others))


def _impossible_codes(randomizer: Any) -> list[bytes]:
    width = randomizer.report_width
    codes = [randomizer.outputs, randomizer.outputs + 1, 256**width - 1]
    return [code.to_bytes(width, "little") for code in codes if code < 256**width]


def _spare_bits(randomizer: Any) -> list[bytes]:
    width, size = randomizer.report_width, randomizer.domain.size
    return [(1 << bit).to_bytes(width, "little") for bit in range(size, 8 * width)]


def _wrong_sets(randomizer: Any) -> list[bytes]:
    width, size, members = randomizer.report_width, randomizer.domain.size, randomizer.members
    wrong = [0, 2 ** (members + 1) - 1, 2**size - 1 if members < size else 0]
    # As many bits as a set has, but one of them is spare.
    spare = [2 ** (members - 1) - 1 | 1 << bit for bit in range(size, 8 * width)]
    return [bits.to_bytes(width, "little") for bits in (*wrong, *spare)]


def _wrong_signed_sets(randomizer: Any) -> list[bytes]:
    coordinates, members = randomizer.coordinates, randomizer.members
    plane = (coordinates + 7) // 8
    spare = [1 << bit for bit in range(coordinates, 8 * plane)]
    if members == coordinates:
        return [bits.to_bytes(plane, "little") for bits in spare]
    full = 2**members - 1
    # Too few, too many, a spare one for one of them, the sign of one that is absent.
    wrong = [(0, 0), (2 * full + 1, 0), *((full >> 1 | bit, 0) for bit in spare)]
    wrong += [(full, 1 << members), *((full, bit) for bit in spare)]
    return [
        present.to_bytes(plane, "little") + minus.to_bytes(plane, "little")
        for present, minus in wrong
    ]


def _wrong_groups(randomizer: Any) -> list[bytes]:
    width = randomizer.report_width
    wrong = [bytes([len(randomizer.groups)]).ljust(width, b"\0"), b"\xff" * width]
    for number, part in enumerate(randomizer.groups):
        row = RANDOMIZERS[part.randomizer.name]
        for report in row.impossible(part.randomizer):
            wrong.append((bytes([number]) + report).ljust(width, b"\0"))
        padding = width - 1 - part.randomizer.report_width
        if padding:
            wrong.append(bytes([number] + [0] * (width - 2) + [1]))
    return wrong


def _code(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    return 0, [int.from_bytes(report, "little")]


def _set_bits(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    bits = [8 * i + bit for i, byte in enumerate(report) for bit in range(8) if byte >> bit & 1]
    return 0, bits


def _signed(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    plane = (randomizer.coordinates + 7) // 8
    minus = int.from_bytes(report[-plane:], "little")
    present = int.from_bytes(report[:plane], "little")
    if len(report) == plane:
        present = 2**randomizer.coordinates - 1
    held = [k for k in range(randomizer.coordinates) if present >> k & 1]
    return 0, [2 * k + (minus >> k & 1) for k in held]


def _in_group(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    part = randomizer.groups[report[0]].randomizer
    own, padding = report[1 : 1 + part.report_width], report[1 + part.report_width :]
    assert not any(padding)
    return report[0], RANDOMIZERS[part.name].adds(part, own)[1]


RANDOMIZERS: dict[str, RandomizerRow] = {
    "generalized-randomized-response": RandomizerRow(
        GeneralizedRandomizedResponse, ALL, _loosen_near, _impossible_codes, _code
    ),
    "square-wave": RandomizerRow(SquareWave, ORDERED, _loosen_near, _impossible_codes, _code),
    "square-wave, fine grid": RandomizerRow(
        lambda domain, epsilon: SquareWave(domain, epsilon, width=0.2, grid=3 * domain.size),
        ("linear", "circular", "log"),
        _loosen_near,
        _impossible_codes,
        _code,
    ),
    "square-wave, wide": RandomizerRow(
        lambda domain, epsilon: SquareWave(domain, epsilon, width=0.9),
        ("linear", "circular", "integers"),
        _loosen_near,
        _impossible_codes,
        _code,
    ),
    "unary-encoding": RandomizerRow(UnaryEncoding, ALL, _loosen_symmetric, _spare_bits, _set_bits),
    "optimized-unary-encoding": RandomizerRow(
        OptimizedUnaryEncoding, ALL, _loosen_optimized, _spare_bits, _set_bits
    ),
    "subset-selection": RandomizerRow(
        SubsetSelection,
        ("linear", "circular", "integers", "categories", "categories-missing"),
        _loosen_near,
        _wrong_sets,
        _set_bits,
    ),
    "subset-selection, large sets": RandomizerRow(
        lambda domain, epsilon: SubsetSelection(domain, epsilon, size=4),
        ("linear", "integers"),
        _loosen_near,
        _wrong_sets,
        _set_bits,
    ),
    "multiscale-wave": RandomizerRow(
        lambda domain, epsilon: MultiscaleWave(
            domain, epsilon, parts=[("wave", 0.5, 0.4), ("wave", 1.0, 0.35), ("subset", 5, 0.25)]
        ),
        ("eight",),
        _loosen_first_group,
        _wrong_groups,
        _in_group,
    ),
    "general-wave": RandomizerRow(
        lambda domain, epsilon: GeneralWave(domain, epsilon, ratio=0.4, width=0.3),
        ORDERED,
        _loosen_peak,
        _impossible_codes,
        _code,
    ),
    "general-wave, of any shape": RandomizerRow(
        lambda domain, epsilon: GeneralWave(domain, epsilon, shape=(0.25, 1, 0)),
        ("linear", "circular", "integers"),
        _loosen_peak,
        _impossible_codes,
        _code,
    ),
    "piecewise": RandomizerRow(
        Piecewise, ("linear", "integers"), _loosen_near, _impossible_codes, _code
    ),
    "hierarchical": RandomizerRow(
        lambda domain, epsilon: Hierarchical(domain, epsilon, branching=2),
        ("linear", "eight", "circular"),
        _loosen_first_group,
        _wrong_groups,
        _in_group,
    ),
    "haar-hadamard": RandomizerRow(
        HaarHadamard, ("linear", "eight"), _loosen_first_group, _wrong_groups, _in_group
    ),
    "signed-hadamard": RandomizerRow(
        SignedHadamard, ("categories", "eight"), _loosen_near, _impossible_codes, _code
    ),
    "wavelet": RandomizerRow(
        Wavelet, ("linear", "eight"), _loosen_first_group, _wrong_groups, _in_group
    ),
    "signed-subset-selection": RandomizerRow(
        SignedSubsetSelection,
        ("linear", "eight"),
        _loosen_near,
        _wrong_signed_sets,
        _signed,
    ),
    "signed-subset-selection, two at a time": RandomizerRow(
        lambda domain, epsilon: SignedSubsetSelection(domain, epsilon, size=2),
        ("linear", "eight"),
        _loosen_near,
        _wrong_signed_sets,
        _signed,
    ),
}


@dataclass(frozen=True)
class RandomizerCase:
    """A row on one domain at one epsilon."""

    row: RandomizerRow
    randomizer: Any

    @property
    def inputs(self) -> int:
        """How many values a client tells apart: points of its grid, or symbols."""
        return getattr(self.randomizer, "points", self.randomizer.domain.size)

    def value(self, point: int) -> Any:
        """Return a raw value of an input."""
        domain = self.randomizer.domain
        if point == domain.missing_index:
            return float("nan") if domain.ordered else None
        if isinstance(domain, Categories):
            return domain.listed[point]
        if self.inputs != domain.size:
            domain = domain.refined(self.inputs)
        return float(domain.left[point] + domain.right[point]) / 2

    def values(self, points: np.ndarray) -> Any:
        """Return raw values of inputs, as a column that `randomize` takes."""
        raw = np.array([self.value(point) for point in range(self.inputs)])
        return raw[points]


def randomizer_cases(
    *epsilons: float, domains: tuple[str, ...] = tuple(DOMAINS), rows: str = ""
) -> list[Any]:
    """Return every row on each of its domains at each epsilon, for `pytest.mark.parametrize`.

    `domains` and `rows` (how names start) leave some out, for tests that take seconds each.
    """
    return [
        pytest.param(
            RandomizerCase(row, row.make(DOMAINS[where], epsilon)),
            id=f"{name}, {where}, {epsilon}",
        )
        for name, row in RANDOMIZERS.items()
        for where in row.domains
        for epsilon in epsilons
        if where in domains and name.startswith(rows)
    ]


def at_epsilon(randomizer: Any, factor: Fraction) -> Any:
    """Return the same randomizer with its epsilon times a factor, and the same near sets."""
    fixed: dict[str, Any] = {}
    if isinstance(randomizer, SquareWave):
        fixed["width"] = (randomizer.half_window + 0.5) / randomizer.points
    if isinstance(randomizer, SubsetSelection | SignedSubsetSelection):
        fixed["size"] = randomizer.members
    changed = replace(randomizer, epsilon=randomizer.epsilon * factor, **fixed)
    if isinstance(randomizer, Grouped):
        parts = [
            replace(part, randomizer=at_epsilon(part.randomizer, factor))
            for part in randomizer.groups
        ]
        changed.__dict__["groups"] = tuple(parts)
    return changed


def dense_ratio(channel: Channel) -> tuple[float, float]:
    """Return the worst likelihood ratio in the floats of a channel, and its relative precision.

    A probability near 0 that a Fourier transform or ``1 - p`` made is right to 1e-16 of 1, and
    only so many digits of a ratio can be asked for; at epsilon = 24 on a circle these are 5.
    """
    ratios, smallest = [], 1.0
    for block in channel.blocks:
        matrix = dense(block.operator)
        smallest = min(smallest, matrix.min(), (1 - matrix).min())
        ratio = (matrix.max(axis=1) / matrix.min(axis=1)).max()
        if isinstance(block.law, FixedSizeSubset):
            own, others = matrix.max(), block.law.symbols - block.law.members
            ratio = own * others / ((1 - own) * block.law.members)
        elif isinstance(block.law, SignedSubset):
            own, others = matrix.max(), 2 * block.law.coordinates - block.law.members
            ratio = own * others / ((1 - own) * block.law.members)
        elif isinstance(block.law, ProductOfBits):
            # Given two values only their two bits differ in law, one up and one down.
            ratio *= ((1 - matrix).max(axis=1) / (1 - matrix).min(axis=1)).max()
        else:
            assert isinstance(block.law, Multinomial)
        ratios.append(ratio)
    return max(ratios), 1e-12 + 1e-15 / smallest


OPERATORS: dict[str, Callable[[], LinearOperator]] = {
    "compound symmetric": lambda: CompoundSymmetric(7, diagonal=0.5, off_diagonal=0.03),
    "compound symmetric of one": lambda: CompoundSymmetric(1, diagonal=0.5, off_diagonal=0.0),
    "sliding window": lambda: SlidingWindow(9, width=5, inside=0.17, outside=0.02),
    "sliding window of one": lambda: SlidingWindow(9, width=1, inside=0.7, outside=0.02),
    "sliding window wider than the line": lambda: SlidingWindow(
        4, width=11, inside=0.09, outside=0.001
    ),
    "sliding window on two points": lambda: SlidingWindow(2, width=3, inside=0.3, outside=0.1),
    "sliding box": lambda: SlidingBox(
        inputs=6, outputs=10, half_width=0.23, inside=1.4, outside=0.2
    ),
    "sliding box, more inputs": lambda: SlidingBox(
        inputs=11, outputs=4, half_width=0.3, inside=1.4, outside=0.2
    ),
    "sliding box, narrow": lambda: SlidingBox(
        inputs=5, outputs=5, half_width=0.01, inside=30.0, outside=0.3
    ),
    "sliding box, wide": lambda: SlidingBox(
        inputs=5, outputs=7, half_width=1.7, inside=0.25, outside=0.02
    ),
    "circulant": lambda: Circulant(np.array([0.5, 0.1, 0.25, 0.05, 0.1])),
    "circulant of even size": lambda: Circulant(np.array([0.5, 0.1, 0.3, 0.1])),
    "circular window": lambda: circular_window(10, width=3, inside=0.2, outside=0.05),
    "repeated": lambda: Repeated(4, times=3),
    "stacked": lambda: Stacked(
        [
            SlidingWindow(6, width=3, inside=0.2, outside=0.05),
            CompoundSymmetric(6, diagonal=0.5, off_diagonal=0.1),
            Circulant(np.arange(6.0)),
        ]
    ),
    "product": lambda: SlidingWindow(12, width=3, inside=0.2, outside=0.05) @ Repeated(4, times=3),
    "coarsened": lambda: Coarsened(CompoundSymmetric(3, diagonal=0.5, off_diagonal=0.1), size=8),
    "adjoint": lambda: SlidingWindow(6, width=3, inside=0.2, outside=0.05).adjoint(),
}
