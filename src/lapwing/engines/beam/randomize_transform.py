"""Values into reports within a pipeline, each value once for whatever stands behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lapwing.engines.arrow.arrow_values import labels_of, values_of
from lapwing.engines.arrow.report_tables import report_batch
from lapwing.engines.beam.beam_package import DoFn, PTransform, beam_or_error
from lapwing.engines.beam.combine_functions import batches_of, column_in
from lapwing.protocol.domains.text_values import Texts
from lapwing.survey.survey import Survey


class RandomizeValues(PTransform):  # type: ignore[misc]
    """Batches of Arrow with a column of values, as batches with a column of reports.

    Parameters
    ----------
    survey : Survey
    column : str
        The values.
    by : str, optional
        A column of public labels that stays beside the reports, in the clear.
    texts : {"iso", "days", "seconds"}
        How texts of dates and times are read.

    Raises
    ------
    DomainError
        While the pipeline runs: at a value that the survey's domain refuses, with its position in
        the batch.

    Privacy
    -------
    A runner may run a bundle again, and then its values are randomized anew; two different reports
    of one value that somebody sees cost twice. So a Reshuffle stands behind the randomness: what
    comes after it gets the output of the one run that was committed, again and again the same.
    Whatever writes to the outside must stand behind this transform. A runner that keeps nothing
    between its stages (Spark's, after it lost an executor) can make the first stage again: there,
    write the reports with a file sink, read them, and go on from the files. That is what
    :func:`lapwing.engines.beam.beam_files.randomize` does.

    Randomness is the operating system's, on each worker its own. Randomized where the values lie,
    they were given away before: this protects from whoever reads the reports.
    """

    def __init__(
        self,
        survey: Survey,
        *,
        column: str,
        by: str | None = None,
        texts: Texts = "iso",
    ) -> None:
        super().__init__()
        self.work = _Randomizing(survey, column, by, texts)

    def expand(self, batches: Any) -> Any:
        """Return the PCollection of reports."""
        beam = beam_or_error()
        return batches | beam.ParDo(self.work) | beam.Reshuffle()


class _Randomizing(DoFn):  # type: ignore[misc]
    """A batch of values into a batch of reports."""

    def __init__(self, survey: Survey, column: str, by: str | None, texts: Texts) -> None:
        super().__init__()
        self.survey, self.column, self.by, self.texts = survey, column, by, texts

    def process(self, rows: Any) -> Iterator[Any]:
        """Yield a batch of reports."""
        for batch in batches_of(rows):
            values = values_of(
                column_in(batch, self.column),
                self.survey.randomizer.domain,
                column=self.column,
                typed=True,
                texts=self.texts,
            )
            labels = None
            if self.by is not None:
                labels = labels_of(column_in(batch, self.by), column=self.by)
            yield report_batch(
                self.survey.randomize(values), self.survey, labels=labels, by=self.by
            )
