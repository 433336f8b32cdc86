"""A reader copies the example of a public name into an empty session, so a test runs it in one."""

from __future__ import annotations

import pytest

from tests.reference_names import public_docstrings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take from these examples the names of the module, which doctest lends."""
    examples = [item.dtest for item in items if isinstance(item, pytest.DoctestItem)]
    docstrings = public_docstrings() if examples else set()
    for example in examples:
        if example is not None and example.docstring in docstrings:
            example.globs.clear()
