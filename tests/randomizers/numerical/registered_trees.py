"""Trees, wavelets and what they are made of, as the contract suites run over them."""

from typing import Any

from lapwing.papers.square_wave import HaarHadamard, Hierarchical
from lapwing.papers.square_wave.haar_hadamard import SignedHadamard
from lapwing.papers.wavelet import Wavelet
from lapwing.papers.wavelet.signed_subset_selection import SignedSubsetSelection
from tests.contracts.randomizer_rows import CODES, GROUPS, RandomizerRow, loosen_near


def _wrong_signed_sets(randomizer: Any) -> list[bytes]:
    coordinates, members = randomizer._coordinates, randomizer._members
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


def _signed(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    plane = (randomizer._coordinates + 7) // 8
    minus = int.from_bytes(report[-plane:], "little")
    present = int.from_bytes(report[:plane], "little")
    if len(report) == plane:
        present = 2**randomizer._coordinates - 1
    held = [k for k in range(randomizer._coordinates) if present >> k & 1]
    return 0, [2 * k + (minus >> k & 1) for k in held]


ROWS = {
    "hierarchical": RandomizerRow(
        lambda domain, epsilon: Hierarchical(domain, epsilon, branching=2),
        ("linear", "eight", "circular"),
        *GROUPS,
    ),
    "haar-hadamard": RandomizerRow(HaarHadamard, ("linear", "eight"), *GROUPS),
    "wavelet": RandomizerRow(Wavelet, ("linear", "eight"), *GROUPS),
    "signed-hadamard": RandomizerRow(SignedHadamard, ("categories", "eight"), *CODES),
    "signed-subset-selection": RandomizerRow(
        SignedSubsetSelection,
        ("linear", "eight"),
        loosen_near,
        _wrong_signed_sets,
        _signed,
        near_sets=lambda randomizer: {"size": randomizer._members},
    ),
    "signed-subset-selection, two at a time": RandomizerRow(
        lambda domain, epsilon: SignedSubsetSelection(domain, epsilon, size=2),
        ("linear", "eight"),
        loosen_near,
        _wrong_signed_sets,
        _signed,
        near_sets=lambda randomizer: {"size": randomizer._members},
    ),
}
