"""Every example in the pages of docs/ and in the README runs and prints what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if ">>> " in path.read_text("utf-8"))


def failures(text: str, name: str) -> int:
    """Return how many examples of a page do not print what it says."""
    # The end of a code block is not output.
    examples = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(examples, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test)
    return runner.failures


@pytest.mark.usefixtures("registered_before")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_examples_of_a_page_print_what_it_says(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)  # examples name files as seen from the checkout
    assert failures(page.read_text("utf-8"), page.name) == 0


def test_the_pages_with_examples_are_found() -> None:
    assert {"life-of-a-value.md", "guarantee.md", "documents.md"} <= {page.name for page in PAGES}


def test_a_wrong_example_is_noticed() -> None:
    assert failures("```python\n>>> 1 + 1\n2\n```\n", "right") == 0
    assert failures("```python\n>>> 1 + 1\n3\n```\n", "wrong") == 1
