"""Exact counts of raw values, which a curator stores and adds, and never publishes."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic_files import replacing
from lapwing.documents import canonical, opening, parse, require, require_format
from lapwing.errors import ArgumentError, DomainError, FormatError, MismatchError
from lapwing.linear.arrays import Values
from lapwing.privacy.guarantee import (
    MOST_ROWS,
    PrivacyUnit,
    Standing,
    checked_standing,
    weakest_standing,
)
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.row_counts import RowCounts, warn_of_rows
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Texts
from lapwing.protocol.messages.tally import Summed
from lapwing.protocol.messages.unit_rows import UnitRows, require_column, unit_named

MAGIC = b"LAPWING-SECRET\n\0"
VERSION = 1

MOST_PEOPLE = 2**40
"""So that the exact integers of every mechanism stay below 2^63."""


def counts_of(
    values: Values, domain: Domain, *, texts: Texts = "iso", rows: RowCounts | None = None
) -> NDArray[np.int64]:
    """Return how many values are in each bin of a curator's domain: int64 [domain.size].

    Each value counts once, on its own. A value that cannot be parsed is missing, and no values are
    counts of zero. `rows` gets the numbers of missing, unreadable and outside values.
    """
    symbols = domain.index_or_missing(values, texts=texts, rows=rows)
    counts = np.bincount(symbols, minlength=domain.size)
    if rows is not None:
        rows.add_symbols(counts, domain)
    return counts


def symbols_of(
    values: Values, domain: Domain, *, texts: Texts = "iso", rows: RowCounts | None = None
) -> NDArray[np.int64]:
    """Return the bin of each value, with the parameters of :func:`counts_of`."""
    symbols = domain.index_or_missing(values, texts=texts, rows=rows)
    if rows is not None:
        rows.add_symbols(np.bincount(symbols, minlength=domain.size), domain)
    return symbols


def counts_by_segment(
    values: Values,
    by: Values,
    domain: Segmented,
    *,
    texts: Texts = "iso",
    rows: RowCounts | None = None,
) -> NDArray[np.int64]:
    """Return how many rows fall in each cell of a curator's table: int64 [domain.size].

    For the parameters and errors see :func:`cells_of`.
    """
    cells, _ = _cells(values, by, domain, texts, rows)
    counts = np.bincount(cells, minlength=domain.size)
    if rows is not None:
        table = counts.reshape(-1, domain.domain.size)
        rows.add_symbols(table.sum(axis=0), domain.domain)
        rows.elsewhere += int(table[-1].sum())
    return counts


def cells_of(
    values: Values,
    by: Values,
    domain: Segmented,
    *,
    texts: Texts = "iso",
    rows: RowCounts | None = None,
) -> NDArray[np.int64]:
    """Return the cell of each row in a curator's table.

    A row's cell follows from its own value and segment. A label that is not a segment is in none.
    `rows` is as for :func:`counts_of`.

    Raises ArgumentError when there are not as many segments as values.
    """
    cells, symbols = _cells(values, by, domain, texts, rows)
    if rows is not None:
        rows.add_symbols(np.bincount(symbols, minlength=domain.domain.size), domain.domain)
        rows.elsewhere += int(np.count_nonzero(cells >= domain.size - domain.domain.size))
    return cells


def _cells(
    values: Values, by: Values, domain: Segmented, texts: Texts, rows: RowCounts | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cell of each row, and the symbol of its value."""
    symbols = domain.domain.index_or_missing(values, texts=texts, rows=rows)
    read = None if rows is None else RowCounts()
    segments = domain.segmentation.index_or_missing(by, rows=read)
    if symbols.size != segments.size:
        raise ArgumentError(
            f"there must be one segment per value, got {segments.size} and {symbols.size}"
        )
    if rows is not None and read is not None:
        rows.alike = rows.alike or read.alike
    return segments * domain.domain.size + symbols, symbols


def require_one_column(domain: Domain) -> None:
    """Raise ArgumentError for a domain of pairs, which no curator counts."""
    if isinstance(domain, Product):
        raise ArgumentError(
            "exact counts and releases are about one column, got a Product. Ask people about pairs "
            "in a survey, or release a column by segment"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ExactCounts(Summed):
    """Exact histogram (secret): how many people are in each bin or category.

    Its file is a private binary with mode 0600. There is no JSON form, and `repr` shows nothing
    that was counted. Exact counts of different people are added with ``+``.

    Parameters
    ----------
    domain : Interval, Integers or Categories
        Domain of the values, prepared for a curator by its `for_curator`.
    counts : numpy.ndarray
        Counts, int64 [domain.size], not negative. Their sum is at most 2^40.
    unit : PrivacyUnit, optional
        Unit whose rows were counted, and the most rows of each. A release of the counts protects
        such a unit. Default: each row belongs to a different person.
    standing : {"seeded"}, optional
        "seeded" if a seed chose the counted rows of units, so that releases of them are marked.
        Comparisons ignore it. Default: None.

    See Also
    --------
    lapwing.release : Publishes a private release of raw values or exact counts.

    Notes
    -----
    **Privacy.** Exact counts are not private. Only a release of them may be published.

    **Accuracy.** Adding is exact, in any order.

    **Cost.** Counting n values takes O(n) time, and the counts take 8 bytes for each bin.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 4, bins=4)
    >>> first = lw.protocol.ExactCounts.of_values([1.0, 2.5, float("nan")], domain)
    >>> second = lw.protocol.ExactCounts.of_values([3.0], domain)
    >>> (first + second).counts.tolist()
    [1, 0, 2, 0, 1]
    """

    domain: Domain
    counts: NDArray[np.int64]
    unit: PrivacyUnit | None = None
    standing: Standing | None = None

    def __post_init__(self) -> None:
        """Check the numbers and freeze them."""
        require_domain(self.domain)
        if not isinstance(self.unit, PrivacyUnit | None):
            raise ArgumentError("unit", "must be a PrivacyUnit, or left out")
        object.__setattr__(self, "domain", self.domain.for_curator())
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu" or counts.shape != (self.domain.size,):
            raise ArgumentError(
                f"exact counts need a whole number for each of the {self.domain.size} symbols"
            )
        # In floating point, which is exact up to the limit, because huge whole numbers would wrap.
        if counts.min() < 0 or counts.sum(dtype=np.float64) > MOST_PEOPLE:
            raise ArgumentError("counts", "must not be negative and sum to at most 2^40")
        counts = counts.astype(np.int64)
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    def __eq__(self, other: object) -> bool:
        """Return whether both count the same on the same domain."""
        if not isinstance(other, ExactCounts):
            return False
        alike = self.domain == other.domain and self.unit == other.unit
        return alike and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        """Return a number that is equal for equal ones, and tells nothing of the counts."""
        return hash((type(self), self.domain.size))

    def __repr__(self) -> str:
        """Return one line that shows nothing of the data, not even how many rows there are."""
        return f"<ExactCounts of a domain of {self.domain.size} symbols, with secret counts>"

    @classmethod
    def of_values(
        cls,
        values: Values,
        domain: Domain,
        *,
        texts: Texts = "iso",
        unit: Values | None = None,
        most: int | None = None,
        rng: RandomSource | None = None,
    ) -> ExactCounts:
        """Return the counts of raw values, each in its bin.

        Missing values (NaN, None), infinite ones on a circle and values that cannot be parsed are
        counted in the domain's last bin. So are values that are not labels, unless the domain has
        an `other`. No value is refused, and the array may be empty. A domain of whole numbers
        rounds.

        Parameters
        ----------
        values : array_like [n]
            Raw values. Each is read separately: changing one value changes only its own bin.
        domain : Interval, Integers or Categories
            Domain of the values.
        texts : {"iso", "days", "seconds"}
            How strings of dates and times are read: in ISO form, or as numbers of days or seconds.
            Those are since 1970-01-01, or since midnight for times of day. Default: "iso".
        unit : array_like [n], optional
            Label of the person or other unit of each row, as for :func:`lapwing.release`. Default:
            each row belongs to a different person.
        most : int, optional
            Largest number of rows counted for one unit, at least 1, chosen at random if it has
            more.
        rng : RandomSource, optional
            Source of random numbers that chooses these rows. Default: the secure source of the
            operating system.

        Returns
        -------
        ExactCounts
            Exact histogram, which is secret.

        Warns
        -----
        RowsWarning
            For 100 values or more, when more than half are missing, unreadable or outside the
            range, or more than 1% are unreadable.
        """
        require_domain(domain)
        curated = domain.for_curator()
        return exact_counts_of(
            values, None, curated, texts=texts, units=unit, most=most, rng=rng, stacklevel=3
        )

    @classmethod
    def of_segments(
        cls,
        values: Values,
        by: Values,
        domain: Segmented,
        *,
        texts: Texts = "iso",
        unit: Values | None = None,
        most: int | None = None,
        rng: RandomSource | None = None,
    ) -> ExactCounts:
        """Return the counts of raw values with their segments, as :meth:`of_values` does.

        Parameters
        ----------
        values : array_like [n]
            Values of the domain, one for each row.
        by : array_like [n]
            Segment of each row. A label that is not one of the domain's segments is in none.
        domain : Segmented
            Domain with public segments.
        texts : {"iso", "days", "seconds"}
            How strings of dates and times are read, as for :meth:`of_values`. Default: "iso".
        unit : array_like, optional
            Privacy unit of each row, as for :meth:`of_values`.
        most : int, optional
            Largest number of rows counted for each unit, as for :meth:`of_values`.
        rng : RandomSource, optional
            Source of randomness, as for :meth:`of_values`.

        Returns
        -------
        ExactCounts
            Exact table of counts, which is secret.
        """
        curated = replace(domain, domain=domain.domain.for_curator())
        return exact_counts_of(
            values, by, curated, texts=texts, units=unit, most=most, rng=rng, stacklevel=3
        )

    @property
    def people(self) -> int:
        """Number of rows, public under "replace-one" and secret under "add-or-remove-one"."""
        return int(self.counts.sum())

    def __add__(self, other: ExactCounts) -> ExactCounts:
        """Return the counts of both sets of people. MismatchError for other domains or units.

        A unit may have rows in both, so the sum counts up to as many of its rows as both together.
        To have no more of each, count the rows at once.
        """
        if not isinstance(other, ExactCounts):
            return NotImplemented
        if self.domain != other.domain:
            raise MismatchError("exact counts can be added only when their domains are equal")
        unit = self.unit
        if (unit and unit.name) != (other.unit and other.unit.name):
            raise MismatchError(
                "exact counts can be added only when their units are the same. These are of "
                f"{unit or 'single rows'} and of {other.unit or 'single rows'}"
            )
        if unit is not None and other.unit is not None:
            most = unit.most + other.unit.most
            if most > MOST_ROWS:
                raise MismatchError(
                    "together, these counts may have too many rows of one unit. Count the "
                    "tables in one call"
                )
            unit = PrivacyUnit(unit.name, most)
        standing = weakest_standing(self.standing, other.standing)
        return ExactCounts(self.domain, self.counts + other.counts, unit, standing)

    def _header(self) -> bytes:
        return canonical(
            {
                "format": "lapwing-exact-counts",
                "version": VERSION,
                "domain": self.domain.to_document(),
                **({} if self.unit is None else {"unit": self.unit.to_document()}),
                **({} if self.standing is None else {"standing": self.standing}),
            }
        )

    def save(self, path: Path | str) -> None:
        """Write the private file, readable only by its owner.

        Parameters
        ----------
        path : Path or str
            File to write.
        """
        header = self._header()
        body = self.counts.astype("<i8").tobytes()
        content = MAGIC + struct.pack("<I", len(header)) + header + body
        with replacing(Path(path), mode=0o600) as stream:
            stream.write(content + hashlib.sha256(content).digest())

    @classmethod
    def load(cls, path: Path | str) -> ExactCounts:
        """Return the exact counts in a file.

        Parameters
        ----------
        path : Path or str
            File to read.

        Returns
        -------
        ExactCounts
            Exact histogram, which is secret.

        Raises
        ------
        FormatError
            When the file contains no exact counts, has an unknown version or is damaged.
        """
        path = Path(path)
        with opening(path):
            content = path.read_bytes()
        if not content.startswith(MAGIC):
            raise FormatError(f"{path.name} must be a file of exact counts, but it is not")
        content, digest = content[:-32], content[-32:]
        start = len(MAGIC) + 4
        if len(content) < start or hashlib.sha256(content).digest() != digest:
            raise FormatError(f"{path.name} is damaged: its checksum does not match its content")
        (length,) = struct.unpack("<I", content[start - 4 : start])
        header, body = content[start : start + length], content[start + length :]
        document = parse(header, name=path.name)
        domain = _domain(document, name=path.name)
        unit = PrivacyUnit.from_document(document["unit"]) if "unit" in document else None
        standing = checked_standing(document.get("standing"))
        if len(body) != 8 * domain.size:
            raise FormatError(
                f"{path.name} must have 8 bytes for each of the {domain.size} symbols of its "
                f"domain, but it has {len(body)}"
            )
        try:
            found = cls(domain, np.frombuffer(body, dtype="<i8"), unit, standing)
        except ArgumentError as error:
            raise FormatError(f"{path.name} cannot be used: {error}") from None
        if found._header() != header:
            raise FormatError(
                f"the header of {path.name} must be the canonical JSON of a curator's domain, "
                "but this one is spelled in another way. It was made by other software"
            )
        return found


def exact_counts_of(
    values: Values,
    by: Values | None,
    curated: Domain,
    *,
    texts: Texts,
    stacklevel: int,
    units: Values | None = None,
    most: int | None = None,
    rng: RandomSource | None = None,
) -> ExactCounts:
    """Return the counts of rows in a domain that refuses no value, of segments where they have any.

    stacklevel: Of warnings about the rows.
    """
    require_one_column(curated)
    require_column(by, name="by", what="the segment of each row")
    unit, standing = unit_named(units, most), None
    rows = RowCounts()
    table = curated if isinstance(curated, Segmented) and by is not None else None
    read: dict[str, Any] = {"texts": texts, "rows": rows}
    if unit is None or units is None:
        counts = (
            counts_of(values, curated, **read)
            if table is None or by is None
            else counts_by_segment(values, by, table, **read)
        )
    else:
        symbols = (
            symbols_of(values, curated, **read)
            if table is None or by is None
            else cells_of(values, by, table, **read)
        )
        kept = UnitRows(unit.most, source_of(rng))
        standing = standing_of(kept.source)
        kept.add(units, symbols)
        counts = kept.counts(curated.size)
        rows.left_out += kept.left_out
        rows.beyond += kept.beyond
    within = curated if table is None else table.domain
    warn_of_rows(rows, within, stacklevel=stacklevel + 1)
    return ExactCounts(curated, counts, unit, standing)


def _domain(header: dict[str, Any], *, name: str) -> Domain:
    if header.get("format") == "lapwing-summary":
        raise FormatError(
            f'{name} has the older format "lapwing-summary", which is no longer supported. '
            "Create it again with lapwing count"
        )
    require_format(header, name="lapwing-exact-counts", version=VERSION)
    keys = {"format", "version", "domain"}
    require(header, keys, name="exact counts", optional={"unit", "standing"})
    try:
        return build_domain(header["domain"]).for_curator()
    except (ArgumentError, DomainError) as error:
        raise FormatError(f"the domain of {name} cannot be used: {error}") from None
