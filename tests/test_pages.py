"""Every example in the pages of docs/ runs with the extras that its page names, as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.page_environment import extras_named, hidden, run

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if ">>> " in path.read_text("utf-8"))


def failures(text: str) -> str:
    """Return what examples of a page do otherwise than it says; examples name files of here."""
    ran = run(text, "doctest", "page", text=text, folder=ROOT)
    assert ran.stderr == ""
    assert (ran.returncode == 0) == (ran.stdout == "")
    return ran.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_examples_of_a_page_print_what_it_says(page: Path) -> None:
    assert failures(page.read_text("utf-8")) == ""


def test_the_pages_with_examples_are_found() -> None:
    assert {"life-of-a-value.md", "guarantee.md", "documents.md"} <= {page.name for page in PAGES}


def test_a_wrong_example_is_noticed() -> None:
    assert failures("```python\n>>> 1 + 1\n2\n```\n") == ""
    assert "Expected:\n    3" in failures("```python\n>>> 1 + 1\n3\n```\n")


def test_a_package_without_its_extra_is_noticed() -> None:
    example = "```python\n>>> import {}\n```\n"
    assert "No module named 'httpx'" in failures(example.format("httpx"))
    assert "No module named 'pyarrow'" in failures(example.format("pyarrow.parquet"))
    install = "Run `pip install '.[data]'`.\n\n"
    assert failures(install + example.format("pyarrow.parquet")) == ""
    assert "No module named 'httpx'" in failures(install + example.format("httpx"))


def test_the_extras_that_a_page_names() -> None:
    assert extras_named("It needs no extra. `data` is a word.") == frozenset()
    assert extras_named("pip install '.[data,plot]'\nthe extra `client`:") == {
        *("data", "plot", "client")
    }
    assert extras_named("[the extra](install.md#extras) `plot`.") == {"plot"}
    assert extras_named("the extras `data`, `plot` and `serve` for `x`") == {
        *("data", "plot", "serve")
    }
    core, serve = hidden(frozenset()), hidden(frozenset({"serve"}))
    assert {"matplotlib", "pyarrow", "starlette", "httpx", "pandas", "hypothesis"} <= {*core}
    assert not {"numpy", "scipy", "numba", "typer", "lapwing"} & {*core}
    assert {*core} - {*serve} >= {"starlette", "matplotlib", "PIL"} and "httpx" in serve


RUN_BY = {
    "guides/local/javascript-devices.md": "clients_js/test_javascript_page.py",
    "guides/local/python-devices.md": "test_pages_in_one_folder.py",
    "guides/operate/arrow.md": "engines/arrow/test_engines_page.py",
    "guides/operate/collector.md": "service/test_collector_pages.py",
    "guides/operate/deploy.md": "service/test_collector_pages.py",
    "guides/operate/spark.md": "engines/spark/test_spark.py",
    **{
        f"papers/{name}.md": "test_methods_page.py"
        for name in ("compressive", "convolution", "functional-approximation")
    },
    "papers/square-wave.md": "test_methods_page.py",
    "papers/wavelet.md": "test_methods_page.py",
}
"""The tests of the blocks that are no sessions of Python. Commands: cli/test_pages_commands.py."""

NOT_RUN = {"sh", "text", "ts", "toml", "bibtex", "yaml"}
"""Blocks with tests of their own kind, and those that hold no program."""


def test_every_block_of_a_program_has_its_test() -> None:
    found = {
        page.relative_to(DOCS).as_posix()
        for page in DOCS.rglob("*.md")
        for language, block in re.findall(
            r"^```(\w+)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        if language not in NOT_RUN and not (language == "python" and ">>> " in block)
    }
    assert found == {*RUN_BY}
    assert all((ROOT / "tests" / test).exists() for test in RUN_BY.values())
