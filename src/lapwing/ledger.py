"""What has been spent on the privacy of one person or one data set, against a declared budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.errors import BudgetError, FormatError, MismatchError
from lapwing.guarantee import Guarantee

VERSION = 1


@dataclass(frozen=True)
class Ledger:
    """A list of guarantees that were spent, and what they add up to.

    The ledger is a value: :meth:`spend` returns a new one, so nothing changes when it refuses.

    Parameters
    ----------
    budget : Guarantee
        The most that may be spent; its neighbour relation and model bind all entries.
    entries : tuple of (str, Guarantee)
        What was spent, in order, each with a name.

    Privacy
    -------
    Basic composition, exact in fractions: epsilons add, deltas add (Dwork and Roth, theorem
    3.16). It holds for any entries, also chosen after seeing earlier answers, and is what two
    answers of one person to local surveys cost. Tighter composition is a matter of the mechanism.

    Examples
    --------
    >>> one = Guarantee(Fraction(1), Fraction(0), "replace-one", "local")
    >>> ledger = Ledger(Guarantee(Fraction(3), Fraction(0), "replace-one", "local"))
    >>> ledger = ledger.spend("income", one).spend("age", one)
    >>> ledger.spent.epsilon, ledger.remaining.epsilon
    (Fraction(2, 1), Fraction(1, 1))
    """

    budget: Guarantee
    entries: tuple[tuple[str, Guarantee], ...] = ()

    def __post_init__(self) -> None:
        """Check that the entries fit the budget."""
        for name, guarantee in self.entries:
            self._check_relation(name, guarantee)
        self._check_total("the entries", self._total())

    def _check_relation(self, name: str, guarantee: Guarantee) -> None:
        ours = (self.budget.neighbours, self.budget.model)
        theirs = (guarantee.neighbours, guarantee.model)
        if ours != theirs:
            raise MismatchError(
                f"every entry of a ledger must have its budget's relation and model "
                f"({ours[0]}, {ours[1]}); {name!r} has ({theirs[0]}, {theirs[1]})"
            )

    def _total(self) -> tuple[Fraction, Fraction]:
        return (
            sum((guarantee.epsilon for _, guarantee in self.entries), Fraction(0)),
            sum((guarantee.delta for _, guarantee in self.entries), Fraction(0)),
        )

    def _check_total(self, name: str, total: tuple[Fraction, Fraction]) -> None:
        if total[0] > self.budget.epsilon or total[1] > self.budget.delta:
            raise BudgetError(
                f"the budget is epsilon {float(self.budget.epsilon):g}, delta "
                f"{float(self.budget.delta):g}; with {name} the total would be epsilon "
                f"{float(total[0]):g}, delta {float(total[1]):g}; nothing was spent"
            )

    @property
    def spent(self) -> Guarantee | None:
        """The sum of the entries; None when there are none."""
        epsilon, delta = self._total()
        if not self.entries:
            return None
        return Guarantee(epsilon, delta, self.budget.neighbours, self.budget.model)

    @property
    def remaining(self) -> Guarantee | None:
        """What may still be spent; None when the epsilon is used up."""
        epsilon, delta = self._total()
        if epsilon >= self.budget.epsilon:
            return None
        return Guarantee(
            self.budget.epsilon - epsilon,
            self.budget.delta - delta,
            self.budget.neighbours,
            self.budget.model,
        )

    def spend(self, name: str, guarantee: Guarantee) -> Ledger:
        """Return the ledger with one more entry.

        Raises
        ------
        BudgetError
            When the sum would exceed the budget. Nothing is spent.
        MismatchError
            When the neighbour relation or the model is another one.
        """
        self._check_relation(name, guarantee)
        epsilon, delta = self._total()
        self._check_total(repr(name), (epsilon + guarantee.epsilon, delta + guarantee.delta))
        return Ledger(self.budget, (*self.entries, (name, guarantee)))

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "format": "lapwing-ledger",
            "version": VERSION,
            "budget": self.budget.to_document(),
            "entries": [
                {"name": name, "guarantee": guarantee.to_document()}
                for name, guarantee in self.entries
            ],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Ledger:
        """Return the ledger that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When it is not a ledger, of an unknown version or damaged.
        BudgetError, MismatchError
            When its entries do not fit its budget.
        """
        known = isinstance(document, dict) and document.get("format") == "lapwing-ledger"
        version = document.get("version") if known else None
        if type(version) is not int or version != VERSION:
            raise FormatError(
                f"this must be a lapwing-ledger document of version {VERSION}; it is not"
            )
        if set(document) != {"format", "version", "budget", "entries"}:
            raise FormatError("a ledger must have exactly: format, version, budget, entries")
        if not isinstance(document["entries"], list):
            raise FormatError("the entries of a ledger must be a list")
        entries = tuple(_entry(entry) for entry in document["entries"])
        return cls(Guarantee.from_document(document["budget"]), entries)


def _entry(document: Any) -> tuple[str, Guarantee]:
    whole = isinstance(document, dict) and set(document) == {"name", "guarantee"}
    if not whole or not isinstance(document["name"], str):
        raise FormatError("every entry of a ledger must have exactly: name, guarantee")
    return document["name"], Guarantee.from_document(document["guarantee"])
