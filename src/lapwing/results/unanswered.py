"""Results whose numbers are noise: every output says why, in place of the numbers.

That is so of a group of too few people, whose shares are divided by a number of people that is
hardly known (:class:`lapwing.decoders.releases.label_shares.NoisyTotal`). It is so of a column in
which perhaps nobody has a value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import WeakAnswerWarning, callers_level
from lapwing.results.counted import counted_word
from lapwing.results.exact_values import parts_of
from lapwing.results.readable import Columns
from lapwing.results.symbols import missing_share, missing_unseen
from lapwing.results.uncertainty import UNKNOWN

FEW_KEY = "too_few"
"""The entry of a provenance that says that there are too few people for an interval."""

HARDLY_ANYBODY = "too few have a value"

_SAID = "_said_too_few"
"""The attribute of a result of too few people that has told its reader so."""

Document = TypeVar("Document")

Method = TypeVar("Method", bound=Callable[..., Any])

_POINTS = ("value", "share", "difference", "shift")


def too_few(asked: bool) -> dict[str, Any]:
    """Return the entry of a provenance: for intervals that were asked and cannot be given."""
    return {FEW_KEY: True} if asked else {}


def is_small(result: Any) -> bool:
    """Return whether a distribution is of too few people for an interval."""
    return result.provenance.get(FEW_KEY) is True


def reason_of(result: Any) -> str | None:
    """Return why a distribution has no numbers to show. None where it has."""
    if is_small(result):
        result.__dict__[_SAID] = True
        return f"too few {counted_word(result.guarantee)}"
    if not perhaps_nobody(result):
        return None
    return HARDLY_ANYBODY


def unless_few(method: Method) -> Method:
    """Return a method that gives NaN in place of a point of too few people, and says why, once.

    It is one of a distribution, or of a difference of two. In place of a date it gives NaT, and
    None in place of a time of day. Where the reason has been said (:func:`reason_of`), no warning
    repeats it.
    """

    @wraps(method)
    def answered(self: Any, *given: Any, **named: Any) -> Any:
        found = method(self, *given, **named)
        small = [each for each in parts_of(self) if is_small(each)]
        if not small:
            return found
        if any(_SAID not in each.__dict__ for each in small):
            reasons = [reason_of(each) for each in small]
            said = f"{reasons[0]} for an answer, so it is NaN. Ask about several groups together"
            warnings.warn(said, WeakAnswerWarning, stacklevel=callers_level())
        return _nothing_like(found)

    return cast("Method", answered)


def _nothing_like(found: Any) -> Any:
    """Return NaN, NaT or None in the shape of an answer."""
    kind = np.asarray(found).dtype.kind
    nothing: Any = np.datetime64("NaT") if kind == "M" else np.nan if kind == "f" else None
    if isinstance(found, np.ndarray):
        return np.full(found.shape, nothing, dtype=found.dtype if kind in "Mf" else object)
    return nothing


def perhaps_nobody(result: Any) -> bool:
    """Return whether the interval of the share of missing values of numbers reaches to all."""
    domain = result.domain
    if not domain.ordered or domain.missing_index is None or missing_share(result) == 1:
        return False
    if result.uncertainty is None or missing_unseen(result):
        return False
    return bool(result.share_interval(None)[1] >= 1)


def unknown_symbols(result: Any) -> NDArray[np.bool_]:
    """Return of which labels nothing is known but the sum of their shares: bool [size]."""
    if result.uncertainty is None:
        return np.zeros(result.domain.size, dtype=bool)
    unknown: NDArray[np.bool_] = result.uncertainty.noise.diagonal >= UNKNOWN / 2
    return unknown


def without_numbers(answer: Document, reason: str | None) -> Document:
    """Return an answer that says in each row why it has no number.

    answer: Of a distribution, or of a difference of two.
    reason: None leaves it as it is.
    """
    if reason is None:
        return answer
    found: dict[str, Any] = {**cast("dict[str, Any]", answer), "reason": reason, "band": None}
    for name in ("share_in_band", "range_error_bounds", "curve", "differ"):
        if name in found:
            found[name] = None
    if found.get("atoms") is not None:
        found["atoms"] = []
    for name in ("quantiles", "quarters", "shares", "questions"):
        if found.get(name) is not None:
            found[name] = [_without(row, reason) for row in found[name]]
    for name in ("mean", "std", "resultant_length"):
        if found.get(name) is not None:
            found[name] = _without(found[name], reason)
    if found.get("outside") is not None:
        found["outside"] = {name: _without(row, reason) for name, row in found["outside"].items()}
    if found.get("missing") is not None and reason != HARDLY_ANYBODY:
        found["missing"] = _without(found["missing"], reason)
    return cast("Document", found)


def columns_without_numbers(columns: Columns, reason: str | None) -> Columns:
    """Return the columns of a table that says why it has no numbers, in the column of the kind.

    columns: Of a distribution. The last row may be that of missing values.
    reason: None leaves them as they are.
    """
    if reason is None:
        return columns
    rows = len(columns["share"])
    found = dict(columns)
    for name in ("share", "share_of_present", "cdf", "low", "high", "about"):
        if name in columns:
            found[name] = [None] * rows
    found["interval"] = [reason] * rows
    if reason == HARDLY_ANYBODY:
        for name in ("share", "interval", "about"):
            found[name][-1] = columns[name][-1]
    return found


def _without(row: Any, reason: str) -> dict[str, Any]:
    """Return a row with a reason in place of its number and interval."""
    if "question" in row or ("probability" not in row and "value" not in row):
        kept = dict(row)
    else:  # a number, which may be beyond an end of the range
        kept = {name: row[name] for name in ("probability", "value", "shift") if name in row}
    if row.get("label", "") is None and reason == HARDLY_ANYBODY:
        return kept
    kept |= {name: None for name in (*_POINTS, "interval") if name in kept}
    return {**kept, "low": None, "high": None, "reason": reason}
