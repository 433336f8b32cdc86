"""Documents with something deleted, changed or added, for tests of strict reading."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**53, -(2**70), 10**400, 1, 0, -1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["", "\ud800", "nan", "1e999999999", "interval", "categories"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
"""Any JSON value."""


@st.composite
def damaged(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a document in which one key or entry was deleted, changed or added."""
    changed = copy.deepcopy(document)
    place: Any = changed
    while True:
        keys = list(range(len(place))) if isinstance(place, list) else list(place)
        key = draw(st.sampled_from(keys))
        deeper = isinstance(place[key], dict | list) and place[key]
        if not deeper or draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    what = draw(st.sampled_from(["delete", "change", "change", "add"]))
    if what == "delete":
        del place[key]
    elif what == "change":
        place[key] = draw(junk)
    elif isinstance(place, list):
        place.insert(key, draw(junk))
    else:
        place[draw(st.text(max_size=6))] = draw(junk)
    return changed
