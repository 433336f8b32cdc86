"""The options that several commands share, and the parameters of a class that ``--set`` names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

from lapwing.cli.option_groups import argument, named, option
from lapwing.declared import Between, declared_fields, excludes, received, requirement
from lapwing.documents import nearest
from lapwing.engines.arrow.ordered_work import threads_or_all
from lapwing.errors import ArgumentError, LapwingError
from lapwing.privacy.guarantee import Neighbors
from lapwing.registry import hint

if TYPE_CHECKING:
    from lapwing.results.uncertainty import Target

SurveyFile = Annotated[Path, argument("The survey's JSON document (lapwing new).", "SURVEY")]

_WRITTEN = (
    "The file to write. It is written whole or not at all. An existing file is replaced only with "
    "--force."
)

_OUTPUT = named("--output -o", _WRITTEN, "FILE")

OutputFile = Annotated[Path, _OUTPUT]

OutputUnlessTried = Annotated[
    Path | None, named("--output -o", f"{_WRITTEN} Required, except with --dry-run.", "FILE")
]
"""The same of a command that can be tried without writing anything."""

Force = Annotated[
    bool,
    named(
        "--force",
        "Replace an output that already exists, unless it is read-only. After an error, the "
        "old file is unchanged.",
    ),
]

AllowEqual = Annotated[
    list[str] | None,
    named(
        "--allow-equal",
        "Count this input although it equals an earlier one, because it is about different "
        "people. May be repeated. By default, a copy is refused.",
        "NAME",
    ),
]

ColumnName = Annotated[
    str | None,
    named(
        "--column -c",
        "The column with the values. May be left out for a table of one column, unless it "
        "is a CSV of labels, whose first line may be a label.",
        "NAME",
    ),
]

NoHeader = Annotated[
    bool,
    named("--no-header", "The CSV has no line of column names. Its columns are named 1, 2, 3."),
]

DecimalName = Annotated[
    str | None,
    named(
        "--decimal",
        "The decimal mark of numbers in text: . (default) or , as in 1,5. Required for a "
        "CSV whose fields are separated by semicolons, because it may use either mark.",
        "MARK",
    ),
]

ThousandsName = Annotated[
    str | None,
    named(
        "--thousands",
        "The thousands separator of numbers in text, as in 1,234.5: , or . or ' or a "
        "space. Currency and percent signs are then ignored, so $1,234 is 1234 and 12% is "
        "12.",
        "MARK",
    ),
]

EncodingName = Annotated[
    str | None,
    named(
        "--encoding",
        "The encoding of a CSV, such as cp1252. Default: UTF-8, or UTF-16 if the file "
        "begins with its byte-order mark.",
        "NAME",
    ),
]

Level = Annotated[
    float, named("--level", f"Coverage of the intervals, {requirement(Between)}.", "LEVEL")
]

SegmentName = Annotated[
    str | None,
    named(
        "--segment",
        'The segment of tallies or of a release by segment. "(no segment)" selects the '
        "rows of a release in no segment.",
        "NAME",
    ),
]

Settings = Annotated[
    list[str] | None,
    named(
        "--set",
        "A parameter of the randomizer, decoder or mechanism. Write lists as JSON. An "
        "unknown name shows all parameters. May be repeated.",
        "NAME=VALUE",
    ),
]


def check_level(level: float) -> None:
    """Raise ArgumentError unless it is the level of an interval, before anything is read."""
    from lapwing.results import uncertainty  # slow to import

    uncertainty.check_level(level)


def target_of(typed: str) -> Target:
    """Return whom intervals are about. ArgumentError when it is another word."""
    from lapwing.results.uncertainty import Target  # slow to import

    if typed not in get_args(Target):
        raise ArgumentError("target", "must be 'population' or 'empirical'", repr(typed))
    return cast("Target", typed)


def relation_of(typed: str) -> Neighbors:
    """Return what is protected. ArgumentError when it is no relation."""
    if typed not in get_args(Neighbors):
        raise ArgumentError(
            "neighbors",
            "must be replace-one (the number of rows is public) or add-or-remove-one",
            f"{typed!r}{nearest(typed, get_args(Neighbors))}",
        )
    return cast(Neighbors, typed)


def pick(table: Mapping[str, type[Any]], name: str, *, what: str) -> type[Any]:
    """Return the class of a name. ArgumentError lists the names and suggests the nearest."""
    if name in table:
        return table[name]
    raise ArgumentError(
        f"{what} must be one of {', '.join(table)}, got {name!r}{hint(name, table)}"
    )


def parameters_of(made: type[Any]) -> dict[str, str]:
    """Return the parameters of a randomizer, decoder or mechanism, and what each must be."""
    return {
        name: requirement(hint, typed=True)
        for name, hint in declared_fields(made).items()
        if name not in ("domain", "epsilon")
    }


def make_with_settings(made: type[Any], *arguments: Any, settings: Sequence[str]) -> Any:
    """Return a randomizer or decoder with the parameters that were typed.

    arguments: Before the parameters: domain and epsilon of a randomizer.
    settings: "name=value", so that a new class needs no new option. A list is JSON.

    Raises ArgumentError when the class has no such parameter, one is given twice or its value is of
    a wrong type.
    """
    given: dict[str, Any] = {}
    typed: dict[str, str] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ArgumentError("set", "must be NAME=VALUE", repr(setting))
        if name in given:
            raise ArgumentError(f"{name!r} must be given only once")
        given[name], typed[name] = _value(text.strip(), name), text.strip()
    known = parameters_of(made)
    hints = declared_fields(made)
    for name in given:
        if name not in known:
            has = ", ".join(f"{one} ({known[one]})" for one in known) or "none"
            option = name.replace("_", "-")
            raise ArgumentError(
                f"{made.name} has no parameter {option!r}{nearest(name, known)}. It has: {has}"
            )
    try:
        for name, value in given.items():
            if excludes(hints[name], value):
                # As it was typed: true, not True. Of a list, the entry that is wrong.
                plain = isinstance(value, bool | float)
                said = typed[name] if plain else received(value, hints[name])
                raise ArgumentError(name, f"must be {known[name]}", said)
        return made(*arguments, **given)
    except LapwingError:
        raise
    except TypeError:
        raise ArgumentError(f"a parameter of {made.name} has a value of the wrong type") from None


def _value(text: str, name: str) -> Any:
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ArgumentError(
                f"the list of --set {name} must be JSON, for example [0.5, 1, 0.5]"
            ) from None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


@dataclass(frozen=True, kw_only=True)
class IntervalOptions:
    """The options of the intervals of one result."""

    level: Level = 0.95
    target: str = option(
        "Whom the intervals are about. empirical: the people in the data. population: the "
        "population they were drawn from.",
        "WHOM",
        default="empirical",
    )

    def how(self) -> dict[str, Any]:
        """Return them as arguments of a method. ArgumentError where one is wrong."""
        check_level(self.level)
        return {"level": self.level, "target": target_of(self.target)}


@dataclass(frozen=True, kw_only=True)
class WorkOptions:
    """The option of a job on many rows."""

    threads: int | None = option(
        "Number of threads, by default one per core. It does not change the result.", "N"
    )

    def workers(self) -> int:
        """Return how many threads work. ArgumentError when there can be no such number."""
        return threads_or_all(self.threads)


@dataclass(frozen=True, kw_only=True)
class LongJobOptions(WorkOptions):
    """The options of a job on many files, whose result is one file."""

    resume: bool = option(
        "Save progress in OUTPUT.progress, and resume from it if the job was killed. No file "
        "is counted twice.",
        default=False,
    )

    def progress(self, output: Path) -> Path | None:
        """Return where to keep what is done. None where nobody asked for it."""
        return output.with_name(f"{output.name}.progress") if self.resume else None


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """The option of a result that is kept."""

    output: Path | None = option(
        "The file to write the result to. By default, the result is only shown.",
        "FILE",
        flags="--output -o",
    )
