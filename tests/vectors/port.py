"""A second client, written from docs/report-format.md alone; it imports nothing of lapwing.

It shows that the page and the vectors are enough, and it is short: this is what a port has to do.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator
from typing import Any

import rfc8785


class RefusedError(Exception):
    """A value, a report or a survey that must be refused."""


def fingerprint(survey: dict[str, Any]) -> str:
    """Return the fingerprint of all keys but the fingerprint itself."""
    agreed = {key: value for key, value in survey.items() if key != "fingerprint"}
    return hashlib.sha256(rfc8785.dumps(agreed)).hexdigest()


# From a value to an input


def to_input(survey: dict[str, Any], value: Any) -> int:
    """Return the symbol of a value, or its point of the grid."""
    domain = survey["randomizer"]["domain"]
    if value is None:
        if domain["missing"] == "refuse":
            raise RefusedError
        return _symbols(domain) - 1
    if domain["class"] == "categories":
        labels = domain["labels"]
        if isinstance(labels, int):
            if not 0 <= value < labels:
                raise RefusedError
            return int(value)
        if value not in labels:
            raise RefusedError
        return int(labels.index(value))
    if domain["class"] == "integers":
        if value != math.floor(value):
            raise RefusedError
        return int(_inside(domain, value)) - int(domain["low"])
    bins = survey["randomizer"].get("grid") or domain["bins"]
    return _interval_symbol({**domain, "bins": bins}, float(value))


def _inside(domain: dict[str, Any], value: float) -> float:
    low, high = domain["low"], domain["high"]
    if domain.get("circular"):
        return float(low + (value - low) % (high - low))
    if domain["outside"] == "refuse" and not low <= value <= high:
        raise RefusedError
    return min(max(value, low), high)


def _edges(domain: dict[str, Any]) -> list[float]:
    low, high, bins = domain["low"], domain["high"], domain["bins"]
    if domain["scale"] == "log":
        edges = [low * (high / low) ** (i / bins) for i in range(bins + 1)]
    else:
        edges = [low + (high - low) * (i / bins) for i in range(bins + 1)]
    edges[0], edges[-1] = low, high
    return edges


def _pieces(domain: dict[str, Any]) -> list[tuple[float, float]]:
    """Return (start, stop) of every symbol in order; an atom before the piece that starts there."""
    atoms = domain["atoms"]
    edges = sorted({*_edges(domain), *atoms})
    pieces = [(start, 1, stop) for start, stop in itertools.pairwise(edges)]
    pieces += [(atom, 0, atom) for atom in atoms]
    return [(start, stop) for start, _, stop in sorted(pieces)]


def _interval_symbol(domain: dict[str, Any], value: float) -> int:
    x = _inside(domain, value)
    pieces = _pieces(domain)
    for symbol, (start, stop) in enumerate(pieces):
        if start == stop == x or start <= x < stop:
            return symbol
    return len(pieces) - 1


def _symbols(domain: dict[str, Any]) -> int:
    missing = int(domain["missing"] != "refuse")
    if domain["class"] == "categories":
        labels = domain["labels"]
        return (labels if isinstance(labels, int) else len(labels)) + missing
    if domain["class"] == "integers":
        return int(domain["high"] - domain["low"] + 1) + missing
    return len(_pieces(domain)) + missing


# From an input to a report


def below(words: Iterator[int], bound: int) -> int:
    """Return a uniform number below the bound."""
    while True:
        high, low = divmod(next(words) * bound, 2**64)
        if low >= 2**64 % bound:
            return high


def report(survey: dict[str, Any], x: int, words: Iterator[int]) -> bytes:
    """Return the report of an input."""
    derived, kind = survey["derived"], survey["randomizer"]["class"]
    thresholds = {name: int(text, 16) for name, text in derived["thresholds"].items()}
    if kind in ("unary-encoding", "optimized-unary-encoding"):
        bits = 0
        for symbol in range(derived["bits"]):
            bits |= (next(words) < thresholds["own" if symbol == x else "other"]) << symbol
        return bits.to_bytes(derived["report_width"], "little")
    near = next(words) < thresholds["near"]
    points, window, outputs = derived["points"], derived["near"], derived["outputs"]
    offset = below(words, window if near else outputs - window)
    if kind == "generalized-randomized-response":
        code = x if near else offset + (offset >= x)
    elif survey["randomizer"]["domain"].get("circular"):
        half = (window - 1) // 2
        code = (x + offset - half if near else x + offset + half + 1) % points
    else:
        code = x + offset if near else offset + window * (offset >= x)
    return int(code).to_bytes(derived["report_width"], "little")


def check_report(survey: dict[str, Any], data: bytes) -> None:
    """Refuse a report that no client can have sent."""
    derived = survey["derived"]
    codes = derived["outputs"] if "outputs" in derived else 2 ** derived["bits"]
    if len(data) != derived["report_width"] or int.from_bytes(data, "little") >= codes:
        raise RefusedError
