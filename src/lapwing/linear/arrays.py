"""Shared by all numerical code: names for arrays, and one thread for BLAS.

Our matrices have at most a few thousand rows. Products of that size gain nothing from several
threads. On a busy machine they lose, because threads of BLAS wait for each other by spinning, so
one that is not running delays all. With 1024 bins and another process on each of two cores, they
take up to 20 times as long as one thread. To use several cores, decode several tallies.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import ArgumentError

Vector = NDArray[np.float64]
"""Numbers. Of one dimension where nothing else is said."""

Matrix = NDArray[np.float64]
"""Numbers in rows and columns."""

Whole = NDArray[np.int64]
"""Whole numbers."""

Flags = NDArray[np.bool_]
"""True or false, each."""

Words = NDArray[np.uint64]
"""Random or packed 64-bit words."""

Values = ArrayLike | Sequence[object]
"""What people hold, one after the other: an array, a column, or a list, also of dates or None."""


def as_numbers(given: ArrayLike, *, name: str) -> Vector:
    """Return what should be numbers as float64. ArgumentError where it is not."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, "must be a list of numbers", "something else") from None


_LISTED = 6
"""Entries of a tuple or list that a repr shows."""


def short_repr(data: Any) -> str:
    """Return the repr of a dataclass, with the shapes of its arrays instead of their numbers."""
    return _repr_of(data, _short)


_LABELS = 10
"""Labels, edges or segments that the repr of what is declared shows."""


def declared_repr(data: Any) -> str:
    """Return the repr of a dataclass, with the first ten entries of each list."""
    return _repr_of(data, _first)


def _repr_of(data: Any, text: Callable[[Any], str]) -> str:
    fields = [each.name for each in dataclasses.fields(data) if each.repr]
    shown = (f"{name}={text(getattr(data, name))}" for name in fields)
    return f"{type(data).__name__}({', '.join(shown)})"


def _first(value: Any) -> str:
    if not isinstance(value, tuple | list) or len(value) <= _LABELS:
        return repr(value)
    return f"({', '.join(map(repr, value[:_LABELS]))}, ... {len(value) - _LABELS:,} more)"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} {list(value.shape)}>"
    if dataclasses.is_dataclass(value):
        return f"{type(value).__name__}(...)"
    if isinstance(value, tuple | list) and (
        len(value) > _LISTED or any(isinstance(each, np.ndarray | tuple | list) for each in value)
    ):
        return f"<{len(value)} entries>"
    return repr(value)


def read_only(array: Vector) -> Vector:
    """Return the array, which nobody can write to any more: for what is kept and shared."""
    array.flags.writeable = False
    return array


def running_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``numpy.cumsum(rows, axis=0)``, of a matrix with more than a few columns.

    Adds whole rows, as they are in memory. At 200 columns this is 2 to 5 times faster than NumPy,
    which adds one column after the other. The additions are the same, in the same order.

    rows: float64 [rows, columns].

    >>> running_sums(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])).tolist()
    [[1.0, 10.0], [3.0, 30.0], [6.0, 60.0]]
    """
    sums = np.array(rows, dtype=np.float64, order="C")
    if sums.ndim == 1 or sums.shape[1] < 16:
        return np.cumsum(sums, axis=0)
    for before, row in pairwise(sums):
        row += before
    return sums


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  # brings a library of its own beside NumPy's
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class OneThread(ContextDecorator):
    """A context, or a decorator, in which BLAS uses one thread.

    The number belongs to the whole process: other threads of yours that multiply at the same time
    get one too. It is restored when the last caller leaves, so that overlapping calls do not leave
    it at one.
    """

    def __init__(self) -> None:
        self._start()
        if hasattr(os, "register_at_fork"):
            # In a child nobody is inside, and another thread may have held the lock.
            os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        """Set one thread, unless somebody inside has."""
        libraries = _controller().lib_controllers
        with self._lock:
            if self._inside == 0:
                self._before = [(each, each.num_threads) for each in libraries]
                for library in libraries:
                    library.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        """Set the number of before, unless somebody is still inside."""
        from threadpoolctl import OpenBLASController

        with self._lock:
            self._inside -= 1
            if self._inside:
                return
            # Only the thread that set a number may change it, and the last one to leave need not
            # be the first that came. A limit of your own, of another thread, was not changed.
            changed = [
                (each, before) for each, before in self._before if each.num_threads != before
            ]
            if changed:
                OpenBLASController.clear_controlling_thread(force=True)
            for library, before in changed:
                library.set_num_threads(before)
            OpenBLASController.clear_controlling_thread()
            self._before = []


one_thread = OneThread()
"""The one of the process: ``with one_thread:`` or ``@one_thread``."""
