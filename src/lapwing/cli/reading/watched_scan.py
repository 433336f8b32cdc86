"""An exhaustive scan as a command does it: with a progress bar, and a file to go on from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from lapwing.cli.console import Output
from lapwing.decoders.logs.exhaustive_scan import ExhaustiveScan, tiles_of
from lapwing.protocol.channels.hashed_channel import LinearChannel
from lapwing.protocol.messages.observation import Kind
from lapwing.protocol.messages.tally import ReportLog
from lapwing.results.heavy_hitters import HeavyHitters


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

    name: ClassVar[str] = ExhaustiveScan.name
    reads: ClassVar[Kind] = "log"

    def decode(self, channel: LinearChannel, tally: ReportLog) -> HeavyHitters:
        """Return the heavy hitters."""
        with self.out.progress("scan", tiles_of(channel)) as advance:
            shown = 0

            def step(done: int, tiles: int) -> None:
                nonlocal shown
                advance(done - shown)
                shown = done

            return self.scan.decode(channel, tally, progress=step, state=self.state)
