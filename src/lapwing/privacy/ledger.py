"""What has been spent on the privacy of one person or one data set, against a declared budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal

from lapwing.documents import require_plain
from lapwing.errors import ArgumentError, BudgetError, FormatError, MismatchError, PrivacyError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.numerical_composition import tight_epsilon
from lapwing.privacy.privacy_loss import PrivacyLoss

VERSION = 2

State = Literal["reserved", "released"]

SLACK = Fraction(101, 100)
"""What a mechanism may leave unused of its guarantee for its loss to be believed: far more than the
rounding of noise does."""

MOST_ROUNDS = 10_000
"""Rounds of one person that a payment may cover; more only make its exact fractions long."""


@dataclass(frozen=True)
class Entry:
    """One payment.

    Parameters
    ----------
    name : str
    guarantee : Guarantee
        What was promised, with its neighbor relation and model.
    loss : PrivacyLoss, optional
        What it costs where that adds more tightly than its epsilon and delta. Default: those. It
        must give the guarantee by the proved conversion, and is what is charged when it does so
        with at most 1 % to spare. A smaller one is not that of the guarantee, which is then
        charged itself.
    state : {"reserved", "released"}
        "reserved" from before the noise is drawn until the output is safely written. It counts as
        spent: after a crash nobody knows who has seen the output.
    release : str, optional
        Identifier of the output.
    rounds : int
        Drawings of noise that it pays for, in 1..10,000.
    drawn : int
        How many of them were begun: marked before their noise is drawn, so none is drawn twice.

    Raises
    ------
    PrivacyError
        When its loss is more than its guarantee.
    ArgumentError
        When it is none of this.
    """

    name: str
    guarantee: Guarantee
    loss: PrivacyLoss | None = None
    state: State = "released"
    release: str | None = None
    rounds: int = 1
    drawn: int = 1

    def __post_init__(self) -> None:
        """Check that it is a payment, and that its loss is that of its guarantee."""
        whole = isinstance(self.name, str) and isinstance(self.release, str | None)
        if not whole or not isinstance(self.guarantee, Guarantee):
            raise ArgumentError("an entry of a ledger needs a name and a Guarantee")
        if self.state not in ("reserved", "released"):
            raise ArgumentError("the state of an entry must be 'reserved' or 'released'")
        check_whole_field(self, "rounds", low=1, high=MOST_ROUNDS)
        check_whole_field(self, "drawn", low=1, high=self.rounds)
        if self.loss is not None:
            if not isinstance(self.loss, PrivacyLoss):
                raise ArgumentError("the loss of an entry must be a PrivacyLoss, or left out")
            if not self.loss.within(self.guarantee.epsilon, self.guarantee.delta):
                raise PrivacyError(
                    f"the loss of {self.name!r} must give its guarantee ({self.guarantee}), and it "
                    "costs more; state what it costs"
                )

    @cached_property
    def cost(self) -> PrivacyLoss:
        """What is added up."""
        stated = PrivacyLoss(epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)
        if self.loss is None:
            return stated
        # Not of its delta: a loss that uses up the stated one would be believed with any epsilon.
        kinds = (f.name for f in fields(self.loss) if f.name != "delta")
        more = replace(self.loss, **{kind: getattr(self.loss, kind) * SLACK for kind in kinds})
        if not more.within(stated.epsilon, stated.delta):
            return self.loss
        # What is stated for a promise in mu or rho is the conversion itself, rounded up to 1e-7.
        exactly = self.loss.epsilon_at(stated.delta) == stated.epsilon
        return self.loss if exactly else stated


@dataclass(frozen=True)
class Ledger:
    """A list of payments, and what they add up to.

    The ledger is a value: :meth:`spend` returns a new one, so nothing changes when it refuses.

    Parameters
    ----------
    budget : Guarantee
        The most that may be spent; its neighbor relation and model bind all entries.
    entries : tuple of Entry
        What was spent, in order.
    tight : bool
        True: what the exact sum refuses is composed numerically as well, which allows more where
        normal noise stands beside pure epsilons; see
        :func:`lapwing.privacy.numerical_composition.tight_epsilon`. Needs the extra "central".

    Privacy
    -------
    Losses add exactly in fractions, each kind with its own (see :class:`PrivacyLoss`): releases
    with normal noise by Gaussian differential privacy, answers to local surveys and pure releases
    by basic composition. It holds for any entries, also chosen after seeing earlier answers.
    Numerical composition, on request, is in floating point with roundings upwards, and its theorem
    wants the sizes of the payments fixed beforehand: the questions may follow from earlier answers,
    but not the epsilons.

    Examples
    --------
    >>> one = Guarantee(Fraction(1), Fraction(0), "replace-one", "local")
    >>> ledger = Ledger(Guarantee(Fraction(3), Fraction(0), "replace-one", "local"))
    >>> ledger = ledger.spend("income", one).spend("age", one)
    >>> ledger.spent.epsilon, ledger.remaining.epsilon
    (Fraction(2, 1), Fraction(1, 1))
    """

    budget: Guarantee
    entries: tuple[Entry, ...] = ()
    tight: bool = False

    def __post_init__(self) -> None:
        """Check that the entries fit the budget."""
        object.__setattr__(self, "entries", tuple(self.entries))
        whole = all(isinstance(entry, Entry) for entry in self.entries)
        if not whole or not isinstance(self.budget, Guarantee) or type(self.tight) is not bool:
            raise ArgumentError("a ledger needs a Guarantee as its budget, and entries")
        if self.budget.lifetime is not None:
            raise ArgumentError("a budget has no lifetime; it is the most of all payments")
        for entry in self.entries:
            self._check_relation(entry)
        self._check_total("the entries", self.entries)

    def _check_relation(self, entry: Entry) -> None:
        ours = (self.budget.neighbors, self.budget.model)
        theirs = (entry.guarantee.neighbors, entry.guarantee.model)
        if ours != theirs:
            raise MismatchError(
                f"every entry of a ledger must have its budget's relation and model "
                f"({ours[0]}, {ours[1]}); {entry.name!r} has ({theirs[0]}, {theirs[1]})"
            )

    def _epsilon_at(self, entries: Sequence[Entry], delta: Fraction) -> Fraction:
        losses = [entry.cost for entry in entries]
        if self.tight and delta > 0:
            return tight_epsilon(losses, delta)
        return sum(losses, start=PrivacyLoss()).epsilon_at(delta)

    def _check_total(self, name: str, entries: Sequence[Entry]) -> None:
        total = sum((entry.cost for entry in entries), start=PrivacyLoss())
        if total.within(self.budget.epsilon, self.budget.delta):
            return
        try:
            epsilon = self._epsilon_at(entries, self.budget.delta)
            if epsilon <= self.budget.epsilon:
                return
            shown = f"epsilon {float(epsilon):g} at that delta"
        except PrivacyError:
            shown = f"epsilon {float(total.epsilon):g}, delta {float(total.delta):g}"
        raise BudgetError(
            f"the budget is epsilon {float(self.budget.epsilon):g}, delta "
            f"{float(self.budget.delta):g}; with {name} the total would be {shown}; nothing was "
            "spent"
        )

    @property
    def cost(self) -> PrivacyLoss:
        """The sum of all entries."""
        return sum((entry.cost for entry in self.entries), start=PrivacyLoss())

    @property
    def spent(self) -> Guarantee | None:
        """What the entries add up to; None when there are none.

        Epsilons and deltas are summed where all entries have only those; otherwise it is the
        epsilon at the budget's delta.
        """
        if not self.entries:
            return None
        cost = self.cost
        plain = cost.mu_squared == cost.rho == 0 and not self.tight
        delta = cost.delta if plain else self.budget.delta
        return replace(self.budget, epsilon=self._epsilon_at(self.entries, delta), delta=delta)

    @property
    def remaining(self) -> Guarantee | None:
        """What may still be spent by basic composition; None when the epsilon is used up.

        Releases with normal noise may cost less together than this says: :meth:`spend` decides.
        """
        spent = self.spent
        if spent is None:
            return self.budget
        if spent.epsilon >= self.budget.epsilon:
            return None
        return replace(
            self.budget,
            epsilon=self.budget.epsilon - spent.epsilon,
            delta=self.budget.delta - spent.delta,
        )

    def spend(
        self,
        name: str,
        guarantee: Guarantee,
        *,
        loss: PrivacyLoss | None = None,
        state: State = "released",
        release: str | None = None,
        rounds: int = 1,
    ) -> Ledger:
        """Return the ledger with one more entry; for its parameters see :class:`Entry`.

        Raises
        ------
        BudgetError
            When the sum would exceed the budget. Nothing is spent.
        MismatchError
            When the neighbor relation or the model is another one.
        PrivacyError, ArgumentError
            When it is no payment, or its loss is more than its guarantee.
        """
        entry = Entry(name, guarantee, loss, state, release, rounds)
        self._check_relation(entry)
        self._check_total(repr(name), (*self.entries, entry))
        return replace(self, entries=(*self.entries, entry))

    def released(self, release: str) -> Ledger:
        """Return the ledger in which the reserved payment of an output is marked as released."""
        found = [e for e in self.entries if e.release == release and e.state == "reserved"]
        if not found:
            raise ArgumentError("there is no reserved payment for this release")
        entries = tuple(
            replace(entry, state="released") if entry is found[0] else entry
            for entry in self.entries
        )
        return replace(self, entries=entries)

    def next_round(self, release: str, *, after: int, loss: PrivacyLoss) -> Ledger:
        """Return the ledger in which one more round of a payment is marked as drawn.

        Parameters
        ----------
        release : str
            Identifier under which all rounds were paid for.
        after : int
            Rounds that have been drawn.
        loss : PrivacyLoss
            What all rounds together cost.

        Raises
        ------
        BudgetError
            When this ledger did not pay for the round, or it was drawn already.
        """
        found = [entry for entry in self.entries if entry.release == release]
        if len(found) != 1 or found[0].loss != loss or found[0].rounds == 1:
            raise BudgetError(
                "this ledger did not pay for rounds of this release; name the one that did"
            )
        if found[0].drawn != after:
            raise BudgetError(
                f"{found[0].drawn} round(s) of this release were drawn and {after} are given; no "
                "round may be drawn a second time, because the noise of two averages out. Go on "
                "from the last release; if it was lost, the rounds end here"
            )
        if found[0].drawn == found[0].rounds:
            raise BudgetError(f"all {found[0].rounds} rounds that were paid for have been drawn")
        entries = tuple(
            replace(entry, drawn=entry.drawn + 1) if entry is found[0] else entry
            for entry in self.entries
        )
        return replace(self, entries=entries)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        # Only said where it is so: other readers must refuse what they cannot add up.
        composition = {"composition": "numerical"} if self.tight else {}
        return {
            "format": "lapwing-ledger",
            "version": VERSION,
            **composition,
            "budget": self.budget.to_document(),
            "entries": [
                {
                    "name": entry.name,
                    "guarantee": entry.guarantee.to_document(),
                    "loss": None if entry.loss is None else entry.loss.to_document(),
                    "state": entry.state,
                    "release": entry.release,
                    **({"rounds": entry.rounds, "drawn": entry.drawn} if entry.rounds > 1 else {}),
                }
                for entry in self.entries
            ],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Ledger:
        """Return the ledger that :meth:`to_document` wrote, in any version.

        Raises
        ------
        FormatError
            When it is not a ledger, of an unknown version or damaged.
        BudgetError, MismatchError
            When its entries do not fit its budget.
        """
        require_plain(document, name="a lapwing-ledger document")
        known = isinstance(document, dict) and document.get("format") == "lapwing-ledger"
        version = document.get("version") if known else None
        if type(version) is not int or version not in (1, VERSION):
            raise FormatError(
                f"this must be a lapwing-ledger document of version 1 or {VERSION}; it is not"
            )
        tight = version == VERSION and document.get("composition") == "numerical"
        keys = {"format", "version", "budget", "entries"} | ({"composition"} if tight else set())
        if set(document) != keys:
            raise FormatError(
                "a ledger must have exactly: format, version, budget, entries, and in version "
                f"{VERSION}, where it is so, composition 'numerical'"
            )
        if not isinstance(document["entries"], list):
            raise FormatError("the entries of a ledger must be a list")
        entries = tuple(_entry(entry, version) for entry in document["entries"])
        return cls(Guarantee.from_document(document["budget"]), entries, tight)


def _entry(document: Any, version: int) -> Entry:
    keys = {"name", "guarantee"} | ({"loss", "state", "release"} if version > 1 else set())
    in_rounds = version > 1 and isinstance(document, dict) and "rounds" in document
    if in_rounds:
        keys |= {"rounds", "drawn"}
    if not isinstance(document, dict) or set(document) != keys:
        raise FormatError(f"every entry of a ledger must have exactly: {', '.join(sorted(keys))}")
    if in_rounds and document["rounds"] == 1:
        raise FormatError("the rounds of an entry are only said where there are several")
    loss = document.get("loss")
    try:
        return Entry(
            document["name"],
            Guarantee.from_document(document["guarantee"]),
            None if loss is None else PrivacyLoss.from_document(loss),
            document.get("state", "released"),
            document.get("release"),
            document.get("rounds", 1),
            document.get("drawn", 1),
        )
    except (ArgumentError, PrivacyError) as error:
        raise FormatError(f"an entry of the ledger cannot be used: {error}") from None
