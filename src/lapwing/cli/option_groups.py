"""Groups of options: a dataclass of options is one parameter of each command that takes them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from lapwing.errors import ArgumentError, LapwingError

OF_ALL = ("as_json", "quiet", "yes")
"""The options that every command has, by the names of their fields."""


OPTION_OF = MappingProxyType(
    {
        "verify epsilon": ("budget", "--budget"),
        "verify users": ("shuffle_users", "--shuffle-users"),
        "tally minimum": ("segment_minimum", "--segment-minimum"),
        "release people": ("dry_run", "--dry-run"),
        "new labels": ("categories", "the labels of --categories"),
        "new number of labels": ("categories", "the number of --categories"),
        "new bits": ("categories", "BITS of --categories hash:BITS"),
    }
)
"""A command with an argument of the library whose option has another name: its field, and how
the option is named in a sentence."""

_SUBJECT = re.compile(
    r"(?:the )?(every )?((?:number of )?[a-z_]+)(?: of a [a-z]+)?((?: and| or) [a-z_]+)?"
    r"(?= (?:must|needs?|[ia](?:s|re) for) )"
)
"""The argument that the sentence of an error is about: its first words."""

_UNDERSCORED = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_EXAMPLE = re.compile(r"(?:(?<=for example )|^)([a-z_]+)='?([0-9a-z.]+)'?")


class SharingCommand(TyperCommand):
    """A command with the options that all have."""

    shared: Sequence[Any] = ()
    """The options that every command has, as ``--help``."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.typed_as: dict[str, str] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, and remember by which of its names an option was typed.

        Raises
        ------
        ArgumentError
            When an option that takes one value is typed twice: the reader would drop the first.
        """
        words = {word.partition("=")[0] for word in args}
        for one in self.params:
            names = [flag for flag in one.opts if flag.startswith("--")]
            if names[1:] and names[0] not in words:
                other = (name for name in names[1:] if name in words)
                self.typed_as[names[0]] = next(other, names[0])
        order = self.make_parser(ctx).parse_args(args=list(args))[2]  # a copy: it is emptied
        if not ctx.resilient_parsing and not any(one.is_eager for one in order):  # --help is
            self._check_once(order)
        return super().parse_args(ctx, args)

    def _check_once(self, order: Sequence[Any]) -> None:
        """Raise ArgumentError when an option in what was typed is there twice, and takes one value.

        A switch without an opposite says the same twice.
        """
        for one in dict.fromkeys(order):
            if one.param_type_name != "option" or one.multiple:
                continue
            if order.count(one) > 1 and (not one.is_flag or one.secondary_opts):
                name = next((flag for flag in one.opts if flag[:2] == "--"), one.opts[0])
                both = f" or {one.secondary_opts[0]}" if one.secondary_opts else ""
                raise ArgumentError(
                    f"{self.typed_as.get(name, name)}{both} must be typed once, got it "
                    f"{order.count(one)} times. Leave out all but one"
                )

    def share_output(self) -> None:
        """Make the options of how a command speaks those that every command has."""
        self.shared = [one for one in self.params if one.name in OF_ALL]
        self.params = [one for one in self.params if one.name not in OF_ALL]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all arguments and options, those of every command last."""
        own = super().get_params(ctx)
        return [*own[:-1], *self.shared, own[-1]]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the arguments as a usage line has them: ``FIRST [SECOND]``."""
        own = [one for one in self.params if one.param_type_name == "argument"]
        names = [f"{one.metavar}{'...' * (one.nargs == -1)}" for one in own]
        places = (f"{n}" if one.required else f"[{n}]" for n, one in zip(names, own, strict=True))
        return ["[OPTIONS]", *places]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options, and those that every command has."""
        own = [one for one in self.params if one.param_type_name == "argument"]
        rest = [one for one in self.params if one.param_type_name != "argument"]
        every = self.get_params(ctx)[len(self.params) :]
        headings = {"Arguments": own, "Options": rest, "Options of every command": every}
        for heading, params in headings.items():
            rows = [one.get_help_record(ctx) for one in params]
            if params is own:  # without the types that typer adds
                rows = [(one.metavar, help) for one, (_, help) in zip(own, rows, strict=True)]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


@contextmanager
def typed_words(
    command: str,
    options: Sequence[Any],
    given: Mapping[str, Any],
    typed_as: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Let the errors of the library name the options that were typed, instead of its arguments.

    Parameters
    ----------
    command : str
    options : sequence of click.Parameter
        Of the command.
    given : mapping
        The value of each by its name.
    typed_as : mapping
        The name by which an option was typed, of those that have several.
    """
    try:
        yield
    except LapwingError as error:
        own = [one for one in options if one.param_type_name == "option"]
        flags = {one.name: next(flag for flag in one.opts if flag[:2] == "--") for one in own}
        typed = {one.name for one in own if given.get(one.name) != one.default}
        for words, (field, flag) in OPTION_OF.items():
            name, _, argument = words.partition(" ")
            if name == command and field in typed:
                flags[argument] = flag
                typed.add(argument)
        for setting in given.get("settings") or ():
            word = setting.partition("=")[0].strip()
            flags[word.replace("-", "_")] = f"--set {word}"
            typed.add(word.replace("-", "_"))
        message = _in_flags(str(error), flags, typed)
        for name, alias in typed_as.items():
            message = re.sub(rf"{name}(?![a-z-])", alias, message)
        error.args = (message, *error.args[1:])
        raise


def _in_flags(message: str, flags: Mapping[str, str], typed: set[str]) -> str:
    """Return a sentence with the option in the place of each argument.

    Examples
    --------
    >>> _in_flags("epsilon must be at most 24, got 30", {"epsilon": "--budget"}, {"epsilon"})
    '--budget must be at most 24, got 30'
    """
    subject = _SUBJECT.match(message)
    if subject and subject[2] in typed:
        others = (subject[3] or "").split()
        words = [flags[subject[2]], *others[:1], *(flags.get(one, one) for one in others[1:])]
        rest = message[subject.end() :]
        if rest.startswith(" must be one of "):
            rest = _UNDERSCORED.sub(lambda found: found[0].replace("_", "-"), rest)
        message = (subject[1] or "") + " ".join(words) + rest
    message = _UNDERSCORED.sub(lambda found: flags.get(found[0], found[0]), message)

    def example(found: re.Match[str]) -> str:
        flag = flags.get(found[1])
        between = "=" if flag and flag.startswith("--set ") else " "
        return found[0] if flag is None else f"{flag}{between}{found[2]}"

    return _EXAMPLE.sub(example, message)


def option(help: str, metavar: str | None = None, *, flags: str = "", default: Any = None) -> Any:
    """Return a field of a group: an option of the command line.

    Parameters
    ----------
    help : str
        What it is, for the person who types it.
    metavar : str, optional
        What stands for its value in the help. A switch has none.
    flags : str
        Its flags, with spaces between. Default: the name of the field. Where it may be true, false
        or left open, its opposite too.
    default : Any
        ``dataclasses.MISSING`` for an option that must be given.
    """
    said = {"flags": flags, "metavar": metavar, "help": help}
    return dataclasses.field(default=default, metadata=said)


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options of its groups one by one, as typer reads them.

    Parameters
    ----------
    command : callable
        A parameter that is declared as a dataclass stands for the fields of it, which are declared
        as options are. The command is called with the dataclass.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Ends:
    ...     low: int = option("Where it starts.", "N", default=0)
    ...     high: int = option("Where it ends.", "N", default=1)
    >>> def width(ends: Ends, *, times: int) -> None:
    ...     print(times * (ends.high - ends.low))
    >>> list(inspect.signature(ungrouped(width)).parameters)
    ['low', 'high', 'times']
    >>> ungrouped(width)(low=2, high=5, times=10)
    30
    """
    hints = get_type_hints(command, include_extras=True)
    shown: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if isinstance(hints[name], type) and dataclasses.is_dataclass(hints[name]):
            groups[name] = hints[name]
            shown += _parameters(hints[name])
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            shown.append(parameter.replace(annotation=hints[name], kind=kind))

    def called(**given: Any) -> None:
        made = {name: _made(group, given) for name, group in groups.items()}
        with made["out"].listening() if "out" in made else nullcontext():
            command(**given, **made)

    run: Any = called
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in shown}
    run.__signature__ = inspect.Signature(shown)
    found: Callable[..., None] = run
    return found


def _made(group: Any, given: dict[str, Any]) -> Any:
    """Return a group with its options, which are taken from those that are given."""
    taken = {one.name: given.pop(one.name) for one in _parameters(group)}
    return group(**taken)


def _parameters(group: Any) -> list[inspect.Parameter]:
    """Return the options of a group, in the order of its fields."""
    hints = get_type_hints(group, include_extras=True)
    missing = dataclasses.MISSING
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is missing else field.default,
            annotation=_annotation(field, hints[field.name]),
        )
        for field in dataclasses.fields(group)
        if field.init
    ]


def _annotation(field: dataclasses.Field[Any], hint: Any) -> Any:
    """Return the type of a field with its option, as typer reads it. One that is shared has it."""
    if "flags" not in field.metadata:
        return hint
    said = dict(field.metadata)
    word = field.name.replace("_", "-")
    flags = said.pop("flags") or (f"--{word}/--no-{word}" if hint == bool | None else f"--{word}")
    return Annotated[hint, typer.Option(*flags.split(), **said)]
