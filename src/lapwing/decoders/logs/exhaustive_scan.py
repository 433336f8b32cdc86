"""All values of a huge domain, tile by tile, in bounded memory."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.decoder import decoder_document, required
from lapwing.documents import read, replacing, require, require_format
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.protocol.channels.hashed_channel import LinearChannel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import TallyLog
from lapwing.results.heavy_hitters import HeavyHitters

Progress = Callable[[int, int], None]

TILE_BITS = 22
"""A tile has 2^22 values: larger ones leave the cache, smaller ones fold the points more often."""

_FOUND_LIMIT = 2**20
"""Most values above the threshold in one tile, and in all."""

_SAVE_SECONDS = 10.0
"""How often the state is written."""


def check_expected_false(expected_false: float) -> None:
    """Raise ArgumentError unless a number of false values is in (0, 1000]."""
    if isinstance(expected_false, bool) or not isinstance(expected_false, int | float):
        raise ArgumentError(
            f"expected_false must be a number, got a {type(expected_false).__name__}"
        )
    if not 0 < expected_false <= 1000:
        raise ArgumentError(f"expected_false must be in (0, 1000], got {expected_false}")


def tiles_of(channel: LinearChannel) -> int:
    """Return how many tiles hold a value of the domain."""
    return int(-(-channel.domain.size // 2 ** min(TILE_BITS, channel.hash.key_bits)))


@dataclass(frozen=True)
class ExhaustiveScan:
    """Score every value of the domain and list those above a threshold.

    Parameters
    ----------
    expected_false : float
        How many values that nobody holds may be listed on average, in (0, 1000].

    Accuracy
    --------
    The threshold is the smallest number of supports for which the exact binomial distribution lets
    at most `expected_false` of all values through that nobody holds. A value whose share is three
    standard deviations above it is missed once in 740.

    Cost
    ----
    About 12 ms of processor time for each tile of 2^22 values and 1.3 ns for each tile and point;
    a report has 2^l - 1 points. 2^32 values, 1e6 people, epsilon 2: see `benchmarks/speed`.
    Memory: 8 bytes a point and 16 MB for the tile (80 MB in all for those).

    Source: own; the transform of linear hashes as in Bassily et al. 2017, which has one parity.
    """

    _: KW_ONLY
    expected_false: float = 0.05

    name: ClassVar[str] = "exhaustive-scan"
    reads: ClassVar[Kind] = "log"

    def __post_init__(self) -> None:
        """Check the number."""
        check_expected_false(self.expected_false)

    def decode(
        self,
        channel: LinearChannel,
        tally: TallyLog,
        *,
        progress: Progress | None = None,
        state: Path | str | None = None,
    ) -> HeavyHitters:
        """Return all values above the threshold.

        Parameters
        ----------
        channel : LinearChannel
        tally : TallyLog
        progress : callable, optional
            Called with tiles done and tiles in all, after each tile.
        state : path, optional
            A file that keeps what was found so far; it is replaced as a whole every ten seconds
            and when the scan ends, also by an error or Ctrl-C. A scan that finds it goes on there.

        Raises
        ------
        MismatchError
            When the log is another randomizer's, or the state another survey's, log's or scan's.
        FormatError
            When the state is damaged.
        UnsupportedChannelError
            When the channel is not of linear hashing.
        """
        required(
            channel,
            LinearChannel,
            "an exhaustive scan needs the log of linear hashing; decode counts with a decoder of "
            "distributions",
        )
        channel.check(tally)
        scan = _Scan(channel, tally, self.expected_false)
        if state is not None:
            scan.resume(Path(state))
        try:
            scan.run(progress, None if state is None else Path(state))
        finally:
            if state is not None:
                scan.save(Path(state))
        return scan.result(decoder_document(self))


@dataclass
class _Scan:
    """A scan on its way: how many tiles are done and what they held."""

    channel: LinearChannel
    log: TallyLog
    expected_false: float
    done: int = 0
    symbols: list[int] = field(default_factory=list)
    supports: list[int] = field(default_factory=list)

    @property
    def tile_bits(self) -> int:
        """Bits of a value that differ within a tile."""
        return min(TILE_BITS, self.channel.hash.key_bits)

    @property
    def tiles(self) -> int:
        """Tiles that hold a value of the domain."""
        return tiles_of(self.channel)

    @property
    def least(self) -> int:
        """The fewest supports that are listed."""
        return self.channel.least_supports(
            self.log.total,
            values=self.channel.domain.size,
            expected_false=self.expected_false,
        )

    def run(self, progress: Progress | None, state: Path | None) -> None:
        """Do the tiles that are left."""
        if self.done == self.tiles:
            return
        if self.tiles == 1:
            self._whole(progress)
            return
        from lapwing.linear.operators.hash_kernels import fold, reaching, walsh

        points = self._sorted_points()
        kind = self.channel.whole_numbers(self.log.total)
        tile = np.empty(2**self.tile_bits, dtype=kind)
        found = np.empty(min(tile.size, _FOUND_LIMIT), dtype=np.int64)
        high_bits = self.channel.hash.key_bits - self.tile_bits
        parities = np.arange(2**high_bits, dtype=np.uint32)
        base = self.channel.near * self.log.total
        scale = self.channel.hash.hash_bits
        limit = (self.least << scale) - base
        saved = time.monotonic()
        for number in range(self.done, self.tiles):
            odd = np.bitwise_count(parities & np.uint32(number)).astype(np.int8) & np.int8(1)
            fold(points, high_bits, (1 - 2 * odd).astype(kind), tile)
            walsh(tile)
            held = min(tile.size, self.channel.domain.size - number * tile.size)
            reached = reaching(tile[:held], limit, found)
            if reached + len(self.symbols) > _FOUND_LIMIT:
                raise ArgumentError(
                    f"more than {_FOUND_LIMIT} values are above the threshold; ask for fewer "
                    "false ones"
                )
            places = found[:reached]
            self.symbols += (places + number * tile.size).tolist()
            self.supports += ((tile[places].astype(np.int64) + base) >> scale).tolist()
            self.done = number + 1
            if progress is not None:
                progress(self.done, self.tiles)
            if state is not None and time.monotonic() - saved > _SAVE_SECONDS:
                self.save(state)
                saved = time.monotonic()

    def _whole(self, progress: Progress | None) -> None:
        """Do the only tile, for which all supports are counted at once."""
        supports = self.channel.counts(self.log).blocks[0]
        (places,) = np.nonzero(supports >= self.least)
        self.symbols, self.supports = places.tolist(), supports[places].tolist()
        self.done = 1
        if progress is not None:
            progress(1, 1)

    def _sorted_points(self) -> NDArray[np.uint64]:
        """Return the points, each in one number, sorted by the low bits of their positions.

        Sorted, a fold walks through the tile once instead of jumping about in it.
        """
        from lapwing.linear.operators.hash_kernels import pack

        each = self.channel.points_of_a_report
        points = np.empty(self.log.total * each, dtype=np.uint64)
        high_bits = self.channel.hash.key_bits - self.tile_bits
        start = 0
        for part in self.channel.parts(self.log):
            positions, weights = self.channel.points(part)
            target = points[start : start + positions.size]
            pack(positions, weights, self.tile_bits, high_bits, target)
            start += positions.size
        points.sort()
        return points

    def _header(self) -> dict[str, Any]:
        """Return what a state must agree in to be this scan's."""
        return {
            "survey": self.log.survey,
            "randomizer": self.log.fingerprint,
            "log": hashlib.sha256(self.log.records()).hexdigest(),
            "expected_false": self.expected_false,
            "tiles": self.tiles,
        }

    def save(self, path: Path) -> None:
        """Write the state, entirely or not at all."""
        document = {
            "format": "lapwing-scan",
            "version": 1,
            **self._header(),
            "done": self.done,
            "symbols": self.symbols,
            "supports": self.supports,
        }
        with replacing(path) as stream:
            stream.write(json.dumps(document).encode())

    def resume(self, path: Path) -> None:
        """Go on where a state says, if there is one."""
        if not path.exists():
            return
        document = read(path)
        require_format(document, name="lapwing-scan", version=1)
        header = self._header()
        keys = {"format", "version", *header, "done", "symbols", "supports"}
        require(document, keys, name="the state of a scan")
        for key, expected in header.items():
            if document[key] != expected:
                raise MismatchError(
                    f"{path.name} is the state of a scan of another {_CALLED[key]}; remove it, or "
                    "name another file"
                )
        done, symbols, supports = (document[key] for key in ("done", "symbols", "supports"))
        whole = type(done) is int and 0 <= done <= self.tiles
        whole = whole and isinstance(symbols, list) and isinstance(supports, list)
        whole = whole and all(type(n) is int for n in [*symbols, *supports])
        whole = whole and len(symbols) == len(supports) == len(set(symbols))
        whole = whole and all(0 <= n < self.channel.domain.size for n in symbols)
        if not whole or any(not self.least <= n <= self.log.total for n in supports):
            raise FormatError(f"{path.name} is damaged; remove it to start the scan anew")
        self.done, self.symbols, self.supports = done, symbols, supports

    def result(self, provenance: dict[str, Any]) -> HeavyHitters:
        """Return what was found."""
        return heavy_hitters(
            self.channel,
            self.log.total,
            np.array(self.symbols, dtype=np.int64),
            np.array(self.supports, dtype=np.int64),
            least=self.least,
            searched=self.channel.domain.size,
            expected_false=self.expected_false,
            provenance=provenance,
        )


_CALLED = {
    "survey": "survey",
    "randomizer": "randomizer",
    "log": "tally",
    "expected_false": "threshold",
    "tiles": "domain",
}


def heavy_hitters(
    channel: LinearChannel,
    reports: int,
    symbols: NDArray[np.int64],
    supports: NDArray[np.int64],
    *,
    least: int,
    searched: int,
    expected_false: float,
    provenance: dict[str, Any],
    labels: list[str] | None = None,
) -> HeavyHitters:
    """Return the listed values with their shares, the largest first, equal ones by number."""
    order = np.lexsort((symbols, -supports))
    shares = channel.shares(supports[order], reports)
    return HeavyHitters(
        channel.domain,
        symbols[order],
        shares,
        channel.deviations(shares, reports),
        threshold=float(channel.shares(np.array([least]), reports)[0]),
        searched=searched,
        reports=reports,
        expected_false=expected_false,
        labels=None if labels is None else [labels[i] for i in order.tolist()],
        guarantee=channel.guarantee,
        provenance=provenance,
    )
