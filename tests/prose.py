"""The rules of the style guide that a machine can see, and how often each file breaks them.

``python -m tests.prose`` lists what breaks them, ``python -m tests.prose --write`` writes the
allowlist, which may only shrink.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = ROOT / "tests" / "prose_allowed.json"
LONGEST = 25
"""Words of a sentence."""

AVOIDED = re.compile(
    r"\b(told apart|anew|for ever|public coin|near sets?|knobs?|fakes|forged|odd weeks?"
    r"|jumps and odd|asked sites?|normal noise|behind a release|found atoms?)\b|, too[,.]",
    re.IGNORECASE,
)
PERCENT = re.compile(r"\d %(?![\w(])")
NO_ZERO = re.compile(r"(?<![\w.])\.\d")
MINUS = re.compile(r"\b(first|after|pandemic|later) less (before|the (first|second|earlier))\b")
SPLICE = re.compile(
    r"^(?!(?:If|When|Where|While|Because|Since|As|After|Before|With|Without|Although|Though|Once"
    r"|Until|Unless|In|On|At|For|From|By|Of|To|Whether|Here|Then|So|But|And|Or)\b)[^,:(]*\b(?:is|are"
    r"|has|have|holds?|must|may|can|cannot|takes?|needs?)\b[^,:(]*, (?:it|they|this|these|there)"
    r" (?:is|are|has|have|holds?|must|may|can|cannot|takes?|needs?|says?)\b"
)
"""Two sentences that only a comma joins: "x must be whole, it is a string"."""

SUBJECT = re.compile(r"^(Who|Whoever|Whatever) [a-z]|^What [a-z]+ [^?]*$")


def broken(text: str) -> Iterator[tuple[str, str]]:
    """Return each rule that a text breaks, with the sentence that breaks it."""
    for sentence in sentences(text):
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) > LONGEST:
            yield "long", sentence
        if ";" in sentence:
            yield "semicolon", sentence
        if SUBJECT.search(sentence) and not sentence.endswith("?"):
            yield "subject", sentence
        if len(re.findall(r"\w[)`*]*: \S", sentence)) > 1:
            yield "two colons", sentence
        for rule, pattern in (
            ("comma splice", SPLICE),
            ("percent", PERCENT),
            ("leading zero", NO_ZERO),
            ("less for minus", MINUS),
        ):
            if pattern.search(sentence):
                yield rule, sentence
        for match in AVOIDED.finditer(sentence):
            yield f"word {match[0].strip(' ,.').lower()}", sentence


def sentences(text: str) -> Iterator[str]:
    """Return the sentences of Markdown or of a docstring, without code, tables and headings."""
    text = re.sub(r"^ *(```|~~~).*?^ *(```|~~~) *$", "\n", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.S)
    text = re.sub(r"^.*\n *(-{3,}|={3,}) *$", "\n", text, flags=re.M)  # sections of numpydoc
    text = re.sub(r"^ *(\||#|>>>|\.\.\.|:::|\.\. |:[\w-]+: ).*$", "\n", text, flags=re.M)
    text = re.sub(r"^ *\S+ : .*$", "\n", text, flags=re.M)  # names and types of parameters
    # Code may begin a sentence.
    text = re.sub(r"(\{[\w:]+\})?(``.+?``|`(?:[^`\n]|\n(?! *\n))+`)", "Code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^ *([-*]|\d+\.) ", "\n\n", text, flags=re.M)
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        yield from filter(None, re.split(r"(?<=[.!?:])\s+(?=[A-Z\"(*])", words))


class Voice(NamedTuple):
    """How a guide speaks: its words a sentence, the share of sentences with "you", and blocks.

    A block is one of code, a table or a picture. `stretch`: most words without one.
    """

    sentences: int
    words: float
    you: float
    words_a_block: float
    stretch: int

    @classmethod
    def of(cls, text: str) -> Voice:
        """Return the voice of a page."""
        counted = [(len(re.findall(r"\S*\w\S*", one)), one) for one in sentences(text)]
        you = sum(bool(re.search(r"\byou(rs?|rself)?\b", one, re.I)) for _, one in counted)
        text = re.sub(r"^ *(```|~~~).*?^ *(```|~~~) *$", "\0", text, flags=re.M | re.S)
        text = re.sub(r"(^ *\|.*(\n|\Z))+|^!\[[^]]*\]\([^)]*\).*$", "\0", text, flags=re.M)
        parts = [
            sum(len(re.findall(r"\S*\w\S*", one)) for one in sentences(part))
            for part in text.split("\0")
        ]
        number, words = len(counted), sum(count for count, _ in counted)
        blocks = max(1, len(parts) - 1)
        return cls(number, words / number, you / number, words / blocks, max(parts))


def cells(text: str) -> Iterator[str]:
    """Return the cells of the tables of a page, outside code."""
    text = re.sub(r"^ *(```|~~~).*?^ *(```|~~~) *$", "\n", text, flags=re.M | re.S)
    for row in re.findall(r"^ *\|(.+)\| *$", text, re.M):
        for cell in re.split(r"(?<!\\)\|", row):
            title = re.fullmatch(r" *!?\[[^]]*\]\([^)]*\) *", cell)
            if re.search(r"[a-z]{2} [a-z]", cell) and not title:
                yield cell.strip()


def of_html(text: str) -> str:
    """Return what a template shows; what is filled in is one word."""
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|<(script|style).*?</\1>", "\n\n", text, flags=re.S)
    text = re.sub(r"</?(b|i|em|strong|code|a|span|abbr|time)\b[^>]*>", "", text)
    return re.sub(r"<[^>]*>", "\n\n", re.sub(r"\{\{.*?\}\}", "x", text, flags=re.S))


def of_script(text: str) -> str:
    """Return the strings of a script that are sentences, without its comments."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    found = re.findall(r"\"([^\"\n]*)\"|`([^`]*)`", text)
    said = (re.sub(r"\$\{[^}]*\}", "x", one or other) for one, other in found)
    return "\n\n".join(each for each in said if len(re.findall(r"[a-z]{3}", each)) > 3)


def texts() -> Iterator[tuple[str, str]]:
    """Return each file of prose, with its prose.

    Pages with the cells of their tables, docstrings and messages of a module, what templates show,
    and the strings of scripts.
    """
    pages = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
    for page in [*pages, *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text("utf-8")
        yield page.relative_to(ROOT).as_posix(), "\n\n".join([text, *cells(text)])
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        yield path.relative_to(ROOT).as_posix(), "\n\n".join([*docstrings(tree), *messages(tree)])
    for path in sorted((ROOT / "src").rglob("*.html")):
        yield path.relative_to(ROOT).as_posix(), of_html(path.read_text("utf-8"))
    for folder in ("src", "clients"):
        for path in sorted((ROOT / folder).rglob("*.mjs")):
            if "test" not in path.as_posix() and "node_modules" not in path.as_posix():
                yield path.relative_to(ROOT).as_posix(), of_script(path.read_text("utf-8"))


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Return the docstrings of what does not begin with an underscore."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            public = isinstance(node, ast.Module) or not node.name.startswith("_")
            if public and (text := ast.get_docstring(node)):
                # A line for each parameter of a function that is not in the reference.
                yield re.sub(r"^ *\*{,2}\w+(, \*{,2}\w+)*: ", "\n\n", text, flags=re.M)


SHOWN = {
    *("warn", "caution", "option", "argument"),
    *("set_title", "set_xlabel", "set_ylabel", "suptitle"),
}
"""Functions whose strings people read: warnings, helps, and the words of pictures."""


def messages(tree: ast.Module) -> Iterator[str]:
    """Return the texts of errors, warnings, helps and pictures; what is filled in is one word."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        named = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if isinstance(node, ast.Raise) or named in SHOWN:
            for part in [*call.args, *(each.value for each in call.keywords)]:
                if isinstance(part, ast.JoinedStr):
                    yield "".join(
                        str(piece.value) if isinstance(piece, ast.Constant) else "x"
                        for piece in part.values
                    )
                elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def counts() -> dict[str, dict[str, int]]:
    """Return how often each file breaks each rule; files without a fault are left out."""
    return {
        name: dict(sorted(found.items()))
        for name, text in texts()
        if (found := Counter(rule for rule, _ in broken(text)))
    }


def main(arguments: list[str]) -> int:
    """List the faults of all files, or of those named; or write the allowlist."""
    if arguments == ["--write"]:
        ALLOWED.write_text(json.dumps(counts(), indent=0, sort_keys=True) + "\n", "utf-8")
        return 0
    for name, text in texts():
        if not arguments or any(word in name for word in arguments):
            for rule, sentence in broken(text):
                print(f"{name}: {rule}: {sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
