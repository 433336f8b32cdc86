"""Tokens: who may ask for what. Only their hashes are kept, and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Literal

from lapwing.errors import ArgumentError

Role = Literal["admin", "analyst", "monitor"]

READERS: tuple[Role, ...] = ("admin", "analyst")
"""The roles that read surveys and results. A monitor reads the counters alone."""

ROLE_PREFIX = "lwa_"
UPLOAD_PREFIX = "lwu_"

COOKIE = "lapwing"
"""The pages' cookie: it opens what is read. A form that changes something needs its proof too."""

_TOKEN = re.compile(r"lw[au]_[A-Za-z0-9_-]{43}")

LONGEST_HEADER = 200

DAY = 86_400


def new_token(prefix: str) -> str:
    """Return a token of 256 random bits, as it is shown once."""
    return prefix + secrets.token_urlsafe(32)


def hash_of(token: str) -> bytes:
    """Return the SHA-256 of a token: 32 bytes. It has 256 random bits, so it needs no salt."""
    return hashlib.sha256(token.encode()).digest()


def form_proof(token: str) -> str:
    """Return what a form of our own pages carries. Another site cannot know it (CSRF)."""
    return hmac.new(token.encode(), b"lapwing form", hashlib.sha256).hexdigest()


def is_form_proof(text: str, token: str) -> bool:
    """Return whether a form came from a page that was shown to who has the token."""
    return hmac.compare_digest(text.encode(), form_proof(token).encode())


def check_token(token: str, *, name: str) -> str:
    """Return a token that somebody chose, or raise ArgumentError unless it is one of ours.

    name: Where it came from, for the message, which never holds it.
    """
    if not token.startswith(ROLE_PREFIX) or not _TOKEN.fullmatch(token):
        raise ArgumentError(
            f"{name} must be {ROLE_PREFIX} followed by 43 base64url characters, but it is not. "
            "Make one with: python -c \"import secrets. print('lwa_' + "
            'secrets.token_urlsafe(32))"'
        )
    return token


def short_name(digest: bytes) -> str:
    """Return the name of a token for people: the first 12 digits of its hash, not of itself."""
    return digest.hex()[:12]


class Roles:
    """Which hashes open which role, and when they were last shown.

    known: Hashes of tokens, and what they open.
    clock: Returns seconds since 1970.

    Attributes
    ----------
    last_use : dict of int
        Days since 1970, by hash: of the tokens that were shown since the start.
    """

    def __init__(
        self, known: Iterable[tuple[bytes, Role]] = (), *, clock: Callable[[], float] = time.time
    ) -> None:
        self._known = dict(known)
        self._clock = clock
        self.last_use: dict[bytes, int] = {}

    def add(self, token_hash: bytes, role: Role) -> None:
        """Let a token open a role."""
        self._known[token_hash] = role

    def replace(self, known: Iterable[tuple[bytes, Role]]) -> None:
        """Let these tokens open roles, and no others any more."""
        self._known = dict(known)

    def remove(self, token_hash: bytes) -> None:
        """Let a token open nothing any more."""
        self._known.pop(token_hash, None)

    def has(self, role: Role) -> bool:
        """Return whether any token opens the role."""
        return role in self._known.values()

    def role_of(self, token: str | None) -> Role | None:
        """Return what a token opens. None for one that nobody knows.

        All hashes are compared, each in constant time, so how long it takes says nothing.
        """
        digest: bytes | None = None
        given = hash_of(token or "")
        for known in self._known:
            if hmac.compare_digest(known, given):
                digest = known
        if digest is None:
            return None
        self.last_use[digest] = int(self._clock() // DAY)
        return self._known[digest]


def bearer(header: bytes | None, *, prefix: str) -> str | None:
    """Return the token of an Authorization header. None when there is none that could be ours."""
    if header is None or len(header) > LONGEST_HEADER:
        return None
    scheme, _, token = header.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip()
    return token if token.startswith(prefix) and _TOKEN.fullmatch(token) else None
