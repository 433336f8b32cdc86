"""A predicted error, by distance and by kind of column, and the recommended pair that it is of."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from lapwing.decoders.decoder import Decoder, decoder_document
from lapwing.documents import html_of, lines_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.randomizer import Randomizer
from lapwing.results.rounding import count_text, estimate_text, exact_text, length_writer, rounded

USER_LIMIT = 10**9
"""People beyond which nothing is predicted."""


UNITS = {
    "wasserstein": "share of the range",
    "kolmogorov_smirnov": "share of the people",
    "l1": "share of the people, summed over labels",
    "mean_squared_error": "squared share of the people",
    "detectable_share": "share of the people",
}
"""The units of predicted errors, by their distances."""


_MEANINGS = {
    "wasserstein": "of a quantile, on average",
    "kolmogorov_smirnov": "of the share below a value, at worst",
    "l1": "of all shares together",
    "mean_squared_error": "of a share, root mean square",
    "detectable_share": "the smallest share that is listed in 95 % of cases",
}


def error_meaning(distance: str) -> str:
    """Return what the error that :func:`error_text` writes is an error of."""
    return _MEANINGS[distance]


def error_text(distance: str, error: float, domain: Domain) -> str:
    """Return a predicted error in the unit of the values, or in percentage points of shares.

    Parameters
    ----------
    distance : str
    error : float
        In the unit that :data:`UNITS` names.
    domain : Domain

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> clock = Interval("00:00", "24:00", bins=96, unit="time-of-day")
    >>> error_text("wasserstein", 0.0042, clock), error_text("kolmogorov_smirnov", 0.015, clock)
    ('6 minutes', '1.5 points')
    """
    if distance == "wasserstein":
        length = float(domain.right[-1] - domain.left[0])
        return length_writer(domain.unit, digits=2)(rounded(error * length, 2))
    if distance == "detectable_share":
        return f"{estimate_text(100 * error, 2)} %"
    share = math.sqrt(error) if distance == "mean_squared_error" else error
    return f"{estimate_text(100 * share, 2)} points"


SPREAD = 1.5
"""Nine in ten columns of a kind stay below this many times the mean of their kind. Measured on new
columns, also real ones: "Predicted errors" in `benchmarks/accuracy/promises`."""


@dataclass(frozen=True)
class ErrorByKind:
    """Mean error in one distance, on each kind of column.

    Parameters
    ----------
    by_kind : mapping of str to float
        Mean over people, reports and columns of the kind.

    Examples
    --------
    >>> error = ErrorByKind({"smooth": 0.002, "multimodal": 0.003, "spiky": 0.004})
    >>> error.typical, error.low, error.high
    (0.003, 0.002, 0.006)
    """

    by_kind: Mapping[str, float]

    @classmethod
    def of_repeats(cls, errors: Mapping[str, Sequence[float]]) -> ErrorByKind:
        """Return the means of simulated errors.

        Parameters
        ----------
        errors : mapping of str to sequence of float
            Simulated errors by kind of column.

        Returns
        -------
        ErrorByKind
            Mean error of each kind.
        """
        return cls({kind: statistics.fmean(repeats) for kind, repeats in errors.items()})

    @property
    def typical(self) -> float:
        """The mean over the kinds."""
        return statistics.fmean(self.by_kind.values())

    @property
    def low(self) -> float:
        """The mean on the easiest kind."""
        return min(self.by_kind.values())

    @property
    def high(self) -> float:
        """What about nine in ten columns of the hardest kind stay below.

        It is 1.5 times the mean of that kind. With a column that was named there is one kind, and
        this is its mean.
        """
        hardest = max(self.by_kind.values())
        return hardest * SPREAD if len(self.by_kind) > 1 else hardest

    def of(self, kind: str) -> float:
        """Return the error on one kind; of ``"typical"``, the mean over all.

        Parameters
        ----------
        kind : str
            Kind of column, or "typical".

        Returns
        -------
        float
            Mean error.
        """
        return self.typical if kind == "typical" else self.by_kind[kind]

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            JSON object.
        """
        return {"typical": self.typical, "by_kind": dict(self.by_kind)}


@dataclass(frozen=True)
class ExpectedError(Mapping[str, ErrorByKind]):
    """Expected error of an estimate: a mapping from distance to error.

    It says how far an estimate will be from the truth.

    Parameters
    ----------
    method : Randomizer or Mechanism
        That makes the data private.
    people : int
        The people whose values are estimated.
    distances : mapping of str to ErrorByKind
        Mean errors of the decoded answer. Of reports of numbers: ``"wasserstein"``, as a share of
        the range, and ``"kolmogorov_smirnov"``. Of reports of labels: ``"detectable_share"`` and,
        of up to 2^18 labels, ``"l1"`` and ``"mean_squared_error"``. These are distances to the
        people who report. Of a release of numbers: ``"kolmogorov_smirnov"``, to the population
        they are drawn from. Of a release of labels: none.
    predicted_by : {"table", "simulation", "formula"}
        Where the numbers come from.
    deviation : float or None
        Of a release: the standard deviation of the noise in an unbiased share, exact. Of numbers
        it is the root mean square over the unbiased CDF at all symbols but the last. None for
        adaptive mechanisms, whose noise depends on the data, and for reports; so are the rest.
    largest_deviation : float or None
        Of a release of numbers: the largest standard deviation in the unbiased CDF.
    noise : float or None
        Of a release of numbers: the expected Kolmogorov-Smirnov distance to these people that the
        noise alone causes.
    sampling : float or None
        Of a release of numbers: the expected Kolmogorov-Smirnov distance of these people to those
        they are drawn from, where all symbols are alike.
    together : float or None
        Of both. None also for projections, whose own error is on top and not known.
    margin : float or None
        Of a release of labels: the noise of one share is within this, at 95 %.
    simultaneous_margin : float or None
        Of a release of labels: the noise of all shares is within this at once, at 95 %.

    Examples
    --------
    >>> import lapwing as lw
    >>> error = lw.expected_error(lw.Interval(0, 100), 100_000, epsilon=1)
    >>> 0.001 < error["wasserstein"].low < error["wasserstein"].high < 0.02
    True
    """

    method: Any
    people: int
    distances: Mapping[str, ErrorByKind]
    predicted_by: Literal["table", "simulation", "formula"]
    deviation: float | None = None
    largest_deviation: float | None = None
    noise: float | None = None
    sampling: float | None = None
    together: float | None = None
    margin: float | None = None
    simultaneous_margin: float | None = None

    def __getitem__(self, distance: str) -> ErrorByKind:
        """Return the error in one distance."""
        return self.distances[distance]

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the distances."""
        return iter(self.distances)

    def __len__(self) -> int:
        """Return how many distances there are."""
        return len(self.distances)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the keys that this kind of error has.

        Returns
        -------
        dict
            JSON object.
        """
        numbers = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.default is None and getattr(self, field.name) is not None
        }
        return {
            "method": self.method.to_document(),
            "people": self.people,
            "distances": {name: error.to_document() for name, error in self.items()},
            "predicted_by": self.predicted_by,
            **numbers,
        }


def people_needed(error_of: Callable[[int], float], target: float) -> float:
    """Return the smallest number of people whose error is at most the target, or infinity.

    Parameters
    ----------
    error_of : callable
        Falls with the people.
    target : float

    Examples
    --------
    >>> people_needed(lambda people: people**-0.5, 0.1)
    100
    """
    if error_of(USER_LIMIT) > target:
        return math.inf
    low, high = 0, USER_LIMIT
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if error_of(middle) <= target else (middle, high)
    return high


@dataclass(frozen=True, repr=False)
class Recommendation:
    """Recommendation: the method to use, and its expected error.

    Parameters
    ----------
    randomizer : Randomizer
        Recommended randomizer.
    decoder : Decoder
        The one that :meth:`lapwing.Survey.decode` takes by itself.
    expected_error : ExpectedError
        By distance, to the people who report. The sampling of these people from a larger
        population adds to it.
    reason : str
        Why, in a sentence or two.
    """

    randomizer: Randomizer
    decoder: Decoder
    expected_error: ExpectedError
    reason: str

    @property
    def users(self) -> int:
        """The people that were given, or the fewest whose predicted error meets the target."""
        return self.expected_error.people

    @property
    def predicted_by(self) -> str:
        """Where the errors come from: "table", "simulation" or "formula"."""
        return self.expected_error.predicted_by

    @property
    def report_bytes(self) -> int:
        """Bytes of one report."""
        return self.randomizer.report_width

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            JSON object.
        """
        return {
            "randomizer": self.randomizer.to_document(),
            "decoder": decoder_document(self.decoder),
            "users": self.users,
            "expected_error": {
                distance: error.to_document() for distance, error in self.expected_error.items()
            },
            "report_bytes": self.report_bytes,
            "predicted_by": self.predicted_by,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        """Return what to use and what to expect, a line each, and why."""
        return f"{lines_of(self._facts)}\n{self.reason}"

    def __repr__(self) -> str:
        """Return one line: the pair, and for how many people."""
        pair = f"{self.randomizer.name} with {self.decoder.name}"
        return f"<Recommendation of {pair} for {self.users:,} people>"

    def _repr_html_(self) -> str:
        """Return the same as a notebook shows it."""
        return html_of({**self._facts, "why": self.reason})

    @property
    def _facts(self) -> dict[str, str]:
        epsilon = exact_text(self.randomizer.epsilon)
        facts = {
            "randomizer": f"{self.randomizer.name}, epsilon = {epsilon}",
            "decoder": self.decoder.name,
            "people": count_text(self.users),
            "report": f"{self.report_bytes} byte{'s' if self.report_bytes != 1 else ''}",
        }
        for distance, error in self.expected_error.items():
            typical, low, high = (
                error_text(distance, each, self.randomizer.domain)
                for each in (error.typical, error.low, error.high)
            )
            text = f"{typical}, {error_meaning(distance)}"
            if low != high:
                text += f"; {low} on easy columns; of hard ones nine in ten stay below {high}"
            facts[f"error, {distance.replace('_', ' ')}"] = text
        return facts
