"""Results from values without noise: every screen, picture and file says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lapwing.documents import Stored
from lapwing.errors import PrivacyError

EXACT = "exact values, not private"
"""Statement about a result without noise, in place of a privacy guarantee."""

NO_ERROR = "exact values have no error"
"""Why such a result has no intervals."""

EXACT_KEY = "exact"
"""The entry of a provenance that marks a result from values without noise."""


def exact_mark(*results: Any) -> dict[str, Any]:
    """Return the provenance of what is made of exact values: of these results, or of raw ones."""
    return {EXACT_KEY: True} if not results or any(map(is_exact, results)) else {}


def parts_of(result: Any) -> Sequence[Any]:
    """Return the sides of a difference or the weeks of a series. Of another result itself."""
    parts: Sequence[Any] = getattr(result, "_made_of", (result,))
    return parts


def is_exact(result: Any) -> bool:
    """Return whether a result, a side of a difference or a week is of values without noise."""
    return any(_marked(each.provenance) for each in parts_of(result))


def _marked(provenance: Mapping[str, Any]) -> bool:
    """Return whether a provenance, or that of what it was fitted to, has the mark."""
    of = provenance.get("of")
    return provenance.get(EXACT_KEY) is True or (isinstance(of, Mapping) and _marked(of))


def promise_text(result: Any) -> str | None:
    """Return the privacy guarantee of a result in words, or that its values are exact.

    Every screen, picture and table takes the words here.

    >>> import lapwing as lw
    >>> promise_text(lw.Distribution.of_counts([3, 1], lw.Categories(["no", "yes"])))
    'exact values, not private'
    """
    if is_exact(result):
        return EXACT
    return None if result.guarantee is None else str(result.guarantee)


class StoredResult(Stored):
    """Result that is saved with exact values only on explicit request."""

    def save(self, path: Path | str, *, exact: bool = False) -> None:
        """Write the JSON text to a file, whole or not at all. An existing file is replaced.

        Parameters
        ----------
        exact : bool
            Whether exact values may be written, which are not private. Default: False.

        Raises
        ------
        PrivacyError
            When the values are exact and `exact` is False.
        """
        if is_exact(self) and not exact:
            raise PrivacyError(
                f"these are {EXACT}. Pass exact=True to write them to a file that you keep "
                "secret, or save the output of lapwing.release instead"
            )
        super().save(path)
