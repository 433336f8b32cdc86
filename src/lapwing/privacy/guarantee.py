"""Privacy guarantees of randomizers and mechanisms.

A :class:`Guarantee` never states an epsilon without its neighbor relation and model. A
:class:`Certificate` compares the exact worst likelihood ratio of an integer-threshold randomizer
with rational bounds of ``e^epsilon``: no floating-point number takes part.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, cast

from lapwing.declared import Declared, From, Later, requirement
from lapwing.errors import ArgumentError, FormatError, PrivacyError
from lapwing.privacy.exact_numbers import (
    LARGEST_GUARANTEE,
    Delta,
    ExactNumber,
    epsilon_text,
    exact_number,
    exponential_bounds,
    shown_number,
)
from lapwing.stored_fields import UNSAID, Exact, FromFields

Standing = Literal["seeded", "simulated", "stated"]
"""Why an output is not known to be private: its randomness can be repeated, its people are
simulated, or another library drew the noise, and its maker's statement cannot be verified."""


def standing_text(standing: Standing) -> str:
    """Return a standing in words, as every screen says it.

    >>> standing_text("stated"), standing_text("seeded")
    ('stated by its maker, not verified', 'seeded: not private')
    """
    if standing == "stated":
        return "stated by its maker, not verified"
    return f"{standing}: not private"


def weakest_standing(*standings: Standing | None) -> Standing | None:
    """Return the standing of what several things were made into."""
    known: tuple[Standing, ...] = ("simulated", "seeded", "stated")
    return next((standing for standing in known if standing in standings), None)


def checked_standing(written: Any) -> Standing | None:
    """Return a standing that a document holds, or raise FormatError."""
    if written in (None, "seeded", "simulated"):
        standing: Standing | None = written
        return standing
    raise FormatError(
        "a standing must be 'seeded', 'simulated' or absent. Do not use this document"
    )


Neighbors = Literal["replace-one", "add-or-remove-one"]

Model = Literal["local", "central", "shuffle"]

People = Literal["same", "different"]
"""Whether a person may be in two data sets, or nobody can be."""

Callee = TypeVar("Callee", bound=Callable[..., Any])


NEIGHBORS_NEEDED = (
    "Pass 'replace-one' (the number of people is public) or 'add-or-remove-one'. There is no "
    "default, because epsilon has no meaning without it"
)


def american(callee: Callee) -> Callee:
    """Make what takes neighbors= say so: of the other spelling, and where it is left out."""
    function: Any = vars(callee)["__init__"] if isinstance(callee, type) else callee
    parameter = inspect.signature(function).parameters["neighbors"]
    needed = parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if "neighbours" in named:
            raise ArgumentError(f"{callee.__name__} has no argument neighbours=. Use neighbors=")
        if needed and "neighbors" not in named:
            raise PrivacyError(f"{callee.__name__} needs neighbors=. {NEIGHBORS_NEEDED}")
        return function(*arguments, **named)

    if not isinstance(callee, type):
        return cast(Callee, checked)
    type.__setattr__(callee, "__init__", checked)
    return callee


MOST_ROWS = 2**20
"""Most rows of one unit that a release may count. Far fewer already add more noise than
information."""

_LONGEST_NAME = 100


@dataclass(frozen=True)
class PrivacyUnit(Declared, FromFields):
    """Privacy unit: whom a release protects where a person may have several rows.

    Parameters
    ----------
    name : str
        Name of the column that identifies the unit of a row, 1 to 100 printable characters. It is
        public, because the release and the ledger state it.
    most : int
        Largest number of rows counted for one unit, in 1..2^20. If a unit has more rows, a random
        choice of them is counted.

    Raises
    ------
    ArgumentError
        When a parameter is out of range.

    Examples
    --------
    >>> import lapwing as lw
    >>> print(lw.privacy.PrivacyUnit("patient", 3))
    patient (at most 3 rows)
    """

    name: Annotated[str, Later]
    most: Annotated[int, From(1, MOST_ROWS)]

    _name: ClassVar = "a unit of privacy"

    def __post_init__(self) -> None:
        """Check both."""
        super().__post_init__()
        named = isinstance(self.name, str) and 0 < len(self.name) <= _LONGEST_NAME
        if not named or not self.name.isprintable():
            raise ArgumentError(
                "name",
                f"must be 1 to {_LONGEST_NAME} printable characters",
                advice="Rename the column",
            )

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.name} (at most {self.most} row{'s' * (self.most > 1)})"


def _sum_text(groups: Sequence[int]) -> str:
    """Return in words whose releases were added: different people, the same, or both.

    >>> _sum_text([1, 1])
    'sum of 2 releases of different people'
    """
    releases = f"sum of {sum(groups)} releases"
    if max(groups) == 1:
        return f"{releases} of different people"
    if len(groups) == 1:
        return f"{releases} of the same people, composed"
    return f"{releases} in {len(groups)} groups of different people, composed within each"


@american
@dataclass(frozen=True)
class Guarantee(FromFields):
    """Differential-privacy guarantee of a randomizer or mechanism (Dwork et al., 2006).

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        Privacy parameter in nats, in (0, 10^9]. It is kept as an exact fraction. A float is read
        as its shortest decimal representation.
    delta : int, float, str, Decimal or Fraction
        Privacy parameter, in [0, 1). Zero is pure differential privacy.
    neighbors : {"replace-one", "add-or-remove-one"}
        Relation between two inputs that must stay indistinguishable. In the local model it is
        always "replace-one", because a report hides which value its sender has.
    model : {"local", "central", "shuffle"}
        Trust model. "local" trusts nobody. "central" trusts a curator with the raw values.
        "shuffle" trusts a shuffler to hide who sent which report.
    lifetime : int, float, str, Decimal or Fraction, optional
        Epsilon of any number of reports that share a device file, where `epsilon` is that of one
        report. Such reports are memoized, or come from a permanent round of
        :class:`lapwing.Rappor`. Comparisons ignore it, and it does not apply to reports without
        such a file. Default: None.
    unit : PrivacyUnit, optional
        In the central model: the unit that is replaced, added or removed, with all its rows.
        Default: one row.
    summed : sequence of int, optional
        In the central model, for a sum of releases: the number of releases in each group. Releases
        in one group are of the same people, and the guarantee covers all of them together.
        Releases in different groups are of different people. Comparisons ignore it. Default: none.
    standing : {"seeded", "simulated", "stated"}, optional
        Why the guarantee is not known to hold. The output was drawn from a seed, its people are
        simulated, or another library drew its noise (:func:`lapwing.read_counts`). Comparisons
        ignore it. Default: None.

    Raises
    ------
    PrivacyError
        When a parameter is out of range.

    References
    ----------
    .. [1] C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private
       data analysis", TCC, 2006. doi:10.1007/11681878_14

    Examples
    --------
    >>> import lapwing as lw
    >>> print(lw.Guarantee(1, 0, "replace-one", "local"))
    epsilon = 1, pure, neighbors replace-one, local model
    >>> memoized = lw.Guarantee("0.1", 0, "replace-one", "local", lifetime=24)
    >>> print(str(memoized).split("model, ")[1])
    all reports from one device file together: epsilon = 24
    """

    epsilon: Exact
    delta: Exact
    neighbors: Neighbors
    model: Model
    # A result that was stored before lifetimes were said has the same promise.
    lifetime: Exact | None = field(default=None, compare=False, kw_only=True, metadata=UNSAID)
    unit: PrivacyUnit | None = field(default=None, kw_only=True, metadata=UNSAID)
    summed: Sequence[int] = field(default=(), compare=False, kw_only=True, metadata={"absent": ()})
    standing: Standing | None = field(default=None, compare=False, kw_only=True, metadata=UNSAID)

    _name: ClassVar = "a guarantee"

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            epsilon: ExactNumber,
            delta: ExactNumber,
            neighbors: Neighbors,
            model: Model,
            *,
            lifetime: ExactNumber | None = None,
            unit: PrivacyUnit | None = None,
            summed: Sequence[int] = (),
            standing: Standing | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Make the numbers exact and check the ranges."""
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, exact_number(getattr(self, name), name=name))
        if not 0 < self.epsilon <= LARGEST_GUARANTEE:
            raise PrivacyError(
                "epsilon", "must be greater than 0 and at most 10^9", shown_number(self.epsilon)
            )
        if not 0 <= self.delta < 1:
            raise PrivacyError("delta", f"must be {requirement(Delta)}", shown_number(self.delta))
        if self.neighbors not in ("replace-one", "add-or-remove-one"):
            raise PrivacyError(
                "neighbors",
                "must be 'replace-one' or 'add-or-remove-one'",
                repr(self.neighbors),
                "Epsilon has no meaning without it",
            )
        if self.model not in ("local", "central", "shuffle"):
            raise PrivacyError("model", "must be 'local', 'central' or 'shuffle'", repr(self.model))
        if self.lifetime is not None:
            lifetime = exact_number(self.lifetime, name="lifetime")
            if not self.epsilon <= lifetime <= LARGEST_GUARANTEE or self.model != "local":
                raise PrivacyError(
                    "lifetime",
                    "is for reports in the local model, and must be at least the epsilon of one",
                )
            object.__setattr__(self, "lifetime", lifetime)
        if self.unit is not None and (
            not isinstance(self.unit, PrivacyUnit) or self.model != "central"
        ):
            raise PrivacyError("unit", "must be a PrivacyUnit, in the central model only")
        object.__setattr__(self, "summed", tuple(self.summed))
        if any(type(size) is not int or size < 1 for size in self.summed) or (
            self.summed and (sum(self.summed) < 2 or self.model != "central")
        ):
            raise PrivacyError(
                "summed",
                "must be whole numbers from 1 on, of two releases or more in the central model",
            )

    def __str__(self) -> str:
        """Return the privacy guarantee in one line."""
        kind = "pure" if self.delta == 0 else f"delta = {float(self.delta):g}"
        promise = (
            f"epsilon = {float(self.epsilon):g}, {kind}, neighbors {self.neighbors}"
            f"{'' if self.unit is None else f' of {self.unit}'}, {self.model} model"
        )
        if self.summed:
            promise += f"; {_sum_text(self.summed)}"
        if self.lifetime is not None:
            lifetime = float(self.lifetime)
            promise += f", all reports from one device file together: epsilon = {lifetime:g}"
        return promise if self.standing is None else f"{promise}; {standing_text(self.standing)}"

    def marked(self, *standings: Standing | None) -> Guarantee:
        """Return the guarantee with these standings in addition to its own.

        Parameters
        ----------
        *standings : {"seeded", "simulated", "stated"} or None
            Standings of everything that the output was made from.

        Returns
        -------
        Guarantee
            The guarantee with the combined standing.
        """
        standing = weakest_standing(self.standing, *standings)
        return self if standing == self.standing else replace(self, standing=standing)


@dataclass(frozen=True)
class Certificate:
    """Privacy certificate: the exact worst-case likelihood ratio of a randomizer.

    The ratio is compared with ``e^epsilon``.

    Parameters
    ----------
    epsilon : Fraction
        Epsilon of the guarantee, in nats.
    ratio : Fraction
        Largest ``P(report | value) / P(report | other value)`` over all reports and pairs of
        values. It is exact, from the integer thresholds that the sampler uses.

    Notes
    -----
    **Privacy.** Every probability of an integer-threshold randomizer is a rational number, so
    `ratio` is exact. :attr:`holds` compares it with a rational lower bound of ``e^epsilon``. The
    contract tests recompute it from the dense table of probabilities on small domains. They also
    test a threshold one above the largest legal one, for which the bound must fail.

    Examples
    --------
    >>> import lapwing as lw
    >>> randomizer = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> certificate = randomizer.certificate()
    >>> certificate.holds, certificate.loss < 1e-9
    (True, True)
    """

    epsilon: Fraction
    ratio: Fraction

    @property
    def bound(self) -> Fraction:
        """Rational lower bound of ``e^epsilon``, within 2^-200 of it."""
        return exponential_bounds(self.epsilon)[0]

    @property
    def holds(self) -> bool:
        """Whether the worst ratio is proved to be at most ``e^epsilon``."""
        return self.ratio <= self.bound

    @property
    def loss(self) -> float:
        """Epsilon that the rounding of thresholds leaves unused: ``epsilon - ln(ratio)``.

        It is computed as ``-ln(1 - (bound - ratio) / bound)`` with exact differences. The two
        logarithms agree to about 16 digits, so their difference in floating point would be noise.
        """
        return -math.log1p(-float((self.bound - self.ratio) / self.bound))

    def check(self) -> Certificate:
        """Return the certificate itself if it holds.

        Returns
        -------
        Certificate
            The same certificate.

        Raises
        ------
        PrivacyError
            When the ratio is not proved to be at most ``e^epsilon``.
        """
        if not self.holds:
            raise PrivacyError(
                f"the worst likelihood ratio must be at most e^{epsilon_text(self.epsilon)}, "
                f"got about {float(self.ratio):.6g}. Do not use these thresholds"
            )
        return self
