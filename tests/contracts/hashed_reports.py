"""What reports of linear hashing say, and which cannot occur, from the definition."""

from __future__ import annotations

from typing import Any


def long_seeds(randomizer: Any) -> list[bytes]:
    """Return reports whose seed has a bit too many."""
    used = randomizer.hash.seed_bits + randomizer.bits
    width = randomizer.report_width
    return [(1 << bit).to_bytes(width, "little") for bit in range(used, 8 * width)]


def supported(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    """Return the symbols whose hash is near the point of a report, from the definition."""
    code, bits = int.from_bytes(report, "little"), randomizer.bits
    seed, point = code >> bits, code % 2**bits
    found = []
    for symbol in range(randomizer.domain.size):
        hashed = 0
        for row in range(bits):
            hashed |= bin(seed >> row & symbol).count("1") % 2 << row
        if hashed ^ point < randomizer.near:
            found.append(symbol)
    return 0, found
