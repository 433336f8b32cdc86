"""A second client, written from docs/reference/formats alone; it imports nothing of lapwing.

It shows that the page and the vectors are enough, and it is short: this is what a port has to do.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import struct
from collections.abc import Iterator
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


class RefusedError(Exception):
    """A value, a report or a survey that must be refused."""


def fingerprint(survey: dict[str, Any]) -> str:
    """Return the fingerprint of all keys but the fingerprint itself and the text for people."""
    agreed = {
        key: one for key, one in survey.items() if key not in ("fingerprint", "notice", "asks")
    }
    return hashlib.sha256(rfc8785.dumps(agreed)).hexdigest()


def text_fingerprint(survey: dict[str, Any]) -> str:
    """Return the fingerprint of the text for people, of a survey without one as well."""
    return hashlib.sha256(rfc8785.dumps({"notice": survey.get("notice", {})})).hexdigest()


def upload_address(survey: dict[str, Any], epoch: str, batch: str) -> str:
    """Return where a batch of the reports of these people is sent."""
    place = f"/v1/surveys/{fingerprint(survey)}/epochs/{epoch}/batches/{batch}"
    return f"{place}?text={text_fingerprint(survey)}"


# From a value to an input


def to_input(survey: dict[str, Any], value: Any) -> int:
    """Return the symbol of a value, or its point of the grid."""
    domain = survey["randomizer"]["domain"]
    if domain["class"] == "product":
        first, second = (axis["domain"] for axis in domain["axes"])
        row, column = (
            to_input({"randomizer": {"domain": axis}}, each)
            for axis, each in zip((first, second), value, strict=True)
        )
        return row * _symbols(second) + column
    if value is None:
        if domain["missing"] == "refuse":
            raise RefusedError
        return _symbols(domain) - 1
    if domain["class"] == "hashed-strings":
        if not isinstance(value, str):
            raise RefusedError
        digest = hashlib.sha256(value.encode()).digest()
        return int.from_bytes(digest, "big") >> (256 - int(domain["bits"]))
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
        if domain["outside"] == "overflow":
            return int(min(max(value, domain["low"] - 1), domain["high"] + 1)) - domain["low"] + 1
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
    if "edges" in domain:
        return list(domain["edges"])
    low, high, bins = domain["low"], domain["high"], domain["bins"]
    if domain["scale"] == "log":
        edges = [low * (high / low) ** (i / bins) for i in range(bins + 1)]
        if domain.get("closed") == "right" and high / low - 1 > bins * 2**-30:
            written = [float(f"{edge:.12g}") for edge in edges]
            pairs = zip(written, edges, strict=True)
            edges = [d if abs(d - e) <= 2**-46 * d else e for d, e in pairs]
    else:
        scale = 2.0 ** -bins.bit_length()
        edges = [low + (high - low) * scale * i / (bins * scale) for i in range(bins + 1)]
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
    if domain["outside"] != "overflow":
        return _inner_symbol(domain, value)
    high = domain["high"]
    if value < domain["low"]:
        return 0
    holds_high = domain.get("closed") == "right" or high in domain["atoms"]
    if value > high or (value == high and not holds_high):
        return 1 + len(_pieces(domain))
    return 1 + _inner_symbol(domain, value)


def _inner_symbol(domain: dict[str, Any], value: float) -> int:
    x = _inside(domain, value)
    pieces = _pieces(domain)
    if domain.get("closed") == "right":
        for symbol, (start, stop) in enumerate(pieces):
            if start == stop == x:
                return symbol
        for symbol, (start, stop) in enumerate(pieces):
            if start < x <= stop:
                return symbol
        # Nothing is below the lowest value but, on a circle, the end of the last bin.
        return len(pieces) - 1 if domain["circular"] else 0
    for symbol, (start, stop) in enumerate(pieces):
        if start == stop == x or start <= x < stop:
            return symbol
    return len(pieces) - 1


def _symbols(domain: dict[str, Any]) -> int:
    if domain["class"] == "product":
        return math.prod(_symbols(axis["domain"]) for axis in domain["axes"])
    missing = int(domain["missing"] != "refuse")
    if domain["class"] == "hashed-strings":
        return int(2 ** domain["bits"]) + missing
    if domain["class"] == "categories":
        labels = domain["labels"]
        return (labels if isinstance(labels, int) else len(labels)) + missing
    if domain["class"] == "integers":
        apart = 2 * (domain["outside"] == "overflow")
        return int(domain["high"] - domain["low"] + 1) + apart + missing
    return len(_pieces(domain)) + 2 * (domain["outside"] == "overflow") + missing


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
    if kind == "compressive-privatization":
        return _compressed(survey["randomizer"], derived, x, words)
    if kind == "box-wave":
        return _box(
            survey["randomizer"]["domain"], survey["randomizer"]["widths"], derived, x, words
        )
    if "groups" not in derived:
        circular = bool(survey["randomizer"]["domain"].get("circular"))
        return _single(kind, derived, x, words, circular=circular)
    coin = next(words) >> 32
    ends = itertools.accumulate(group["share"] for group in derived["groups"])
    number = sum(end <= coin for end in ends)
    group = derived["groups"][number]
    domain = survey["randomizer"]["domain"]
    if kind == "multiscale-boxes":
        what, sizes, _ = survey["randomizer"]["components"][number]
        if what == "box":
            made = _box(domain, sizes, group["derived"], x, words)
            return (bytes([number]) + made).ljust(derived["report_width"], b"\0")
        cell = _block(domain, sizes, x)
    else:
        cell = x * group["cells"] // _symbols(domain)
        if kind == "multiscale-wave":
            what, starts, _ = survey["randomizer"]["components"][number]
            if what == "cells":
                cell = sum(start <= x for start in starts) - 1
        if kind == "asked-labels" and number == 0:
            asked = survey["randomizer"]["labels"]
            cell = asked.index(x) if x in asked else len(asked)
    made = _single(group["randomizer"], group["derived"], cell, words, cells=group["cells"])
    return (bytes([number]) + made).ljust(derived["report_width"], b"\0")


def _single(
    kind: str,
    derived: dict[str, Any],
    x: int,
    words: Iterator[int],
    *,
    circular: bool = False,
    cells: int = 0,
) -> bytes:
    thresholds = {name: int(text, 16) for name, text in derived["thresholds"].items()}
    width = int(derived["report_width"])
    if kind in ("unary-encoding", "optimized-unary-encoding"):
        bits = 0
        for symbol in range(derived["bits"]):
            bits |= (next(words) < thresholds["own" if symbol == x else "other"]) << symbol
        return bits.to_bytes(width, "little")
    if kind == "rappor":
        rounds = [thresholds["permanent"], thresholds["instantaneous"]]
        bits = 1 << x
        for keep in rounds:
            for symbol in range(derived["bits"]):
                bits ^= (next(words) >= keep) << symbol
        return bits.to_bytes(width, "little")
    if kind == "subset-selection":
        return _subset(derived, thresholds["own"], x, words)
    if kind == "affine-subset-selection":
        size, members = derived["elements"], derived["members"]
        near = next(words) < thresholds["own"]
        y = below(words, members) if near else members + below(words, size - members)
        row = below(words, size - 1)
        return (row * size + (y ^ _product(row + 1, x, size))).to_bytes(width, "little")
    if kind == "signed-subset-selection":
        return _signed_subset(derived, thresholds["own"], x, words)
    points, outputs = derived["points"], derived["outputs"]
    if kind == "general-wave":
        window, word = derived["window"], next(words)
        offset = sum(limit <= word for limit in thresholds.values())
        near = offset < window
        if not near:
            offset = below(words, outputs - window)
    else:
        window, near = derived["near"], next(words) < thresholds["near"]
        offset = below(words, window if near else outputs - window)
    if kind == "randomized-response":
        code = x if near else offset + (offset >= x)
    elif kind == "signed-hadamard":
        cell = x * outputs // cells
        sign = ((offset & cell >> 1).bit_count() + cell + (not near)) % 2
        code = 2 * offset + sign
    elif kind == "hadamard-response":
        code = _hadamard(derived, x, near, offset)
    elif kind == "linear-hashing":
        code = _linear_hash(derived, x, offset if near else window + offset, next(words))
    elif kind == "local-hashing" and "hashes" in derived:
        code = _pooled_hash(derived, x, near, offset)
    elif kind == "local-hashing":
        seed = next(words)
        own = _local_hash(seed, x, outputs)
        told = own if near else offset + (offset >= own)
        return seed.to_bytes(8, "little") + told.to_bytes(width - 8, "little")
    elif circular:
        half = (window - 1) // 2
        code = (x + offset - half if near else x + offset + half + 1) % points
    else:
        code = x + offset if near else offset + window * (offset >= x)
    return int(code).to_bytes(width, "little")


def _apart(domain: dict[str, Any]) -> list[int]:
    """Return the symbols that are no bins: below, above, missing."""
    last = _symbols(domain) - 1
    missing = [last] if domain["missing"] != "refuse" else []
    outside = [0, last - len(missing)] if domain.get("outside") == "overflow" else []
    return outside + missing


def _block(domain: dict[str, Any], sizes: list[int | None], x: int) -> int:
    axes = [axis["domain"] for axis in domain["axes"]]
    numbers = []
    for axis, size, symbol in zip(axes, sizes, divmod(x, _symbols(axes[1])), strict=True):
        apart = _apart(axis)
        bins = [other for other in range(_symbols(axis)) if other not in apart]
        width = len(bins) if size is None else size
        blocks = -(-len(bins) // width)
        if size is None:
            numbers.append((0, 1))
        elif symbol in apart:
            numbers.append((blocks + apart.index(symbol), blocks + len(apart)))
        else:
            numbers.append((bins.index(symbol) // width, blocks + len(apart)))
    (row, _), (column, columns) = numbers
    return row * columns + column


class _Side:
    """Outputs of one axis of a box, and in which order a symbol counts them: near ones first."""

    def __init__(self, domain: dict[str, Any], width: int | None, symbol: int) -> None:
        if width is None:
            self.near, self.order = 1, [0]
        elif domain["class"] == "categories":
            sets = list(itertools.combinations(range(_symbols(domain)), width))
            inside = [number for number, one in enumerate(sets) if symbol in one]
            outside = [number for number, one in enumerate(sets) if symbol not in one]
            self.near, self.order = len(inside), inside + outside
        else:
            apart = _apart(domain)
            bins = [other for other in range(_symbols(domain)) if other not in apart]
            grid = len(bins) if domain.get("circular") else len(bins) + width - 1
            outputs = grid + width * len(apart)
            self.near = width
            if symbol in apart:
                start = grid + width * apart.index(symbol)
            else:
                start = bins.index(symbol)
            if domain.get("circular") and symbol not in apart:
                around = [(start + place) % grid for place in range(grid)]
                self.order = [*around, *range(grid, outputs)]
            else:
                self.order = [(start + place) % outputs for place in range(outputs)]


def _box(
    domain: dict[str, Any],
    widths: list[int | None],
    derived: dict[str, Any],
    x: int,
    words: Iterator[int],
) -> bytes:
    axes = [axis["domain"] for axis in domain["axes"]]
    row, column = divmod(x, _symbols(axes[1]))
    first, second = _Side(axes[0], widths[0], row), _Side(axes[1], widths[1], column)
    rows, columns = len(first.order), len(second.order)
    if next(words) < int(derived["thresholds"]["near"], 16):
        one, other = divmod(below(words, derived["near"]), second.near)
    else:
        offset = below(words, derived["outputs"] - derived["near"])
        beyond = (rows - first.near) * columns
        if offset < beyond:
            one, other = divmod(offset, columns)
            one += first.near
        else:
            one, other = divmod(offset - beyond, columns - second.near)
            other += second.near
    code = first.order[one] * columns + second.order[other]
    return code.to_bytes(derived["report_width"], "little")


def _product(a: int, b: int, size: int) -> int:
    k = size.bit_length() - 1
    modulus = [0x3, 0x7, 0xB, 0x13, 0x25, 0x43, 0x83, 0x11D, 0x211, 0x409, 0x805, 0x1053]
    modulus += [0x201B, 0x4443, 0x8003, 0x1100B]
    c = 0
    for bit in range(k - 1, -1, -1):
        c *= 2
        if c >= size:
            c ^= modulus[k - 1]
        if b >> bit & 1:
            c ^= a
    return c


def _linear_hash(derived: dict[str, Any], x: int, offset: int, word: int) -> int:
    bits = derived["hash_bits"]
    seed = word >> (64 - (derived["key_bits"] + bits - 1))
    hashed = sum((seed >> row & x).bit_count() % 2 << row for row in range(bits))
    return int(seed << bits | (offset ^ hashed))


def _pooled_hash(derived: dict[str, Any], x: int, near: bool, offset: int) -> int:
    size = derived["hashed_values"]
    number = offset if near else offset // (size - 1)
    own = _local_hash(derived["seed"] << 32 | number, x, size)
    other = offset % (size - 1)
    return int(number * size + (own if near else other + (other >= own)))


def _mixed(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def _local_hash(seed: int, x: int, size: int) -> int:
    key = (x ^ x >> 16) * 0x85EBCA6B % 2**32
    key = (key ^ key >> 13) * 0xC2B2AE35 % 2**32
    key ^= key >> 16
    gamma = 0x9E3779B97F4A7C15
    factor, shift = _mixed((seed + gamma) % 2**64), _mixed((seed + 2 * gamma) % 2**64)
    return ((factor * key + shift) % 2**64 >> 32) * size >> 32


def _hadamard(derived: dict[str, Any], x: int, near: bool, offset: int) -> int:
    length = derived["length"]
    blocks = derived["outputs"] // length
    block, column = x % blocks, x // blocks + 1
    if not near and offset >= length // 2:
        rest = offset - length // 2
        return rest if rest < block * length else rest + length
    lowest = column & -column
    row = offset % lowest + offset // lowest * 2 * lowest
    if (row & column).bit_count() % 2 == int(near):
        row += lowest
    return block * length + row


def near_set(randomizer: dict[str, Any], derived: dict[str, Any], x: int) -> list[int]:
    """Return the outputs near a symbol."""
    m, matrix = derived["outputs"], randomizer["matrix"]
    if isinstance(matrix, list):
        bits = int.from_bytes(bytes.fromhex(matrix[x]), "little")
        return [j for j in range(m) if bits >> j & 1]
    key = hashlib.sha256(f"lapwing columns {randomizer['seed']}".encode("ascii")).digest()
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    b = (m + 3) // 4
    counters = b"".join((x * b + i).to_bytes(16, "big") for i in range(b))
    numbers = list(struct.unpack(f"<{4 * b}I", block.update(counters)))[:m]
    if matrix == "balanced":
        order = sorted(range(m), key=lambda j: (numbers[j], j))
        return sorted(order[: derived["weight"]])
    limit = 2**31 if matrix == "rademacher" else derived["entry_threshold"]
    return [j for j in range(m) if numbers[j] < limit]


def _compressed(
    randomizer: dict[str, Any], derived: dict[str, Any], x: int, words: Iterator[int]
) -> bytes:
    near = near_set(randomizer, derived, x)
    others = [j for j in range(derived["outputs"]) if j not in near]
    threshold = int(derived["thresholds"][str(len(near))], 16)
    chosen = near if next(words) < threshold else others
    return chosen[below(words, len(chosen))].to_bytes(derived["report_width"], "little")


def _subset(derived: dict[str, Any], own: int, x: int, words: Iterator[int]) -> bytes:
    bits, places, unseen = 0, derived["members"], derived["bits"] - 1
    if next(words) < own:
        bits, places = 1 << x, places - 1
    for symbol in range(derived["bits"]):
        if symbol != x:
            if below(words, unseen) < places:
                bits, places = bits | 1 << symbol, places - 1
            unseen -= 1
    return bits.to_bytes(derived["report_width"], "little")


def _signed_subset(derived: dict[str, Any], own: int, x: int, words: Iterator[int]) -> bytes:
    d, m = derived["coordinates"], derived["members"]
    mine, sign = x // 2, x % 2
    places, unseen, present, minus = m, d - 1, 0, 0
    held = next(words) < own
    if not held and below(words, 2 * d - m) < m:
        held, sign = True, 1 - sign
    if held:
        present, minus, places = 1 << mine, sign << mine, places - 1
    for other in range(d):
        if other != mine:
            drawn = below(words, 2 * unseen)
            if drawn < 2 * places:
                present, minus = present | 1 << other, minus | drawn % 2 << other
                places -= 1
            unseen -= 1
    plane = (d + 7) // 8
    signs = minus.to_bytes(plane, "little")
    return signs if m == d else present.to_bytes(plane, "little") + signs


def check_report(survey: dict[str, Any], data: bytes) -> None:
    """Refuse a report that no client could have sent."""
    derived = survey["derived"]
    if len(data) != derived["report_width"]:
        raise RefusedError
    if "groups" not in derived:
        return _check(derived, data)
    if data[0] >= len(derived["groups"]):
        raise RefusedError
    part = derived["groups"][data[0]]["derived"]
    own = 1 + part["report_width"]
    if any(data[own:]):
        raise RefusedError
    return _check(part, data[1:own])


def _check(derived: dict[str, Any], data: bytes) -> None:
    number = int.from_bytes(data, "little")
    if "coordinates" in derived:
        d, m = derived["coordinates"], derived["members"]
        plane = 8 * ((d + 7) // 8)
        present, minus = (2**d - 1, number) if m == d else (number % 2**plane, number >> plane)
        if present >= 2**d or present.bit_count() != m or minus & ~present:
            raise RefusedError
        return
    if "elements" in derived:
        if number >= derived["elements"] * (derived["elements"] - 1):
            raise RefusedError
        return
    if "key_bits" in derived:
        if number >= 2 ** (derived["key_bits"] + 2 * derived["hash_bits"] - 1):
            raise RefusedError
        return
    if "hashed_values" in derived and "hashes" not in derived:
        if number >> 64 >= derived["hashed_values"]:
            raise RefusedError
        return
    codes = derived["outputs"] if "outputs" in derived else 2 ** derived["bits"]
    if number >= codes or number.bit_count() != derived.get("members", number.bit_count()):
        raise RefusedError
