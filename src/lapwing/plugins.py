"""Classes of other packages: registered by name, or loaded from entry points.

An installed package offers classes as entry points in the groups ``lapwing.randomizers``,
``lapwing.decoders`` and ``lapwing.mechanisms``, each under the name of the class.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from lapwing.documents import quoted
from lapwing.errors import ArgumentError, LapwingWarning, kind_of
from lapwing.registry import DECODERS, GROUPS, TELLING, Registry, place_of

__all__ = ["load", "register"]

Made = TypeVar("Made", bound=type[Any])

_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

LONGEST_NAME = 60


def _kind_of(made: Any) -> Registry | None:
    return next((table for method, table in TELLING.items() if hasattr(made, method)), None)


def register(made: Made) -> Made:
    """Register a randomizer, decoder or mechanism for documents and commands, by its name.

    It may be used as a decorator. It checks the interface only. Use :mod:`lapwing.testing` to check
    the contract.

    Parameters
    ----------
    made : class
        Frozen dataclass with everything that its protocol requires.

    Returns
    -------
    class
        The same class.

    Raises
    ------
    ArgumentError
        When it is none of the three, lacks an attribute, or has the name of another class.
    """
    table = _kind_of(made)
    if table is None or not isinstance(made, type):
        raise ArgumentError(
            "register a randomizer, decoder or mechanism class, got "
            f"{getattr(made, '__qualname__', f'{kind_of(made)}')}, which has none of "
            f"{', '.join(TELLING)}"
        )
    parameters = getattr(made, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen or "__dataclass_params__" not in vars(made):
        raise ArgumentError(
            f"{place_of(made)} must be a frozen dataclass. Its fields are its parameters"
        )
    offers = table.offers()
    fields = {field.name for field in dataclasses.fields(made)}
    absent = [name for name in sorted(offers - fields) if not hasattr(made, name)]
    if absent:
        raise ArgumentError(
            f"a {table.kind} must have {', '.join(sorted(offers))}. {place_of(made)} lacks "
            f"{', '.join(absent)}"
        )
    if table is DECODERS:
        from lapwing.decoders.decoder import check_reads  # Decoder itself was read just now

        check_reads(made)
    name: Any = getattr(made, "name", None)
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _KEBAB.fullmatch(name):
        raise ArgumentError(
            f"the name of {place_of(made)} must be lowercase words joined by hyphens, such as "
            f"'square-wave', of at most {LONGEST_NAME} characters, got {quoted(name)}"
        )
    table.add(made)
    return made


def packages_of_others() -> set[str]:
    """Return the packages whose classes came in by :func:`register`."""
    registered = [made for table in GROUPS.values() for made in table.registered()]
    return {made.__module__.partition(".")[0] for made in registered}


def load() -> list[str]:
    """Register the classes that installed packages offer, and return their names.

    An installed package offers classes as entry points in the groups ``lapwing.randomizers``,
    ``lapwing.decoders`` and ``lapwing.mechanisms``, each under the name of the class.

    Returns
    -------
    list of str
        Names of the classes that were registered.

    Warns
    -----
    LapwingWarning
        For each class that cannot be loaded. The others are still loaded.
    """
    loaded, failed = [], []
    installed = entry_points()
    for group, table in GROUPS.items():
        for entry in installed.select(group=group):
            try:
                _load(entry, table)
                loaded.append(entry.name)
            # Somebody else's code: whatever it raises is its failure, and must not be ours. Some
            # modules end the program when something that they need is missing.
            except (Exception, SystemExit) as error:
                package = entry.dist.name if entry.dist is not None else "a package"
                failed.append(
                    f"the plug-in {entry.name!r} of {package} cannot be used: "
                    f"{type(error).__name__}: {error}"
                )
    for message in failed:
        warnings.warn(message, LapwingWarning, stacklevel=2)
    return loaded


def _load(entry: EntryPoint, table: Registry) -> None:
    made = entry.load()
    if getattr(made, "name", None) != entry.name:
        raise ArgumentError(f"its class is named {quoted(getattr(made, 'name', None))}")
    if _kind_of(made) is not table:
        raise ArgumentError(f"it is not a {table.kind}, which its group requires")
    register(made)
