"""A ledger on disk: paid before the noise is drawn, and never twice released for one payment."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.documents import parse, replacing, sync_folder
from lapwing.errors import ArgumentError, BudgetError, LapwingError
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Entry, Ledger
from lapwing.privacy.privacy_loss import PrivacyLoss

_PAUSE = 0.02
"""Seconds between two attempts to lock."""

_ATTEMPTS = 1000
"""Files of one name that are opened one after the other, each replaced before it was locked."""


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
        Symbolic links are followed, so all names of a ledger share its budget.
    wait : float
        Seconds to wait for another process that is paying; at least 0.

    Privacy
    -------
    What is locked is the ledger itself, not a file beside it that somebody may tidy away: the lock
    is on the open file, which is compared with the one of that name, and whatever replaces it is
    locked before it gets the name. Nothing is written over a file that is another one, or has other
    content, than what was read. So payments at the same time, by whatever names, add up; and one
    that was made while another was under way is not erased, also when the file was replaced
    meanwhile. A file of several hard links is refused, because replacing one of its names would
    leave the others with a budget of their own. A copy of the file is another ledger: that the
    same data are paid for by both cannot be known. `tests/privacy/test_ledger_attacks.py` tries all
    this.
    """

    path: Path
    wait: float = 10.0

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(self, path: Path | str, wait: float = 10.0) -> None: ...

    def __post_init__(self) -> None:
        """Check the time."""
        object.__setattr__(self, "path", Path(self.path))
        if isinstance(self.wait, bool) or not isinstance(self.wait, int | float):
            raise ArgumentError("wait must be a number of seconds")
        if not 0 <= self.wait < 10**6:
            raise ArgumentError("wait must be a number of seconds, 0 or more")

    @classmethod
    def of(cls, ledger: LedgerFile | Path | str) -> LedgerFile:
        """Return the file itself, or the one at a path."""
        return ledger if isinstance(ledger, LedgerFile) else cls(Path(ledger))

    def read(self) -> Ledger:
        """Return the ledger; FormatError when the file holds none."""
        return _ledger(self.path.read_bytes(), self.path)

    def create(self, budget: Guarantee, *, tight: bool = False) -> Ledger:
        """Write an empty ledger; FileExistsError rather than to forget what was spent.

        Parameters
        ----------
        budget : Guarantee
        tight : bool
            Whether payments of different kinds are composed numerically; see :class:`Ledger`.
        """
        ledger = Ledger(budget, tight=tight)
        # Not over a link either, even one to nowhere.
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError as error:
            advice = "a file of this name exists, and what it says was spent is never forgotten; "
            advice += "read it as it is, or choose another name"
            raise FileExistsError(error.errno, advice, str(self.path)) from None
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(_content(ledger))
            stream.flush()
            os.fsync(stream.fileno())
        sync_folder(self.path.parent)
        return ledger

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
        guarantee : Guarantee
        loss : PrivacyLoss, optional
        release : str
            Identifier of the output.
        rounds : int
            Drawings of noise that it pays for; the block makes the first.

        Raises
        ------
        BudgetError
            When the ledger stays locked by another process, has several hard links, or would be
            overspent: nothing was spent then, and the block does not run. After the block, when the
            file was replaced meanwhile and what is there now cannot pay; or when it got another
            hard link, and the payment stays reserved.
        """
        with self._locked() as held:
            ledger = held.ledger().spend(
                name, guarantee, loss=loss, state="reserved", release=release, rounds=rounds
            )
            if not held.write(ledger):
                raise BudgetError(
                    f"the ledger {self.path.name} was replaced while it was read; nothing was "
                    "spent, try again"
                )
            try:
                yield ledger
                ledger = ledger.released(release)
            finally:
                if not held.write(ledger):
                    held.close()
                    self._carry_over(ledger.entries[-1])

    def begin_round(self, release: str, *, after: int, loss: PrivacyLoss) -> Ledger:
        """Mark one more round of a payment as drawn, on the disk; its noise is drawn after that.

        For the parameters and errors see :meth:`Ledger.next_round`.
        """
        with self._locked() as held:
            ledger = held.ledger().next_round(release, after=after, loss=loss)
            if not held.write(ledger):
                raise BudgetError(
                    f"the ledger {self.path.name} was replaced while it was read; nothing was "
                    "drawn, try again"
                )
            return ledger

    def _carry_over(self, entry: Entry) -> None:
        """Note a payment in the file that took the ledger's place while it was under way."""
        try:
            with self._locked() as held:
                found = held.ledger()
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
                kept = held.write(settled)
        except (LapwingError, OSError) as error:
            raise BudgetError(
                f"the ledger {self.path.name} was replaced while a payment was under way, and "
                f"what is there now cannot take it: {error}. The payment {entry.name!r} is in no "
                "ledger; do not publish its output, and restore the ledger that paid"
            ) from error
        if not kept:
            raise BudgetError(
                f"the ledger {self.path.name} keeps being replaced; the payment {entry.name!r} is "
                "in no ledger, do not publish its output"
            )

    @contextmanager
    def _locked(self) -> Iterator[_Held]:
        held = _acquire(self.path, self.wait)
        try:
            yield held
        finally:
            held.close()


@dataclass
class _Held:
    """A ledger's file, open and locked, and what was last read from or written to it."""

    path: Path
    descriptor: int
    content: bytes

    def close(self) -> None:
        """Let others in; a second time does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    def ledger(self) -> Ledger:
        """Return what the file held when it was read or written."""
        return _ledger(self.content, self.path)

    def _is_current(self) -> bool:
        return _has_name(self.path, self.descriptor) and _read(self.descriptor) == self.content

    def write(self, ledger: Ledger) -> bool:
        """Replace the file by a ledger; False when it is not the file that was read any more."""
        content = _content(ledger)
        if not self._is_current():
            return False
        if content == self.content:
            return True
        _check_links(self.path, self.descriptor)
        mode = stat.S_IMODE(os.fstat(self.descriptor).st_mode)
        taken = False
        try:
            with replacing(self.path, mode=mode) as stream:
                descriptor = os.dup(stream.fileno())
                taken = True
                # Locked before it has the name: nobody comes between two states of a payment.
                _lock(descriptor)
                stream.write(content)
                stream.flush()
                os.fsync(descriptor)
                if not self._is_current():
                    raise _ReplacedError
                _check_links(self.path, self.descriptor)
        except BaseException as error:
            if taken:
                os.close(descriptor)
            if isinstance(error, _ReplacedError):
                return False
            raise
        self.close()
        self.descriptor, self.content = descriptor, content
        return True


class _ReplacedError(Exception):
    """The file is not the one that was read; nothing was written."""


def _acquire(path: Path, wait: float) -> _Held:
    """Return the file of that name, locked; BudgetError when another process keeps it."""
    deadline = time.monotonic() + wait
    for _ in range(_ATTEMPTS):
        real = Path(os.path.realpath(path))
        descriptor = os.open(real, os.O_RDWR)
        try:
            while not _lock(descriptor):
                if time.monotonic() >= deadline:
                    raise BudgetError(
                        f"the ledger {path.name} is in use by another process; nothing was "
                        "spent, try again when it has ended"
                    )
                time.sleep(_PAUSE)
            # Who held the lock before has given the name to another file.
            if _has_name(real, descriptor):
                _check_links(path, descriptor)
                return _Held(real, descriptor, _read(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise BudgetError(f"the ledger {path.name} keeps being replaced; nothing was spent")


def _check_links(path: Path, descriptor: int) -> None:
    if os.fstat(descriptor).st_nlink > 1:
        raise BudgetError(
            f"the ledger {path.name} has several hard links, and each would get a budget of its "
            "own; nothing was written to it, and what it says is reserved stays so; remove the "
            "other names (or put a copy in its place) first"
        )


def _marked(ledger: Ledger, entry: Entry) -> Ledger:
    reserved = any(e.release == entry.release and e.state == "reserved" for e in ledger.entries)
    return ledger.released(entry.release or "") if reserved else ledger


def _has_name(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _read(descriptor: int) -> bytes:
    with open(os.dup(descriptor), "rb") as stream:
        stream.seek(0)
        return stream.read()


def _ledger(content: bytes, path: Path) -> Ledger:
    return Ledger.from_document(parse(content, name=path.name))


def _content(ledger: Ledger) -> bytes:
    return (json.dumps(ledger.to_document(), indent=1, allow_nan=False) + "\n").encode()


def _lock(descriptor: int) -> bool:
    """Lock an open file without waiting; False when another has it.

    A lock of the operating system ends with its process, also after a crash.
    """
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be replaced
        raise BudgetError(
            "a ledger file needs the file locks of a POSIX system; nothing was spent, keep the "
            "ledger on one"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
