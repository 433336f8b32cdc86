"""What `lapwing` answers for a name that it does not offer: where the name is now.

Most names live in one of the modules below, which list what they offer. The table has the names
that changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

FOLDERS = ("papers", "planning", "protocol", "results", "survey")
"""Modules that are reached by name and stand in no list: `lw.results.Band`."""

MODULES = (
    "randomizers", "decoders", "mechanisms", "distances", "tallies", "privacy", "plugins",
    *FOLDERS[1:],
)  # fmt: skip
"""Modules that are asked for a name, in this order."""

RENAMED = {
    "central": "lw.mechanisms",
    "local": "lw.randomizers",
    "Counts": "lw.tallies.CountTally",
    "GeneralizedRandomizedResponse": "lw.RandomizedResponse",
    "HashedTexts": "lw.HashedStrings",
    "ReportLog": "lw.tallies.TallyLog",
    "Summary": "lw.protocol.ExactCounts",
    "LedgerFile": "lw.Ledger.open",
    "Memory": "lw.Rappor.permanent_round",
    "load_plugins": "lw.plugins.load",
    "read_release": "lw.Release.load",
    "promise_of_each": "lw.privacy.Promise.split",
    "expected_release_error": "lw.expected_error",
    "expected_label_release_error": "lw.expected_error",
    "ExpectedReleaseError": "lw.planning.ExpectedError",
    "ExpectedLabelError": "lw.planning.ExpectedError",
    "people_to_notice": "lw.Watch.people_needed",
    "poisoning_alarm": "lw.Survey.check_poisoning",
    "tally_by_group": "lw.Survey.tally",
}
"""Names that are called otherwise now, and an expression for each."""


Names = tuple[Callable[[str], object], Callable[[], list[str]], list[str]]


def with_directions(
    attribute: Callable[[str], object], directory: Callable[[], list[str]], names: list[str]
) -> Names:
    """Return a package's lazy `__getattr__`, `__dir__` and `__all__`. The first gives directions.

    Parameters
    ----------
    attribute, directory, names : callable, callable, list of str
        What `lazy_loader` made for the package.
    """

    def getattribute(name: str) -> object:
        """Return a public name, whose file is read now."""
        if name in names:
            return attribute(name)
        if name in FOLDERS:
            return import_module(f"lapwing.{name}")
        if name.startswith("_"):
            raise AttributeError(f"lapwing has no {name}")
        # `from lapwing import NAME` asks from there first, and drops what an AttributeError says.
        imported = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap"
        if imported and find_spec(f"lapwing.{name}"):
            raise AttributeError(name)  # a file of the package: Python imports it now
        message = f"lapwing has no {name}{_direction(name, names)}"
        raise ImportError(message) if imported else AttributeError(message)

    return getattribute, directory, names


def _direction(name: str, names: list[str]) -> str:
    """Return the words that say where a name is, or which one is near."""
    from lapwing.registry import HOMES, KNOWN_AS, near_name  # not needed to import lapwing

    places = {
        offered: f"lw.{module}.{offered}"
        for module in reversed(MODULES)
        for offered in import_module(f"lapwing.{module}").__all__
    }
    wings = {known: f"{home.replace('lapwing', 'lw', 1)}.{known}" for known, home in HOMES.items()}
    places = places | wings | RENAMED
    if name in places:
        return f". Use {places[name]}"
    if name.lower() in KNOWN_AS:
        return f". Use {KNOWN_AS[name.lower()]}"
    return near_name(name, names, places)
