"""Mistakes that everybody makes once: each is told in a sentence, and nothing is spent on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.registry import RANDOMIZERS
from lapwing.testing.randomizer_contract import raw_value
from tests.rows import each

INCOME = lw.Interval(0, 100, bins=16)
COLORS = lw.Categories(["red", "green", "blue"])
PAIRS = lw.Product(income=INCOME, age=lw.Integers(0, 7))
SURVEY = lw.Survey("income", lw.SquareWave(INCOME, epsilon=2))
REPORTS = SURVEY.randomize([20.0, 60.0] * 500, rng=lw.seeded(1))
TALLY = SURVEY.tally(REPORTS)
RESULT = SURVEY.decode(TALLY)

RANDOM: dict[str, Any] = {
    "square-wave": lw.SquareWave(INCOME, epsilon=1),
    "multiscale-wave": lw.MultiscaleWave(INCOME, epsilon=1),
    "general-wave": lw.papers.square_wave.GeneralWave(INCOME, epsilon=1, ratio=0.5),
    "piecewise": lw.randomizers.Piecewise(INCOME, epsilon=1),
    "hierarchical": lw.papers.square_wave.Hierarchical(INCOME, epsilon=1),
    "haar-hadamard": lw.papers.square_wave.HaarHadamard(INCOME, epsilon=1),
    "wavelet": lw.papers.wavelet.Wavelet(INCOME, epsilon=1),
    "randomized-response": lw.RandomizedResponse(COLORS, epsilon=1),
    "unary-encoding": lw.randomizers.UnaryEncoding(COLORS, epsilon=1),
    "optimized-unary-encoding": lw.randomizers.OptimizedUnaryEncoding(COLORS, epsilon=1),
    "subset-selection": lw.SubsetSelection(COLORS, epsilon=1),
    "affine-subset-selection": lw.randomizers.AffineSubsetSelection(COLORS, epsilon=1),
    "hadamard-response": lw.randomizers.HadamardResponse(COLORS, epsilon=1),
    "compressive-privatization": lw.CompressivePrivatization(COLORS, epsilon=1, sparsity=1),
    "rappor": lw.Rappor(COLORS, epsilon=1, lifetime=4),
    "local-hashing": lw.papers.baselines.LocalHashing(COLORS, epsilon=1),
    "linear-hashing": lw.LinearHashing(lw.Categories(2**20), epsilon=1),
    "prefix-hashing": lw.papers.baselines.PrefixHashing(lw.Categories(2**20), epsilon=1),
    "asked-labels": lw.randomizers.AskedLabels(lw.Categories(5), epsilon=1, labels=[1]),
    "box-wave": lw.randomizers.BoxWave(PAIRS, epsilon=1, widths=(2, 2)),
    "multiscale-boxes": lw.randomizers.MultiscaleBoxes(PAIRS, epsilon=1),
}


def test_every_randomizer_is_tried() -> None:
    assert set(RANDOM) == set(RANDOMIZERS)


@each("rng", [1, np.random.default_rng(1), "seed"], ids=["int", "NumPy", "text"])
@each("name", list(RANDOM))
def test_a_seed_is_no_source_of_random_words(name: str, rng: Any) -> None:
    randomizer = RANDOM[name]
    value = raw_value(randomizer, 0)
    with pytest.raises(ArgumentError, match=r"rng must be a source of random words.*seeded\(1\)"):
        randomizer.randomize([value] * 3, rng=rng)


@each("what", [[1.0], np.ones(3), TALLY, None], ids=lambda x: type(x).__name__)
@each("name", list(RANDOM))
def test_what_is_tallied_are_reports(name: str, what: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^tally needs Reports, got .*Randomize the values"):
        RANDOM[name].tally(what)


def test_a_release_pays_nothing_for_a_seed(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    file = lw.Ledger.open(ledger)
    lw.Ledger(lw.Guarantee(10, "1e-5", "replace-one", "central")).save(file.path)  # type: ignore[arg-type]
    before = ledger.read_bytes()
    promise: Any = {"epsilon": 1, "delta": 1e-6, "neighbors": "replace-one"}
    with pytest.raises(ArgumentError, match="rng must be a source"):
        lw.release([1.0] * 50, INCOME, **promise, ledger=file, rng=1)  # type: ignore[arg-type]
    assert ledger.read_bytes() == before
    with pytest.raises(ArgumentError, match="rng must be a source"):
        lw.private_bounds([1.0] * 50, neighbors="replace-one", epsilon=1, ledger=file, rng=1)  # type: ignore[arg-type]
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("rng", ["one", -1, 1.5], ids=lambda x: type(x).__name__)
def test_synthetic_draws_take_a_seed_or_a_generator(rng: Any) -> None:
    with pytest.raises(ArgumentError, match="rng must be a seed"):
        RESULT.sample(3, rng=rng)
    with pytest.raises(ArgumentError, match="rng must be a seed"):
        lw.simulate(SURVEY.randomizer, np.ones(16, dtype=int), rng=rng)
    for size in (-1, 2.5, "3"):
        with pytest.raises(ArgumentError, match="size must be"):
            RESULT.sample(size, rng=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "what", [REPORTS, [20.0, 60.0], None, RESULT], ids=lambda x: type(x).__name__
)
def test_what_is_decoded_is_a_tally(what: Any) -> None:
    ways: list[Callable[[Any], Any]] = [
        SURVEY.decode,
        SURVEY.check,
        lambda one: lw.LeastSquares().decode(SURVEY.randomizer.channel, one),
        lambda one: lw.ExpectationMaximization().decode(SURVEY.randomizer.channel, one),
        lambda one: lw.SpectralPrior().decode(SURVEY.randomizer.channel, one),
    ]
    for way in ways:
        with pytest.raises(ArgumentError, match="tally must be a tally or a release"):
            way(what)


def test_a_decoder_may_be_named() -> None:
    named = SURVEY.decode(TALLY, decoder="least-squares")
    made = SURVEY.decode(TALLY, decoder=lw.LeastSquares())
    assert named.to_document() == made.to_document()  # type: ignore[union-attr]
    with pytest.raises(ArgumentError, match="did you mean least-squares"):
        SURVEY.decode(TALLY, decoder="least-square")
    with pytest.raises(ArgumentError, match=r"or the name of one, got the class LeastSquares"):
        SURVEY.decode(TALLY, decoder=lw.LeastSquares)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="or the name of one, got an int"):
        SURVEY.decode(TALLY, decoder=1)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="candidates has parameters without defaults"):
        SURVEY.decode(TALLY, decoder="candidates")
    with pytest.raises(ArgumentError, match="bins must be a whole number"):
        SURVEY.decode(TALLY, bins="8")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "distance",
    [lw.distances.wasserstein, lw.distances.kolmogorov_smirnov, lw.distances.energy],
    ids=lambda x: x.__name__,
)
def test_a_distance_from_raw_values(distance: Any) -> None:
    values = [20.0, 60.0, 60.0]
    expected = distance(RESULT, lw.results.Cumulative.of_values(values))
    assert distance(RESULT, values) == distance(RESULT, np.array(values)) == expected
    assert distance(values, RESULT) == pytest.approx(expected)
    assert distance(values, values) == 0
    for wrong in (TALLY, None, 3.0, "values"):
        with pytest.raises(ArgumentError, match="a distance needs two results"):
            distance(RESULT, wrong)
    with pytest.raises(DomainError, match="position 1"):
        distance(RESULT, [1.0, "noon"])


def test_raw_values_are_in_the_unit_of_the_other() -> None:
    day = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day")
    early = lw.Distribution.of_values(["06:00"], day)
    assert lw.distances.wasserstein(early, ["08:30"]) == pytest.approx(2 * 3600)
    assert lw.distances.wasserstein(["08:30"], early) == pytest.approx(2 * 3600)


def test_numbers_that_are_none() -> None:
    with pytest.raises(DomainError, match="a probability must be a number"):
        RESULT.quantile("half")
    with pytest.raises(DomainError, match="a probability must be a number"):
        RESULT.quantile(p for p in (0.1, 0.9))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="takes one probability, got several"):
        RESULT.quantile_interval([0.1, 0.9])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="level must be a number greater than 0"):
        RESULT.confidence_band("95")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["0.01", "1e-2", "1/100"])
def test_a_guarantee_takes_texts_as_a_release_does(text: str) -> None:
    guarantee = lw.Guarantee("1", text, "replace-one", "central")  # type: ignore[arg-type]
    assert guarantee == lw.Guarantee(1, 0.01, "replace-one", "central")  # type: ignore[arg-type]
    lasting = lw.Guarantee("0.5", 0, "replace-one", "local", lifetime="24")  # type: ignore[arg-type]
    assert lasting.lifetime == 24
