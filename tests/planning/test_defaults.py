"""The pairs: which decoder goes with which randomizer or mechanism, one by one."""

from __future__ import annotations

from typing import Any

import pytest

import lapwing as lw
from lapwing.planning.defaults import recommended_decoder
from lapwing.planning.release_defaults import release_decoder
from lapwing.survey.publication import MECHANISMS
from lapwing.survey.survey import RANDOMIZERS

NUMBERS = {
    "randomized-response": "spectral-prior",
    "subset-selection": "spectral-prior",
    "affine-subset-selection": "spectral-prior",
    "unary-encoding": "spectral-prior",
    "optimized-unary-encoding": "spectral-prior",
    "square-wave": "spectral-prior",
    "general-wave": "spectral-prior",
    "piecewise": "spectral-prior",
    "multiscale-wave": "spectral-prior",
    "hierarchical": "tree-consistency",
    "wavelet": "wavelet-clip",
    "haar-hadamard": "least-squares",
}
LABELS = {
    "randomized-response": "mixture-prior",
    "subset-selection": "mixture-prior",
    "affine-subset-selection": "mixture-prior",
    "unary-encoding": "mixture-prior",
    "optimized-unary-encoding": "mixture-prior",
    "hadamard-response": "mixture-prior",
    "rappor": "mixture-prior",
    "local-hashing": "mixture-prior",
    "linear-hashing": "mixture-prior",
    "prefix-hashing": "least-squares",
    "compressive-privatization": "sparse-recovery",
}
RELEASES = {
    "prefix-sums": "spectral-pursuit",
    "sum-tree": "spectral-pursuit",
    "running-prefix-sums": "spectral-pursuit",
    "histogram-query": "cell-counts",
    "adaptive-quantiles": "sorted-points",
    "polynomial-projection": "curve-sum",
    "matching-pursuit": "curve-sum",
    "label-counts": "label-shares",
}


KNOBS: dict[str, dict[str, Any]] = {
    "general-wave": {"ratio": 0.5},
    "compressive-privatization": {"sparsity": 2},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    made: Any = RANDOMIZERS[name](lw.Interval(0, 1, bins=64), 1, **KNOBS.get(name, {}))
    assert recommended_decoder(made).name == NUMBERS[name]


@pytest.mark.parametrize("name", LABELS)
def test_labels(name: str) -> None:
    made: Any = RANDOMIZERS[name](lw.Categories(64), 1, **KNOBS.get(name, {}))
    assert recommended_decoder(made).name == LABELS[name]


def test_every_randomizer_and_mechanism_has_its_row() -> None:
    assert NUMBERS.keys() | LABELS.keys() == set(RANDOMIZERS)
    assert RELEASES.keys() == set(MECHANISMS)


@pytest.mark.parametrize("name", RELEASES)
def test_releases(name: str) -> None:
    assert release_decoder(MECHANISMS[name]()).name == RELEASES[name]


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("square-wave", 4096),
        ("general-wave", 4096),
        ("piecewise", 4096),
        ("subset-selection", 1024),
    ],
)
def test_the_spectral_prior_has_a_limit(name: str, last: int) -> None:
    made: Any = RANDOMIZERS[name](lw.Interval(0, 1, bins=64), 1, **KNOBS.get(name, {}))
    assert recommended_decoder(made, size=last).name == "spectral-prior"
    assert recommended_decoder(made, size=last + 1).name != "spectral-prior"


def test_few_labels_and_pools_of_hashes_get_least_squares() -> None:
    response: Any = RANDOMIZERS["randomized-response"]
    assert recommended_decoder(response(lw.Categories(23), 1)).name == "least-squares"
    assert recommended_decoder(response(lw.Categories(24), 1)).name == "mixture-prior"
    pool: Any = RANDOMIZERS["local-hashing"](lw.Categories(64), 1, hashes=20)
    assert recommended_decoder(pool).name == "least-squares"


@pytest.mark.parametrize("monotone", [True, False])
def test_a_decoder_of_curves_takes_over_what_the_mechanism_says(monotone: bool) -> None:
    for name in ("polynomial-projection", "matching-pursuit"):
        decoder: Any = release_decoder(MECHANISMS[name](monotone=monotone))
        assert decoder.monotone is monotone
    cells: Any = release_decoder(MECHANISMS["histogram-query"](interpolate=monotone))
    assert cells.interpolate is monotone
