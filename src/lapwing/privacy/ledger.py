"""Privacy budgets: payments against a declared budget, as a value and in a file.

A :class:`Ledger` is a value: a snapshot of the payments. A :class:`LedgerFile`, which
:meth:`Ledger.open` returns, is the file itself: only it can pay for a release.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.atomic_files import sync_folder
from lapwing.docstrings import inherits
from lapwing.documents import opening, parse, read_as, require_plain
from lapwing.errors import (
    ArgumentError,
    BudgetError,
    FormatError,
    LapwingError,
    LapwingWarning,
    MismatchError,
    PrivacyError,
)
from lapwing.facts import html_of
from lapwing.linear.memoized import cached_property
from lapwing.privacy.gaussian_dp import noise_scale
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger_entry import (
    LedgerEntry,
    State,
    check_standing,
    entry_of,
    protection_of,
    unit_name,
)
from lapwing.privacy.locked_file import LockedFile, acquire
from lapwing.privacy.privacy_loss import PrivacyLoss, tight_epsilon

VERSION = 2

_MILLION = 10**6

_ROUNDED_NOISE = 1 + Fraction(1, 2**29)
"""Largest factor by which squares of mu of one guarantee differ."""
# Noise scales are rounded to 32 bits, for each sensitivity on its own.
_SHOWN = 20
"""The last payments, which a notebook shows."""


@dataclass(frozen=True)
class Ledger:
    """Privacy ledger (privacy accountant): a budget, its payments, and their composition.

    A ledger is a value, so :meth:`spend` returns a new one, and nothing changes if it refuses. Use
    :meth:`save` to write a new file, and :meth:`load` to read a snapshot of one. To pay from a
    file, use :meth:`open`.

    Parameters
    ----------
    budget : Guarantee
        The most that may be spent. Its neighbor relation and model bind all entries.
    entries : tuple of LedgerEntry
        Payments, in order. Default: none.
    tight : bool
        True: a sum that the exact composition refuses is also composed numerically. This allows
        more where Gaussian noise is combined with pure epsilons. See
        :func:`lapwing.privacy.privacy_loss.tight_epsilon`. It needs the extra "central". Default:
        False.

    Raises
    ------
    BudgetError
        When the entries exceed the budget.
    MismatchError
        When the neighbor relation or model of an entry differs from the budget's.
    ArgumentError
        When an argument has the wrong type, or the budget has a lifetime or a unit.

    Notes
    -----
    **Privacy.** Losses compose exactly in fractions, each kind separately (see
    :class:`PrivacyLoss`). Releases with Gaussian noise compose by Gaussian differential privacy.
    Answers to local surveys and pure releases use basic composition. The result holds for any
    entries, even those chosen after earlier answers. Numerical composition, on request, is in
    floating point and rounded up. Its theorem requires the sizes of the payments to be fixed
    beforehand. The questions may depend on earlier answers, but the epsilons may not.

    **Cost.** Each payment adds up all entries.

    Examples
    --------
    >>> import lapwing as lw
    >>> one = lw.Guarantee(1, 0, "replace-one", "local")
    >>> ledger = lw.Ledger(lw.Guarantee(3, 0, "replace-one", "local"))
    >>> ledger = ledger.spend("income", one).spend("age", one)
    >>> ledger.spent.epsilon, ledger.remaining.epsilon
    (Fraction(2, 1), Fraction(1, 1))
    """

    budget: Guarantee
    entries: tuple[LedgerEntry, ...] = ()
    tight: bool = False

    def __post_init__(self) -> None:
        """Check that the entries fit the budget."""
        object.__setattr__(self, "entries", tuple(self.entries))
        whole = all(isinstance(entry, LedgerEntry) for entry in self.entries)
        if not whole or not isinstance(self.budget, Guarantee) or type(self.tight) is not bool:
            raise ArgumentError("a ledger needs a Guarantee as its budget, and entries")
        if self.budget.lifetime is not None:
            raise ArgumentError(
                "a budget has no lifetime, because it limits all payments together. Leave out "
                "lifetime"
            )
        if self.budget.unit is not None:
            raise ArgumentError(
                "a budget has no unit, because each payment names its own. Leave out unit"
            )
        for entry in self.entries:
            self._check_relation(entry)
        self._check_total("the entries", self.entries)

    def _check_relation(
        self, entry: LedgerEntry, error: type[LapwingError] = MismatchError
    ) -> None:
        ours = (self.budget.neighbors, self.budget.model)
        theirs = (entry.guarantee.neighbors, entry.guarantee.model)
        if ours != theirs:
            raise error(
                "every entry of a ledger must have the budget's neighbor relation and model "
                f"({ours[0]}, {ours[1]}). {entry.name!r} has ({theirs[0]}, {theirs[1]})"
            )

    def _epsilon_at(self, losses: Sequence[PrivacyLoss], delta: Fraction) -> Fraction:
        if self.tight and delta > 0:
            return tight_epsilon(losses, delta)
        return sum(losses, start=PrivacyLoss()).epsilon_at(delta)

    def _excess(self, losses: Sequence[PrivacyLoss]) -> str | None:
        """Return what losses add up to, where that is beyond the budget. None where it is not."""
        total = sum(losses, start=PrivacyLoss())
        if total.within(self.budget.epsilon, self.budget.delta):
            return None
        try:
            epsilon = self._epsilon_at(losses, self.budget.delta)
        except PrivacyError:
            if not self.budget.delta and total.mu_squared:
                return "unbounded at delta 0, because Gaussian noise needs a positive delta"
            return f"epsilon {float(total.epsilon):g}, delta {float(total.delta):g}"
        within = epsilon <= self.budget.epsilon
        return None if within else f"epsilon {float(epsilon):g} at that delta"

    def _check_total(self, name: str, entries: Sequence[LedgerEntry]) -> None:
        shown = self._excess([entry.cost for entry in entries])
        if shown is None:
            return
        raise BudgetError(
            f"the budget is epsilon {float(self.budget.epsilon):g}, delta "
            f"{float(self.budget.delta):g}. With {name} the total would be {shown}. Nothing was "
            "spent"
        )

    @property
    def cost(self) -> PrivacyLoss:
        """Composed privacy loss of all entries."""
        return sum((entry.cost for entry in self.entries), start=PrivacyLoss())

    @property
    def spent(self) -> Guarantee | None:
        """Composed guarantee of all entries, or None when there are none.

        Epsilons and deltas are summed if all entries have only those. Otherwise the epsilon is the
        one at the budget's delta.
        """
        if not self.entries:
            return None
        cost = self.cost
        plain = cost.mu_squared == cost.rho == 0 and not self.tight
        delta = cost.delta if plain else self.budget.delta
        epsilon = self._epsilon_at([entry.cost for entry in self.entries], delta)
        return replace(self.budget, epsilon=epsilon, delta=delta)

    @property
    def remaining(self) -> Guarantee | None:
        """Guarantee that may still be spent by basic composition, or None.

        It is None when the epsilon is used up. Releases with Gaussian noise may cost less together
        than this suggests. See :attr:`largest_payment`.
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

    @cached_property
    def largest_payment(self) -> Guarantee | None:
        """The largest guarantee that :meth:`spend` would still accept.

        It is the guarantee of a payment at the budget's delta with Gaussian noise, which composes
        by squares. If :attr:`largest_pure_payment` has a larger epsilon, it is that one. Its
        epsilon is a whole number of millionths, and at its delta one more would be refused. A
        payment never increases it. None when nothing is accepted.
        """
        pure, delta = self.largest_pure_payment, self.budget.delta
        both = (self._largest(delta) if delta else pure, pure)
        return max((each for each in both if each), key=lambda each: each.epsilon, default=None)

    @cached_property
    def largest_pure_payment(self) -> Guarantee | None:
        """The largest pure guarantee (delta 0) that :meth:`spend` would still accept.

        Its epsilon is a whole number of millionths, and one more would be refused. None when no
        pure payment is accepted.
        """
        return self._largest(Fraction(0))

    def _largest(self, delta: Fraction) -> Guarantee | None:
        """Return the largest guarantee at a delta that is accepted in any form of its loss."""
        paid = [entry.cost for entry in self.entries]
        if not self.tight:  # composed numerically one by one, else added up once
            paid = [sum(paid, start=PrivacyLoss())]

        def accepted(millionths: int) -> bool:
            epsilon = Fraction(millionths, _MILLION)
            if self._excess([*paid, PrivacyLoss(epsilon=epsilon, delta=delta)]) is None:
                return True
            if not delta:
                return False
            try:
                scale = noise_scale(epsilon, delta, squared_sensitivity=Fraction(1))
            except PrivacyError:
                return False
            gaussian = PrivacyLoss(mu_squared=_ROUNDED_NOISE / scale**2)
            return self._excess([*paid, gaussian]) is None

        # From what basic composition leaves, which is the answer where all payments are pure.
        left = self.budget.epsilon - sum(paid, start=PrivacyLoss()).epsilon
        least = most = max(int(left * _MILLION), 1)
        step = 1
        while accepted(most):
            least, most, step = most, most + step, 2 * step
        while least == most or (least and not accepted(least)):
            most, least, step = least, max(least - step, 0), 2 * step
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (middle, most) if accepted(middle) else (least, middle)
        if least == 0:
            return None
        return replace(self.budget, epsilon=Fraction(least, _MILLION), delta=delta)

    @property
    def sum_protects(self) -> str | None:
        """Whom the composed guarantee protects, in words. None if all entries protect the same."""
        return protection_of([entry.guarantee for entry in self.entries])

    def _repr_html_(self) -> str:
        """Return the budget and the payments as a notebook shows them."""
        facts = {
            "budget": str(self.budget),
            "spent": str(self.spent or "nothing"),
            "left by basic composition": str(self.remaining or "nothing"),
        }
        if self.sum_protects is not None:
            facts["protects"] = self.sum_protects
        earlier = max(len(self.entries) - _SHOWN, 0)
        if earlier:
            facts["earlier payments"] = f"{earlier:,}, not shown"
        for number, entry in enumerate(self.entries[earlier:], earlier + 1):
            facts[f"payment {number}: {entry.name}"] = f"{entry.guarantee}, {entry.state}"
        return html_of(facts)

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
        """Return the ledger with one more entry.

        Parameters
        ----------
        name : str
            Name of the payment.
        guarantee : Guarantee
            Guarantee of the output, with the neighbor relation and model of the budget.
        loss : PrivacyLoss, optional
            Privacy loss, if it composes more tightly than epsilon and delta. Default: None.
        state : {"reserved", "released"}
            Whether the output is not yet safely written. Default: "released".
        release : str, optional
            Identifier of the output. Default: None.
        rounds : int
            Number of noise draws that the payment covers, in 1..10,000. Default: 1.

        Returns
        -------
        Ledger
            New ledger with the payment.

        Raises
        ------
        BudgetError
            When the sum would exceed the budget. Nothing is spent.
        PrivacyError, ArgumentError
            When it is not a valid payment, or its neighbor relation or model differs from the
            budget's. Also when its loss exceeds its guarantee.

        Warns
        -----
        LapwingWarning
            When the payment protects a different privacy unit from earlier payments.
        """
        entry = LedgerEntry(name, guarantee, loss, state, release, rounds)
        self._check_relation(entry, PrivacyError)
        self._check_total(repr(name), (*self.entries, entry))
        check_standing(guarantee.standing, name=repr(name))
        together = protection_of([*(each.guarantee for each in self.entries), guarantee])
        unit = unit_name(guarantee)
        if together and unit not in {unit_name(each.guarantee) for each in self.entries}:
            ours = f"one {unit or 'row'}"
            warnings.warn(
                f"the payment {name!r} protects {ours}, but others in this ledger do not. "
                f"{together}. Use a separate ledger for each unit",
                LapwingWarning,
                stacklevel=2,
            )
        return replace(self, entries=(*self.entries, entry))

    def released(self, release: str) -> Ledger:
        """Return the ledger in which the reserved payment of an output is marked as released.

        Parameters
        ----------
        release : str
            Identifier of the output.

        Returns
        -------
        Ledger
            New ledger with the changed entry.

        Raises
        ------
        ArgumentError
            When there is no reserved payment for this output.
        """
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
            Number of rounds that have been drawn, at least 1.
        loss : PrivacyLoss
            Privacy loss of all rounds together.

        Returns
        -------
        Ledger
            New ledger with the changed entry.

        Raises
        ------
        BudgetError
            When this ledger did not pay for the round, or it was already drawn.
        """
        found = [entry for entry in self.entries if entry.release == release]
        if len(found) != 1 or found[0].loss != loss or found[0].rounds == 1:
            raise BudgetError(
                "this ledger did not pay for the rounds of this release. Name the one that did"
            )
        if found[0].drawn_rounds != after:
            raise BudgetError(
                f"{found[0].drawn_rounds} round(s) of this release were drawn, but {after} are "
                "given. No round may be drawn twice, because averaging would cancel the noise. "
                "Continue from the last release. If it was lost, the rounds end here"
            )
        if found[0].drawn_rounds == found[0].rounds:
            raise BudgetError(f"all {found[0].rounds} rounds that were paid for have been drawn")
        entries = tuple(
            replace(entry, drawn_rounds=entry.drawn_rounds + 1) if entry is found[0] else entry
            for entry in self.entries
        )
        return replace(self, entries=entries)

    @staticmethod
    def open(ledger: Path | str | LedgerFile, *, wait: float = 10.0) -> LedgerFile:
        """Return the ledger in a file, from which releases can be paid.

        Parameters
        ----------
        ledger : Path, str or LedgerFile
            Path of the file. A :class:`LedgerFile` is returned unchanged. The file is read at each
            payment, not now.
        wait : float
            Seconds to wait for another process that is paying, 0 or more. Default: 10.

        Returns
        -------
        LedgerFile
            Ledger that can pay.

        Raises
        ------
        ArgumentError
            When a :class:`Ledger` is passed, which is a snapshot and cannot pay.
        """
        if isinstance(ledger, LedgerFile):
            return ledger
        if isinstance(ledger, Ledger):
            raise ArgumentError(
                "a Ledger is a snapshot and cannot pay. Pass the path of its file, or "
                "Ledger.open(path)"
            )
        return LedgerFile(Path(ledger), wait)

    @classmethod
    def load(cls, path: Path | str) -> Ledger:
        """Return a read-only snapshot of the ledger in a file.

        To pay, use :meth:`open`, because a snapshot may be out of date.

        Parameters
        ----------
        path : Path or str
            Path of the file.

        Returns
        -------
        Ledger
            Ledger as it is in the file now.

        Raises
        ------
        FormatError
            When the file is not a ledger, has an unknown version, or is damaged.
        """
        with opening(Path(path)):
            return read_as(Path(path), cls.from_document)

    def save(self, path: Path | str) -> None:
        """Write the ledger to a new file.

        Parameters
        ----------
        path : Path or str
            Path of the file, which must not exist.

        Raises
        ------
        FileExistsError
            When a file of this name exists, because its record of what was spent must not be lost.
        """
        path = Path(path)
        # Not over a link either, even one to nowhere.
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError as error:
            advice = "a file of this name exists, and the spending it records is never forgotten. "
            advice += "Read it as it is, or choose another name"
            raise FileExistsError(error.errno, advice, str(path)) from None
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(self.to_json().encode())
            stream.flush()
            os.fsync(stream.fileno())
        sync_folder(path.parent)

    def to_json(self) -> str:
        """Return the JSON document as a string.

        Returns
        -------
        str
            Text of the file that :meth:`save` writes.
        """
        return json.dumps(self.to_document(), indent=1, allow_nan=False) + "\n"

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            JSON object that :meth:`from_document` reads.
        """
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
                    **(
                        {"rounds": entry.rounds, "drawn_rounds": entry.drawn_rounds}
                        if entry.rounds > 1
                        else {}
                    ),
                }
                for entry in self.entries
            ],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Ledger:
        """Return the ledger that :meth:`to_document` wrote, in any version.

        Parameters
        ----------
        document : dict
            JSON object that :meth:`to_document` returned.

        Returns
        -------
        Ledger
            The same ledger.

        Raises
        ------
        FormatError
            When it is not a ledger, has an unknown version or is damaged.
        BudgetError, MismatchError
            When its entries do not fit its budget.
        """
        require_plain(document, name="a lapwing-ledger document")
        known = isinstance(document, dict) and document.get("format") == "lapwing-ledger"
        version = document.get("version") if known else None
        if type(version) is not int or version not in (1, VERSION):
            raise FormatError(
                f"this must be a lapwing-ledger document of version 1 or {VERSION}, but it is not"
            )
        tight = version == VERSION and document.get("composition") == "numerical"
        keys = {"format", "version", "budget", "entries"} | ({"composition"} if tight else set())
        if set(document) != keys:
            raise FormatError(
                "a ledger must have exactly: format, version, budget, entries. Version "
                f"{VERSION} may add composition 'numerical'"
            )
        if not isinstance(document["entries"], list):
            raise FormatError("the entries of a ledger must be a list. Do not use this document")
        entries = tuple(entry_of(entry, version) for entry in document["entries"])
        return cls(Guarantee.from_document(document["budget"]), entries, tight)


@dataclass(frozen=True)
class LedgerFile:
    """Ledger file, changed by one process at a time. :meth:`Ledger.open` returns it.

    A payment is written to disk before the block that makes the release begins. When the block
    ends without an error, the payment is marked as released. After a crash in between it stays
    reserved, which counts as spent, because nobody knows who saw the output. So no payment ever
    covers two releases. A release that is tried again is paid for again.

    Parameters
    ----------
    path : Path
        Path of the file. Symbolic links are followed, so all names of a ledger share its budget.
    wait : float
        Seconds to wait for another process that is paying, 0 or more. Default: 10.

    Raises
    ------
    ArgumentError
        When `wait` is not a number of seconds.

    Notes
    -----
    **Privacy.** The lock is on the open ledger itself, not on a file next to it that somebody may
    delete. The open file is compared with the file of that name. A replacement is locked before it
    gets the name. A file is overwritten only if it is the file that was read, with unchanged
    content. So simultaneous payments add up, under any names. A payment that was made during
    another one is kept, even if the file was replaced in between. A file with several hard links
    is refused, because replacing one of its names would leave each name with a separate budget. A
    copy of the file is another ledger. The library cannot know that both pay for the same data.
    `tests/privacy/test_ledger_attacks.py` tests all of this.

    Examples
    --------
    >>> import lapwing as lw
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> budget = lw.Guarantee(2, 0, "replace-one", "central")
    >>> with TemporaryDirectory() as folder:
    ...     lw.Ledger(budget).save(Path(folder) / "budget.json")
    ...     ledger = lw.Ledger.open(Path(folder) / "budget.json")
    ...     published = lw.release(
    ...         range(100), lw.Integers(0, 99), neighbors="replace-one", epsilon=1, ledger=ledger)
    ...     print(ledger.read().remaining)
    epsilon = 1, pure, neighbors replace-one, central model
    """

    path: Path
    wait: float = 10.0

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, path: Path | str, wait: float = 10.0) -> None: ...

    def __post_init__(self) -> None:
        """Check the time."""
        object.__setattr__(self, "path", Path(self.path))
        if isinstance(self.wait, bool) or not isinstance(self.wait, int | float):
            raise ArgumentError("wait", "must be a number of seconds", repr(self.wait))
        if not 0 <= self.wait < 10**6:
            raise ArgumentError("wait", "must be from 0 to a million seconds", f"{self.wait:g}")

    def __str__(self) -> str:
        """Return one line: the budget, what is spent and what is left, as the file says now."""
        try:
            now = self.read()
        except FormatError as error:
            return str(error)
        spent, left = (str(each or "nothing") for each in (now.spent, now.remaining))
        return f"{self.path.name}: budget {now.budget}; spent: {spent}; left: {left}"

    @inherits(Ledger.load)
    def read(self) -> Ledger:
        """Return a snapshot of the ledger as it is now."""
        return Ledger.load(self.path)

    @contextmanager
    def paying(
        self,
        name: str,
        guarantee: Guarantee,
        *,
        loss: PrivacyLoss | None,
        release: str,
        rounds: int = 1,
    ) -> Iterator[Ledger]:
        """Reserve a payment, let the block draw and write its output, then mark it as released.

        Parameters
        ----------
        name : str
            Name of the payment.
        guarantee : Guarantee
            Guarantee of the output.
        loss : PrivacyLoss or None
            Privacy loss of the output. None charges epsilon and delta.
        release : str
            Identifier of the output.
        rounds : int
            Number of noise draws that the payment covers, in 1..10,000. Default: 1. The block
            makes the first draw.

        Yields
        ------
        Ledger
            Ledger with the reserved payment.

        Raises
        ------
        BudgetError
            Before the block: when another process keeps the ledger locked, the file has several
            hard links, or the budget would be exceeded. Then nothing has been spent and the block
            does not run. After the block: when the file was replaced and the new one cannot pay,
            or the file got another hard link. Then the payment stays reserved.
        """
        with self._locked() as file:
            ledger = _ledger(file.content, file.path).spend(
                name, guarantee, loss=loss, state="reserved", release=release, rounds=rounds
            )
            if not file.write(ledger.to_json().encode()):
                raise BudgetError(
                    f"the ledger {self.path.name} was replaced while it was read. Nothing was "
                    "spent. Try again"
                )
            try:
                yield ledger
                ledger = ledger.released(release)
            finally:
                if not file.write(ledger.to_json().encode()):
                    file.close()
                    self._carry_over(ledger.entries[-1])

    @inherits(Ledger.next_round)
    def begin_round(self, release: str, *, after: int, loss: PrivacyLoss) -> Ledger:
        """Mark one more round of a payment as drawn, on disk, before its noise is drawn.

        Returns
        -------
        Ledger
            Ledger with the changed entry.

        Raises
        ------
        BudgetError
            When this ledger did not pay for the round, or it was already drawn. Then nothing
            changes.
        """
        with self._locked() as file:
            ledger = _ledger(file.content, file.path).next_round(release, after=after, loss=loss)
            if not file.write(ledger.to_json().encode()):
                raise BudgetError(
                    f"the ledger {self.path.name} was replaced while it was read. Nothing was "
                    "drawn. Try again"
                )
            return ledger

    def _carry_over(self, entry: LedgerEntry) -> None:
        """Note a payment in the file that took the ledger's place while it was under way."""
        try:
            with self._locked() as file:
                found = _ledger(file.content, file.path)
                if any(other.release == entry.release for other in found.entries):
                    # A copy, made after the payment.
                    settled = found if entry.state == "reserved" else _marked(found, entry)
                else:
                    settled = found.spend(
                        entry.name,
                        entry.guarantee,
                        loss=entry.loss,
                        state=entry.state,
                        release=entry.release,
                        rounds=entry.rounds,
                    )
                kept = file.write(settled.to_json().encode())
        except (LapwingError, OSError) as error:
            raise BudgetError(
                f"the ledger {self.path.name} was replaced during a payment, and the new file "
                f"cannot take it: {error}. The payment {entry.name!r} is in no ledger. Do not "
                "publish its output, and restore the ledger that paid"
            ) from error
        if not kept:
            raise BudgetError(
                f"the ledger {self.path.name} keeps being replaced. The payment {entry.name!r} "
                "is in no ledger. Do not publish its output"
            )

    @contextmanager
    def _locked(self) -> Iterator[LockedFile]:
        with opening(self.path):
            file = acquire(self.path, self.wait)
        try:
            yield file
        finally:
            file.close()


def _marked(ledger: Ledger, entry: LedgerEntry) -> Ledger:
    reserved = any(e.release == entry.release and e.state == "reserved" for e in ledger.entries)
    return ledger.released(entry.release or "") if reserved else ledger


def _ledger(content: bytes, path: Path) -> Ledger:
    return Ledger.from_document(parse(content, name=path.name))
