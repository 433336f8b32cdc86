"""Run times of the wavelet and the compressive paper: the samplers' laws, and what is judged."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.accuracy.papers.compressive import compressive_times
from benchmarks.accuracy.papers.wavelet import wavelet_times
from benchmarks.verdicts import CONTRADICTED, HOLDS
from tests.false_alarms import accepts, multinomial_tail


@pytest.mark.parametrize("sampler", [wavelet_times.until_accepted, wavelet_times.algorithm_2])
def test_both_samplers_have_the_law_of_equation_45(sampler: Callable) -> None:
    """Of d = 3, m = 2: twelve signed sets, e^epsilon as likely where they hold the own sign."""
    epsilon, draws = 1.0, 6000
    rng = np.random.default_rng(3)
    seen: dict[tuple, int] = {}
    for _ in range(draws):
        drawn = sampler(1, 3, 2, epsilon, rng)
        seen[tuple(drawn.tolist())] = seen.get(tuple(drawn.tolist()), 0) + 1
    assert len(seen) == 12 and all(sum(map(abs, one)) == 2 for one in seen)
    weights = {one: math.exp(epsilon) if one[1] == 1 else 1.0 for one in seen}
    total = sum(weights.values())
    chances = np.array([weights[one] / total for one in seen])
    assert accepts(multinomial_tail(np.array(list(seen.values())), chances))


def times(mean: float) -> dict:
    return {
        "mean": mean,
        "standard_error": 0.0,
        "values": [mean * (1 + i / 1000) for i in range(8)],
    }


def test_what_is_said_of_the_samplers_and_of_em() -> None:
    def world(rejecting: float, growth: float, em: float) -> dict:
        return {
            "samplers": [
                {
                    "coordinates": size,
                    "epsilon": epsilon,
                    "works": {
                        wavelet_times.REJECTING: times(size**growth * rejecting**epsilon),
                        wavelet_times.FAST: times(size**growth),
                    },
                }
                for size in (64, 256)
                for epsilon in (1, 4)
            ],
            "decoders": [
                {
                    "bins": size,
                    "works": {
                        wavelet_times.EM: times(em),
                        wavelet_times.STEP: times(size**2.0),
                        wavelet_times.CLIP: times(1.0),
                    },
                }
                for size in (256, 1024)
            ],
        }

    as_said = wavelet_times.claims(world(2.0, 1.0, 10.0))
    assert [one.verdict for one in as_said] == [HOLDS] * 3
    assert "grows as d to the 2.0" in as_said[2].evidence
    turned = wavelet_times.claims(world(1.0, 2.0, 1.0))
    assert [one.verdict for one in turned] == [CONTRADICTED] * 3


@pytest.mark.parametrize(("power", "right"), [(1.2, HOLDS), (3.0, CONTRADICTED)])
def test_recovery_takes_polynomial_time(power: float, right: str) -> None:
    rows = [
        {"k": k, "works": {compressive_times.PUBLISHED: times(k**power), "HR": times(k)}}
        for k in (1000, 10_000)
    ]
    (claim,) = compressive_times.claims({"decoders": rows})
    assert claim.verdict == right and f"to the {power:.1f};" in claim.evidence
