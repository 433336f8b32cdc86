"""What every randomizer refuses: symbols that are not there, and batches of others."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.errors import DomainError, MismatchError, ReportError
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.randomizer import check_batch, check_symbol

MADE_BY = "f" * 64


def test_symbols_end_before_the_size() -> None:
    for value in (0, 2):
        check_symbol(value, 3)
    for value in (-1, 3):
        with pytest.raises(DomainError, match=r"^a symbol must be in 0\.\.2$"):
            check_symbol(value, 3)


@pytest.mark.parametrize("width", [1, 3])
def test_records_of_another_width_are_refused(width: int) -> None:
    batch = Reports(np.zeros((4, width), dtype=np.uint8), MADE_BY)
    assert check_batch(batch, width=width, fingerprint=MADE_BY).shape == (4, width)
    with pytest.raises(ReportError, match=f"must have 2 bytes, these have {width}"):
        check_batch(batch, width=2, fingerprint=MADE_BY)
    with pytest.raises(MismatchError, match="were made by randomizer ffff"):
        check_batch(batch, width=width, fingerprint="0" * 64)
