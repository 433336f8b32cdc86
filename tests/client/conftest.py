"""A small collector for each test that sends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.small_collector import SmallCollector, small_collector


@pytest.fixture
def collector() -> Iterator[SmallCollector]:
    with small_collector() as running:
        yield running
