"""The headline tables say what the kept results have, and every page with one is checked."""

import copy

import pytest

from benchmarks import headline_parts, headlines, results, tables

PAGES = [
    path.read_text(encoding="utf-8")
    for folder in ("benchmarks", "papers", "guides/central")
    for path in sorted((tables.DOCS / folder).glob("*.md"))
]


def test_every_headline_is_on_a_page() -> None:
    assert headlines.unused(PAGES) == []
    assert headlines.unused(PAGES[:1]) != []


def test_a_stale_headline_makes_its_page_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A typed number, and a result that was measured again, are both noticed."""
    page = "<!-- headline: streaming -->\nabout 300 MB\n<!-- end of headline -->\nand more\n"
    written = headlines.in_page(page)
    assert "about 300 MB" not in written
    assert written.endswith("<!-- end of headline -->\nand more\n")
    assert headlines.in_page(written) == written
    other = copy.deepcopy(headlines.kept("speed/streaming"))
    other["measured"]["library"]["peak"] *= 2
    monkeypatch.setattr(results, "read", lambda name: other)
    assert headlines.in_page(written) != written


def test_the_pages_with_headlines_are_those_that_are_checked_for_staleness() -> None:
    checked = tables.by_hand()
    with_marks = [
        path
        for path in tables.DOCS.rglob("*.md")
        if "<!-- headline: " in path.read_text(encoding="utf-8")
    ]
    assert len(with_marks) >= 5
    assert set(with_marks) <= set(checked)


def test_without_a_result_the_headline_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "read", lambda name: None)
    assert headlines.headline("bands") == (
        "Not measured yet: `python -m benchmarks accuracy/posterior_coverage`."
    )


def test_a_misspelled_or_doubled_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="no headline is named 'speeds'"):
        headlines.in_page("<!-- headline: speeds -->\n<!-- end of headline -->")
    once = "<!-- headline: bands -->\n<!-- end of headline -->\n"
    with pytest.raises(ValueError, match="headline 'bands' twice"):
        headlines.in_page(once + once)


def test_a_result_says_that_the_default_of_its_commit_was_another_one() -> None:
    document = copy.deepcopy(headlines.kept("accuracy/curators_bands"))
    for date, said in (("2026-11-23T01:48Z", True), ("2026-11-29T01:48Z", False)):
        document["date"] = date
        for line in (tables.provenance(document), headline_parts.measured_by(document)):
            assert ("The default mechanism at that commit was prefix sums" in line) == said
            assert line.startswith("*") and line.endswith(".*") and "  " not in line
    document |= {"name": "accuracy/coverage", "date": "2026-11-23T01:48Z"}
    assert "default mechanism" not in tables.provenance(document)
