"""Noisy counts of another library: read, decoded, added, compared and asked, and never trusted."""

import json
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import (
    AlteredCountsWarning,
    ArgumentError,
    FormatError,
    MismatchError,
    PrivacyError,
)
from lapwing.privacy import Promise
from lapwing.questions import Mean, Quantile, Share
from lapwing.survey.noisy_counts import clipping_chance

EDGES = np.linspace(0, 100, 257)
STATED = "stated by its maker, not verified"


def people(seed: int, number: int = 20_000) -> np.ndarray[Any, Any]:
    """Return counts of a column with a peak and an empty half."""
    drawn = np.random.default_rng(seed).normal(30, 8, number)
    return np.histogram(np.clip(drawn, 0, 100), EDGES)[0].astype(float)


def noise_of(kind: str, scale: float, size: int, seed: int) -> np.ndarray[Any, Any]:
    """Return noise drawn apart from the library."""
    rng = np.random.default_rng([seed, 77])
    if kind == "laplace":
        return rng.laplace(0, scale, size)
    if kind == "gaussian":
        return rng.normal(0, scale, size)
    ends = np.arange(-60 * math.ceil(scale), 60 * math.ceil(scale) + 1)
    weight = np.exp(-np.abs(ends) / scale)
    if kind == "discrete-gaussian":
        weight = np.exp(-((ends / scale) ** 2) / 2)
    return rng.choice(ends, size, p=weight / weight.sum()).astype(float)


def read(seed: int, kind: Any = "laplace", scale: float = 3) -> Any:
    counts = people(seed)
    noisy = counts + noise_of(kind, scale, counts.size, seed)
    return lw.read_counts(EDGES, noisy, noise=kind, scale=scale)


KINDS = ("laplace", "gaussian", "discrete-laplace", "discrete-gaussian")


@pytest.mark.parametrize("kind", KINDS)
def test_a_decoder_gets_the_variance_of_the_noise(kind: str) -> None:
    drawn = noise_of(kind, 1.5, 400_000, 1)
    published = read(1, kind, 1.5)
    law: Any = published.release.channel.blocks[0].law
    assert law.variance == pytest.approx(drawn.var(), rel=0.02)
    assert published.release.blocks[0].sum() == pytest.approx(published.release.total, abs=0.5)
    assert abs(published.release.total - 20_000) < 6 * math.sqrt(256 * law.variance)


@pytest.mark.parametrize("kind", KINDS)
def test_its_answers_are_near_and_its_intervals_hold(kind: str) -> None:
    truth = lw.Distribution.of_counts(people(2).astype(int), lw.Interval(edges=EDGES))
    result = read(2, kind).distribution
    assert result.quantile([0.1, 0.5, 0.9]) == pytest.approx(
        truth.quantile([0.1, 0.5, 0.9]), abs=0.3
    )
    band = result.confidence_band(0.95)
    heights = np.array([truth.cdf(point) for point in band.points])
    inside = (band.low <= heights) & (heights <= band.high)
    assert np.mean(inside) > 0.85 and float(np.mean(band.high - band.low)) < 0.02
    low, high = result.answer(Share(at_most=30)).low, result.answer(Share(at_most=30)).high
    assert 0 < low < high < 1
    assert result.answer(Quantile(0.5)).value == pytest.approx(result.quantile(0.5), abs=0.2)
    assert abs(float(result.answer(Mean()).value) - 30) < 1


def test_it_is_nearer_than_clipped_and_normalized_counts() -> None:
    ratios = []
    for seed in range(4):
        counts = people(seed, 5000)
        noisy = counts + noise_of("laplace", 2, 256, seed)
        clipped = np.maximum(noisy, 0) / np.maximum(noisy, 0).sum()
        mass = lw.read_counts(EDGES, noisy, noise="laplace", scale=2).distribution.mass
        truth = np.cumsum(counts) / counts.sum()
        ours, theirs = (np.abs(np.cumsum(each) - truth).mean() for each in (mass, clipped))
        ratios.append(math.log(ours / theirs))
    assert math.exp(float(np.mean(ratios))) < 0.6


def test_the_guarantee_is_its_makers_and_every_form_says_so() -> None:
    laplace, gaussian = read(1).guarantee, read(1, "gaussian", 4).guarantee
    assert (laplace.epsilon, laplace.delta) == (Fraction(1, 3), 0)
    assert laplace.neighbors == "add-or-remove-one" and laplace.standing == "stated"
    assert gaussian.delta == Fraction(1, 10**6) and 1 < gaussian.epsilon < 1.2
    own = lw.Guarantee("0.3", "1e-9", "replace-one", "central")
    noisy = [10.4, -1.3, 900.7]
    how: Any = {"noise": "gaussian", "scale": "20.5"}
    stated = lw.read_counts(["a", "b", "c"], noisy, guarantee=own, **how)
    assert stated.guarantee == own
    zero = Promise("replace-one", rho="0.5")
    assert lw.read_counts(["a", "b", "c"], noisy, guarantee=zero, **how).guarantee.delta > 0
    for text in (
        str(stated.guarantee),
        str(stated.distribution.guarantee),
        repr(stated.release),
        stated.distribution._repr_html_(),
    ):
        assert STATED in text and "not private" not in text
    with pytest.raises(PrivacyError, match=STATED):
        lw.Ledger(lw.Guarantee(9, "1e-3", "replace-one", "central")).spend("it", stated.guarantee)


def test_a_file_keeps_it_and_a_changed_one_is_refused() -> None:
    for kind in KINDS:
        release = read(3, kind, 2.7).release
        assert lw.Release.from_json(release.to_json()) == release
    document = release.to_document()
    for key, other in (("loss", {"mu_squared": "1/9"}), ("standing", None)):
        changed = json.loads(json.dumps(document))
        part = changed["parts"][0]
        if other is None:
            del part[key]  # without it the release would count as verified
        else:
            part[key] |= other
        with pytest.raises(FormatError):
            lw.Release.from_document(changed)


def test_sums_differences_and_a_series() -> None:
    one, two = read(4), read(5)
    whole = one.release + two.release
    assert whole.total == pytest.approx(40_000, abs=1500)
    assert whole.guarantee.standing == "stated" and whole.guarantee.epsilon == Fraction(1, 3)
    same = lw.Release.sum_of([one, two], people="same").guarantee
    assert same.epsilon == Fraction(2, 3) and STATED in str(same)
    with pytest.raises(MismatchError, match="same release"):
        one.release + read(4).release
    difference = lw.Difference(one.distribution, two.distribution, people="different")
    assert difference.guarantee is not None and difference.guarantee.standing == "stated"
    series = lw.decode_series([one, two], names=["2026-01", "2026-02"])
    assert "stated" in json.dumps(series.to_document())


def test_private_counts_that_are_added_lose_their_standing() -> None:
    domain = lw.Categories(["a", "b"], missing="category")
    private = lw.release(["a", "b", "b"], domain, neighbors="add-or-remove-one", epsilon=1).release
    stated = lw.read_counts(["a", "b", None], [3, 6, 1], noise="discrete-laplace", scale=1).release
    assert private.guarantee.standing is None
    assert (private + stated).guarantee.standing == "stated"
    assert lw.Release.from_json((private + stated).to_json()) == private + stated
    forged = json.loads((private + stated).to_json())
    forged["parts"][0]["noise"]["scale"] = "1/2"  # the part of this library is still verified
    with pytest.raises(FormatError, match="does not match"):
        lw.Release.from_document(forged)


def test_a_sum_with_many_stated_counts_loads() -> None:
    domain = lw.Categories([f"label {number}" for number in range(40)], missing="category")
    private = lw.release(["label 1"], domain, neighbors="add-or-remove-one", epsilon=1).release
    counts: Any = range(1, 42)
    stated = lw.read_counts(domain, counts, noise="discrete-laplace", scale=1).release
    assert lw.Release.from_json((private + stated).to_json()) == private + stated


def test_missing_values_have_a_count_of_their_own() -> None:
    how: Any = {"noise": "gaussian", "scale": 3}
    result = lw.read_counts(["no", None, "yes"], [600.3, 100.2, 298.9], **how).distribution
    assert result.share("no") == pytest.approx(0.6, abs=0.01)
    assert result.mass[-1] == pytest.approx(0.1, abs=0.01)
    domain = lw.Interval(edges=[0, 10, 20], missing="bin")
    numbers = lw.read_counts(domain, [600.3, 298.9, 100.2], **how).distribution
    assert numbers.mass[-1] == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.8, 1.0, 5.0])
def test_clipped_counts_warn(kind: str, scale: float) -> None:
    noisy = people(6) + noise_of(kind, scale, 256, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.read_counts(EDGES, noisy, noise=kind, scale=scale)  # type: ignore[arg-type]
    with pytest.warns(AlteredCountsWarning, match="clipped"):
        lw.read_counts(EDGES, np.maximum(noisy, 0), noise=kind, scale=scale)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
def test_thirty_empty_bins_show_that_counts_were_clipped_at_scale_one(kind: Any) -> None:
    noticed = 0
    for seed in range(40):
        counts = np.append(np.zeros(40), 50 * np.ones(20)) + noise_of(kind, 1, 60, seed)
        noticed += clipping_chance(np.maximum(counts, 0), kind, 1.0) < 1e-3
    assert noticed >= 36


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize("scale", [0.6, 1.0, 4.0])
def test_the_chance_is_a_bound_whatever_people_there_are(kind: Any, scale: float) -> None:
    """Brute force: tables of three bins of all sizes, with the exact probabilities of the noise.

    The bound is at least the probability of all tables that look at least as clipped.
    """
    noises = np.arange(-200, 201)
    weight = np.exp(-np.abs(noises) / scale)
    if kind == "discrete-gaussian":
        weight = np.exp(-((noises / scale) ** 2) / 2)
    weight /= weight.sum()
    most = 0 if kind == "discrete-laplace" else math.ceil(scale)
    for held in range(12):
        low = weight[noises <= most - held].sum()
        zero = weight[noises == -held][0] / low
        above = weight[(noises > -held) & (noises <= most - held)].sum() / low
        for zeros in range(4):
            exact = sum(
                math.comb(3, many) * zero**many * above ** (3 - many) for many in range(zeros, 4)
            )
            counts = np.append(np.zeros(zeros), np.full(3 - zeros, most))
            if most:
                assert exact <= clipping_chance(counts, kind, scale) + 1e-12
            elif zeros == 3:
                assert exact == pytest.approx(clipping_chance(counts, kind, scale))


def test_rounded_counts_warn_and_fractions_cannot_be_discrete() -> None:
    rounded = np.rint(people(7) + noise_of("laplace", 3, 256, 7))
    with pytest.warns(AlteredCountsWarning, match="discrete-laplace"):
        lw.read_counts(EDGES, rounded, noise="laplace", scale=3)
    with pytest.raises(ArgumentError, match="noise='laplace'"):
        lw.read_counts(EDGES, rounded + 0.5, noise="discrete-laplace", scale=3)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("noise must be one of", {"noise": "normal"}),
    ("scale must be from 0.01", {"scale": 0}),
    ("scale must be from 0.01", {"scale": "1e9"}),
    ("guarantee must be given", {"scale": "0.02"}),
    ("guarantee must be a Guarantee", {"guarantee": lw.Guarantee(1, 0, "replace-one", "local")}),
    ("guarantee must be a Guarantee", {"guarantee": 1}),
    ("one for each of the 3", {"edges_or_labels": ["a", "b", "c"]}),
    ("one for each of the 2", {"edges_or_labels": lw.Interval(0, 1, bins=2)}),
    ("at least 2 finite", {"counts": [1.5, math.nan, 2, 3]}),
    ("at least 2 finite", {"counts": ["x", "y"]}),
    ("each segment or attribute", {"edges_or_labels": lw.HashedStrings(8)}),
]


@pytest.mark.parametrize(("said", "changed"), REFUSED)
def test_what_cannot_be_read_is_refused(said: str, changed: dict[str, Any]) -> None:
    how: dict[str, Any] = {
        "edges_or_labels": [0, 1, 2, 3, 4],
        "counts": [3.5, 1.2, 8.1, 2.2],
        "noise": "laplace",
        "scale": 1,
    }
    lw.read_counts(**how)
    with pytest.raises(ArgumentError, match=said):
        lw.read_counts(**how | changed)


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian", "laplace", "gaussian"])
def test_counts_that_opendp_makes_are_read(kind: Any) -> None:
    dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed")
    dp.enable_features("contrib")
    whole, laplace = kind.startswith("discrete"), kind.endswith("laplace")
    number = "i64" if whole else "f64"
    atoms = dp.atom_domain(T=number) if whole else dp.atom_domain(T=number, nan=False)
    distance = dp.l1_distance(T=number) if laplace else dp.l2_distance(T="f64")
    make = dp.m.make_laplace if laplace else dp.m.make_gaussian
    counts = people(9)
    given = counts.astype(int).tolist() if whole else counts.tolist()
    noisy = make(dp.vector_domain(atoms), distance, scale=3.0)(given)
    result = lw.read_counts(EDGES, noisy, noise=kind, scale=3).distribution
    truth = np.cumsum(counts) / counts.sum()
    assert np.abs(np.cumsum(result.mass) - truth).max() < 0.02
    low, high = result.answer(Share(at_most=25)).low, result.answer(Share(at_most=25)).high
    assert low - 0.01 < truth[63] < high + 0.01 and high - low < 0.03


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("standing", [None, "seeded", "simulated"])
def test_read_counts_are_never_verified_whatever_their_file_says(kind: Any, standing: Any) -> None:
    one, two = ([212, 409, -3], [1, 2, 3])
    how: Any = {"noise": kind, "scale": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlteredCountsWarning)
        read, other = (lw.read_counts([0, 18, 40, 65], each, **how).release for each in (one, two))
    for release in (read, read + other, other + read):
        document = release.to_document()
        assert document["parts"][0]["standing"] == "stated"
        document["parts"][0] |= {"standing": standing}
        if standing is None:
            del document["parts"][0]["standing"]
        with pytest.raises(FormatError, match="another library's"):
            lw.Release.from_document(document)


def test_a_release_of_this_library_is_not_another_ones() -> None:
    document = lw.release(
        ["a", "b", "b"], lw.Categories(["a", "b"]), neighbors="add-or-remove-one", epsilon=1
    ).release.to_document()
    document["parts"][0]["standing"] = "stated"
    with pytest.raises(FormatError, match="another library's"):
        lw.Release.from_document(document)
