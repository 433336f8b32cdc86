"""A curator's release in one call: the whole curve, or answers to questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.arrays import Values
from lapwing.planning.chosen_bins import advice_on, with_bins
from lapwing.planning.release_defaults import release_bins
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.guarantee import Neighbors, american
from lapwing.privacy.ledger import LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.exact_counts import ExactCounts, exact_counts_of, require_one_column
from lapwing.protocol.messages.unit_rows import require_column, unit_named
from lapwing.protocol.release import Mechanism
from lapwing.questions import Question
from lapwing.survey.publication import Publication, planned


@american
def release(
    values: Values | ExactCounts,
    domain: Domain | None = None,
    *,
    neighbors: Neighbors,
    epsilon: ExactNumber | None = None,
    delta: ExactNumber = 0,
    mu: ExactNumber | None = None,
    rho: ExactNumber | None = None,
    mechanism: Mechanism | str | None = None,
    expected: int | None = None,
    by: Values | None = None,
    segments: Sequence[str | int] | None = None,
    texts: Texts = "iso",
    unit: Values | None = None,
    most: int | None = None,
    ledger: LedgerFile | Path | str | None = None,
    name: str = "release",
    questions: Sequence[Question | str] | None = None,
    shares: Mapping[Any, Any] | Sequence[Any] | None = None,
    rng: RandomSource | None = None,
) -> Publication:
    """Publish the distribution of raw values once, under central differential privacy.

    Parameters
    ----------
    values : array_like [n], or ExactCounts
        The people's values, each read separately. Values outside the domain are clipped, or
        counted below and above if the domain does not clip. Missing and unreadable values get a
        symbol, as does every value that is not a label, unless the domain names an `other`. The
        array may be empty.
    domain : Interval, Integers or Categories
        Domain of the values. It is public: its bounds or labels must not come from the data. Leave
        it out for ExactCounts. An interval without bins gets bins of a round width: 128 to 512
        bins, or 512 to 2048 from epsilon 2 on. This choice depends only on the privacy parameters.
        By segment at pure epsilon it gets 32 to 128 bins. `Publication.note` states the choice.
    neighbors : {"replace-one", "add-or-remove-one"}
        Protected change. "replace-one" makes the number of people public.
    epsilon, delta, mu, rho : number or text
        Privacy parameters: exactly one of epsilon (with delta), mu and rho. See :class:`Promise`.
    mechanism : Mechanism or str, optional
        Mechanism, or its name without parameters, such as "sum-tree". Default: the one with the
        least predicted error. `Publication.choice` names it and the second best.
    expected : int, optional
        Expected number of people (with `unit`, of rows), for the choice of the mechanism. It must
        be public and not come from the data. Default: the choice suits anything from 1,000 to a
        million people. Sites whose releases are to be added must all give the same number, or all
        give none. Likewise, all of them must have a ledger, or none. Labels, and any column with
        `by`, have a single default mechanism, which this number does not change.
    by : array_like [n], optional
        The segment of each person, which is as protected as the value: a replaced row may change
        both. Then :meth:`Publication.by_segment` has a distribution for each segment.
    segments : sequence of str or int, optional
        Segments for `by`. They are public, and must not come from the data. Rows in none of them
        are counted separately.
    texts : {"iso", "days", "seconds"}
        How date, time and duration strings are read: :mod:`lapwing.protocol.domains.text_values`.
    unit : array_like [n], optional
        Owner of each row, where a person may have several rows: user numbers, for example. The
        unit with all its rows is then protected. Rows that name no unit are left out. The number
        of rows is secret, under either relation. Default: each row belongs to a different person.
    most : int, optional
        With `unit`: largest number of rows counted for one unit, chosen at random if it has more.
        Noise grows in proportion. The number must not come from the data.
    ledger : LedgerFile or path, optional
        Ledger that pays for the release before its noise is drawn. With a delta, the default
        mechanism then has Gaussian noise, because it composes more tightly.
    name : str
        Name of the entry in the ledger.
    questions : sequence of Question or str, optional
        Questions instead of the whole curve: "mean", "share above 50000", "quantile 0.5". Each
        gets its own noise, and less of it than the curve would have. Several quantiles, or one
        next to "curve", are answered by the curve, because draws would divide their budget.
    shares : sequence or mapping, optional
        Share of the budget for each question, above 0, together at most 1. Each quantile is then
        drawn. Default: half for the curve if there is one, and the rest in equal shares.
    rng : RandomSource, optional
        Default: secure randomness. A seeded one is for tests and simulation only.

    Returns
    -------
    Publication
        Release, and the distribution decoded from it. With questions it is a
        :class:`lapwing.survey.QuestionPublication`, which answers them.

    Raises
    ------
    PrivacyError, ArgumentError, DomainError
        When an argument is not valid, before anything is drawn or released. BudgetError when the
        ledger cannot pay.

    Warns
    -----
    RowsWarning
        With 100 values or more, when more than half are missing, unreadable or outside the range,
        or more than 1% are unreadable. It comes before anything is paid for. It contains exact
        counts, for your eyes only.
    PrivacyWarning
        Before anything is paid for, when epsilon is above 4 or delta is above 1e-3. Also when
        delta is at least 1/n, if the number n of people is public.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 10, size=20_000)
    >>> with lw.testing.reproducible(1):
    ...     published = lw.release(ages, lw.Interval(0, 100, bins=128), neighbors="replace-one",
    ...                         epsilon=1, delta=1e-6)
    >>> round(float(published.distribution.quantile(0.5)))
    40
    """
    if isinstance(values, ExactCounts) and (unit is not None or most is not None):
        raise ArgumentError("exact counts already have a unit. Leave out unit and most")
    whose = values.unit if isinstance(values, ExactCounts) else unit_named(unit, most)
    promise = Promise(neighbors, epsilon=epsilon, delta=delta, mu=mu, rho=rho, unit=whose)
    note = ""
    require_column(by, name="by", what="the segment of each row")
    if domain is not None:
        require_one_column(domain)
        domain, note = with_bins(domain, release_bins(promise, by_segment=segments is not None))
        require_domain(domain)
        note = f"{advice_on(domain)} {note}".strip()
    if isinstance(values, ExactCounts):
        if domain is not None and domain.for_curator() != values.domain:
            raise MismatchError("the domain differs from that of the exact counts. Leave it out")
        curated = values.domain
    elif domain is None:
        raise ArgumentError(
            "raw values need a domain. Its bounds or labels must be public knowledge"
        )
    else:
        curated = (domain if segments is None else Segmented(domain, segments)).for_curator()
    _check_segments(values, by, segments, curated)
    # Checked before the values are looked at, or anything is paid.
    plan = planned(
        curated,
        promise,
        questions,
        shares=shares,
        mechanism=mechanism,
        expected=expected,
        composed=ledger is not None,
    )
    if isinstance(values, ExactCounts):
        summary = values
    else:
        summary = exact_counts_of(
            values, by, plan.counted, texts=texts, units=unit, most=most, rng=rng, stacklevel=4
        )
    return replace(plan.publish(summary, ledger=ledger, name=name, rng=rng), note=note)


def _check_segments(
    values: Any, by: Values | None, segments: Sequence[str | int] | None, domain: Domain
) -> None:
    """Raise ArgumentError unless there are segments of people where there is a list of them."""
    if isinstance(values, ExactCounts):
        if by is not None or segments is not None:
            raise ArgumentError("exact counts already have segments. Leave out by and segments")
    elif (by is not None) != isinstance(domain, Segmented):
        raise ArgumentError(
            "by and segments belong together: the segment of each person, and the public list"
        )
