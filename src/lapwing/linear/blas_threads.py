"""One thread for the linear algebra of a decode.

Our matrices have at most a few thousand rows. Products of that size gain nothing from several
threads. On a busy machine they lose, because threads of BLAS wait for each other by spinning, so
one that is not running delays all. With 1024 bins and another process on each of two cores, they
take up to 20 times as long as one thread. To use several cores, decode several tallies.
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from functools import cache
from threading import Lock
from typing import Any


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
