"""The pairs: which decoder goes with which randomizer or mechanism, one by one."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError
from lapwing.planning import defaults
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
}
"""Randomizers of numbers that another decoder than their own stands in for."""

LABELS = {"prefix-hashing": "least-squares"}
"""The same of labels."""

PAIRS = {
    **dict.fromkeys(RANDOMIZERS, "log-density-prior"),
    "asked-labels": "least-squares",
    "hadamard-response": "least-squares",
    "compressive-privatization": "least-squares",
}
"""Those of pairs: reports of the latter three do not see each axis by itself."""

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
    "box-wave": {"widths": (2, 2)},
}


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_a_randomizer_gets_the_decoder_that_it_names(name: str) -> None:
    seen = 0
    for domain, instead in (
        (lw.Interval(0, 1, bins=64, outside="clip"), NUMBERS),
        (lw.Categories(64), LABELS),
        (lw.Product(x=lw.Integers(0, 7), y=lw.Integers(0, 7)), PAIRS),
    ):
        with suppress(lw.errors.DomainError):
            made: Any = RANDOMIZERS[name](domain, 1, **KNOBS.get(name, {}))
            assert recommended_decoder(made).name == instead.get(name, made.decoder)
            assert "decoder" not in json.dumps(lw.Survey("s", made).to_document())
            seen += 1
    assert seen > 0


def test_the_decoders_of_the_papers_come_first() -> None:
    for name, decoder in {
        "multiscale-wave": "spectral-prior",
        "square-wave": "spectral-prior",
        "general-wave": "spectral-prior",
        "piecewise": "spectral-prior",
        "hierarchical": "tree-consistency",
        "wavelet": "wavelet-clip",
        "haar-hadamard": "least-squares",
        "randomized-response": "mixture-prior",
        "linear-hashing": "mixture-prior",
        "prefix-hashing": "prefix-extension",
        "compressive-privatization": "sparse-recovery",
    }.items():
        assert RANDOMIZERS[name].decoder == decoder
    tree: Any = recommended_decoder(
        lw.papers.square_wave.Hierarchical(lw.Integers(0, 63, outside="clip"), 1)
    )
    assert tree.method == "admm"
    ordered: Any = [
        RANDOMIZERS[name](lw.Integers(0, 63, outside="clip"), 1)
        for name in ("rappor", "hadamard-response")
    ]
    assert [made.decoder for made in ordered] == ["least-squares"] * 2


@dataclass(frozen=True)
class Elsewhere(lw.RandomizedResponse):
    """Randomized response that names a decoder which nobody registered."""

    name = "elsewhere"
    decoder = "far-away"


def test_a_decoder_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = Elsewhere(lw.Categories(4), 1)
    with pytest.raises(ArgumentError, match="elsewhere is decoded by 'far-away', which is not reg"):
        recommended_decoder(made)
    monkeypatch.setattr(defaults, "packages_distributions", lambda: {"tests": ["far-off-package"]})
    with pytest.raises(ArgumentError, match="nstall all of the package far-off-package"):
        recommended_decoder(made)


def test_every_mechanism_has_its_row() -> None:
    assert RELEASES.keys() == set(MECHANISMS)


@pytest.mark.parametrize("name", RELEASES)
def test_releases(name: str) -> None:
    assert release_decoder(MECHANISMS[name](), lw.Categories(99)).name == RELEASES[name]


def test_counts_of_numbers_are_decoded_as_a_curve_from_64_bins_on() -> None:
    for bins, decoder in ((63, "label-shares"), (64, "spectral-pursuit")):
        domain = lw.Interval(0, 1, bins=bins, outside="clip")
        assert release_decoder(MECHANISMS["label-counts"](), domain).name == decoder


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
    made: Any = RANDOMIZERS[name](
        lw.Interval(0, 1, bins=64, outside="clip"), 1, **KNOBS.get(name, {})
    )
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
        decoder: Any = release_decoder(MECHANISMS[name](monotone=monotone), lw.Integers(0, 9))
        assert decoder.monotone is monotone
    query = MECHANISMS["histogram-query"](interpolate=monotone)
    cells: Any = release_decoder(query, lw.Integers(0, 9))
    assert cells.interpolate is monotone


def test_limits_count_bins_and_not_the_symbols_outside() -> None:
    widest = lw.Interval(0, 1, bins=4096, outside="overflow")
    assert lw.recommend(widest, epsilon=1, users=100_000).randomizer.domain.size == 4098
    many = lw.MultiscaleWave(lw.Interval(0, 1, bins=2**16, outside="overflow"), 1)
    assert recommended_decoder(many).name == "spectral-prior"
    with pytest.raises(lw.errors.DomainError, match="4096"):
        lw.recommend(widest.refined(4097), epsilon=1, users=100_000)


def test_counts_and_masses_of_the_bins_alone_have_nobody_outside() -> None:
    domain = lw.Interval(0, 1, bins=4, outside="overflow", missing="bin")
    assert domain.with_nobody_outside(np.arange(5)).tolist() == [0, 0, 1, 2, 3, 0, 4]
    assert domain.with_nobody_outside(np.arange(7)).tolist() == list(range(7))
    wave = lw.SquareWave(domain, 1)
    bins, symbols = [5, 6, 7, 8, 9], [0, 5, 6, 7, 8, 0, 9]
    assert lw.simulate(wave, bins, rng=1) == lw.simulate(wave, symbols, rng=1)
