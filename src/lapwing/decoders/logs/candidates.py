"""The analyst's own list of values, scored against the reports of a domain too large to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.decoder import required
from lapwing.decoders.logs.exhaustive_scan import check_expected_false, heavy_hitters
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.channels.hashed_channel import LISTED, LinearChannel
from lapwing.protocol.domains.domain import check_list
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import TallyLog
from lapwing.results.heavy_hitters import HeavyHitters


@dataclass(frozen=True)
class Candidates:
    """Score a list of values and list those above a threshold.

    A list made without the reports needs a lower threshold than a scan of the whole domain, and
    takes time by its length alone. Answers are values of the domain, as those of every decoder of a
    log. Texts are looked up as the domain does, so a domain of hashed strings, whose symbols other
    decoders can only number, is answered in the analyst's own words.

    Parameters
    ----------
    values : sequence
        Values of the domain, all different. The list must not come from these reports.
    expected_false : float
        How many candidates that nobody holds may be listed on average, in (0, 1000]. From the
        number of candidates on, all of them are listed.

    Accuracy
    --------
    Shares are unbiased. The threshold is that of :class:`ExhaustiveScan` with as many values as
    candidates.

    Cost
    ----
    About 0.02 ns per report, candidate and bit of the hash (0.05 s for 1000 candidates, 1e6 people
    and 3 bits), or one transform of the domain where it has at most 2^24 values.
    """

    values: Sequence[str | int]
    _: KW_ONLY
    expected_false: float = 0.05

    name: ClassVar[str] = "candidates"
    reads: ClassVar[Kind] = "log"

    def __post_init__(self) -> None:
        """Check the list."""
        check_list(self.values, name="candidates")
        values = tuple(self.values)
        if not values:
            raise ArgumentError("there must be at least one candidate")
        seen: dict[str | int, int] = {}
        for position, value in enumerate(values):
            if seen.setdefault(value, position) != position:
                raise ArgumentError(
                    "candidates must all be different, those at positions "
                    f"{seen[value]} and {position} are not; drop one"
                )
        object.__setattr__(self, "values", values)
        check_expected_false(self.expected_false)

    def symbols(self, channel: LinearChannel) -> NDArray[np.int64]:
        """Return the number of every candidate in the domain: int64 [candidates].

        Raises
        ------
        DomainError
            When a candidate is not in the domain, by its position.
        ArgumentError
            When two candidates are one value of the domain: two texts with one hash, for example.
        """
        try:
            symbols: NDArray[np.int64] = channel.domain.index(list(self.values))
        except DomainError as error:
            raise DomainError(f"of the candidates, {error}", position=error.position) from None
        _, first, places = np.unique(symbols, return_index=True, return_inverse=True)
        twin = np.flatnonzero(first[places] != np.arange(symbols.size))
        if twin.size:
            position = int(twin[0])
            raise ArgumentError(
                f"the candidates at positions {int(first[places][position])} and {position} are "
                "one value of the domain, so their reports cannot be told apart; drop one"
            )
        return symbols

    def scores(
        self, channel: LinearChannel, tally: TallyLog
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the unbiased share of every candidate, in their order, and its deviation."""
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

        Raises
        ------
        ArgumentError, DomainError
            When a candidate is not in the domain, or two are one value of it.
        MismatchError
            When the log is another randomizer's.
        UnsupportedChannelError
            When the channel is not of linear hashing.
        """
        required(
            channel,
            LinearChannel,
            "candidates are scored in the log of linear hashing; decode counts with a decoder of "
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
            tally.total,
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
