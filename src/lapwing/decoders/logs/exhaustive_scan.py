"""Searches stored reports for frequent values of a domain too large to count.

:class:`ExhaustiveScan` scores all values, tile by tile, in bounded memory. Another decoder,
:class:`Candidates`, scores the analyst's own list of values. The third, :class:`PrefixExtension`,
goes from frequent prefixes to frequent values: extend, score, keep the best, extend again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic_files import replacing
from lapwing.declared import Declared, From
from lapwing.decoders.decoder import decoder_document, guarantee_of, required
from lapwing.documents import read, require, require_format
from lapwing.errors import ArgumentError, DomainError, FormatError, MismatchError, TallyError
from lapwing.protocol.channels.hashed_channel import LISTED, LinearChannel, PrefixChannel
from lapwing.protocol.messages.tally import Kind, Tally, TallyLog
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.rounding import count_text, length_writer

Progress = Callable[[int, int], None]

TILE_BITS = 22
"""A tile has 2^22 values: larger ones leave the cache, smaller ones fold the points more often."""

_FOUND_LIMIT = 2**20
"""Most values above the threshold in one tile, and in all."""

_SAVE_SECONDS = 10.0
"""How often the state is written."""

LONG_SECONDS = 5
"""Seconds above which a scan is announced."""

_SECONDS_OF_A_TILE, _SECONDS_OF_A_POINT = 12e-3, 1.3e-9
"""Measured on the benchmark machine, see the cost of :class:`ExhaustiveScan`."""


ExpectedFalse = Annotated[float, From(0, 1000, without="least")]
"""Number of values that are listed by chance, on average."""


def tiles_of(channel: LinearChannel) -> int:
    """Return how many tiles hold a value of the domain."""
    return int(-(-channel.domain.size // 2 ** min(TILE_BITS, channel.hash.key_bits)))


@dataclass(frozen=True)
class ExhaustiveScan(Declared):
    """Exhaustive heavy-hitter search by a Walsh-Hadamard transform.

    It scores every value of the domain, tile by tile in bounded memory, and lists those above a
    threshold.

    Parameters
    ----------
    expected_false : float
        Average number of values listed although nobody has them, in (0, 1000]. Default: 0.05.

    See Also
    --------
    Candidates : Scores the analyst's own list of values.
    PrefixExtension : Searches domains too large to scan.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** The threshold is a number of supports. By the exact binomial distribution, it is
    the smallest number that on average at most `expected_false` of the values that nobody has
    reach. A value whose share is three standard deviations above it is missed once in 740 times.

    **Cost.** About 12 ms of processor time for each tile of 2^22 values, and 1.3 ns for each tile
    and point. A report has ``2^l - 1`` points. For 2^32 values, 1e6 people and epsilon 2, see
    `benchmarks/speed`. It needs 8 bytes of memory for each point and 16 MB for the tile, 80 MB in
    all in that example.

    The search is this library's own. It transforms linear hashes as [1]_ does for hashes of one
    parity.

    References
    ----------
    .. [1] R. Bassily, K. Nissim, U. Stemmer, A. Thakurta, "Practical locally private heavy
       hitters", NIPS, 2017.

    Examples
    --------
    >>> import lapwing as lw
    >>> hashing = lw.LinearHashing(lw.Categories(2**16), epsilon=2)
    >>> reports = hashing.randomize([7] * 14_000 + [8] * 6000, rng=lw.seeded(1))
    >>> lw.decoders.ExhaustiveScan().decode(hashing.log_channel, hashing.tally(reports)).values
    [7, 8]
    """

    _: KW_ONLY
    expected_false: ExpectedFalse = 0.05

    name: ClassVar[str] = "exhaustive-scan"
    reads: ClassVar[Kind] = "log"

    def announcement(self, channel: LinearChannel, tally: TallyLog) -> str | None:
        """Return a message to show before a long scan, or None for a short one.

        Parameters
        ----------
        channel : LinearChannel
            Channel of linear hashing, :attr:`LinearHashing.log_channel`.
        tally : TallyLog
            Stored reports of linear hashing.

        Returns
        -------
        str or None
            Message for the user.
        """
        # Each tile is filled, and takes every point in.
        points = tally.total * channel.points_of_a_report
        seconds = tiles_of(channel) * (_SECONDS_OF_A_TILE + _SECONDS_OF_A_POINT * points)
        if seconds < LONG_SECONDS:
            return None
        hashed = channel.domain.name == "hashed-strings"
        duration = length_writer("time-of-day", digits=2)(seconds)
        return (
            f"a scan of {count_text(channel.domain.size)} {'hashes' if hashed else 'values'} "
            f"takes about {duration} on an idle processor"
        )

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
            Channel of linear hashing, :attr:`LinearHashing.log_channel`.
        tally : TallyLog
            Stored reports of linear hashing, at least one.
        progress : callable, optional
            Function to call after each tile, with the number of tiles done and the total. Default:
            none.
        state : path, optional
            File that keeps the intermediate result. It is replaced as a whole every ten seconds and
            when the scan ends, even by an error or Ctrl-C. A scan that finds the file continues
            there. Default: none.

        Returns
        -------
        HeavyHitters
            Values above the threshold, the largest share first.

        Raises
        ------
        MismatchError
            When the stored reports are from another randomizer, or the state is from another
            survey, log or scan.
        FormatError
            When the state is damaged.
        UnsupportedChannelError
            When the channel is not of linear hashing.
        """
        required(
            channel,
            LinearChannel,
            "an exhaustive scan needs the log of linear hashing. Decode counts with a decoder of "
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
            self.log.total, values=self.channel.domain.size, expected_false=self.expected_false
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
                    f"more than {_FOUND_LIMIT} values are above the threshold. Allow fewer "
                    "false positives"
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
                    f"{path.name} is the state of a scan with another {_CALLED[key]}. Remove "
                    "it, or name another file"
                )
        done, symbols, supports = (document[key] for key in ("done", "symbols", "supports"))
        whole = type(done) is int and 0 <= done <= self.tiles
        whole = whole and isinstance(symbols, list) and isinstance(supports, list)
        whole = whole and all(type(n) is int for n in [*symbols, *supports])
        whole = whole and len(symbols) == len(supports) == len(set(symbols))
        whole = whole and all(0 <= n < self.channel.domain.size for n in symbols)
        if not whole or any(not self.least <= n <= self.log.total for n in supports):
            raise FormatError(f"{path.name} is damaged. Remove it to start the scan again")
        self.done, self.symbols, self.supports = done, symbols, supports

    def result(self, provenance: dict[str, Any]) -> HeavyHitters:
        """Return what was found."""
        return heavy_hitters(
            self.channel,
            self.log,
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
    observation: Tally,
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
    reports = observation.total
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
        guarantee=guarantee_of(channel.guarantee, observation),
        provenance=provenance,
    )


@dataclass(frozen=True)
class Candidates(Declared):
    """Heavy hitters among a list of candidate values.

    It scores the analyst's own list of values, and lists those above a threshold. A list made
    without the reports needs a lower threshold than a scan of the whole domain. The time depends
    only on the length of the list. Answers are values of the domain, as with every decoder of
    stored reports. Strings are looked up as the domain does. So in a domain of hashed strings,
    whose values other decoders can only number, the answers are the analyst's own strings.

    Parameters
    ----------
    values : sequence
        Candidate values of the domain, all different. The list must not come from these reports.
    expected_false : float
        Average number of candidates listed although nobody has them, in (0, 1000]. If it is at
        least the number of candidates, all of them are listed. Default: 0.05.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** Shares are unbiased. The threshold is that of :class:`ExhaustiveScan` for as many
    values as there are candidates.

    **Cost.** About 0.02 ns for each report, candidate and bit of the hash: 0.05 s for 1000
    candidates, 1e6 people and 3 bits. Where the domain has at most 2^24 values, one transform of
    the domain may replace it.

    Examples
    --------
    >>> import lapwing as lw
    >>> hashing = lw.LinearHashing(lw.HashedStrings(32), epsilon=2)
    >>> words = ["lapwing"] * 14_000 + ["curlew"] * 6000
    >>> tally = hashing.tally(hashing.randomize(words, rng=lw.seeded(1)))
    >>> search = lw.decoders.Candidates(["curlew", "heron", "lapwing"])
    >>> search.decode(hashing.log_channel, tally).values
    ['lapwing', 'curlew']
    """

    values: Sequence[str | int]
    _: KW_ONLY
    expected_false: ExpectedFalse = 0.05

    name: ClassVar[str] = "candidates"
    reads: ClassVar[Kind] = "log"

    def __post_init__(self) -> None:
        """Check that the candidates are different."""
        super().__post_init__()
        if not self.values:
            raise ArgumentError("candidates", "must contain at least one value")
        seen: dict[str | int, int] = {}
        for position, value in enumerate(self.values):
            if seen.setdefault(value, position) != position:
                raise ArgumentError(
                    "candidates",
                    f"must all be different, but those at positions {seen[value]} and {position} "
                    "are not",
                    advice="Drop one",
                )

    def symbols(self, channel: LinearChannel) -> NDArray[np.int64]:
        """Return the number of every candidate in the domain.

        Parameters
        ----------
        channel : LinearChannel
            Channel of linear hashing, :attr:`LinearHashing.log_channel`.

        Returns
        -------
        numpy.ndarray
            Number of each candidate in the domain, int64 [candidates].

        Raises
        ------
        DomainError
            When a candidate is not in the domain. The error gives its position.
        ArgumentError
            When two candidates are the same value of the domain, such as two strings with one
            hash.
        """
        try:
            symbols: NDArray[np.int64] = channel.domain.index(list(self.values))
        except DomainError as error:
            raise DomainError(f"of the candidates, {error}", position=error.position) from None
        _, first, places = np.unique(symbols, return_index=True, return_inverse=True)
        twin = np.flatnonzero(first[places] != np.arange(symbols.size))
        if twin.size:
            position = int(twin[0])
            pairs = (
                f". There are {twin.size} such pairs, so ask with more bits: HashedStrings(40)"
                if twin.size > 1
                else ". Drop one"
            )
            raise ArgumentError(
                f"the candidates at positions {int(first[places][position])} and {position} are "
                f"the same value in the domain, so their reports cannot be distinguished{pairs}"
            )
        return symbols

    def scores(
        self, channel: LinearChannel, tally: TallyLog
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the unbiased share of every candidate, in order, and its standard deviation.

        Parameters
        ----------
        channel : LinearChannel
            Channel of linear hashing, :attr:`LinearHashing.log_channel`.
        tally : TallyLog
            Stored reports of linear hashing, at least one.

        Returns
        -------
        shares : numpy.ndarray
            Unbiased shares of the candidates, float64 [candidates].
        deviations : numpy.ndarray
            Standard deviations of the shares, float64 [candidates].
        """
        supports = self._supports(channel, tally, self.symbols(channel))
        shares = channel.shares(supports, tally.total)
        return shares, channel.deviations(shares, tally.total)

    def _supports(
        self, channel: LinearChannel, tally: TallyLog, symbols: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        channel.check(tally)
        if channel.domain.size <= LISTED and symbols.size > channel.hash.key_bits:
            return channel.counts(tally).blocks[0][symbols]
        return channel.supports(tally, symbols)

    def decode(self, channel: LinearChannel, tally: TallyLog) -> HeavyHitters:
        """Return the candidates above the threshold.

        Parameters
        ----------
        channel : LinearChannel
            Channel of linear hashing, :attr:`LinearHashing.log_channel`.
        tally : TallyLog
            Stored reports of linear hashing, at least one.

        Returns
        -------
        HeavyHitters
            Candidates above the threshold, the largest share first.

        Raises
        ------
        ArgumentError, DomainError
            When a candidate is not in the domain, or two are the same value of it.
        MismatchError
            When the stored reports are from another randomizer.
        UnsupportedChannelError
            When the channel is not of linear hashing.
        """
        required(
            channel,
            LinearChannel,
            "candidates are scored in the log of linear hashing. Decode counts with a decoder of "
            "distributions",
        )
        symbols = self.symbols(channel)
        supports = self._supports(channel, tally, symbols)
        least = channel.least_supports(
            tally.total, values=symbols.size, expected_false=self.expected_false
        )
        (listed,) = np.nonzero(supports >= least)
        labels = None
        if channel.domain.name == "hashed-strings":  # whose numbers say no text
            labels = [str(self.values[i]) for i in listed.tolist()]
        return heavy_hitters(
            channel,
            tally,
            symbols[listed],
            supports[listed],
            least=least,
            searched=symbols.size,
            expected_false=self.expected_false,
            # The list itself may be long; how long it was is what a reader needs.
            provenance={
                "class": self.name,
                "candidates": symbols.size,
                "expected_false": self.expected_false,
            },
            labels=labels,
        )


SURVIVOR_LIMIT = 2**16


@dataclass(frozen=True)
class PrefixExtension(Declared):
    """Heavy-hitter search by prefixes, PEM (Wang, Li and Jha, 2021).

    It keeps the best prefixes of each length and extends them to the next length.

    Parameters
    ----------
    survivors : int
        Number of prefixes that are extended, in 1..65536. Default: 64.
    expected_false : float
        Average number of values listed although nobody has them, in (0, 1000]. Default: 0.05.

    See Also
    --------
    lapwing.papers.baselines.PrefixHashing : The randomizer that makes the reports.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** The listed shares come only from the last group. Its people had no part in
    choosing the candidates, so the shares are unbiased. The threshold is exact for the number of
    candidates. A value is lost when one of its prefixes is not among the best of its length.
    Shares above twice the threshold are hardly ever lost.

    **Cost.** One transform of the shortest prefixes, then 0.02 ns for each candidate, report of the
    group and bit of the hash. This is about 0.4 s per length for 64 kept prefixes, 8 more bits and
    3e5 people.

    The method is that of [1]_, with linear hashing.

    References
    ----------
    .. [1] T. Wang, N. Li, S. Jha, "Locally differentially private heavy hitter identification",
       IEEE Transactions on Dependable and Secure Computing 18(2), 2021.
       doi:10.1109/TDSC.2019.2927695

    Examples
    --------
    >>> import lapwing as lw
    >>> from lapwing.papers.baselines import PrefixHashing
    >>> hashing = PrefixHashing(lw.Categories(2**20), epsilon=2, prefixes=[12, 20])
    >>> reports = hashing.randomize([7] * 14_000 + [8] * 6000, rng=lw.seeded(1))
    >>> search = lw.decoders.PrefixExtension()
    >>> search.decode(hashing.log_channel, hashing.tally(reports)).values
    [7, 8]
    """

    _: KW_ONLY
    survivors: Annotated[int, From(1, SURVIVOR_LIMIT)] = 64
    expected_false: ExpectedFalse = 0.05

    name: ClassVar[str] = "prefix-extension"
    reads: ClassVar[Kind] = "log"

    def decode(self, channel: PrefixChannel, tally: TallyLog) -> HeavyHitters:
        """Return the values above the threshold.

        Parameters
        ----------
        channel : PrefixChannel
            Channel of prefix hashing, :attr:`PrefixHashing.log_channel`.
        tally : TallyLog
            Stored reports of prefix hashing.

        Returns
        -------
        HeavyHitters
            Values above the threshold, the largest share first.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not of prefix hashing.
        MismatchError
            When the stored reports are from another randomizer.
        TallyError
            When a length has no reports.
        """
        required(
            channel,
            PrefixChannel,
            "prefix extension needs the log of prefix hashing. Scan a log of linear hashing",
        )
        logs = channel.split(tally)
        if min(log.total for log in logs) == 0:
            raise TallyError("every prefix length must have at least one report")
        candidates = supports = np.zeros(0, dtype=np.int64)
        length = 0
        for part, log in zip(channel.parts, logs, strict=True):
            if length == 0:
                supports = part.counts(log).blocks[0]
                candidates = np.arange(supports.size)
            else:
                best = np.sort(_largest(supports, self.survivors))
                more = part.hash.key_bits - length
                candidates = (candidates[best, None] << more | np.arange(2**more)).ravel()
                supports = part.supports(log, candidates)
            length = part.hash.key_bits
        return self._listed(channel, tally, logs[-1].total, candidates, supports)

    def _listed(
        self,
        channel: PrefixChannel,
        tally: TallyLog,
        reports: int,
        candidates: NDArray[np.int64],
        supports: NDArray[np.int64],
    ) -> HeavyHitters:
        last: LinearChannel = channel.parts[-1]
        least = last.least_supports(
            reports, values=candidates.size, expected_false=self.expected_false
        )
        (reached,) = np.nonzero(supports >= least)
        order = reached[np.lexsort((candidates[reached], -supports[reached]))]
        shares = last.shares(supports[order], reports)
        held = np.clip(shares, 0, 1)
        # The last group is a sample of all who reported.
        sampling = held * (1 - held) * (1 / reports - 1 / tally.total)
        provenance: dict[str, Any] = decoder_document(self)
        return HeavyHitters(
            channel.domain,
            candidates[order],
            shares,
            np.sqrt(last.deviations(shares, reports) ** 2 + sampling),
            threshold=float(last.shares(np.array([least]), reports)[0]),
            searched=candidates.size,
            reports=tally.total,
            expected_false=self.expected_false,
            guarantee=guarantee_of(channel.guarantee, tally),
            provenance=provenance,
        )


def _largest(supports: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return the places of the largest numbers. Of equal ones at the edge, the first."""
    order: NDArray[np.int64] = np.argsort(-supports, kind="stable")[:number]
    return order
