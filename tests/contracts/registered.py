"""What the contract suites run over. A new class gets all of them by a row here.

Randomizers: :data:`RANDOMIZERS`, on every domain of :data:`DOMAINS` that they name. Operators:
`registered_operators.py`. Decoders: `registered_decoders.py`. A test fails when a class that a
survey may name has no row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing import (
    Categories,
    Channel,
    CompressivePrivatization,
    Counts,
    GeneralizedRandomizedResponse,
    GeneralWave,
    HaarHadamard,
    HadamardResponse,
    Hierarchical,
    Integers,
    Interval,
    LinearHashing,
    LocalHashing,
    MultiscaleWave,
    OptimizedUnaryEncoding,
    Piecewise,
    PrefixHashing,
    Rappor,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    Wavelet,
)
from lapwing.linear.operators.stacked import dense
from lapwing.local.mixture import Mixture
from lapwing.local.numerical.haar_hadamard import SignedHadamard
from lapwing.local.numerical.signed_subset_selection import SignedSubsetSelection
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.channels.hashed_channel import HashedSupport
from lapwing.protocol.channels.laws import FixedSizeSubset, Multinomial, ProductOfBits
from lapwing.protocol.channels.signed_subset_law import SignedSubset
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.randomizer import Randomizer
from lapwing.testing.randomizer_contract import inputs_of, raw_value
from tests.contracts.hashed_reports import long_seeds, supported

DOMAINS: dict[str, Domain] = {
    "linear": Interval(0, 1, bins=6),
    "eight": Interval(0, 1, bins=8),
    "circular": Interval(0, 24, bins=6, circular=True),
    "log": Interval(1, 1000, bins=5, scale="log"),
    "atoms-and-missing": Interval(0, 100, bins=3, atoms=(0, 40), missing="bin"),
    "integers": Integers(3, 8),
    "categories": Categories(["red", "green", "blue"]),
    "categories-missing": Categories(4, missing="category"),
    "categories-eight": Categories(8),
}

ORDERED = ("linear", "circular", "log", "atoms-and-missing", "integers")
ALL = (*ORDERED, "categories", "categories-missing")


UNEVEN = (
    (0, 1, 0, 1, 0, 1),
    (1, 0, 0, 0, 1, 1),
    (0, 1, 1, 0, 1, 0),
    (1, 1, 1, 0, 0, 0),
    (1, 0, 0, 1, 0, 0),
)
"""Near sets of three and of two outputs; the first is large, so that its law shows epsilon well."""


@dataclass(frozen=True)
class RandomizerRow:
    """How the contracts make and break one kind of randomizer.

    `make(domain, epsilon)`; `loosen(randomizer)` moves a threshold by one unit past its legal
    limit; `impossible(randomizer)` lists reports that it cannot send; `adds(randomizer, report)`
    says by hand in which block and outputs a report is counted. `log`: its tally is a log of
    reports, which gives counts.
    """

    make: Callable[[Domain, Any], Randomizer]
    domains: tuple[str, ...]
    loosen: Callable[[Any], Randomizer]
    impossible: Callable[[Any], list[bytes]]
    adds: Callable[[Any, bytes], tuple[int, list[int]]]
    log: bool = False


def _with_attributes(randomizer: Any, **cached: Any) -> Any:
    """Return a copy with cached thresholds overwritten: what a tampered client would hold."""
    changed = replace(randomizer)
    changed.__dict__.update(cached)
    return changed


def _loosen_near(randomizer: Any) -> Any:
    return _with_attributes(randomizer, threshold=randomizer.threshold + 1)


def _loosen_by_size(randomizer: Any) -> Any:
    looser = {size: threshold + 1 for size, threshold in randomizer._by_size.items()}
    return _with_attributes(randomizer, _by_size=looser)


def _loosen_second_round(randomizer: Any) -> Any:
    keep, again = randomizer._thresholds
    return _with_attributes(randomizer, _thresholds=(keep, again + 1))


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
    "rappor": RandomizerRow(
        Rappor,
        ("linear", "categories", "categories-missing"),
        _loosen_second_round,
        _spare_bits,
        _set_bits,
    ),
    "compressive-privatization": RandomizerRow(
        lambda domain, epsilon: CompressivePrivatization(domain, epsilon, outputs=domain.size - 1),
        ALL,
        _loosen_by_size,
        _impossible_codes,
        _code,
    ),
    "compressive-privatization, banded": RandomizerRow(
        lambda domain, epsilon: CompressivePrivatization(
            domain, epsilon, matrix=UNEVEN, uneven="banded"
        ),
        ("linear", "integers"),
        _loosen_by_size,
        _impossible_codes,
        _code,
    ),
    "compressive-privatization, scaled": RandomizerRow(
        lambda domain, epsilon: CompressivePrivatization(
            domain, epsilon, matrix=UNEVEN, uneven="scaled"
        ),
        ("linear", "integers"),
        _loosen_by_size,
        _impossible_codes,
        _code,
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
    "hadamard-response": RandomizerRow(
        HadamardResponse, ALL, _loosen_near, _impossible_codes, _code
    ),
    "hadamard-response, two blocks": RandomizerRow(
        lambda domain, epsilon: HadamardResponse(domain, epsilon, blocks=2),
        ("linear", "categories", "categories-missing"),
        _loosen_near,
        _impossible_codes,
        _code,
    ),
    "local-hashing, a pool": RandomizerRow(
        lambda domain, epsilon: LocalHashing(domain, epsilon, hashes=3, size=4),
        ("categories", "categories-missing"),
        _loosen_near,
        _impossible_codes,
        _code,
    ),
    "linear-hashing": RandomizerRow(
        lambda domain, epsilon: LinearHashing(domain, epsilon, hash_bits=2),
        ("categories", "categories-missing"),
        _loosen_near,
        long_seeds,
        supported,
        log=True,
    ),
    "prefix-hashing": RandomizerRow(
        lambda domain, epsilon: PrefixHashing(domain, epsilon, prefixes=(1, 3), hash_bits=2),
        ("categories-eight",),
        _loosen_first_group,
        _wrong_groups,
        _in_group,
        log=True,
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
        return inputs_of(self.randomizer)

    def counted(self, tally: Any) -> Counts:
        """Return a tally as counts: itself, or what a log says of every symbol."""
        counts: Counts = self.randomizer.counts(tally) if self.row.log else tally
        return counts

    def value(self, point: int) -> Any:
        """Return a raw value of an input."""
        return raw_value(self.randomizer, point)

    def values(self, points: np.ndarray) -> Any:
        """Return raw values of inputs, as a column that `randomize` takes."""
        raw = np.array([self.value(point) for point in range(self.inputs)])
        return raw[points]


def randomizer_cases(
    *epsilons: float,
    domains: tuple[str, ...] = tuple(DOMAINS),
    rows: str = "",
    logs: bool = True,
) -> list[Any]:
    """Return every row on each of its domains at each epsilon, for `pytest.mark.parametrize`.

    `domains` and `rows` (how names start) leave some out, for tests that take seconds each;
    `logs=False` leaves out those whose tally is a log.
    """
    return [
        pytest.param(
            RandomizerCase(row, row.make(DOMAINS[where], epsilon)),
            id=f"{name}, {where}, {epsilon}",
        )
        for name, row in RANDOMIZERS.items()
        for where in row.domains
        for epsilon in epsilons
        if where in domains and name.startswith(rows) and (logs or not row.log)
    ]


def at_epsilon(randomizer: Any, factor: Fraction) -> Any:
    """Return the same randomizer with its epsilon times a factor, and the same near sets."""
    fixed: dict[str, Any] = {}
    if isinstance(randomizer, SquareWave):
        fixed["width"] = (randomizer.half_window + 0.5) / randomizer.points
    if isinstance(randomizer, SubsetSelection | SignedSubsetSelection):
        fixed["size"] = randomizer.members
    if isinstance(randomizer, CompressivePrivatization) and randomizer.matrix == "balanced":
        fixed["weight"] = randomizer.near
    if isinstance(randomizer, HadamardResponse):
        fixed["blocks"] = randomizer.block_count
    if isinstance(randomizer, LinearHashing):
        fixed["hash_bits"] = randomizer.bits
    if isinstance(randomizer, LocalHashing):
        fixed["size"] = randomizer.values_of_a_hash
    changed = replace(randomizer, epsilon=randomizer.epsilon * factor, **fixed)
    if isinstance(randomizer, Mixture):
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
        elif isinstance(block.law, HashedSupport):
            # Given the hash, the near point of the own value against the same of another.
            own, other = matrix.max(), matrix.min()
            ratio = own * (1 - other) / ((1 - own) * other)
        elif isinstance(block.law, ProductOfBits):
            # Given two values only their two bits differ in law, one up and one down.
            ratio *= ((1 - matrix).max(axis=1) / (1 - matrix).min(axis=1)).max()
        else:
            assert isinstance(block.law, Multinomial)
        ratios.append(ratio)
    return max(ratios), 1e-12 + 1e-15 / smallest
