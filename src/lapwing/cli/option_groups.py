"""Groups of options: a dataclass of options is one parameter of each command that takes them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand

from lapwing.errors import ArgumentError, LapwingError

OF_ALL = ("as_json", "quiet", "yes")
"""The options that every command has, by the names of their fields."""


class SharingCommand(TyperCommand):
    """A command with the options that all have."""

    shared: Sequence[Any] = ()
    """The options that every command has, as ``--help``."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.typed_as: dict[str, str] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, and remember by which of its names an option was typed.

        Raises ArgumentError when an option that takes one value is typed twice: the reader would
        drop the first.
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
                    f"{self.typed_as.get(name, name)}{both} must be given once, got "
                    f"{order.count(one)} times. Keep only one"
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


def argument(help: str, metavar: str) -> Any:
    """Return what the annotation of an argument says: what it is, and its name in the usage."""
    return typer.Argument(metavar=metavar, help=help)


def named(flags: str, help: str, metavar: str | None = None) -> Any:
    """Return what the annotation of an option of one command says. The flags are one string."""
    return typer.Option(*flags.split(), metavar=metavar, help=help)


class Rule(NamedTuple):
    """Options of a command that need or exclude each other. All are named by their fields.

    option: The option that the rule is about, where it is typed. Empty: the rule always holds, and
        `says` is the whole sentence.
    says: The rest of the sentence about it, from its verb on.
    needs: Of these at least one must be typed.
    excludes: Of these none may be typed.
    only: Of all options, only these may be typed with it.
    """

    option: str
    says: str
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def check(self, typed: Collection[str], flags: Mapping[str, str]) -> None:
        """Raise ArgumentError unless what was typed keeps the rule. Flags are by their fields."""
        if self.option and self.option not in typed:
            return
        if self.only is None:
            wrong = [name for name in self.excludes if name in typed]
        else:
            allowed = (self.option, *self.only, "output", "force")
            wrong = [name for name in typed if name not in allowed]
        if wrong:
            advice = f"Leave out {_listed([flags[name] for name in wrong], 'and')}"
        elif not self.needs or any(name in typed for name in self.needs):
            return
        elif not self.option:
            raise ArgumentError(self.says)
        else:
            advice = f"Add {_listed([flags[name] for name in self.needs], 'or')}"
        raise ArgumentError(self.option, self.says, advice=advice)


def _listed(names: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


@contextmanager
def typed_words(
    command: Any, names: Mapping[str, str], rules: Sequence[Rule], given: Mapping[str, Any]
) -> Iterator[None]:
    """Check which options were typed together, and let errors of the library name those options.

    names: How the command names arguments that are no field of it, see :func:`option`.
    given: The value of each option by its field.
    """
    flags = dict(names)
    for one in command.params:
        flag = next((flag for flag in one.opts if flag[:2] == "--"), str(one.metavar))
        said = command.typed_as.get(flag, flag)
        flags |= {one.name: said, flag: said, flag.removeprefix("--").replace("-", "_"): said}
    empty: tuple[Any, ...] = (None, [], ())
    values = {one.name: given[one.name] for one in command.params if given[one.name] != one.default}
    try:
        for rule in rules:
            rule.check([name for name, value in values.items() if value not in empty], flags)
        yield
    except LapwingError as error:
        words = [setting.partition("=")[0].strip() for setting in given.get("settings") or ()]
        settings = {word.replace("-", "_"): f"--set {word}" for word in words}
        about_settings = error.argument in settings

        def named(argument: str) -> str:
            return settings.get(argument) or flags.get(
                argument, f"--set {argument}" if about_settings else argument
            )

        error.args = (error.worded(named),)
        raise


def option(
    help: str,
    metavar: str | None = None,
    *,
    flags: str = "",
    default: Any = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Return a field of a group: an option of the command line.

    help: The description in the help.
    metavar: The placeholder for its value in the help. A switch has none.
    flags: Its flags, with spaces between. Default: the name of the field. Where it may be true,
        false or left open, its opposite too.
    default: ``dataclasses.MISSING`` for an option that must be given.
    names: Arguments of the library that the option gives under other names, and how an error names
        each: ``{"epsilon": "--budget"}``.
    """
    said = {"flags": flags, "metavar": metavar, "help": help, "names": names}
    return dataclasses.field(default=default, metadata=said)


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options of its groups one by one, as typer reads them.

    command: A parameter that is declared as a dataclass stands for the fields of it, which are
        declared as options are. The command is called with the dataclass.

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
    fields = [one for group in groups.values() for one in dataclasses.fields(group)]
    run.names = {
        name: flag for one in fields for name, flag in one.metadata.get("names", {}).items()
    }
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
    del said["names"]
    flags = said.pop("flags") or (f"--{word}/--no-{word}" if hint == bool | None else f"--{word}")
    return Annotated[hint, typer.Option(*flags.split(), **said)]
