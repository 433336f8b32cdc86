"""A small collector for each test that sends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.small_collector import SmallCollector, small_collector
from tests.service import folder_in_memory

tmp_path = folder_in_memory.tmp_path


@pytest.fixture
def collector() -> Iterator[SmallCollector]:
    with small_collector() as running:
        yield running
