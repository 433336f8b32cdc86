"""What is hidden stays hidden, also from who can subtract."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.service.shown_counts import count_document, shown_segments

COUNTS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 50), max_size=8)
# The same cases each time, and as slow as the machine is just then.
STEADY = settings(deadline=None, max_examples=200, derandomize=True)


@STEADY
@given(COUNTS, st.integers(1, 40))
def test_no_small_count_is_shown_or_follows_from_what_is(
    counts: dict[str, int], minimum: int
) -> None:
    shown = shown_segments(counts, minimum=minimum)
    assert all(counts[name] >= minimum for name in shown)
    hidden = sum(counts.values()) - sum(counts[name] for name in shown)
    assert hidden == 0 or hidden >= minimum or not shown


@STEADY
@given(COUNTS, st.integers(1, 40))
def test_nothing_is_hidden_without_need(counts: dict[str, int], minimum: int) -> None:
    if all(reports >= minimum or reports == 0 for reports in counts.values()):
        enough = {name for name, reports in counts.items() if reports >= minimum}
        assert shown_segments(counts, minimum=minimum) == enough


def test_a_count_says_how_it_is_shown() -> None:
    assert count_document(1234, minimum=1000, shown=True)["reports"] == 1234
    for reports, text in ((999, "fewer than 1,000"), (1234, "hidden")):
        told = count_document(reports, minimum=1000, shown=False)
        assert told == {"reports": None, "text": text}
