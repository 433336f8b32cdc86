"""A process of its own in which results are decoded: however long it takes, uploads go on.

It keeps what it decoded last, so that another level, range or picture of the same result needs no
second decode. It is given lower priority, and ends when the collector does. It is ended and started
again when one decode takes too long.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any

from lapwing.errors import LapwingError, LapwingWarning
from lapwing.service.decoding_orders import (
    Answer,
    DecodingAnswer,
    Defect,
    Key,
    Material,
    Missing,
    Order,
    RefusedOrder,
)

_KEPT = 16
_NICER = 10


class DecodingFailedError(Exception):
    """The process took too long, or died. It is started again."""


class DecodingProcess:
    """The process, seen from the collector. One order at a time. Others wait.

    seconds: How long one order may take. A survey whose order took longer rests as long, so that it
        takes at most half of the time of the others.
    clock: Returns seconds.
    """

    _context: Any = get_context("spawn")

    def __init__(self, *, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._rest: dict[str, float] = {}
        self._lock = Lock()
        self._process: Any = None
        self._link: Connection | None = None
        self._ended = False

    def start(self) -> None:
        """Start it, if it does not run. It reads all decoders before its first order."""
        with self._lock:
            self._started()

    def _started(self) -> Connection:
        if self._ended:
            raise DecodingFailedError("the collector is stopping")
        if self._link is None or not self._process.is_alive():
            self._end()
            ours, theirs = self._context.Pipe()
            self._process = self._context.Process(target=work, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()  # so that its end is noticed
            self._link = ours
        return self._link

    def ask(self, order: Order, materials: Mapping[Key, Material]) -> Answer:
        """Return its answer to an order.

        Raises DecodingFailedError when there is none in time.
        """
        with self._lock:
            now = self._clock()
            self._rest = {survey: until for survey, until in self._rest.items() if until > now}
            if order.key.survey in self._rest:
                raise DecodingFailedError(
                    f"no result within {self._seconds:g} seconds. For the same time, other "
                    "surveys are decoded"
                )
            try:
                link = self._started()
                link.send((order, dict(materials)))
                if link.poll(self._seconds):
                    found: Answer = link.recv()
                    return found
            except (OSError, EOFError):
                self._end()
                raise DecodingFailedError("the decoding process has died") from None
            self._end()
            self._rest[order.key.survey] = self._clock() + self._seconds
            raise DecodingFailedError(f"no result within {self._seconds:g} seconds")

    def stop(self) -> None:
        """End it for good."""
        self._ended = True
        process = self._process
        if process is not None:
            process.kill()  # whoever waits for it is told at once
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._process = None


def work(link: Connection) -> None:
    """Answer orders until the collector is gone. Runs in the process of its own.

    link: To the collector.
    """
    # Ctrl-C in a terminal goes to all; the collector says when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(_NICER)

    # Here alone: the collector itself needs none of all that decodes.
    from lapwing.service.decoding import Kept, warm_up

    with suppress(LapwingError):
        warm_up()
    kept: Kept = OrderedDict()
    with suppress(EOFError, OSError):
        while True:
            order, materials = link.recv()
            link.send(_answer(order, materials, kept))


def _answer(order: Order, materials: Mapping[Key, Material], kept: Any) -> Answer:
    from lapwing.service.decoding import carried_out

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = carried_out(order, materials, kept, most=_KEPT)
        said = [str(each.message) for each in caught if issubclass(each.category, LapwingWarning)]
        return (
            found
            if isinstance(found, Missing)
            else DecodingAnswer(found, tuple(dict.fromkeys(said)))
        )
    except LapwingError as error:
        return RefusedOrder(str(error))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Defect(type(error).__name__, f"{Path(last.filename).name}:{last.lineno}")
