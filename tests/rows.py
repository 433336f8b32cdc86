"""Rows of a table in one test: many small checks of one claim, and messages that name the row.

`@each` stands where `pytest.mark.parametrize` would make a case of every row. A case is right where
somebody wants to run it alone; rows are right where one claim holds for a list of names or words.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

MOST_SHOWN = 20
"""Failing rows that a message shows."""


def each(
    names: str | tuple[str, ...],
    rows: Iterable[Any] | Callable[[], Iterable[Any]],
    *,
    ids: Callable[[Any], object] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test function on every row, and fail with the names of all rows that failed.

    Parameters
    ----------
    names : str or tuple of str
        The parameters that a row fills, as `pytest.mark.parametrize` takes them.
    rows : iterable or callable
        Values, tuples of values, or `pytest.param` without marks. No row is a failure. A function
        returns them when the test runs: for rows that take time, because every process of tests
        collects every file.
    ids : callable or iterable of str, optional
        What a row is called in the message; default: its values.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    known = _table(rows, arguments, ids) if isinstance(rows, Iterable) else None

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        left = [p for name, p in signature.parameters.items() if name not in arguments]
        if len(left) + len(arguments) != len(signature.parameters):
            raise TypeError(f"{test.__name__} takes no {' and '.join(arguments)}")

        @functools.wraps(test)
        def every_row(*own: Any, **fixtures: Any) -> None:
            table = _table(rows(), arguments, ids) if known is None else known
            assert table, "there is no row, so nothing would be checked"
            wrong: list[tuple[str, Exception]] = []
            for name, values in table:
                try:
                    test(*own, **fixtures, **dict(zip(arguments, values, strict=True)))
                # An expectation that failed is no Exception: `pytest.raises` without one.
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append((name, error))
            if wrong:
                shown = "\n".join(
                    f"  {name}: {type(error).__name__}: {error}"
                    for name, error in wrong[:MOST_SHOWN]
                )
                raise AssertionError(
                    f"{len(wrong)} of {len(table)} rows failed:\n{shown}"
                ) from wrong[0][1]

        every_row.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        del every_row.__wrapped__  # type: ignore[attr-defined]
        return every_row

    return decorate


def _filled(row: Any, arguments: list[str]) -> tuple[str | None, tuple[Any, ...]]:
    """Return the name that a row gives itself, and the values of its arguments."""
    name = None
    if isinstance(row, type(pytest.param())):
        if row.marks:
            raise TypeError("a row has no marks. Make it a case of its own")
        name, values = row.id, tuple(row.values)
    else:
        values = (row,) if len(arguments) == 1 else tuple(row)
    if len(values) != len(arguments):
        raise TypeError(f"a row of {len(values)} values for {len(arguments)} arguments: {values}")
    return name if isinstance(name, str) else None, values


def _table(rows: Iterable[Any], arguments: list[str], ids: Any) -> list[tuple[str, Any]]:
    """Return the name and the values of each row."""
    table = [_filled(row, arguments) for row in rows]
    if ids is not None and not callable(ids):
        return [(str(name), values) for name, (_, values) in zip(ids, table, strict=True)]
    say = ids or repr
    return [
        (
            name if name is not None else ", ".join(str(say(value))[:200] for value in values),
            values,
        )
        for name, values in table
    ]
