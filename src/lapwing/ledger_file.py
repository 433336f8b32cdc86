"""A ledger on disk: paid before the noise is drawn, and never twice released for one payment."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lapwing.atomic_file import replacing
from lapwing.documents import parse
from lapwing.errors import BudgetError
from lapwing.guarantee import Guarantee
from lapwing.ledger import Ledger
from lapwing.privacy_loss import PrivacyLoss


@dataclass(frozen=True)
class LedgerFile:
    """A ledger in a file, changed by one process at a time.

    A payment is written, and is on the disk, before the block that releases begins. When the
    block ends well, it is marked as released. After a crash in between it stays reserved, which
    counts as spent: whether somebody saw the output cannot be known. So no payment ever stands
    for two releases; a release that is tried again is paid again.

    Parameters
    ----------
    path : Path
    """

    path: Path

    def read(self) -> Ledger:
        """Return the ledger; FormatError when the file holds none."""
        return Ledger.from_document(parse(self.path.read_bytes(), name=self.path.name))

    def create(self, budget: Guarantee, *, tight: bool = False) -> Ledger:
        """Write an empty ledger; FileExistsError rather than to forget what was spent.

        Parameters
        ----------
        budget : Guarantee
        tight : bool
            Whether payments of different kinds are composed numerically; see :class:`Ledger`.
        """
        ledger = Ledger(budget, tight=tight)
        with open(self.path, "x", encoding="utf-8"):
            pass
        self._write(ledger)
        return ledger

    @contextmanager
    def paying(
        self, name: str, guarantee: Guarantee, *, loss: PrivacyLoss | None, release: str
    ) -> Iterator[Ledger]:
        """Reserve a payment, let the block draw and write its output, then mark it as released.

        Parameters
        ----------
        name : str
        guarantee : Guarantee
        loss : PrivacyLoss, optional
        release : str
            Identifier of the output.

        Raises
        ------
        BudgetError
            When the ledger is locked by another process, or would be overspent. Nothing was spent
            then, and the block does not run.
        """
        with self._locked():
            ledger = self.read().spend(
                name, guarantee, loss=loss, state="reserved", release=release
            )
            self._write(ledger)
            yield ledger
            self._write(ledger.released(release))

    def _write(self, ledger: Ledger) -> None:
        text = json.dumps(ledger.to_document(), indent=1, allow_nan=False) + "\n"
        with replacing(self.path) as stream:
            stream.write(text.encode("utf-8"))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # A lock of the operating system ends with its process, also after a crash. It is on a
        # file of its own, because the ledger itself is replaced.
        lock = self.path.with_name(self.path.name + ".lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                _lock(descriptor)
            except OSError:
                raise BudgetError(
                    f"the ledger {self.path.name} is in use by another process; nothing was "
                    "spent, try again when it has ended"
                ) from None
            yield
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Lock a file without waiting; OSError when another process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
