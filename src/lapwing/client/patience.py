"""How long a device waits between two attempts to send, and when it leaves the rest for later."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from secrets import SystemRandom

from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import check_whole_field

LONGEST_PAUSE = 86_400.0
"""Seconds that a collector may ask for. A time further ahead is that of a clock which was wrong."""


@dataclass(frozen=True)
class Patience:
    """Attempts of one call to send, and the pauses between them.

    The pause after the k-th failed round is drawn between half and all of ``first * 2^k``, at most
    `longest`, so that devices which failed together do not come back together. A ``Retry-After`` of
    the collector is never cut short: where it is longer than what is left of `together`, the
    batches stay in the outbox, and the next call that comes before its end does not send them.

    Parameters
    ----------
    rounds : int
        Attempts for each batch in one call, in 1..100.
    first : float
        Seconds of the first pause, at least.
    longest : float
        Seconds of the longest pause that is not asked for by the collector.
    together : float
        Seconds of all pauses of one call.
    wait : callable
        Waits so many seconds. Default: ``time.sleep``.
    clock : callable
        Returns the seconds since 1970. Default: ``time.time``.
    """

    rounds: int = 5
    _: KW_ONLY
    first: float = 1.0
    longest: float = 60.0
    together: float = 180.0
    wait: Callable[[float], None] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.time, repr=False)

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole_field(self, "rounds", low=1, high=100)
        for name in ("first", "longest", "together"):
            seconds = getattr(self, name)
            number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not number or not 0 <= seconds <= LONGEST_PAUSE:
                raise ArgumentError(f"{name} must be a number of seconds, in 0..{LONGEST_PAUSE:g}")

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after so many failures, the first of which is 1."""
        full = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return full * SystemRandom().uniform(0.5, 1.0)
