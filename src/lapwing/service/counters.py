"""Counters of a collector, in the text format that Prometheus reads.

Counts of all surveys together. Where there is one survey they are its own, and tell when a single
person asked or reported. So whatever devices move is for an admin or a monitor. Others see how
long decoding took.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ENDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Durations:
    """Seconds, counted by size."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_ENDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(_ENDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, help_text: str) -> list[str]:
        """Return them as a histogram."""
        found = [f"# HELP {name} {help_text}", f"# TYPE {name} histogram"]
        running = 0
        for end, count in zip(_ENDS, self._counts, strict=False):
            running += count
            found.append(f'{name}_bucket{{le="{end:g}"}} {running}')
        total = running + self._counts[-1]
        found.append(f'{name}_bucket{{le="+Inf"}} {total}')
        return [*found, f"{name}_sum {self._sum:.6f}", f"{name}_count {total}"]


class Counters:
    """All of them.

    Attributes
    ----------
    uploads : Counter
        Uploads by status and by the word of the answer.
    reports : int
        Reports in batches that were stored for the first time.
    requests : Counter
        Other requests by status.
    storing, decoding : Durations
        From an upload's last byte to its answer. Of a decode.
    """

    def __init__(self) -> None:
        self.uploads: Counter[tuple[int, str]] = Counter()
        self.reports = 0
        self.requests: Counter[int] = Counter()
        self.storing = Durations()
        self.decoding = Durations()
        self._watched: dict[str, tuple[str, str, Callable[[], float]]] = {}

    def watch(self, name: str, kind: str, help_text: str, read: Callable[[], float]) -> None:
        """Show a number that somebody else keeps.

        read: Returns it now.
        """
        self._watched[name] = (kind, help_text, read)

    def text(self, *, everything: bool) -> str:
        """Return them, one number a line.

        everything: Whether an admin or a monitor asks. Others are told no number that a device
            moves.
        """
        lines = self._of_devices() if everything else []
        lines += self.decoding.lines("lapwing_decoding_seconds", "Of one decode, waiting included.")
        return "\n".join(lines) + "\n"

    def _of_devices(self) -> list[str]:
        lines = [
            "# HELP lapwing_uploads_total Uploads by status and by the word of the answer.",
            "# TYPE lapwing_uploads_total counter",
        ]
        for (status, word), number in sorted(self.uploads.items()):
            lines.append(f'lapwing_uploads_total{{status="{status}",answer="{word}"}} {number}')
        lines += [
            "# HELP lapwing_reports_total Reports in batches stored for the first time.",
            "# TYPE lapwing_reports_total counter",
            f"lapwing_reports_total {self.reports}",
            "# HELP lapwing_requests_total Other requests by status.",
            "# TYPE lapwing_requests_total counter",
        ]
        for status, number in sorted(self.requests.items()):
            lines.append(f'lapwing_requests_total{{status="{status}"}} {number}')
        for name, (kind, help_text, read) in self._watched.items():
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
            lines.append(f"{name} {read():g}")
        return lines + self.storing.lines(
            "lapwing_storing_seconds", "From the last byte of an upload to its answer."
        )
