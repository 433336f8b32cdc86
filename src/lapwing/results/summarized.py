"""What is asked of a distribution most often, by the names that SciPy and pandas have for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.protocol.domains.units import to_text
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import html_of, lines_of, summary_of
from lapwing.results.answers import cdf_columns, result_answer
from lapwing.results.band import Band, Kind
from lapwing.results.readable import Columns, equal_results, frame_of, hash_of_result
from lapwing.results.symbols import values_of


class Summarized:
    """The part of a Distribution that follows from its other answers."""

    __eq__ = equal_results
    __hash__ = hash_of_result

    @property
    def _whole(self) -> Any:
        return self  # a Distribution, whose file reads this one

    def median(self) -> NDArray[np.float64]:
        """Return the quantile of 1/2; `quantile_interval(0.5)` is its interval."""
        middle: NDArray[np.float64] = self._whole.quantile(0.5)
        return middle

    def to_dict(self, *, level: float = 0.95, kind: Kind = "pointwise") -> Columns:
        """Return a table as a dict of columns, one row for each symbol of the domain.

        Parameters
        ----------
        level : float
            Of the intervals, in (0, 1).
        kind : {"pointwise", "simultaneous"}
            Whether the level holds for each row alone, or for all rows at once: take that for
            what was picked because it stands out.

        Returns
        -------
        dict of str to list
            For numbers `left`, `right` (texts of dates and times), `share`, and the CDF at the
            right end (P(date < right) of dates) with its interval: `cdf`, `low`, `high`, which
            never fall (:meth:`Band.monotone`) and hold it. For labels `label` and `share` with
            its interval: `low`, `high`. None where there is none, as for the missing symbol.
            `share` is of all people, a CDF of those whose value is present; where the domain has
            a missing symbol, `share_of_present` is the share among those. :meth:`to_document`
            returns everything, for a file.
        """
        return _columns(self._whole, self._whole.confidence_band(level, kind=kind))

    def to_pandas(self, *, level: float = 0.95, kind: Kind = "pointwise") -> Any:
        """Return :meth:`to_dict` as a pandas DataFrame; MissingExtraError without pandas."""
        return frame_of(self.to_dict(level=level, kind=kind))

    def summary(self, *, level: float = 0.95) -> str:
        """Return a few lines for people: the privacy guarantee, and the first answers.

        Of more than 20 labels the largest are listed. Their intervals are simultaneous, because
        they were chosen for being large.
        """
        return lines_of(self._facts(level))

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return html_of(self._facts(0.95))

    def _facts(self, level: float) -> dict[str, str]:
        request = AnswerRequest(
            level=level, probabilities=(0.1, 0.25, 0.5, 0.75, 0.9), range_errors=False, atoms=False
        )
        return summary_of(result_answer(self._whole, request))


def _columns(result: Any, band: Band | None) -> Columns:
    domain, shares = result.domain, result.mass.tolist()
    present: Columns = {}
    if domain.missing_index is not None:
        held = 1 - result._missing_share
        among = [share / held if held > 0 else None for share in shares[:-1]]
        present = {"share_of_present": [*among, None]}
    if not domain.ordered:
        ends = None if band is None else band.reaching(result.mass)
        nothing: list[Any] = [None] * domain.size
        low, high = (nothing, nothing) if ends is None else (ends.low.tolist(), ends.high.tolist())
        labels = values_of(domain, np.arange(domain.size))
        return {"label": labels, "share": shares, **present, "low": low, "high": high}
    left, right = domain.left.tolist(), domain.right.tolist()
    if domain.unit != "number":
        left, right = ([to_text(end, unit=domain.unit) for end in ends] for ends in (left, right))
    absent = [None] * (domain.size - len(left))  # of the missing symbol there is a share only
    if result._missing_share < 1:
        curve = cdf_columns(result, band)
    else:
        curve = {name: [None] * len(left) for name in ("cdf", "low", "high")}
    return {
        "left": left + absent,
        "right": right + absent,
        "share": shares,
        **present,
        **{name: column + absent for name, column in curve.items()},
    }
