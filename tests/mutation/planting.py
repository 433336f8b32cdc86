"""Single errors that can be planted in a file: operators, constants, and what is left out.

An error replaces one expression or statement by another text and leaves every other character as
it was. What only people or type checkers read (messages, annotations, docstrings, decorators) is
left alone, because no test of behavior could notice it.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}

NAMES = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "argmax": "argmin",
    "argmin": "argmax",
}

REDUCTIONS = {"max", "min", "sum", "any", "all", "prod", "cumsum"}

KINDS = ("operator", "constant", "left out")

UNREAD = {"__repr__", "__str__"}
"""Functions that write for people."""


@dataclass(frozen=True)
class PlantedError:
    """One change of one file.

    Parameters
    ----------
    file : str
        Below the package, with "/".
    line : int
        First line of what is replaced.
    function : str
        Outermost function around it, "Class.method"; "" outside of functions.
    kind : str
        One of :data:`KINDS`.
    before, after : str
        The expression or statement, and what takes its place.
    number : int
        Which of the equal changes of this function it is, from 0.
    start, end : int
        Bytes that are replaced.
    shown : str
        The line with the error in it.
    """

    file: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    number: int
    start: int = field(compare=False)
    end: int = field(compare=False)
    shown: str = field(compare=False, default="")

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What stays when lines move or the file gets another folder."""
        stem = self.file.rpartition("/")[2]
        return stem, self.function, self.before, self.after, self.number

    def plant(self, text: str) -> str:
        """Return the text of the file with the error in it."""
        raw = text.encode()
        # A statement stands alone; an expression keeps its place among its neighbors.
        new = self.after if self.after == "pass" else f"({self.after})"
        return (raw[: self.start] + new.encode() + raw[self.end :]).decode()


def errors_of(file: str, text: str) -> list[PlantedError]:
    """Return every error that can be planted in a file, in the order of its lines."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for function, node, kind, changed in _changes(ast.parse(text), "", ()):
        before, after = ast.unparse(node), ast.unparse(changed)
        if before == after:
            continue
        number = seen[function, before, after]
        seen[function, before, after] += 1
        error = PlantedError(
            file=file,
            line=node.lineno,
            function=function,
            kind=kind,
            before=before,
            after=after,
            number=number,
            start=starts[node.lineno - 1] + node.col_offset,
            end=starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
        )
        first = starts[node.lineno - 1]
        own = b"".join(lines[node.lineno - 1 : node.end_lineno]).decode()
        planted = replace(error, start=error.start - first, end=error.end - first).plant(own)
        found.append(replace(error, shown=planted.splitlines()[0].strip()))
    return found


Change = tuple[str, "ast.expr | ast.stmt", str, ast.AST]


def _changes(node: ast.AST, function: str, classes: tuple[str, ...]) -> Iterator[Change]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.name in UNREAD:
            return
        function = function or ".".join([*classes, node.name])
    elif isinstance(node, ast.ClassDef):
        classes = (*classes, node.name)
    if isinstance(node, ast.expr | ast.stmt):
        for kind, changed in _of_node(node):
            yield function, node, kind, changed
    for child in _read_by_the_machine(node):
        yield from _changes(child, function, classes)


def _read_by_the_machine(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children whose change could change what the program does."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    for name, value in ast.iter_fields(node):
        if name in ("decorator_list", "annotation", "returns", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            told = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            checked = isinstance(child, ast.keyword) and child.arg == "strict"
            if isinstance(child, ast.AST) and not (told or checked):
                yield child


def _of_node(node: ast.expr | ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may stand in the place of an expression or statement, with the kind of error."""
    match node:
        case ast.BinOp(left, operator, right):
            for other in OPERATORS.get(type(operator), ()):
                yield "operator", ast.BinOp(left, other(), right)
            if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Div):
                yield "left out", left
            if isinstance(operator, ast.Add | ast.Mult):
                yield "left out", right
        case ast.Compare(left, [operator], [right]):
            for other in OPERATORS[type(operator)]:
                yield "operator", ast.Compare(left, [other()], [right])
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                for other in OPERATORS[type(operator)]:
                    changed = copy.deepcopy(node)
                    changed.ops[place] = other()
                    yield "operator", changed
        case ast.BoolOp(operator, values):
            yield "operator", ast.BoolOp(OPERATORS[type(operator)][0](), values)
            for place in range(len(values)):
                kept = values[:place] + values[place + 1 :]
                yield "left out", kept[0] if len(kept) == 1 else ast.BoolOp(operator, kept)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            if not isinstance(operand, ast.Constant):
                yield "operator", operand
        case ast.IfExp(test, body, otherwise):
            yield "operator", ast.IfExp(test, otherwise, body)
        case ast.Constant(bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int(value)):
            yield "constant", ast.Constant(value + 1)
            if value:
                yield "constant", ast.Constant(value - 1)
        case ast.Constant(float(value)):
            yield "constant", ast.Constant(2 * value if value else 1.0)
        case ast.Attribute(_, "inf"):
            yield "constant", ast.UnaryOp(ast.USub(), node)
        case ast.Call():
            yield from _of_call(node)
        case ast.List(elements, ast.Load()) | ast.Set(elements) if len(elements) > 1:
            for place in (0, len(elements) - 1):
                changed = copy.copy(node)
                changed.elts = elements[:place] + elements[place + 1 :]
                yield "left out", changed
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for place, loop in enumerate(node.generators):
                for iterable in _shortened(loop.iter):
                    changed = copy.deepcopy(node)
                    changed.generators[place].iter = iterable
                    yield "left out", changed
                if loop.ifs:
                    changed = copy.deepcopy(node)
                    changed.generators[place].ifs = []
                    yield "left out", changed
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield "left out", ast.Pass()
        case ast.If(_, [ast.Raise()], []):
            yield "left out", ast.Pass()
        case _:
            pass


def _of_call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    if name in NAMES:
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Attribute):
            changed.func.attr = NAMES[name]
        else:
            changed.func = ast.Name(NAMES[name])
        yield "operator", changed
    if name in ("abs", "absolute") and len(node.args) == 1:
        yield "left out", node.args[0]
    if name == "range":
        for shortened in _shortened(node):
            yield "left out", shortened
    if name == "len":
        yield "left out", ast.BinOp(node, ast.Sub(), ast.Constant(1))
    if name in REDUCTIONS:
        of_module = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in (
            "np",
            "math",
        )
        if isinstance(node.func, ast.Attribute) and not of_module:
            changed = copy.deepcopy(node)
            changed.func = ast.Attribute(_without_first(node.func.value), name, ast.Load())
            yield "left out", changed
        elif len(node.args) > 1 and not of_module:
            for kept in node.args:
                yield "left out", kept
        elif of_module and node.args:
            changed = copy.deepcopy(node)
            changed.args[0] = _without_first(node.args[0])
            yield "left out", changed


def _without_first(array: ast.expr) -> ast.expr:
    return ast.Subscript(array, ast.Slice(ast.Constant(1), None), ast.Load())


def _shortened(iterable: ast.expr) -> Iterator[ast.expr]:
    """Yield what a loop runs over, without its first or last turn."""
    if isinstance(iterable, ast.Call) and ast.unparse(iterable.func) == "range":
        changed = copy.deepcopy(iterable)
        place = min(1, len(changed.args) - 1)
        changed.args[place] = ast.BinOp(changed.args[place], ast.Sub(), ast.Constant(1))
        yield changed
        start = [ast.Constant(1)] if len(iterable.args) == 1 else []
        if start:
            yield ast.Call(iterable.func, [*start, iterable.args[0]], [])
    else:
        everything = ast.Call(ast.Name("list"), [iterable], [])
        yield _without_first(everything)
        last = ast.UnaryOp(ast.USub(), ast.Constant(1))
        yield ast.Subscript(everything, ast.Slice(None, last), ast.Load())
