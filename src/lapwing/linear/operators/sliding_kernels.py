"""The compiled loops of sliding windows.

Importing this module imports numba, so it is imported when needed. Each
kernel has its NumPy reference in the tests.
"""

from __future__ import annotations

from lapwing.linear.compiled_kernel import compiled


@compiled()
def slide(x, width, gap, outside, out):  # pragma: no cover
    """Write the product of a sliding window with x into out. See SlidingWindow.

    `gap` is inside - outside. The prefix sum is kept in `out` itself. Its entries from `width` on
    are then turned into differences, last one first, so that none is overwritten before it is read.
    """
    size = x.shape[0]
    total = 0.0
    for i in range(size):
        total += x[i]
        out[i] = total
    base = outside * total
    for j in range(size, size + width - 1):
        out[j] = total
    for j in range(size + width - 2, width - 1, -1):
        out[j] = gap * (out[j] - out[j - width]) + base
    for j in range(width):
        out[j] = gap * out[j] + base


@compiled()
def slide_adjoint(r, width, gap, outside, sums, out):  # pragma: no cover
    """Write the product of the adjoint with r into out. `sums` is scratch as long as r."""
    total = 0.0
    for j in range(r.shape[0]):
        total += r[j]
        sums[j] = total
    base = outside * total
    out[0] = gap * sums[width - 1] + base
    for i in range(1, out.shape[0]):
        out[i] = gap * (sums[i + width - 1] - sums[i - 1]) + base
