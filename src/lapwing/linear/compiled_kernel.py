"""How the loops of this package are compiled: kept between processes where that is possible.

Importing this module imports numba.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numba

from lapwing.errors import LapwingWarning


@cache
def _say_that_nothing_is_kept() -> None:
    warnings.warn(
        "no folder is writable for the compiled loops, so each process takes some seconds to "
        "compile them again. Set the variable NUMBA_CACHE_DIR to a writable folder",
        LapwingWarning,
        stacklevel=2,
    )


def compiled(*, inline: Literal["never", "always"] = "never") -> Callable[[Any], Any]:
    """Return a decorator that compiles a loop at its first call. Other threads run alongside it.

    Compiled code is kept alongside the file, or in the user's own cache. A read-only installation
    of a user without a home, as in a container, has neither. Each process then compiles again and
    warns once.

    inline: "always" for what runs within another loop.
    """

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, inline=inline)(function)
        except RuntimeError:  # numba: "cannot cache function: no locator available"
            _say_that_nothing_is_kept()
            return numba.njit(nogil=True, inline=inline)(function)

    return decorate
