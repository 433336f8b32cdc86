"""`lapwing sample`: synthetic values from a result, for whoever needs a table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from lapwing.cli.console import Output, check_ending, check_output, facts, writing
from lapwing.cli.option_groups import argument, named
from lapwing.cli.reading.options import Force, OutputFile
from lapwing.cli.reading.stored_answers import read_result
from lapwing.declared import From, Whole, checked, requirement
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.units import to_text
from lapwing.results.answers import limits_of
from lapwing.results.exact_values import promise_text
from lapwing.results.readable import write_rows
from lapwing.results.rounding import count_text, number_writer
from lapwing.results.symbols import in_numbers
from lapwing.results.unanswered import is_small, reason_of

Size = Annotated[int, From(1, 10**8)]
"""Synthetic values of one table."""
"""Synthetic values in one table: about a gigabyte of CSV."""

_BATCH = 100_000


def sample(
    result_file: Annotated[Path, argument("A decoded distribution, or a release.", "RESULT")],
    size: Annotated[int, named("--size", f"Number of values: {requirement(Size)}.", "N")],
    output: OutputFile,
    force: Force = False,
    seed: Annotated[
        int | None,
        named(
            "--seed",
            f"Seed, {requirement(Whole)}. The same seed gives the same table. Default: a "
            "random one.",
            "S",
        ),
    ] = None,
    column: Annotated[
        str, named("--column -c", "Name of the column in the table.", "NAME")
    ] = "value",
    *,
    out: Output,
) -> None:
    """Synthetic values, drawn from a result.

    The table contains no real person's value. It costs no privacy beyond that of the result, and
    reveals nothing that the result does not. Missing values are empty cells. Values below or above
    the range are written at its ends, because nobody knows where they are. Where the domain clips,
    they are in its first and last bin. A table that is larger than the number of people in the
    result is no more exact than one of their number.
    """
    check_output(output, inputs=[result_file], force=force)
    check_ending(output, [".csv"], what="the table")
    checked(size, Size, name="size")
    checked(seed, Whole | None, name="seed")
    result = read_result(result_file)
    if is_small(result):
        raise ArgumentError(f"{reason_of(result)}, so there is nothing to draw values from")
    _write(output, column, result, size, seed, out)
    document = {
        "command": "sample",
        "size": size,
        "seed": seed,
        "guarantee": None if result.guarantee is None else result.guarantee.to_document(),
        "guarantee_text": promise_text(result),
        "output": str(output),
    }
    table = {
        "synthetic values": count_text(size),
        "privacy guarantee": promise_text(result) or "not known",
    }
    if result.domain.ordered and (limits := limits_of(result.domain)) is not None:
        low, high = map(number_writer(result.domain.unit), limits)
        where = "at the ends" if result.domain.outside_indices else "in the first and last bin"
        table[f"outside {low} to {high}"] = f"written {where}"
    out.show(document, facts(table | {"written": str(output)}))


def _write(path: Path, column: str, result: Any, size: int, seed: int | None, out: Output) -> None:
    """Write a table of one column of synthetic values."""
    rng = np.random.default_rng(seed)
    numbers = in_numbers(result)
    with writing(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8", newline="")
        write_rows(text, [[column]])
        with out.progress("sample", size) as advance:
            for start in range(0, size, _BATCH):
                part = numbers.sample(min(_BATCH, size - start), rng=rng)
                write_rows(text, ([cell] for cell in _cells(part, result.domain)))
                advance(part.size)
        text.detach()  # flushes, and leaves closing to `writing`


def _cells(values: Any, domain: Any) -> list[Any]:
    """Return values as the cells of a table: in the unit of the domain, empty where missing."""
    if values.dtype == object:
        return list(values)
    if domain.name == "integers":
        return [None if np.isnan(x) else int(x) for x in values]
    if domain.unit == "number":
        return [None if np.isnan(x) else float(x) for x in values]
    if domain.unit == "duration":
        return [None if np.isnan(x) else to_text(x, unit="duration") for x in values]
    whole = np.floor(values)  # a moment late in a day or second belongs to it, not to the next
    return [None if np.isnan(x) else to_text(x, unit=domain.unit) for x in whole]
