"""A stream that can be read once, of which the latest part can be read again."""

from __future__ import annotations

import os
from typing import IO


class Rereading:
    """A pipe as a file whose place may go back, as far as :meth:`forget` has not been told.

    Parameters
    ----------
    stream : binary file
        Read from where it stands, which is place 0.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = bytearray()
        self._start = 0  # the place of the first byte that is kept
        self._place = 0

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._place

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place that was not forgotten, or beyond what was read."""
        if whence != os.SEEK_SET:
            raise ValueError("the end of a pipe is not known")
        self._place = place
        return place

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer where the stream ends."""
        self.reach(self._place + size)
        first = self._place - self._start
        part = bytes(self._kept[first : first + size])
        self._place += len(part)
        return part

    def reach(self, place: int) -> int:
        """Read as far as a place; return it, or that of the end where the stream ends before."""
        while (missing := place - self._start - len(self._kept)) > 0:
            part = self._stream.read(missing)
            if not part:
                break
            self._kept += part
        return min(place, self._start + len(self._kept))

    def forget(self) -> None:
        """Keep nothing of what stands before the place."""
        del self._kept[: self._place - self._start]
        self._start = self._place
