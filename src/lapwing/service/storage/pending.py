"""How much waits to be counted, so that folding comes neither at each commit nor too late."""

from __future__ import annotations

from threading import Lock

MOST_BYTES = 256 * 2**10
MOST_ROWS = 4096

Key = tuple[int, int]
"""Epoch and segment."""


class Pending:
    """Rows and bytes that were added since the last fold, by epoch and segment."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Key, tuple[int, int, int]] = {}
        self._due: set[Key] = set()

    def add(self, key: Key, size: int, *, rows: int = 1, heavy: int = 0) -> None:
        """Note rows of so many bytes together.

        `heavy` is the size of what folding rewrites: it comes less often where that is large.
        """
        with self._lock:
            old_rows, old_size, _ = self._waiting.get(key, (0, 0, 0))
            now = (old_rows + rows, old_size + size, heavy)
            self._waiting[key] = now
            if now[0] >= MOST_ROWS or now[1] >= max(MOST_BYTES, 2 * heavy):
                self._due.add(key)

    def take(self, *, everything: bool) -> Key | None:
        """Return a group to fold, and forget it; None when none is due."""
        with self._lock:
            chosen = self._due or (self._waiting if everything else None)
            if not chosen:
                return None
            key = next(iter(chosen))
            self._due.discard(key)
            self._waiting.pop(key, None)
            return key

    def give_back(self, key: Key) -> None:
        """Note that a group could not be folded and waits still."""
        with self._lock:
            self._waiting.setdefault(key, (1, 0, 0))
