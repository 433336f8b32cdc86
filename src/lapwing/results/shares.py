"""Shares of single symbols, and of whom each is: of all people, or of those who gave a value."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.protocol.domains.domain import Domain
from lapwing.results.asked_symbols import asked_symbol
from lapwing.results.band import Target
from lapwing.results.intervals import Ends, answering, reaching, share_ends
from lapwing.results.uncertainty import Uncertainty

Among = Literal["all", "present"]
"""Of whom a share is: of all people, or of those whose value is present."""


class Masses(Protocol):
    """What has shares; a Distribution has them."""

    @property
    def domain(self) -> Domain:
        """The legal values."""
        ...

    @property
    def mass(self) -> Vector:
        """Shares of the symbols among all people: float64 [domain.size]."""
        ...

    @property
    def uncertainty(self) -> Uncertainty | None:
        """The error law of the masses."""
        ...


def share_of(result: Masses, asked: Any, among: Among) -> float:
    """Return the share of what is asked, which must be one symbol of the domain.

    Raises
    ------
    DomainError
        When it is none (:func:`asked_symbol`).
    ArgumentError
        When `among` is none of the two words, or nobody is among those.
    """
    symbol, present = _symbol(result, asked, among), 1.0
    if among == "present" and result.domain.missing_index is not None:
        present = float(result.mass[:-1].sum())
        if present <= 0:
            raise ArgumentError("all mass is on the missing symbol, so nobody's value is present")
    return float(result.mass[symbol]) / present


def share_ends_of(result: Masses, asked: Any, target: Target, among: Among) -> Ends | None:
    """Return the ends of a share; None without an error law, errors as :func:`share_of`.

    Among those present it is a ratio of two numbers with errors, by the delta method
    (:meth:`Uncertainty.given_present`).
    """
    symbol, error_law = _symbol(result, asked, among), result.uncertainty
    if among == "present" and result.domain.missing_index is not None and error_law is not None:
        error_law = error_law.given_present() if error_law.says_present else None
    answered = answering(error_law, target)
    return None if answered is None else share_ends(answered, symbol)


def _symbol(result: Masses, asked: Any, among: Among) -> int:
    if among not in ("all", "present"):
        raise ArgumentError(f"among must be 'all' or 'present', got {among!r}")
    symbol = asked_symbol(result.domain, asked)
    if among == "present" and symbol == result.domain.missing_index:
        raise ArgumentError(
            "nobody whose value is missing is among those whose value is present; ask for the "
            "missing share among='all'"
        )
    return symbol


class Shared:
    """The shares of a Distribution."""

    @property
    def _masses(self) -> Any:
        return self  # a Distribution, whose file reads this one

    @property
    def _missing_share(self) -> float:
        """Share of people whose value is missing; 0 when the domain declares no such symbol.

        ``share_interval(None)`` is its interval.
        """
        whole = self._masses
        return 0.0 if whole.domain.missing_index is None else float(whole.mass[-1])

    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of one category, or of the symbol that holds a value.

        Parameters
        ----------
        label : object
            A label of the domain, a value in it, or None for the missing symbol. What is none of
            these is refused, also where a person's value of that kind is counted elsewhere.
        among : {"all", "present"}
            Of all people, or of those whose value is present, as all answers of the CDF are. The
            two differ only where the domain has a missing symbol.
        """
        return share_of(self._masses, label, among)

    def share_interval(
        self,
        label: Any,
        *,
        level: float = 0.95,
        target: Target = "empirical",
        among: Among = "all",
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`share`; None without an error law."""
        ends = share_ends_of(self._masses, label, target, among)
        if ends is None:
            return None
        interval = ends.interval(level, least=0.0, most=1.0)
        return reaching(interval, self.share(label, among=among))
