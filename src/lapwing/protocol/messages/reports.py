"""What leaves the devices: fixed-width records, one per person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ReportError


@dataclass(frozen=True, eq=False, repr=False)
class Reports:
    """A batch of reports of one randomizer.

    Parameters
    ----------
    data : numpy.ndarray
        uint8 [n, width]; `width` is fixed by the randomizer.
    fingerprint : str
        Of the randomizer that made them.

    Raises
    ------
    ReportError
        When the data are not two-dimensional bytes.
    """

    data: NDArray[np.uint8]
    fingerprint: str

    def __post_init__(self) -> None:
        """Check the shape and freeze the bytes."""
        if self.data.dtype != np.uint8 or self.data.ndim != 2:
            raise ReportError(
                "reports must be bytes of shape [n, width], got "
                f"{self.data.dtype.name} of shape {self.data.shape}"
            )
        self.data.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        """Return whether two batches hold the same reports, in the same order."""
        if not isinstance(other, Reports):
            return False
        return self.fingerprint == other.fingerprint and np.array_equal(self.data, other.data)

    def __hash__(self) -> int:
        """Return a number that is equal for equal batches."""
        return hash((self.fingerprint, self.data.tobytes()))

    def __repr__(self) -> str:
        """Return one line; the reports themselves stay unprinted."""
        return f"<{len(self)} Reports of {self.width} byte(s), randomizer {self.fingerprint[:12]}>"

    def __len__(self) -> int:
        """Return the number of reports."""
        return int(self.data.shape[0])

    @property
    def width(self) -> int:
        """Bytes per report."""
        return int(self.data.shape[1])

    def __getitem__(self, part: slice) -> Reports:
        """Return a slice of the batch."""
        return Reports(self.data[part], self.fingerprint)


def code_width(codes: int) -> int:
    """Return the bytes that hold one of so many codes: 1 for 1..256, 2 up to 65536, ..."""
    return max(1, ((codes - 1).bit_length() + 7) // 8)


def pack_codes(codes: NDArray[np.int64], *, width: int) -> NDArray[np.uint8]:
    """Return codes as little-endian bytes: uint8 [n, width]."""
    if width in (1, 2, 4, 8):
        return codes.astype(f"<u{width}").view(np.uint8).reshape(codes.size, width)
    return np.ascontiguousarray(codes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width])


def unpack_codes(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the codes in little-endian bytes: int64 [n]."""
    width = data.shape[1]
    if width in (1, 2, 4):
        return np.ascontiguousarray(data).view(f"<u{width}").ravel().astype(np.int64)
    padded = np.zeros((data.shape[0], 8), dtype=np.uint8)
    padded[:, :width] = data
    return padded.view("<u8").ravel().astype(np.int64)
