"""The parts of a multiscale wave, as tables show them: who is asked what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapwing.cli.console import grid
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.results.answer_text import percent

if TYPE_CHECKING:
    from rich.table import Table


def usual(randomizer: MultiscaleWave) -> bool:
    """Return whether the parts are those of everybody who names none."""
    return randomizer == MultiscaleWave(randomizer.domain, randomizer.epsilon)


def parts_text(randomizer: MultiscaleWave, *, chosen_by: str) -> str:
    """Return where the parts are from."""
    if usual(randomizer):
        return "the usual ones: no others would gain 3 %"
    return f"chosen by {chosen_by}"


def parts_table(randomizer: MultiscaleWave) -> Table:
    """Return the table of the parts: a row for each."""
    rows = [
        [kind, f"{size:g}", percent(share)] for kind, size, share in randomizer.components or ()
    ]
    return grid("who is asked what", ["part", "width or cells", "people"], rows)
