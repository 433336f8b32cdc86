"""Noisy counts from another library as a release, whose guarantee is stated by its maker."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.errors import AlteredCountsWarning, ArgumentError, callers_level, kind_of
from lapwing.mechanisms.label_counts import FINEST, LabelCounts
from lapwing.privacy.exact_numbers import exact_number
from lapwing.privacy.gaussian_dp import scale_up
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.integer_noise import LARGEST_PART, LEAST_SCALE, Kind, Noise
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.release_identity import stated_identifier
from lapwing.protocol.release import LARGEST_ANSWER, Release, ReleasePart
from lapwing.survey.publication import Publication

StatedNoise = Literal["laplace", "gaussian", "discrete-laplace", "discrete-gaussian"]

NOISES: tuple[StatedNoise, ...] = get_args(StatedNoise)

LARGEST_STATED = 2**28
"""Largest scale of the noise, in people."""

_CHANCE = 1e-3
"""Probability of the warning for unaltered counts, at most."""

_WIDE = 50.0
"""Scale from which a test of clipped counts uses the noise of this scale, which says less."""

Numbers = NDArray[np.float64]


def read_counts(
    edges_or_labels: Domain | Sequence[Any] | NDArray[Any],
    counts: ArrayLike,
    *,
    noise: StatedNoise,
    scale: Any,
    guarantee: Guarantee | Promise | None = None,
) -> Publication:
    """Read noisy counts that another library made, as a release with its distribution.

    Parameters
    ----------
    edges_or_labels : Domain or sequence
        The bins or labels: n + 1 increasing numbers (edges of n bins), or n labels, one of which
        may be None (missing values). A domain can state more: dates, the closed end of bins, and
        bins for values outside and for missing values. It must be public.
    counts : array_like [n]
        Noisy counts as the mechanism drew them, in the order of the bins or labels. Do not clip,
        round or normalize them.
    noise : {"laplace", "gaussian", "discrete-laplace", "discrete-gaussian"}
        Distribution of the independent noise in each count.
    scale : float or str
        Scale of the noise in people, in [0.01, 2^28]: b of ``exp(-|x| / b)``, or the standard
        deviation sigma of ``exp(-x^2 / (2 sigma^2))``.
    guarantee : Guarantee or Promise, optional
        Privacy guarantee that the maker of the counts states. Default: the guarantee of such noise
        if each person is in one count ("add-or-remove-one"), which is epsilon 1 / b, or mu 1 /
        sigma.

    Returns
    -------
    Publication
        Release and distribution. Their guarantee has the standing "stated": private by its maker's
        statement, which has not been verified.

    Raises
    ------
    ArgumentError
        When the counts do not fit the edges or labels, or the noise could not have produced them.
    DomainError, PrivacyError
        When the edges, the labels or the guarantee are not legal.

    Warns
    -----
    AlteredCountsWarning
        When there are no negative counts although noise must have produced some, or all counts are
        whole numbers under continuous noise. Estimates are then biased, and intervals do not hold.

    Notes
    -----
    **Privacy.** Reading is post-processing, so it costs no privacy. The guarantee rests on the
    maker's statement: Lapwing sees neither the sensitivity nor the sampler.

    **Accuracy.** Numbers in 64 bins or more are decoded by spectral pursuit, others by their
    unbiased shares. At 256 bins, W1 is about 0.6 times that of clipped and normalized counts
    (`accuracy/read_counts`).

    **Cost.** As for any release of counts.

    Equal counts with equal noise have equal identifiers, so the same table is not added twice.

    Examples
    --------
    >>> import lapwing as lw
    >>> read = lw.read_counts([0, 18, 40, 65, 100], [212.3, 409.1, 288.7, 101.4],
    ...                       noise="laplace", scale=2)
    >>> round(float(read.distribution.cdf(40)), 2)
    0.61
    >>> str(read.guarantee).split("; ")[1]
    'stated by its maker, not verified'
    """
    if noise not in NOISES:
        raise ArgumentError("noise", f"must be one of {', '.join(NOISES)}", repr(noise))
    exact = exact_number(scale, name="scale")
    if not LEAST_SCALE <= exact <= LARGEST_STATED:
        advice = "Give it in people: the standard deviation, or the scale b of Laplace noise"
        raise ArgumentError("scale", "must be from 0.01 to 2^28", str(scale), advice)
    numbers = _numbers(counts)
    domain, numbers = _read_domain(edges_or_labels, numbers)
    whole = bool((numbers == np.rint(numbers)).all())
    if noise.startswith("discrete") and not whole:
        raise ArgumentError(
            "counts",
            f"must be whole numbers under {noise} noise",
            advice=f"Pass noise={noise.removeprefix('discrete-')!r} if the noise was continuous",
        )
    warn_of_altered(numbers, noise, float(exact))
    steps = 1 if noise == "discrete-laplace" else FINEST
    if np.abs(numbers).max() >= LARGEST_ANSWER / steps:
        raise ArgumentError("counts", f"must be below {LARGEST_ANSWER // steps}")
    answers = np.rint(numbers * steps).astype(np.int64)
    promise = _promise(guarantee, noise, exact)
    stated = {"noise": noise, "scale": str(exact), "domain": domain.to_document()}
    part = ReleasePart(
        stated_identifier({**stated, "answers": [str(answer) for answer in answers.tolist()]}),
        promise,
        _stored_noise(noise, exact, steps),
        promise.whole_loss,
        None,
        "stated",
    )
    return Publication(Release(LabelCounts(steps=steps), domain, answers, [part]))


def _numbers(counts: ArrayLike) -> Numbers:
    """Return the counts, or raise ArgumentError: float64 [n]."""
    try:
        numbers = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.ndim != 1 or numbers.size < 2 or not np.isfinite(numbers).all():
        raise ArgumentError(
            "counts", "must be a list of at least 2 finite numbers", kind_of(counts)
        )
    return numbers


def _read_domain(given: Any, numbers: Numbers) -> tuple[Domain, Numbers]:
    """Return the domain that was counted, and the counts in the order of its symbols."""
    if isinstance(given, Domain):
        if not isinstance(given, Interval | Integers | Categories):
            raise ArgumentError(
                "edges_or_labels",
                "must be an Interval, Integers or Categories",
                kind_of(given),
                "Read the table of each segment or attribute separately",
            )
        domain: Domain = given
    else:
        listed = [each.item() if isinstance(each, np.generic) else each for each in given]
        if len(listed) == numbers.size + 1 and None not in listed:
            domain = Interval(edges=listed)
        else:
            there = [place for place, label in enumerate(listed) if label is not None]
            nowhere = [place for place, label in enumerate(listed) if label is None]
            missing: Literal["category", "refuse"] = "category" if nowhere else "refuse"
            domain = Categories([listed[place] for place in there], missing=missing)
            if len(listed) == numbers.size:
                numbers = numbers[there + nowhere]
    if domain.size != numbers.size:
        raise ArgumentError(
            "counts",
            f"must contain one for each of the {domain.size} bins or labels",
            str(numbers.size),
            "Pass n + 1 edges or n labels for n counts",
        )
    return domain, numbers


def _promise(guarantee: Guarantee | Promise | None, noise: str, scale: Fraction) -> Promise:
    """Return what the maker states, or what the noise gives if each person is in one count."""
    if isinstance(guarantee, Promise):
        return guarantee
    if guarantee is None:
        if scale < Fraction(1, 24):
            raise ArgumentError(
                "guarantee",
                "must be given for a noise scale below 1/24",
                "none",
                'Pass lw.Guarantee(epsilon, delta, "add-or-remove-one", "central")',
            )
        if noise.endswith("laplace"):
            return Promise("add-or-remove-one", epsilon=1 / scale)
        return Promise("add-or-remove-one", mu=1 / scale)
    if not isinstance(guarantee, Guarantee) or guarantee.model != "central":
        raise ArgumentError(
            "guarantee",
            "must be a Guarantee of the central model, or a Promise",
            kind_of(guarantee),
        )
    privacy: Any = {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    return Promise(guarantee.neighbors, unit=guarantee.unit, **privacy)


def _stored_noise(noise: StatedNoise, scale: Fraction, steps: int) -> Noise:
    """Return the noise in steps of a row. Continuous noise is rounded to them."""
    kinds: dict[StatedNoise, Kind] = {"gaussian": "normal", "discrete-gaussian": "discrete-normal"}
    kind = kinds.get(noise, "laplace")
    inside = max(scale.numerator, scale.denominator) <= LARGEST_PART
    exact = scale if steps == 1 and inside else scale_up(float(scale * steps))
    return Noise(kind, exact)


def warn_of_altered(counts: Numbers, noise: StatedNoise, scale: float) -> None:
    """Warn where a maker clipped or rounded the counts: see :func:`clipping_chance`."""
    continuous = not noise.startswith("discrete")
    if continuous and (counts == np.rint(counts)).all():
        warnings.warn(
            f"all counts are whole numbers, but {noise} noise is continuous, so they were "
            "rounded or the noise is discrete. Pass the counts as they were drawn, or "
            f"noise='discrete-{noise}'",
            AlteredCountsWarning,
            stacklevel=callers_level(),
        )
        continuous = False
    zeros = int((counts == 0).sum())
    if (counts < 0).any() or not zeros:
        return
    if continuous or clipping_chance(counts, noise, scale) < _CHANCE:
        warnings.warn(
            f"no count is below zero and {zeros} are zero, so the counts were clipped. "
            "Estimates are biased upward where there are few people, and intervals are not "
            "valid. Pass the counts as they were drawn",
            AlteredCountsWarning,
            stacklevel=callers_level(),
        )


def clipping_chance(counts: Numbers, noise: StatedNoise, scale: float) -> float:
    """Return a bound of the probability of so many zeros and no negative count, unaltered.

    counts: Whole numbers, none below zero, float64 [n].
    noise: Its shape is used.
    scale: Of the noise, in people. Above 50 it is taken as 50.

    Of a bin of k people whose count is at most s, that count is zero with a probability a(k) and in
    1..s with b(k). Of n such counts z are zero. By Markov's inequality the probability is at most
    ``g(t)^n exp(-t z)`` with ``g(t) = max_k a(k) exp(t) + b(k)``, for each t >= 0, whatever people
    there are. For discrete Laplace noise with s = 0 every a(k) is ``1 - exp(-1 / b)``, so nothing
    is lost. Gaussian noise needs s of about sigma: a zero of many people hardly ever has negative
    neighbors, but many positive ones.
    """
    scale = min(scale, _WIDE)
    reach = 40 * math.ceil(scale)
    noises = np.arange(-reach, reach + 1)
    if noise.endswith("laplace"):
        most, density = 0, np.exp(-np.abs(noises) / scale)
    else:
        most, density = math.ceil(scale), np.exp(-((noises / scale) ** 2) / 2)
    zero = reach - np.arange(8 * math.ceil(scale) + 1)  # where the noise cancels the people
    below = np.append(0.0, np.cumsum(density))
    seen = below[zero + most + 1]
    tilt = np.linspace(0, 20, 401)
    tilted = (density[zero] / seen)[:, None] * np.exp(tilt)
    largest = (tilted + ((seen - below[zero + 1]) / seen)[:, None]).max(axis=0, initial=1.0)
    low = counts[counts <= most]
    exponent = low.size * np.log(largest) - tilt * (low == 0).sum()
    return float(np.exp(min(exponent.min(), 0.0)))
