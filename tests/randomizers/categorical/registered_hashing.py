"""Hashing, as the contract suites run over them."""

from typing import Any

from lapwing import LinearHashing
from lapwing.papers.baselines import LocalHashing, PrefixHashing
from tests.contracts.randomizer_rows import CODES, GROUPS, RandomizerRow, loosen_near


def _long_seeds(randomizer: Any) -> list[bytes]:
    """Return reports whose seed has a bit too many."""
    used = randomizer._hash.seed_bits + randomizer._bits
    width = randomizer.report_width
    return [(1 << bit).to_bytes(width, "little") for bit in range(used, 8 * width)]


def _supported(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    """Return the symbols whose hash is near the point of a report, from the definition."""
    code, bits = int.from_bytes(report, "little"), randomizer._bits
    seed, point = code >> bits, code % 2**bits
    found = []
    for symbol in range(randomizer.domain.size):
        hashed = 0
        for row in range(bits):
            hashed |= bin(seed >> row & symbol).count("1") % 2 << row
        if hashed ^ point < randomizer._near:
            found.append(symbol)
    return 0, found


ROWS = {
    "local-hashing, a pool": RandomizerRow(
        lambda domain, epsilon: LocalHashing(domain, epsilon, hashes=3, size=4),
        ("categories", "categories-missing"),
        *CODES,
        near_sets=lambda hashing: {"size": hashing._hash_size},
    ),
    "linear-hashing": RandomizerRow(
        lambda domain, epsilon: LinearHashing(domain, epsilon, hash_bits=2),
        ("categories", "categories-missing"),
        loosen_near,
        _long_seeds,
        _supported,
        log=True,
        near_sets=lambda hashing: {"hash_bits": hashing._bits},
    ),
    "prefix-hashing": RandomizerRow(
        lambda domain, epsilon: PrefixHashing(domain, epsilon, prefixes=(1, 3), hash_bits=2),
        ("categories-eight",),
        *GROUPS,
        log=True,
    ),
}
