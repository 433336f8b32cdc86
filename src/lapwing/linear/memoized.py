"""Results that are kept for the next call with equal arguments, also between threads."""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Memoized(Generic[Arguments, Result]):
    """A pure function that keeps its latest results.

    ``functools.lru_cache`` is not safe here. When two keys share a hash and Python code compares
    them, as with strategies of one size and with fractions, threads corrupt its list. We have seen
    it return the result of another key, and crash the interpreter (CPython 3.11, issue 94879). Here
    every look at the table is made alone. The function itself is called outside the lock, so that
    it may call itself and other threads need not wait. They may then compute one result twice, and
    all of them get the one that was kept first.

    function: Pure, with hashable arguments.
    most: Results to keep, at least 1. The one that was not asked for longest goes first.
    """

    def __init__(self, function: Callable[Arguments, Result], most: int) -> None:
        self._function = function
        self._most = most
        self.forget()
        # A forked child starts empty: another thread may have held the lock, in mid-change.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)
        update_wrapper(self, function)

    def forget(self) -> None:
        """Keep nothing."""
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, Result] = OrderedDict()

    def __call__(self, *given: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Return what the function returns, without calling it when that is kept."""
        key = (given, *named.items())
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = self._function(*given, **named)
        with self._lock:
            found = self._kept.setdefault(key, made)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found


def memoized(*, most: int) -> Callable[[Callable[Arguments, Result]], Memoized[Arguments, Result]]:
    """Return a decorator that keeps the latest `most` results of a pure function.

    >>> @memoized(most=2)
    ... def square(number: int) -> int:
    ...     print("computed")
    ...     return number**2
    >>> square(3), square(3)
    computed
    (9, 9)
    """

    def kept(function: Callable[Arguments, Result]) -> Memoized[Arguments, Result]:
        return Memoized(function, most)

    return kept


if TYPE_CHECKING:
    # To a type checker it is a property: pyright takes a `functools.cached_property` for none, so
    # that no class that has one would be what a protocol with such a property asks for.
    cached_property = property
else:

    class cached_property(functools.cached_property):
        """A property that an instance computes once, without a lock.

        That of Python 3.11 computes under one lock for all instances, so threads wait for each
        other. A child forked meanwhile never ends, because it has no thread that could release the
        lock. Here, as since Python 3.12, two threads may compute one value twice. Both get the one
        that was kept first.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Return the value, which the instance keeps under the name of the property."""
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname in kept:
                return kept[self.attrname]
            return kept.setdefault(self.attrname, self.func(instance))
