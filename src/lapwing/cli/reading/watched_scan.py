"""An exhaustive scan as a command does it: with a progress bar, and a file to go on from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from lapwing.cli.console import Output
from lapwing.decoders.logs.exhaustive_scan import ExhaustiveScan, tiles_of
from lapwing.protocol.channels.hashed_channel import LinearChannel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import TallyLog
from lapwing.results.heavy_hitters import HeavyHitters

LONG_SECONDS = 5
"""From here on a scan says how long it takes."""

SECONDS_OF_A_TILE, SECONDS_OF_A_POINT = 12e-3, 1.3e-9
"""On the machine of the benchmarks, see the cost of :class:`ExhaustiveScan`."""


def duration_text(seconds: float) -> str:
    """Return a time roughly, as a person would say it.

    Examples
    --------
    >>> duration_text(18.7), duration_text(200), duration_text(9000)
    ('20 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.2g} hours"


@dataclass(frozen=True)
class WatchedScan:
    """A decoder of logs: the scan of its name, watched.

    Parameters
    ----------
    scan : ExhaustiveScan
    out : Output
        Where the progress is shown.
    state : Path or None
        Where the scan keeps what is done.
    """

    scan: ExhaustiveScan
    out: Output
    state: Path | None

    def _seconds(self, channel: LinearChannel, tally: TallyLog) -> float:
        """Return about how long the scan takes: each tile is filled, and takes every point in."""
        points = tally.total * channel.points_of_a_report
        return tiles_of(channel) * (SECONDS_OF_A_TILE + SECONDS_OF_A_POINT * points)

    name: ClassVar[str] = ExhaustiveScan.name
    reads: ClassVar[Kind] = "log"

    def decode(self, channel: LinearChannel, tally: TallyLog) -> HeavyHitters:
        """Return the heavy hitters; where it takes long, say beforehand how long."""
        if self._seconds(channel, tally) >= LONG_SECONDS:
            self.out.tell(
                f"a scan of {channel.domain.size:,} values takes about "
                f"{duration_text(self._seconds(channel, tally))} of a processor that does nothing "
                f"else{'' if self.state else '; with --resume it can be stopped and goes on'}"
            )
        with self.out.progress("scan", tiles_of(channel)) as advance:
            shown = 0

            def step(done: int, tiles: int) -> None:
                nonlocal shown
                advance(done - shown)
                shown = done

            return self.scan.decode(channel, tally, progress=step, state=self.state)
