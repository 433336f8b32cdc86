"""A curator's work in one call: count, release under a promise, decode; and reading it again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lapwing.central.adaptive_quantiles import AdaptiveQuantiles
from lapwing.central.histogram_query import HistogramQuery
from lapwing.central.matching_pursuit import MatchingPursuit
from lapwing.central.polynomial_projection import PolynomialProjection
from lapwing.central.prefix_sums import PrefixSums
from lapwing.central.running_prefix_sums import RunningPrefixSums
from lapwing.central.sum_tree import SumTree
from lapwing.decoders.cell_counts import CellCounts
from lapwing.decoders.curve_sum import CurveSum
from lapwing.decoders.sorted_points import SortedPoints
from lapwing.decoders.step_pursuit import StepPursuit
from lapwing.distribution import Distribution
from lapwing.documents import build, build_domain, parse, require, require_format
from lapwing.domain import Domain
from lapwing.errors import ArgumentError, FormatError, LapwingError, MismatchError
from lapwing.guarantee import Guarantee, Neighbours
from lapwing.ledger_file import LedgerFile
from lapwing.promise import Promise
from lapwing.randomness import RandomSource
from lapwing.releases import LARGEST_ANSWER, VERSION, Mechanism, Part, Release
from lapwing.summary import Summary, for_curator

MECHANISMS: Mapping[str, type[Any]] = {
    mechanism.name: mechanism
    for mechanism in (
        PrefixSums,
        SumTree,
        HistogramQuery,
        PolynomialProjection,
        AdaptiveQuantiles,
        MatchingPursuit,
        RunningPrefixSums,
    )
}
"""Every mechanism that a document or a command may name. Adding one is adding a row."""


@dataclass(frozen=True)
class Publication:
    """A release and the distribution read from it.

    Parameters
    ----------
    release : Release
        Public: what may be stored, sent and added.
    """

    release: Release

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to each person behind it."""
        return self.release.guarantee

    @cached_property
    def distribution(self) -> Distribution:
        """The decoded distribution, with its band."""
        return decode_release(self.release)


def recommended_mechanism(domain: Domain, promise: Promise) -> Mechanism:
    """Return the mechanism to use when none is asked for.

    Prefix sums wherever normal noise may be used; for pure epsilon the L1 sensitivity counts, and
    a shallow tree has far less of it.
    """
    if promise.pure and 2 <= domain.size <= 2048:
        return SumTree()
    return PrefixSums()


def release(
    values: ArrayLike | Summary,
    domain: Domain | None = None,
    *,
    neighbours: Neighbours,
    epsilon: Any = None,
    delta: Any = 0,
    mu: Any = None,
    rho: Any = None,
    mechanism: Mechanism | None = None,
    ledger: LedgerFile | Path | str | None = None,
    name: str = "release",
    rng: RandomSource | None = None,
) -> Publication:
    """Publish the distribution of raw values once, under central differential privacy.

    Parameters
    ----------
    values : array_like [n], or Summary
        What the people hold; values outside the domain are clipped, missing ones get a symbol.
    domain : Interval or Integers
        Public: its bounds must not come from the data. Left out for a Summary.
    neighbours : {"replace-one", "add-or-remove-one"}
        What is protected; "replace-one" makes the number of people public.
    epsilon, delta, mu, rho : number or text
        Exactly one of epsilon (with delta), mu and rho; see :class:`Promise`.
    mechanism : Mechanism, optional
        Default: :func:`recommended_mechanism`.
    ledger : LedgerFile or path, optional
        Pays for the release before its noise is drawn.
    name : str
        Of the entry in the ledger.
    rng : RandomSource, optional
        Default: secure randomness. A seeded one is for tests and simulation only.

    Raises
    ------
    PrivacyError, ArgumentError, DomainError
        Before anything is drawn or released; BudgetError when the ledger cannot pay.

    Examples
    --------
    >>> from lapwing.domain import Interval
    >>> from lapwing.randomness import seeded
    >>> ages = np.random.default_rng(1).normal(40, 10, size=20_000)
    >>> published = release(ages, Interval(0, 100, bins=128), neighbours="replace-one",
    ...                     epsilon=1, delta=1e-6, rng=seeded(1))
    >>> round(float(published.distribution.quantile(0.5)))
    40
    """
    promise = Promise(neighbours, epsilon=epsilon, delta=delta, mu=mu, rho=rho)
    if isinstance(values, Summary):
        if domain is not None and for_curator(domain) != values.domain:
            raise MismatchError("the domain is another one than the summary's; leave it out")
        curated = values.domain
    elif domain is None:
        raise ArgumentError("raw values need a domain; its bounds must be public knowledge")
    else:
        curated = for_curator(domain)
    chosen = mechanism or recommended_mechanism(curated, promise)
    # Checked before the values are looked at, or anything is paid.
    chosen.check(curated)
    loss = chosen.loss(curated, promise)
    summary = values if isinstance(values, Summary) else Summary.of_values(values, curated)
    if ledger is None:
        return Publication(chosen.release(summary, promise, rng=rng))
    file = ledger if isinstance(ledger, LedgerFile) else LedgerFile(Path(ledger))
    identifier = secrets.token_hex(16)
    with file.paying(name, promise.guarantee(loss), loss=loss, release=identifier):
        return Publication(chosen.release(summary, promise, rng=rng, identifier=identifier))


def decode_release(release: Release, decoder: Any = None) -> Distribution:
    """Return the distribution behind a release, by the decoder that suits its mechanism."""
    chosen = release_decoder(release.mechanism) if decoder is None else decoder
    result: Distribution = chosen.decode(release.channel, release)
    return result


def release_decoder(mechanism: Mechanism) -> Any:
    """Return the decoder of a mechanism's releases."""
    if isinstance(mechanism, HistogramQuery):
        return CellCounts(interpolate=mechanism.interpolate)
    if isinstance(mechanism, AdaptiveQuantiles):
        return SortedPoints()
    if isinstance(mechanism, PolynomialProjection | MatchingPursuit):
        return CurveSum(monotone=mechanism.monotone)
    return StepPursuit()


def release_from_document(document: dict[str, Any]) -> Release:
    """Return the release that :meth:`Release.to_document` wrote.

    Raises
    ------
    FormatError
        When it is no release, of an unknown version, damaged, or says less noise than its
        promise needs.
    """
    require_format(document, name="lapwing-release", version=VERSION)
    keys = {"format", "version", "mechanism", "domain", "answers", "parts", "choices"}
    require(document, keys, name="a release")
    answers, parts, choices = document["answers"], document["parts"], document["choices"]
    whole = isinstance(answers, list) and isinstance(parts, list) and isinstance(choices, dict)
    if not whole or not parts or any(type(number) is not int for number in answers):
        raise FormatError("a release must hold a list of whole numbers and its parts")
    if any(abs(number) >= 2 * LARGEST_ANSWER for number in answers):
        raise FormatError("an answer of this release is too large")
    try:
        mechanism = build(document["mechanism"], MECHANISMS, name="the mechanism")
        domain = build_domain(document["domain"])
        mechanism.check(domain)
        found = Release(
            mechanism,
            domain,
            np.array(answers, dtype=np.int64),
            [Part.from_document(part) for part in parts],
            choices,
        )
        mechanism.verify(found)
        outputs, held = found.channel.blocks[0].outputs, found.blocks[0].size
    except FormatError:
        raise
    except (LapwingError, TypeError, ValueError) as error:
        raise FormatError(f"the release cannot be used: {error}") from None
    if outputs != held:
        raise FormatError(f"the mechanism of this release gives {outputs} answers, it holds {held}")
    return found


def read_release(path: Path | str) -> Release:
    """Return the release in a file; FormatError names the file."""
    path = Path(path)
    return release_from_document(parse(path.read_bytes(), name=path.name))
