"""The reference of a comparison: the people's own values, or another result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.cli.console import Output
from lapwing.cli.option_groups import option
from lapwing.cli.reading.column_options import ColumnOptions, is_result
from lapwing.cli.reading.stored_answers import read_result
from lapwing.engines.arrow.column_values import ColumnValues
from lapwing.errors import ArgumentError, MismatchError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_numbers
from lapwing.results.cumulative import Cumulative
from lapwing.results.distribution import Distribution


@dataclass(frozen=True)
class Truth:
    """A known distribution.

    distribution: Its shares of the symbols.
    curve: Its CDF, of raw values exact. None for categories.
    """

    distribution: Distribution
    curve: Cumulative | None


@dataclass(frozen=True, kw_only=True)
class TruthOptions(ColumnOptions):
    """The options that name the truth: a table of values, or another result."""

    truth: Path | None = option(
        "The truth: a table of true values, one per person (- is standard input, CSV), or "
        "another result or release (.json).",
        "FILE",
    )

    def exact(self, domain: Domain, out: Output) -> Truth:
        """Return the truth with the CDF of the values themselves."""
        assert self.truth is not None
        if is_result(self.truth):
            return truth_in_result(self.truth, domain)
        with self._people(domain, out) as (people, advance):
            return truth_in_values(people, advance=advance)

    def counted(self, domain: Domain, out: Output) -> Distribution | None:
        """Return the truth in the symbols of a domain, in bounded memory. None without one."""
        if self.truth is None:
            return None
        if is_result(self.truth):
            return truth_in_result(self.truth, domain).distribution
        with self._people(domain, out) as (people, advance):
            counts = np.zeros(domain.size, dtype=np.int64)
            for symbols in people.map(lambda part: _symbols(part, domain), advance=advance):
                counts += np.bincount(symbols, minlength=domain.size)
            return Distribution.of_counts(counts, domain)

    @contextmanager
    def _people(
        self, domain: Domain, out: Output
    ) -> Iterator[tuple[ColumnValues, Callable[[int], None]]]:
        assert self.truth is not None
        people = self.values_in(self.truth, domain)
        with out.progress("truth", people.table.rows) as advance:
            yield people, advance


def truth_in_values(column: ColumnValues, *, advance: Callable[[int], None]) -> Truth:
    """Return the empirical distribution of a column, treated as `randomize` treats it.

    Holds all present values, because distances are from their exact CDF: with the distances,
    about 120 bytes for each (measured with 20 million different ones).
    """
    domain = column.domain
    counts = np.zeros(domain.size, dtype=np.int64)
    numbers: list[NDArray[np.float64]] = []

    def take(values: NDArray[Any]) -> None:
        counts[:] += np.bincount(_symbols(values, domain), minlength=domain.size)
        if domain.ordered:
            numbers.append(_placed(values, domain))

    for _ in column.map(take, advance=advance):
        pass
    distribution = Distribution.of_counts(counts, domain)
    if not domain.ordered:
        return Truth(distribution, None)
    present = np.concatenate(numbers)
    if present.size == 0:
        raise ArgumentError("all values of the truth are missing, so there is no CDF to compare")
    return Truth(distribution, Cumulative.of_values(present))


def _symbols(values: NDArray[Any], domain: Any) -> NDArray[np.int64]:
    """Return the symbols of values. Other labels count as missing where that is a symbol."""
    if domain.ordered or domain.missing_index is None:
        found: NDArray[np.int64] = domain.index(values)
    else:
        found = domain.index_or_missing(values)
    return found


def _placed(values: NDArray[Any], domain: Any) -> NDArray[np.float64]:
    """Return the present values inside the domain: clipped, or wrapped on a circle."""
    numbers = to_numbers(values, unit=domain.unit)
    numbers = numbers[~np.isnan(numbers)]
    low, high = float(domain.left[0]), float(domain.right[-1])
    if domain.circular:
        numbers = numbers[np.isfinite(numbers)]  # infinity has no place on a circle: missing
        return low + np.mod(numbers - low, high - low)
    return np.clip(numbers, low, high)


def truth_in_result(path: Path, domain: Domain) -> Truth:
    """Return another result as the truth.

    Raises MismatchError when its values are of another kind or unit, or its categories others.
    """
    other = read_result(path)
    kinds = [(type(one), one.unit) for one in (domain, other.domain)]
    if domain.ordered != other.domain.ordered or (domain.ordered and kinds[0][1] != kinds[1][1]):
        raise MismatchError(
            f"{path.name} must be about values of the same kind and unit, but it is not"
        )
    if not domain.ordered and domain.to_document() != other.domain.to_document():
        raise MismatchError(f"{path.name} must be about the same categories, but it is not")
    return Truth(other, other.cumulative if domain.ordered else None)
