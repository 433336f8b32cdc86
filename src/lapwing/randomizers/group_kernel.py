"""The people of each group of a mixture, and their reports. Compiled.

Importing this module imports numba, so it is imported when needed. The kernels have their NumPy
reference in :mod:`lapwing.randomizers.mixture`.
"""

from __future__ import annotations

import numpy as np

from lapwing.linear.compiled_kernel import compiled


@compiled()
def order_by_group(groups):  # pragma: no cover
    """Return the positions by group, in order within a group, and where each of 256 groups ends.

    groups: Any bytes, so no report of somebody else can make this write where it must not.
    """
    place = np.zeros(257, dtype=np.int64)
    for group in groups:
        place[group + 1] += 1
    for group in range(256):
        place[group + 1] += place[group]
    order = np.empty(groups.size, dtype=np.int64)
    for i in range(groups.size):
        order[place[groups[i]]] = i
        place[groups[i]] += 1
    return order, place[:256]


@compiled()
def place_reports(data, members, reports):  # pragma: no cover
    """Write reports behind the first byte of the rows of these members."""
    for i in range(members.size):
        for byte in range(reports.shape[1]):
            data[members[i], 1 + byte] = reports[i, byte]
