"""Apache Beam where it is installed; where it is not, what needs it says so when it is made."""

from __future__ import annotations

from typing import Any

from lapwing.errors import MissingExtraError

try:
    from apache_beam import CombineFn, DoFn, PTransform
except ImportError:

    class _Absent:
        """What stands in for a class of Beam."""

        def __new__(cls, *_: Any, **__: Any) -> _Absent:
            raise MissingExtraError("apache-beam", extra="beam")

    CombineFn = DoFn = PTransform = _Absent

__all__ = ["CombineFn", "DoFn", "PTransform", "beam_or_error"]


def beam_or_error() -> Any:
    """Return the package; MissingExtraError where it is not installed."""
    try:
        import apache_beam
    except ImportError:
        raise MissingExtraError("apache-beam", extra="beam") from None
    return apache_beam
