"""Entries of a privacy ledger: a guarantee and its privacy loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from lapwing.errors import ArgumentError, FormatError, PrivacyError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole_field
from lapwing.privacy.guarantee import Guarantee, Standing, standing_text
from lapwing.privacy.privacy_loss import PrivacyLoss

State = Literal["reserved", "released"]

SLACK = Fraction(101, 100)
"""Factor by which a loss may fall short of its guarantee and still be charged."""
# Rounding of noise leaves far less unused.

_TWICE = Fraction(2)

MOST_ROUNDS = 10_000
"""Most rounds of one person that a payment may cover. More would only lengthen its exact
fractions."""


def check_standing(standing: Standing | None, *, name: str) -> None:
    """Raise PrivacyError unless a ledger may pay for an output of this standing."""
    if standing is not None:
        raise PrivacyError(
            f"{name} would be {standing_text(standing)}, but a ledger pays only for private "
            "outputs. Leave out rng or the ledger. Tests use lapwing.testing.reproducible(1)"
        )


@dataclass(frozen=True)
class LedgerEntry:
    """Payment in a ledger: a guarantee and its privacy loss.

    Parameters
    ----------
    name : str
        Name of the payment.
    guarantee : Guarantee
        Guarantee of the output, with its neighbor relation and model.
    loss : PrivacyLoss, optional
        Privacy loss, if it composes more tightly than epsilon and delta. Default: None, which
        charges epsilon and delta. It must give the guarantee by the proved conversion. See Notes.
    state : {"reserved", "released"}
        "reserved" applies from before the noise is drawn until the output is safely written. It
        counts as spent, because after a crash nobody knows who has seen the output. Default:
        "released".
    release : str, optional
        Identifier of the output. Default: None.
    rounds : int
        Number of noise draws that the payment covers, in 1..10,000. Default: 1.
    drawn_rounds : int
        Number of rounds begun, in 1..rounds. Default: 1. A round is marked before its noise is
        drawn, so none is drawn twice.

    Raises
    ------
    PrivacyError
        When the loss exceeds the guarantee.
    ArgumentError
        When an argument has the wrong type or is out of range.

    Notes
    -----
    **Privacy.** A loss is charged if it gives the guarantee with at most 1% to spare. A smaller
    loss does not match the guarantee, so the guarantee itself is charged.

    Examples
    --------
    >>> import lapwing as lw
    >>> entry = lw.privacy.LedgerEntry("ages", lw.Guarantee("0.5", 0, "replace-one", "central"))
    >>> entry.cost.epsilon
    Fraction(1, 2)
    """

    name: str
    guarantee: Guarantee
    loss: PrivacyLoss | None = None
    state: State = "released"
    release: str | None = None
    rounds: int = 1
    drawn_rounds: int = 1

    def __post_init__(self) -> None:
        """Check that it is a payment, and that its loss is that of its guarantee."""
        whole = isinstance(self.name, str) and isinstance(self.release, str | None)
        if not whole or not isinstance(self.guarantee, Guarantee):
            raise ArgumentError("an entry of a ledger needs a name and a Guarantee")
        if self.state not in ("reserved", "released"):
            raise ArgumentError("state", "must be 'reserved' or 'released'", repr(self.state))
        check_whole_field(self, "rounds", low=1, high=MOST_ROUNDS)
        check_whole_field(self, "drawn_rounds", low=1, high=self.rounds)
        if self.loss is not None:
            if not isinstance(self.loss, PrivacyLoss):
                raise ArgumentError("loss", "must be a PrivacyLoss, or left out")
            if not self.loss.within(self.guarantee.epsilon, self.guarantee.delta):
                raise PrivacyError(
                    f"the loss of {self.name!r} must be within its guarantee "
                    f"({self.guarantee}), but it costs more. State what it costs"
                )

    @cached_property
    def cost(self) -> PrivacyLoss:
        """Privacy loss that the ledger charges."""
        stated = PrivacyLoss(epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)
        if self.loss is None:
            return stated
        if self.loss.uses_up(stated.epsilon, stated.delta, slack=SLACK):
            return self.loss
        # What is stated for a promise in mu or rho is the conversion itself, rounded up to 1e-7.
        # Such a loss has no delta of its own, which could take the conversion to any epsilon, and
        # needs the one that is stated.
        if self.loss.delta or (stated.delta and self.loss.epsilon == stated.epsilon):
            return stated
        try:
            converted = self.loss.epsilon_at(stated.delta)
            # Of a tiny loss the rounding alone would be many times what it costs.
            exactly = (
                converted == stated.epsilon < self.loss.scaled(_TWICE).epsilon_at(stated.delta)
            )
        except PrivacyError:  # no conversion reaches this delta
            return stated
        return self.loss if exactly else stated


def entry_of(document: Any, version: int) -> LedgerEntry:
    """Return the entry of a stored ledger.

    document: JSON object of the entry.
    version: Version of the ledger's document.

    Raises FormatError when it is not an entry.
    """
    keys = {"name", "guarantee"} | ({"loss", "state", "release"} if version > 1 else set())
    in_rounds = version > 1 and isinstance(document, dict) and "rounds" in document
    if in_rounds:
        keys |= {"rounds", "drawn_rounds"}
    if not isinstance(document, dict) or set(document) != keys:
        raise FormatError(
            f"every entry of a ledger must have exactly: {', '.join(sorted(keys))}. "
            "Do not use this document"
        )
    if in_rounds and document["rounds"] == 1:
        raise FormatError("an entry with a single round must not state its rounds. Leave them out")
    loss = document.get("loss")
    try:
        return LedgerEntry(
            document["name"],
            Guarantee.from_document(document["guarantee"]),
            None if loss is None else PrivacyLoss.from_document(loss),
            document.get("state", "released"),
            document.get("release"),
            document.get("rounds", 1),
            document.get("drawn_rounds", 1),
        )
    except (ArgumentError, PrivacyError) as error:
        raise FormatError(f"an entry of the ledger cannot be used: {error}") from None


def unit_name(guarantee: Guarantee) -> str | None:
    """Return the name of the privacy unit of a guarantee, or None for a row."""
    return None if guarantee.unit is None else guarantee.unit.name


def protection_of(guarantees: Sequence[Guarantee]) -> str | None:
    """Return whom the sum of guarantees protects, or None where all protect the same."""
    units = [unit_name(each) for each in guarantees]
    names = list(dict.fromkeys(name for name in units if name is not None))
    if len(set(units)) < 2:
        return None
    other = "payment by row" if len(names) == 1 else "payment that does not name this unit"
    return (
        f"The sum protects one row. For one {' or '.join(names)} with several rows, each "
        f"{other} counts once per row"
    )
