"""The one spelling of a collector's address, by which a device knows whom its answers wait for."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from lapwing.errors import ArgumentError, kind_of

_DEFAULT_PORTS = {"https": 443, "http": 80}


def normal_address(text: Any) -> str:
    """Return an address with its scheme and host in lower case, and without a default port.

    The path keeps its case and loses the slashes at its end. Names of one machine stay different,
    such as ``localhost`` and ``127.0.0.1``: they may lead to different programs.

    text: ``https://...``, or ``http://...`` of this very machine.

    Raises ArgumentError when it is no address of a collector.
    """
    wanted = "the address of a collector must be a string such as https://collector.example"
    if not isinstance(text, str):
        raise ArgumentError(f"{wanted}, got {kind_of(text)}")
    try:
        parts = urlsplit(text.strip())
        host, port = _normal_host(parts.hostname or ""), parts.port
    except ValueError:
        raise ArgumentError(wanted) from None
    if not host or parts.query or parts.fragment or parts.username is not None:
        raise ArgumentError(f"{wanted}, without a user name, query or fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(host)):
        raise ArgumentError(
            "the address of a collector must begin with https://, unless it is on this machine "
            "(http://localhost:...)"
        )
    shown = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}{parts.path.rstrip('/')}"


def _normal_host(host: str) -> str:
    """Return a host as it is asked for: in ASCII, and an IPv6 address in its short form."""
    if ":" in host:
        return f"[{IPv6Address(host).compressed}]"
    return host.encode("idna").decode().lower()


def _is_here(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
