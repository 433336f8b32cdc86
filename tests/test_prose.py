"""Sentences keep the rules of the style guide; files that do not yet may only get better."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from tests import prose
from tests.prose import ALLOWED, LONGEST, Voice, broken, messages, sentences

counts = cache(prose.counts)


def test_no_file_breaks_a_rule_more_often_than_the_list_allows() -> None:
    allowed, now = json.loads(ALLOWED.read_text("utf-8")), counts()
    worse = {
        f"{name}, {rule}: {number} where {allowed.get(name, {}).get(rule, 0)} are allowed"
        for name, rules in now.items()
        for rule, number in rules.items()
        if number > allowed.get(name, {}).get(rule, 0)
    }
    assert not worse, f"see `python -m tests.prose FILE`: {sorted(worse)}"


def test_the_list_allows_no_more_than_there_is() -> None:
    allowed, now = json.loads(ALLOWED.read_text("utf-8")), counts()
    better = sorted(
        name
        for name, rules in allowed.items()
        if any(number > now.get(name, {}).get(rule, 0) for rule, number in rules.items())
    )
    assert not better, f"shrink the list with `python -m tests.prose --write`: {better}"


DOCS = prose.ROOT / "docs"
GUIDES = [DOCS / "index.md", *sorted((DOCS / "start").glob("*.md"))]
GUIDES += sorted((DOCS / "guides").rglob("*.md"))


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_guide_keeps_its_reasons_speaks_to_its_reader_and_shows(page: Path) -> None:
    voice = Voice.of(page.read_text("utf-8"))
    if voice.sentences < 5:  # a table of contents
        return
    assert 13 <= voice.words <= 19 and voice.you >= 0.15, voice
    assert voice.words_a_block <= 100 and voice.stretch <= 210, voice


def test_a_guide_in_another_voice_is_noticed() -> None:
    short = "It is so. It was so. You see it.\n\n"
    assert Voice.of(short) == (3, 3, 1 / 3, 9, 9)
    assert Voice.of(f"{short}| a |\n| --- |\n\n```\nx\n```\n{short}![](y)\n") == (6, 3, 1 / 3, 6, 9)


def test_only_some_docstrings_are_in_the_list() -> None:
    allowed = json.loads(ALLOWED.read_text("utf-8"))
    assert all(name.endswith(".py") for name in allowed)
    assert sum(sum(rules.values()) for rules in allowed.values()) <= 60


def test_each_rule_notices_what_it_is_for() -> None:
    def rules(text: str) -> list[str]:
        return [rule for rule, _ in broken(text)]

    assert rules("Count reports. It holds; so does that.") == ["semicolon"]
    assert rules("word " * LONGEST) == [] and rules("word " * (LONGEST + 1)) == ["long"]
    assert rules("Who holds the values publishes them.") == ["subject"]
    assert rules("Who holds the values?") == []
    assert rules("It is drawn anew.") == ["word anew"] and rules("It counts, too.") == ["word too"]
    assert rules(f"# {'word ' * 30}\n\n| {'word; ' * 30} |\n\n```sh\na; b\n```\n`a; b`") == []


def test_marks_and_joints_are_noticed() -> None:
    def rules(text: str) -> list[str]:
        return [rule for rule, _ in broken(text)]

    assert rules("x must be a survey, it is a tally") == ["comma splice"]
    assert rules("x must be one of a, b or c, the one at position x is not") == ["comma splice"]
    assert rules("x must be a survey, but the one at position x is not") == []
    assert rules("If x is a survey, it is refused.") == []
    assert rules("It covers 95 % of them.") == ["percent"] and rules("It covers 95% of them.") == []
    assert rules("At .5 it fails.") == ["leading zero"] and rules("At 0.5 it fails.") == []
    assert rules("One: two: three.") == ["two colons"] and rules("One: two.") == []
    assert rules("Trips of the pandemic less before.") == ["less for minus"]


def test_tables_templates_and_scripts_are_read() -> None:
    assert list(prose.cells("| a |\n| --- |\n| It is drawn anew; so it is. |\n")) == [
        "It is drawn anew; so it is."
    ]
    assert list(sentences(prose.of_html("<p>It is <b>{{ one }}</b> now.</p>{# no #}"))) == [
        "It is x now."
    ]
    script = "// no comment is read here\nshow(`Only ${n} of them were sent.`, 'x')"
    assert prose.of_script(script) == "Only x of them were sent."


def test_sentences_of_a_docstring_leave_out_its_types() -> None:
    text = "Sum of it.\n\nParameters\n----------\nvalues : array; one\n    The values. All of them."
    assert list(sentences(text)) == ["Sum of it.", "The values.", "All of them."]


def test_code_lists_and_tables_are_not_taken_for_sentences() -> None:
    literal = "Written as\n\n::\n\n    8 bytes; a magic\n\n    u16; a version\n\nThen it ends; so."
    assert [rule for rule, _ in broken(literal)] == ["semicolon"]
    table = "=== ===\na   b; c\n=== ===\nd   e\n=== ===\n\nIt is so; it is."
    assert list(sentences(table)) == ["It is so; it is."]
    errors = "Raises\n------\nArgumentError\n    When it is so.\nint\n    Always."
    assert list(sentences(errors)) == ["When it is so.", "Always."]
    assert list(sentences(">>> 1\n'a;b'\n\nIt is so.")) == ["It is so."]
    assert list(sentences("It ends. lapwing show says more. --csv writes it, e.g. here.")) == [
        "It ends.",
        "lapwing show says more.",
        "--csv writes it, e.g. here.",
    ]
    assert list(sentences("**Cost.** It is so.")) == ["**Cost.**", "It is so."]
    assert list(sentences("Ask 'share x above 3' or it.")) == ["Ask Code or it."]
    assert list(sentences("![It is. So](a.png) ![It was](b.png)")) == ["It is.", "So", "It was"]


def test_messages_are_found() -> None:
    import ast

    tree = ast.parse('def f(x):\n    raise ValueError(f"x must be {x}. It is not")\n')
    assert list(messages(tree)) == ["x must be x. It is not"]
    tree = ast.parse('"""Not this docstring."""\nNOTE = "it is drawn anew"\nf("one name", CODE)')
    assert list(messages(tree)) == ["it is drawn anew"]
    tree = ast.parse('f("SELECT the rows of a table", "default-src none of it all")')
    assert list(messages(tree)) == []
