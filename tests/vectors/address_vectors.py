"""Addresses of collectors as people type them, each with its one spelling."""

from __future__ import annotations

from lapwing.client import CollectorAddress
from lapwing.errors import ArgumentError

TYPED = [
    "https://collector.example",
    "https://collector.example/",
    "https://collector.example//",
    "HTTPS://Collector.EXAMPLE",
    "https://collector.example:443",
    "https://collector.example:443/",
    "https://collector.example:0443",
    "https://collector.example:/",
    "https://collector.example:8443",
    "https://collector.example:80",
    " https://collector.example ",
    "https://Collector.example/Below/It/",
    "https://collector.example:443/below",
    "https://collector.example/?",
    "https://collector.example/#",
    "https://B\u00fccher.example:443",
    "https://[2001:DB8:0:0:0:0:0:1]:443",
    "http://localhost:8080",
    "http://LocalHost:80/",
    "http://127.0.0.1:8080/",
    "http://127.0.0.1:80",
    "http://127.0.0.9",
    "http://[::1]:80",
    "http://[0:0:0:0:0:0:0:1]:8080",
    "http://localhost:443",
    "http://collector.example",
    "http://localhost.example",
    "http://127.0.0.1.example",
    "http://10.0.0.1",
    "http://[::2]",
    "ftp://localhost",
    "https://name@collector.example",
    "https://:word@collector.example",
    "https://collector.example?x=1",
    "https://collector.example#x",
    "https://collector.example:port",
    "https://collector.example:65536",
    "https://",
    "collector.example",
    "",
]


def address_vectors() -> list[tuple[str, str | None]]:
    """Return each with its spelling, None where a client must refuse it."""
    return [(typed, _spelling(typed)) for typed in TYPED]


def _spelling(typed: str) -> str | None:
    try:
        return CollectorAddress(typed).url
    except ArgumentError:
        return None
