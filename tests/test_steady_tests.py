"""No test fails because the machine is busy: what has a deadline of its own is told another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
STARTS = re.compile(r"httpx\.|@given|subprocess")
ASKED = {"get", "put", "post", "patch", "delete", "request", "stream", "Client", "AsyncClient"}


def impatient(text: str) -> Iterator[str]:
    """Yield what gives up too early, or draws other cases each time, in a file of tests.

    httpx gives up after 5 seconds, and Hypothesis fails a case that takes 0.2; a machine that does
    much else needs more. Cases drawn anew each time fail in somebody else's change. So do tests
    after one that waits for a dead program, or that leaves half a file of bytecode.
    """
    tree = ast.parse(text)
    steady = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_steady(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _waits_for_the_dead(node):
            yield f"line {node.lineno}: iter(readline, ...) never ends when the program has"
        elif isinstance(node, ast.Call) and _leaves_half_a_file(node):
            yield f"line {node.lineno}: a limit of file sizes without PYTHONDONTWRITEBYTECODE"
        elif isinstance(node, ast.Call) and _of_httpx(node):
            given = {keyword.arg for keyword in node.keywords}
            if not given & {
                "timeout",
                "transport",
            }:  # a transport within the process has no network
                yield f"line {node.lineno}: httpx without timeout="
        elif isinstance(node, ast.FunctionDef):
            marks = [ast.unparse(mark) for mark in node.decorator_list]
            if any(mark.startswith("given(") for mark in marks) and not (
                steady & set(marks) or any(map(_is_steady, node.decorator_list))
            ):
                yield f"line {node.lineno}: @given without settings(deadline=None, derandomize=...)"


def _waits_for_the_dead(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "iter" and "readline" in ast.unparse(call)


def _leaves_half_a_file(call: ast.Call) -> bool:
    """Whether a program starts that cannot finish its files: Python 3.11 does not notice."""
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    return "RLIMIT_FSIZE" in given.get("preexec_fn", "") and (
        "'PYTHONDONTWRITEBYTECODE': '1'" not in given.get("env", "")
    )


def _of_httpx(call: ast.Call) -> bool:
    made = call.func
    return (
        isinstance(made, ast.Attribute)
        and isinstance(made.value, ast.Name)
        and made.value.id == "httpx"
        and made.attr in ASKED
    )


def _is_steady(node: ast.expr) -> bool:
    if not (isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "settings"):
        return False
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    return given.get("deadline") == "None" and given.get("derandomize", "False") != "False"


def test_nothing_here_is_impatient() -> None:
    found = {}
    for folder in ("tests", "benchmarks", "docs", "examples"):
        for path in sorted((TESTS.parent / folder).rglob("*.py")):
            text = path.read_text("utf-8")
            if path != Path(__file__) and STARTS.search(text):
                found[path.relative_to(TESTS.parent).as_posix()] = list(impatient(text))
    assert len(found) > 60
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


LIMIT = "setrlimit(RLIMIT_FSIZE, (1, 1))"
GIVEN = "@given(st.integers())\ndef test(x): pass\n"


@pytest.mark.parametrize(
    "text",
    [
        "httpx.get(address)",
        "with httpx.Client(base_url=address) as client: pass",
        GIVEN,
        "@settings(max_examples=3, derandomize=True)\n" + GIVEN,
        "@settings(deadline=None)\n" + GIVEN,
        "OWN = settings(deadline=100, derandomize=True)\n@OWN\n" + GIVEN,
        "lines = iter(process.stdout.readline, '')",
        f"run(command, env=os.environ, preexec_fn=lambda: {LIMIT})",
    ],
)
def test_what_is_impatient_is_found(text: str) -> None:
    assert len(list(impatient(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("httpx.get(address, timeout=60)", "httpx.AsyncClient(transport=transport)"),
        *("mapping.get(address)", "for line in process.stdout: pass"),
        f"run([], env={{'PYTHONDONTWRITEBYTECODE': '1'}}, preexec_fn=lambda: {LIMIT})",
        "@settings(deadline=None, derandomize=True)\n" + GIVEN,
        "OWN = settings(deadline=None, derandomize=not anew)\n@OWN\n" + GIVEN,
    ],
)
def test_what_is_patient_is_not(text: str) -> None:
    assert list(impatient(text)) == []
