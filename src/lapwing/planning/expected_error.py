"""A predicted error, by distance and kind of column, and the recommended pair."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from lapwing.decoders.decoder import Decoder, decoder_document
from lapwing.docstrings import inherits
from lapwing.facts import html_of, lines_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.randomizer import Randomizer
from lapwing.questions import Mean, Quantile, Question
from lapwing.results.rounding import count_text, estimate_text, exact_text, length_writer, rounded

USER_LIMIT = 10**9
"""People beyond which nothing is predicted."""


UNITS = {
    "wasserstein": "share of the range",
    "kolmogorov_smirnov": "share of the people",
    "l1": "share of the people, summed over labels",
    "mean_squared_error": "squared share of the people",
    "detectable_share": "share of the people",
    "rectangle": "share of the people",
}
"""The units of predicted errors, by their distances."""


_MEANINGS = {
    "wasserstein": "mean error of a quantile",
    "kolmogorov_smirnov": "largest error of the share below any value",
    "l1": "sum of the errors of all shares",
    "mean_squared_error": "root mean square error of a share",
    "detectable_share": "smallest share listed in 95% of cases",
    "rectangle": "root mean square error of the share in a rectangle of both attributes",
}


def error_meaning(distance: str) -> str:
    """Return the description of the error that :func:`error_text` writes."""
    return _MEANINGS[distance]


def error_text(distance: str, error: float, domain: Domain) -> str:
    """Return a predicted error in the unit of the values, or in percentage points of shares.

    distance: Name of the distance.
    error: Error in the unit that :data:`UNITS` names.
    domain: Domain of the values.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> clock = Interval("00:00", "24:00", bins=96, unit="time-of-day")
    >>> error_text("wasserstein", 0.0042, clock), error_text("kolmogorov_smirnov", 0.015, clock)
    ('6 minutes', '1.5 points')
    """
    if distance == "wasserstein":
        length = float(domain.right[-1] - domain.left[0])
        return length_writer(domain.unit, digits=2)(rounded(error * length, 2))
    if distance == "detectable_share":
        return f"{estimate_text(100 * error, 2)}%"
    share = math.sqrt(error) if distance == "mean_squared_error" else error
    return f"{estimate_text(100 * share, 2)} points"


def question_error_text(question: Question, error: ErrorByKind, domain: Domain) -> str:
    """Return the expected error of a question, in its unit or in percentage points.

    error: On the columns of :attr:`ExpectedError.questions`.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> from lapwing.questions import Mean, Share
    >>> ages = Interval(0, 100, bins=50)
    >>> error = ErrorByKind({"smooth": 0.0123})
    >>> [question_error_text(each, error, ages) for each in (Mean(), Share(above=50))]
    ['0.012', '1.2 percentage points']
    """
    in_units = isinstance(question, Quantile) and [*error.by_kind] == ["like"]
    if isinstance(question, Mean) or in_units:
        return length_writer(domain.unit, digits=2)(rounded(error.typical, 2))
    ranks = " of rank" if isinstance(question, Quantile) else ""
    return f"{estimate_text(100 * error.typical, 2)} percentage points{ranks}"


SPREAD = 1.5
"""Nine in ten columns of a kind stay below this many times the mean of their kind."""
# Measured on new columns, also real ones: "Predicted errors" in `benchmarks/accuracy/promises`.


@dataclass(frozen=True)
class ErrorByKind:
    """Mean error in one distance, on each kind of column.

    Parameters
    ----------
    by_kind : mapping of str to float
        Mean error of each kind, over people, reports and columns of the kind. Its unit is that of
        the distance.

    Examples
    --------
    >>> import lapwing as lw
    >>> error = lw.planning.ErrorByKind({"smooth": 0.002, "multimodal": 0.003, "spiky": 0.004})
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
        """Mean error over the kinds."""
        return statistics.fmean(self.by_kind.values())

    @property
    def low(self) -> float:
        """Mean error on the easiest kind."""
        return min(self.by_kind.values())

    @property
    def high(self) -> float:
        """Error that about nine in ten columns of the hardest kind do not exceed.

        It is 1.5 times the mean of that kind. With a given column there is one kind, and this is
        its mean.
        """
        hardest = max(self.by_kind.values())
        return hardest * SPREAD if len(self.by_kind) > 1 else hardest

    def of(self, kind: str) -> float:
        """Return the error on one kind of column.

        Parameters
        ----------
        kind : str
            Kind of column, or "typical" for the mean over all kinds.

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

    It predicts how far an estimate will be from the truth.

    Parameters
    ----------
    method : Randomizer or Mechanism
        Randomizer of the reports, or mechanism of the release.
    people : int
        Number of people whose values are estimated.
    distances : mapping of str to ErrorByKind
        Mean errors of the decoded answer. For reports of numbers: ``"wasserstein"``, as a share of
        the range, and ``"kolmogorov_smirnov"``. For reports of labels: ``"detectable_share"`` and,
        up to 2^18 labels, ``"l1"`` and ``"mean_squared_error"``. For reports of pairs:
        ``"rectangle"``, the root mean squared error of the share in a random rectangle. These are
        distances to the respondents. For a release of numbers: ``"kolmogorov_smirnov"``, to the
        population. For a release of labels: none.
    predicted_by : {"table", "simulation", "formula"}
        Source of the numbers.
    deviation : float or None
        For a release, the exact standard deviation of the noise in an unbiased share. For numbers
        it is the root mean square over the unbiased CDF at all bins except the last. It is None
        for adaptive mechanisms, whose noise depends on the data, and for reports. The fields below
        are then None as well.
    largest_deviation : float or None
        For a release of numbers, the largest standard deviation in the unbiased CDF.
    noise : float or None
        For a release of numbers, the expected Kolmogorov-Smirnov distance to these people due to
        noise alone.
    sampling : float or None
        For a release of numbers, the expected Kolmogorov-Smirnov distance of these people to the
        population, if all bins have the same share.
    together : float or None
        Expected distance due to noise and sampling. None also for projections, which add an
        unknown error.
    margin : float or None
        For a release of labels, the pointwise 95% margin of the noise in a share.
    simultaneous_margin : float or None
        For a release of labels, the simultaneous 95% margin of the noise in all shares.
    segment : ExpectedError or None
        By segment, the error within a segment, if all have the same number of people.
    questions : mapping of str to ErrorByKind, or None
        For reports with questions, the root mean square error of each, by its string form. The
        error of a mean is in the unit of the values, and that of a share in shares of the people.
        The error of a quantile is in the unit of the values if a column was given as `like`.
        Without one it is the error of the share below the quantile, and so in ranks.

    See Also
    --------
    lapwing.expected_error : Computes it.

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
    segment: ExpectedError | None = None
    questions: Mapping[str, ErrorByKind] | None = None

    def __getitem__(self, distance: str) -> ErrorByKind:
        """Return the error in one distance."""
        return self.distances[distance]

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the distances."""
        return iter(self.distances)

    def __len__(self) -> int:
        """Return how many distances there are."""
        return len(self.distances)

    @inherits(ErrorByKind.to_document)
    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the keys that this kind of error has."""
        numbers = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.default is None
            and field.name not in ("segment", "questions")
            and getattr(self, field.name) is not None
        }
        asked = {name: error.to_document() for name, error in (self.questions or {}).items()}
        return {
            "method": self.method.to_document(),
            "people": self.people,
            "distances": {name: error.to_document() for name, error in self.items()},
            "predicted_by": self.predicted_by,
            **numbers,
            **({} if self.segment is None else {"segment": self.segment.to_document()}),
            **({"questions": asked} if asked else {}),
        }


def people_needed(error_of: Callable[[int], float], target: float) -> float:
    """Return the smallest number of people whose error is at most the target, or infinity.

    error_of: Error for a number of people. It falls with their number.
    target: Largest acceptable error.

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
        Recommended decoder, which :meth:`lapwing.Survey.decode` uses by default.
    expected_error : ExpectedError
        Expected distance of the estimate to the respondents. The sampling of these people from a
        larger population adds to it.
    reason : str
        Reason for the choice, in a sentence or two.
    questions : tuple of Question
        Questions for which it was chosen. Empty for the whole curve.

    See Also
    --------
    lapwing.recommend : Makes it.

    Examples
    --------
    >>> import lapwing as lw
    >>> best = lw.recommend(lw.Interval(0, 100, bins=256), epsilon=1, users=100_000)
    >>> best.randomizer.name, best.decoder.name, best.users
    ('multiscale-wave', 'spectral-prior', 100000)
    """

    randomizer: Randomizer
    decoder: Decoder
    expected_error: ExpectedError
    reason: str
    questions: tuple[Question, ...] = ()

    @property
    def users(self) -> int:
        """Number of people that was given, or the fewest whose predicted error meets the target."""
        return self.expected_error.people

    @property
    def predicted_by(self) -> str:
        """Source of the errors: "table", "simulation" or "formula"."""
        return self.expected_error.predicted_by

    @property
    def report_bytes(self) -> int:
        """Bytes of one report."""
        return self.randomizer.report_width

    @inherits(ErrorByKind.to_document)
    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
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
            **({"questions": self._question_rows} if self.questions else {}),
        }

    @property
    def _question_rows(self) -> list[dict[str, Any]]:
        """The questions, each with its expected error where one is known."""
        known = self.expected_error.questions or {}
        errors = [known.get(str(each)) for each in self.questions]
        return [
            {
                "question": each.to_document(),
                "expected_error": None if error is None else error.to_document(),
            }
            for each, error in zip(self.questions, errors, strict=True)
        ]

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
            text = f"{error_meaning(distance)}: {typical}"
            if distance == "wasserstein":
                text += f" ({estimate_text(100 * error.typical, 2)}% of the range)"
            if low != high:
                text += (
                    f" averaged over kinds of columns, {low} for the easiest kind. 9 of 10 columns "
                    f"of the hardest kind stay below {high}"
                )
            text = text.replace(" points", " percentage points")
            facts[f"error, {distance.replace('_', ' ')}"] = text
        for question in self.questions:
            known = (self.expected_error.questions or {}).get(str(question))
            if known is not None:
                text = question_error_text(question, known, self.randomizer.domain)
                facts[f"error, {question}"] = text
        return facts
