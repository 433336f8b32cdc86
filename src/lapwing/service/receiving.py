"""Reading a body: no more of it than allowed, and no longer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from lapwing.protocol.messages.problems import Problem
from lapwing.service.problem_answers import ProblemError
from lapwing.service.settings import LARGEST_BODY

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_CLOSE = ((b"connection", b"close"),)

UNREAD = "lapwing.unread"
"""Key of a scope: whether the request goes on, asked when it is answered."""


def closing(scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
    """Return the header line of an answer that comes before the end of its request."""
    unread = scope.get(UNREAD)
    return _CLOSE if unread is not None and unread() else ()


SMALL_BODY = 2**15
"""Bytes up to which a body is read on, however much is on its way."""
# A few who send large ones slowly must not keep devices out.


class ClientGoneError(Exception):
    """The client left before the end of its request."""


class Begun:
    """A wait for a message that has begun: over already where nothing had to be waited for.

    Most bodies come together with their headers. For them no timer is set, which would take as
    much time as reading the batch.

    waiting: The result of a server's `receive`.

    Attributes
    ----------
    message : Message or None
        None while it is still waited for.
    """

    def __init__(self, waiting: Awaitable[Message]) -> None:
        self._steps: Any = waiting.__await__()
        self.message: Message | None = None
        try:
            self._waited = next(self._steps)
        except StopIteration as end:
            self.message = end.value

    def __await__(self) -> Generator[Any, Any, Message]:
        """Go on waiting where it stopped: what the loop sends or throws goes to the steps."""
        if self.message is not None:
            return self.message
        waited = self._waited
        while True:
            try:
                given = yield waited
                step = self._steps.send
            except BaseException as error:
                given, step = error, self._steps.throw
            try:
                waited = step(given)
            except StopIteration as end:
                message: Message = end.value
                return message


class Receiving:
    """Memory that the bodies of all requests may take together.

    largest: Bytes of one body.
    seconds: From its first byte to its last.
    together: Bytes of all bodies that are on their way or being read.
    retry_seconds: The wait to tell clients for whom there is no room.
    """

    def __init__(self, *, largest: int, seconds: float, together: int, retry_seconds: int) -> None:
        self._largest = largest
        self._seconds = seconds
        self._together = together
        self._retry = retry_seconds
        self.held = 0

    async def body(
        self,
        receive: Receive,
        headers: Iterable[tuple[bytes, bytes]],
        *,
        largest: int | None = None,
        advice: str = "Send several smaller ones",
        held: Callable[[], Awaitable[bool]] | None = None,
    ) -> bytes:
        """Return a body that has arrived whole.

        receive: Of the request.
        largest: Bytes, where less than of any is allowed.
        advice: Advice about a larger one.
        held: Asked of a body that states a larger size, or grows larger: whether it is that of a
            batch which the store has. Such a body is read, so that a sender who is told "too large"
            knows that nothing of it was counted.

        Raises ProblemError when it is or would be too large, or too slow, or too much is on its
        way.
        Raises ClientGoneError when the client left.
        """
        limit = self._largest if largest is None else min(largest, self._largest)
        stated = None
        for name, value in headers:
            if name == b"content-length":
                stated = value
            elif name == b"content-encoding" and value.strip().lower() != b"identity":
                raise ProblemError(
                    Problem.MEDIA_TYPE,
                    "a body must be sent unencoded, but this one is encoded. Send it without "
                    "content-encoding",
                )
        allowed = partial(_allowed, limit=limit, held=held, advice=advice)
        if stated is not None:
            limit = await allowed(int(stated) if stated.isdigit() else sys.maxsize)
        first = Begun(receive())
        if first.message is not None and not first.message.get("more_body", False):
            body = _part(first.message)
            if len(body) > limit:
                await allowed(len(body))
            return body
        try:
            async with asyncio.timeout(self._seconds):
                message = await first
                return await self._rest(receive, message, limit, allowed)
        except TimeoutError:
            raise ProblemError(
                Problem.NOT_READY,
                f"the body must arrive within {self._seconds:g} seconds, but it did not. Send the "
                "same bytes again",
                retry_after=self._retry,
            ) from None

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """Count a large body that has arrived while it is being read."""
        self.held += size
        try:
            yield
        finally:
            self.held -= size

    async def _rest(
        self,
        receive: Receive,
        message: Message,
        limit: int,
        allowed: Callable[[int], Awaitable[int]],
    ) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            while True:
                parts.append(_part(message))
                size += len(parts[-1])
                self.held += len(parts[-1])
                if size > limit:
                    limit = await allowed(size)
                if not message.get("more_body", False):
                    return b"".join(parts)
                if self.held > self._together and size > SMALL_BODY:
                    raise ProblemError(
                        Problem.BUSY,
                        "too many large bodies are arriving at once. Send the same bytes again "
                        "later",
                        retry_after=self._retry,
                    )
                message = await receive()
        finally:
            self.held -= size


def _part(message: Message) -> bytes:
    if message["type"] != "http.request":
        raise ClientGoneError
    body: bytes = message.get("body", b"")
    return body


async def _allowed(
    size: int, *, limit: int, held: Callable[[], Awaitable[bool]] | None, advice: str
) -> int:
    """Return how many bytes a body may have that has so many. A ProblemError when it has more."""
    most = max(limit, LARGEST_BODY)
    if size <= limit:
        return limit
    if size <= most and held is not None and await held():
        return most
    raise _too_large(limit, advice)


def _too_large(limit: int, advice: str) -> ProblemError:
    return ProblemError(Problem.TOO_LARGE, f"a body here may have at most {limit} bytes. {advice}")
