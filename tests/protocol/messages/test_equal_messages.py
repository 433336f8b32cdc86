"""Reports, summaries and releases are equal when they say the same."""

from __future__ import annotations

import pickle

import numpy as np

import lapwing as lw
from lapwing.protocol.messages.reports import Reports

UNIT = lw.Interval(0, 1, bins=4)
RESPONSE = lw.RandomizedResponse(UNIT, 1)


def test_reports() -> None:
    made = RESPONSE.randomize([0.1, 0.6, 0.9], rng=lw.seeded(1))
    again = pickle.loads(pickle.dumps(made))
    assert made == again and hash(made) == hash(again)
    assert made != made[:2] and made != 1
    assert made != Reports(made.data, "another")
    assert Reports(made.data + np.uint8(1), made.fingerprint) != made


def test_summaries() -> None:
    made = lw.protocol.ExactCounts.of_values([0.1, 0.6], UNIT)
    again = pickle.loads(pickle.dumps(made))
    assert made == again and hash(made) == hash(again)
    other = lw.protocol.ExactCounts.of_values([0.1, 0.1], UNIT)
    # The hash of what is secret must not tell two counts apart.
    assert made != other and hash(made) == hash(other)
    assert (
        made != lw.protocol.ExactCounts.of_values([0.1, 0.6], lw.Interval(0, 2, bins=4))
        and made != 1
    )


def test_releases() -> None:
    made = lw.release([0.1] * 50, UNIT, neighbors="replace-one", epsilon=1).release
    again = pickle.loads(pickle.dumps(made))
    assert made == again and hash(made) == hash(again)
    other = lw.release([0.1] * 50, UNIT, neighbors="replace-one", epsilon=1).release
    assert made != other and made != 1  # another identifier, other noise
