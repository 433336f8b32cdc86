"""The addresses of the pages."""

from __future__ import annotations

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """Return the routes of all pages, and of what they load."""
    return []
