"""Coverage and width of the spectral prior's bands on the reports of one square wave."""

from __future__ import annotations

from typing import Any

import lapwing as lw
from benchmarks.accuracy.bands import posterior_coverage

TITLE = "Bands of the spectral prior on one square wave"
FULL: dict[str, Any] = posterior_coverage.FULL | {"repeats": 50}
QUICK: dict[str, Any] = posterior_coverage.QUICK

ASKED_WIDTH = {0.5: 0.35, 1: 0.55, 2: 0.7, 4: 0.9}


def measure(**settings: Any) -> dict[str, Any]:
    """Return what the bands of the square wave cover, and their width."""
    return posterior_coverage.measure(**settings, kind_of=lw.SquareWave)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the coverage and width of every cell beside those asked."""
    return posterior_coverage.section(measured, settings, name="square wave", asked=ASKED_WIDTH)
