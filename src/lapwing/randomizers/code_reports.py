"""Reports that are one code each: how they are packed, checked and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.protocol.messages.reports import Reports, code_width, pack_codes, unpack_codes
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import CHUNK, check_batch, fill_reports, refuse_reports

Encode = Callable[[NDArray[np.int64]], NDArray[np.int64]]


@dataclass(frozen=True)
class CodeReports:
    """Reports that are a code in ``0..outputs-1``, in as few whole bytes as hold it.

    Parameters
    ----------
    outputs : int
        Codes that can occur.
    """

    outputs: int

    @property
    def width(self) -> int:
        """Bytes per report."""
        return code_width(self.outputs)

    def one(self, code: int) -> bytes:
        """Return the report of one code."""
        return code.to_bytes(self.width, "little")

    def make(self, points: NDArray[np.int64], encode: Encode, fingerprint: str) -> Reports:
        """Return one report per person.

        Parameters
        ----------
        points : numpy.ndarray
            int64 [n], the input of everybody.
        encode : callable
            Draws the codes of some inputs: int64 [m] to int64 [m], each in 0..outputs-1.
        fingerprint : str
            Of the randomizer.
        """
        width = self.width

        def fill(part: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            rows[:] = pack_codes(encode(part), width=width)

        return fill_reports(points, fill, width=width, fingerprint=fingerprint)

    def count(self, reports: Reports, fingerprint: str) -> CountTally:
        """Return the exact counts of a batch; errors as of `Randomizer.tally`."""
        counts = np.zeros(self.outputs, dtype=np.int64)
        for codes in self._chunks(reports, fingerprint):
            counts += np.bincount(codes, minlength=self.outputs)
        return CountTally([counts], [len(reports)], fingerprint)

    def read(self, reports: Reports, fingerprint: str) -> NDArray[np.int64]:
        """Return the codes of a batch, int64 [n]; errors as of `Randomizer.tally`."""
        chunks = list(self._chunks(reports, fingerprint))
        return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int64)

    def _chunks(self, reports: Reports, fingerprint: str) -> Iterator[NDArray[np.int64]]:
        data = check_batch(reports, width=self.width, fingerprint=fingerprint)
        for start in range(0, len(reports), CHUNK):
            codes = unpack_codes(data[start : start + CHUNK])
            # The extremes first: they are cheaper than a mask.
            if int(codes.max(initial=0)) >= self.outputs or int(codes.min(initial=0)) < 0:
                wrong = (codes >= self.outputs) | (codes < 0)
                must = f"be a code in 0..{self.outputs - 1}"
                refuse_reports(wrong, must, fails="is not", start=start)
            yield codes
