"""A pipeline over pieces of files whose one result comes back to the program that launched it."""

from __future__ import annotations

import os
import shlex
import tempfile
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lapwing import errors
from lapwing.documents import canonical, parse
from lapwing.engines.beam.beam_package import CombineFn, DoFn, beam_or_error
from lapwing.errors import ArgumentError, EngineError, LapwingError

Unit = tuple[int, int, list[int] | None]
"""The number of a table, the rows before the piece, its row groups or None for the whole."""

SETTING = "LAPWING_BEAM_OPTIONS"
"""The environment variable with Beam's options, where nobody gives any."""

_ROWS = "rows"
"""The tag of what a piece gives beside its outcome."""


@dataclass(frozen=True)
class Failure:
    """What is wrong in the data, as an error that the launching program raises.

    Ordered as the rows are: by the number of the table, then by the row.
    """

    number: int
    row: int
    kind: str
    message: str
    position: int | None

    @classmethod
    def of(cls, error: LapwingError, number: int, first: int) -> Failure:
        """Return an error that a piece met, of which so many rows stand before."""
        position = getattr(error, "position", None)
        kind = type(error).__name__
        if isinstance(error, errors.TornFileError):
            return cls(number, first, "FormatError", f"{error}; nothing was counted", None)
        return cls(number, first if position is None else position, kind, str(error), position)

    @property
    def place(self) -> tuple[int, int]:
        """What failures are ordered by."""
        return self.number, self.row

    def error(self) -> LapwingError:
        """Return the error."""
        kind = getattr(errors, self.kind)
        about = {} if self.position is None else {"position": self.position}
        made: LapwingError = kind(self.message, **about)
        return made


@dataclass(frozen=True)
class Outcome:
    """What pieces gave: something that adds (None where there was nothing), the first failure."""

    total: Any = None
    failure: Failure | None = None

    def __add__(self, other: Outcome) -> Outcome:
        """Return the outcome of both."""
        failures = [one for one in (self.failure, other.failure) if one is not None]
        first = min(failures, key=lambda one: one.place, default=None)
        if self.total is None or other.total is None:
            return Outcome(other.total if self.total is None else self.total, first)
        try:
            return Outcome(self.total + other.total, first)
        except LapwingError as error:  # more groups than there may be
            return Outcome(self.total, Failure.of(error, -1, 0))


class AddOutcomes(CombineFn):  # type: ignore[misc]
    """The sum of outcomes."""

    def create_accumulator(self) -> Outcome:
        """Return the outcome of nothing."""
        return Outcome()

    def add_input(self, total: Outcome, element: Outcome) -> Outcome:
        """Add one."""
        return total + element

    def merge_accumulators(self, parts: Iterable[Outcome]) -> Outcome:
        """Add all."""
        total = Outcome()
        for one in parts:
            total += one
        return total

    def extract_output(self, total: Outcome) -> Outcome:
        """Return the sum."""
        return total


class PieceWork(DoFn):  # type: ignore[misc]
    """What is done with each piece; what is wrong in it is part of its outcome."""

    @abstractmethod
    def work(self, number: int, first: int, groups: list[int] | None) -> Iterator[Any]:
        """Yield what adds up; or that, and rows that stand beside it."""

    def process(self, unit: Unit) -> Iterator[Any]:
        """Yield outcomes, and rows under their own tag."""
        tagged = beam_or_error().pvalue.TaggedOutput
        number, first, _ = unit
        try:
            for made in self.work(*unit):
                if isinstance(made, tuple):
                    made, rows = made
                    yield tagged(_ROWS, rows)
                yield Outcome(made)
        except LapwingError as error:
            yield Outcome(None, Failure.of(error, number, first))


def run(
    units: Sequence[Unit],
    work: PieceWork,
    *,
    to_document: Callable[[Any], Any],
    from_document: Callable[[Any], Any],
    options: Any = None,
    write: Callable[[Any], Any] | None = None,
) -> Any:
    """Run a pipeline over pieces, and return the sum of what they gave; None where it is nothing.

    Parameters
    ----------
    units : sequence of Unit
    work : PieceWork
    to_document, from_document : callable
        The sum as what JSON can say, and back.
    options : PipelineOptions or sequence of str, optional
        Default: those in the variable LAPWING_BEAM_OPTIONS; and without a runner the one of Beam
        that works in this process, which is asked for by name because the one that a pipeline takes
        by itself downloads a program first.
    write : callable, optional
        Given the PCollection of rows that stand beside the sums.

    Raises
    ------
    LapwingError
        The first that a piece met, in the order of the rows.
    EngineError
        When the pipeline could not be run: its cause is what Beam raised.
    """
    beam = beam_or_error()
    chosen, shared = _options(options)
    with tempfile.TemporaryDirectory(prefix="lapwing-beam-") as private:
        place = f"{shared or private}/lapwing-result-{uuid.uuid4().hex}"
        try:
            with beam.Pipeline(**chosen) as pipeline:
                made = (
                    pipeline
                    | beam.Create(units)
                    | beam.ParDo(work).with_outputs(_ROWS, main="outcomes")
                )
                (
                    made["outcomes"]
                    | "Add" >> beam.CombineGlobally(AddOutcomes())
                    | "Encode" >> beam.Map(_Encoding(to_document))
                    | "Result"
                    >> beam.io.WriteToText(
                        place,
                        num_shards=1,
                        shard_name_template="",
                        append_trailing_newlines=False,
                        coder=beam.coders.BytesCoder(),
                    )
                )
                if write is not None:
                    write(made[_ROWS])
            document = _read(place)
        except LapwingError:
            raise
        except Exception as error:
            raise _failed(error) from error
        finally:
            if shared:
                _delete(place)
    if document["failure"] is not None:
        raise Failure(**document["failure"]).error()
    return None if document["total"] is None else from_document(document["total"])


def _failed(error: Exception) -> EngineError:
    """Say that the pipeline failed, and not what it read: that may be in Beam's own words."""
    if "No module named 'lapwing" in str(error):
        return EngineError(
            "the workers must have lapwing installed, as the launching program has; give them "
            "a container or a package that has it (--sdk_container_image, --extra_package)"
        )
    return EngineError(
        f"the Beam pipeline failed with a {type(error).__name__}; its log says where and why. "
        "Nothing was counted or written; mend it and start again"
    )


@dataclass(frozen=True)
class _Encoding:
    """An outcome as the bytes of one file."""

    to_document: Callable[[Any], Any]

    def __call__(self, outcome: Outcome) -> bytes:
        total = None if outcome.total is None else self.to_document(outcome.total)
        failure = None if outcome.failure is None else vars(outcome.failure)
        return canonical({"total": total, "failure": failure})


def _options(options: Any) -> tuple[dict[str, Any], str | None]:
    """Return the arguments of a pipeline, and the folder that all workers see, if there is one."""
    from apache_beam.options import pipeline_options as of_beam
    from apache_beam.runners.portability.fn_api_runner import FnApiRunner
    from apache_beam.runners.runner import create_runner

    if options is None:
        options = shlex.split(os.environ.get(SETTING, ""))
    if isinstance(options, list | tuple):
        # Not without flags: Beam would read those of the program that runs.
        options = of_beam.PipelineOptions(flags=list(options))
    if not isinstance(options, of_beam.PipelineOptions):
        raise ArgumentError(
            "options must be Beam's PipelineOptions, or a list of texts such as "
            f"'--runner=FlinkRunner'; got a {type(options).__name__}"
        )
    chosen: dict[str, Any] = {"options": options}
    runner = options.view_as(of_beam.StandardOptions).runner
    if runner is None:
        return chosen | {"runner": FnApiRunner()}, None
    try:
        create_runner(runner)
    except (ImportError, ValueError):
        raise ArgumentError(
            f"there must be a Beam runner {str(runner)[:60]!r} (--runner), there is none; take one "
            "of Beam's, or install what brings it"
        ) from None
    return chosen, options.view_as(of_beam.GoogleCloudOptions).temp_location


def _read(place: str) -> dict[str, Any]:
    from apache_beam.io.filesystems import FileSystems

    if not FileSystems.exists(place):
        raise EngineError(
            "the result of the pipeline is in no place that this program sees; name a folder that "
            "the workers and this program share: --temp_location"
        )
    with FileSystems.open(place) as stream:
        document: dict[str, Any] = parse(stream.read(), name="the result of the pipeline")
    return document


def _delete(place: str) -> None:
    from apache_beam.io.filesystems import FileSystems

    if FileSystems.exists(place):
        FileSystems.delete([place])
