"""Every error and warning of the package.

::

    LapwingError
    ├── DomainError (ValueError)          a domain, or a value offered to it, is not legal
    ├── PrivacyError (ValueError)         a parameter is illegal, or would break a guarantee
    │   └── BudgetError                   a ledger would be overspent
    ├── ReportError (ValueError)          a report that this randomizer could not have sent
    ├── TallyError (ValueError)           counts that no set of reports can give, or none at all
    ├── MismatchError (ValueError)        two parts that do not belong together
    ├── FormatError (ValueError)          a file or document that cannot be read
    │   ├── TornFileError                 ... because it ends, or is damaged, in the middle
    │   └── BatchError                    an upload that is not a batch of reports
    ├── UnsupportedChannelError (TypeError)   a decoder asked for what a channel does not offer
    ├── ArgumentError (ValueError)        any other argument out of its legal range
    ├── StoreError (RuntimeError)         a collector's database cannot do this now
    │   ├── StoreFullError                ... because its disk is full
    │   └── StoreBusyError                ... because too much waits already
    ├── EngineError (RuntimeError)        a cluster failed, or is not fit for the job
    ├── NotStoredError (LookupError)      a survey or an epoch that the collector does not have
    ├── DeviceError (OSError)             a device's file cannot be used now
    ├── CollectorError (OSError)          a collector cannot be reached, or does not answer as one
    └── MissingExtraError (ImportError)   an optional dependency is not installed

    LapwingWarning (UserWarning)
    ├── AlteredCountsWarning              noisy counts were clipped or rounded by their maker
    ├── ConvergenceWarning                an iteration stopped at its limit
    ├── LimitedWarning                    a mean of limited values, and people are outside the range
    ├── PrivacyWarning                    an epsilon or a delta protects little
    ├── RowsWarning                       many rows are missing, unreadable or outside the range
    └── WeakAnswerWarning                 the answer is mostly prior: too few reports

A message says what is required, what was received, and what to do. It names a position, never a
raw value, because errors end up in logs and a person's value must not. An error about an argument
is also data: ``error.argument``, ``requirement``, ``received`` and ``advice``. So a program that
has other names for the arguments, such as command-line options, calls :meth:`LapwingError.worded`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def kind_of(value: Any) -> str:
    """Return the class of a value with its article: an error shows no value of people.

    >>> kind_of(1), kind_of([]), kind_of(int)
    ('an int', 'a list', 'the class int')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


INSTALL = "pip install '.[{}]'"
"""The command that installs extras, run in a checkout, because no release is on an index yet."""


class LapwingError(Exception):
    """Base class of all errors that this package raises on purpose.

    Parameters
    ----------
    argument : str
        Name of the argument that is wrong. Without a requirement, it is instead a whole message,
        and the attribute is None.
    requirement : str, optional
        The requirement on the argument, beginning with its verb: "must be at least 1".
    received : str, optional
        The value of a setting, or the kind or size of data, but never a data value.
    advice : str, optional
        The advice to the reader: "Leave it out".
    others : tuple of str, optional
        Other arguments that `requirement` and `advice` name.
    position : int, optional
        Index of the first offending value or report in its batch.

    Examples
    --------
    >>> import lapwing as lw
    >>> error = lw.errors.ArgumentError("limit", "must be at least 1", "0", "Leave it out")
    >>> error.argument, str(error)
    ('limit', 'limit must be at least 1, got 0. Leave it out')
    >>> error.worded(lambda argument: f"--{argument}")
    '--limit must be at least 1, got 0. Leave it out'
    """

    def __init__(
        self,
        argument: str,
        requirement: str | None = None,
        received: str | None = None,
        advice: str | None = None,
        *,
        others: tuple[str, ...] = (),
        position: int | None = None,
    ) -> None:
        self.argument = None if requirement is None else argument
        self.requirement = requirement
        self.received = received
        self.advice = advice
        self.others = others
        self.position = position
        super().__init__(argument if requirement is None else self.worded())

    def __init_subclass__(cls) -> None:
        """Document the parameters of a class without a constructor of its own."""
        if "__init__" not in vars(cls):
            _, heading, rest = (LapwingError.__doc__ or "").partition("    Parameters\n")
            parameters = heading + rest.partition("\n    Examples")[0]
            cls.__doc__ = f"{(cls.__doc__ or '').rstrip()}\n\n{parameters}    "

    def worded(self, named: Callable[[str], str] = str) -> str:
        """Return the message, with the names that the user typed in place of the arguments' names.

        Parameters
        ----------
        named : callable
            Function that returns the name that the user typed for an argument. Default: the
            argument's name in Python.

        Returns
        -------
        str
            The rule, the received value, and the fix.
        """
        if self.argument is None or self.requirement is None:
            return str(self)
        names = "|".join(map(re.escape, self.others))

        def said(text: str) -> str:
            whole = rf"(?<![\w-])(?:{names})(?![\w-])"
            return re.sub(whole, lambda found: named(found[0]), text) if names else text

        received = "" if self.received is None else f", got {self.received}"
        advice = "" if self.advice is None else f". {said(self.advice)}"
        return f"{named(self.argument)} {said(self.requirement)}{received}{advice}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Let errors with keyword arguments also travel between processes."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[LapwingError], args: tuple[Any, ...], state: dict[str, Any]) -> LapwingError:
    error = kind.__new__(kind, *args)
    error.args = args  # an OSError leaves them to its constructor
    error.__dict__.update(state)
    return error


class DomainError(LapwingError, ValueError):
    """A domain, or a value for it, is not legal."""


class PrivacyError(LapwingError, ValueError):
    """A privacy parameter is illegal, or a stated guarantee would not hold."""


class BudgetError(PrivacyError):
    """Spending would exceed the budget of a ledger. Nothing was spent."""


class ReportError(LapwingError, ValueError):
    """A report that this randomizer could not have sent. Its batch was not counted."""


class TallyError(LapwingError, ValueError):
    """Counts that no set of reports can give, or a question about a tally without reports."""


class MismatchError(LapwingError, ValueError):
    """Two parts (tallies, surveys, reports, channels) that do not belong together."""


class FormatError(LapwingError, ValueError):
    """A file or document that is foreign, damaged or of an unknown version."""


class TornFileError(FormatError):
    """A report file whose end is missing or damaged.

    Parameters
    ----------
    message : str
        Names the file, the block and how many reports before it are intact.
    path : Path
        The file.
    block : int
        Number of the damaged block, from 1.
    intact : int
        Number of reports in the blocks before it, all of which passed their checksums.
    """

    def __init__(self, message: str, *, path: Path, block: int, intact: int) -> None:
        super().__init__(message)
        self.path = path
        self.block = block
        self.intact = intact


class BatchError(FormatError):
    """An upload that is not a batch of reports. None of it was counted.

    Parameters
    ----------
    message : str
        The rule, the received value, and the fix.
    refused : tuple of (int, str)
        Positions of the first wrong reports, with the reasons, if single reports are wrong.
    """

    def __init__(self, message: str, *, refused: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(message)
        self.refused = refused


class UnsupportedChannelError(LapwingError, TypeError):
    """A decoder needs something that the channel does not offer."""


class ArgumentError(LapwingError, ValueError):
    """An argument out of its legal range."""


class StoreError(LapwingError, RuntimeError):
    """A collector's database cannot do this now. Acknowledged uploads are safe."""


class StoreFullError(StoreError):
    """The disk of a collector's database is full. Nothing was stored."""


class StoreBusyError(StoreError):
    """Too many uploads are already waiting. This one was not accepted."""


class EngineError(LapwingError, RuntimeError):
    """A cluster could not do the job, or its machines are unsuitable. Nothing was counted."""


class NotStoredError(LapwingError, LookupError):
    """A survey or an epoch that the collector does not have."""


class DeviceError(LapwingError, OSError):
    """A device's file, which records what was spent, cannot be used now. Nothing was changed."""


class CollectorError(LapwingError, OSError):
    """A collector cannot be reached, lacks what was requested, or is not a Lapwing collector."""


class MissingExtraError(LapwingError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str
        The extra of lapwing that installs it.
    """

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(
            f"this needs the package {package}, which is not installed. In a checkout of "
            f"lapwing, run: {INSTALL.format(extra)}"
        )
        self.package = package
        self.extra = extra


class LapwingWarning(UserWarning):
    """Any warning that this package gives."""


class AlteredCountsWarning(LapwingWarning):
    """Noisy counts were altered after the noise was added, for example clipped or rounded."""


class ConvergenceWarning(LapwingWarning):
    """An iteration reached its limit before its stopping rule was met."""


class LimitedWarning(LapwingWarning):
    """The range limits an answer: people are outside it, or many may be at one of its ends."""


class PrivacyWarning(LapwingWarning):
    """The privacy parameters protect little: delta is not below 1/n, or epsilon is above 4."""


class RowsWarning(LapwingWarning):
    """Many rows of a column are missing, cannot be read, or lie outside the range.

    It shows exact counts of raw data, so it is only for those who hold the data: keep it out of
    stored logs.
    """


class WeakAnswerWarning(LapwingWarning):
    """There are too few reports for the answer to reveal much about the data."""


def callers_level() -> int:
    """Return the `stacklevel` of a warning that names the line of whoever called Lapwing.

    It is for a function that warns below methods of several depths.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "lapwing":
        level, frame = level + 1, frame.f_back
    return level
