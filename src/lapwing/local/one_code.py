"""Reports that are one code each: how they are packed and counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ReportError
from lapwing.randomizer import CHUNK, check_batch
from lapwing.reports import Reports, code_width, pack_codes, unpack_codes
from lapwing.tally import Counts

Encode = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def report_codes(
    points: NDArray[np.int64], encode: Encode, *, outputs: int, fingerprint: str
) -> Reports:
    """Return one report per person.

    Parameters
    ----------
    points : numpy.ndarray
        int64 [n], the input of everybody.
    encode : callable
        Draws the codes of some inputs: int64 [m] to int64 [m], each in 0..outputs-1.
    outputs : int
        Codes that can occur.
    fingerprint : str
        Of the randomizer.

    Notes
    -----
    People are taken in chunks, so that temporary arrays stay in cache.
    """
    width = code_width(outputs)
    data = np.empty((points.size, width), dtype=np.uint8)
    for start in range(0, points.size, CHUNK):
        codes = encode(points[start : start + CHUNK])
        data[start : start + CHUNK] = pack_codes(codes, width=width)
    return Reports(data, fingerprint)


def count_codes(reports: Reports, *, outputs: int, fingerprint: str) -> Counts:
    """Return the exact counts of a batch, entirely or not at all.

    Raises
    ------
    MismatchError
        When another randomizer made the reports.
    ReportError
        With the position of the first report that cannot occur.
    """
    data = check_batch(reports, width=code_width(outputs), fingerprint=fingerprint)
    counts = np.zeros(outputs, dtype=np.int64)
    for start in range(0, len(reports), CHUNK):
        codes = unpack_codes(data[start : start + CHUNK])
        wrong = (codes >= outputs) | (codes < 0)
        if wrong.any():
            position = start + int(np.argmax(wrong))
            raise ReportError(
                f"every report must be a code in 0..{outputs - 1}, the one at position "
                f"{position} is not; the batch was not counted",
                position=position,
            )
        counts += np.bincount(codes, minlength=outputs)
    return Counts([counts], [len(reports)], fingerprint)
