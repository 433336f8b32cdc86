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
NO_ZERO = re.compile(r"(?<![\w.\"'])\.\d")
MINUS = re.compile(r"\b(first|after|pandemic|later) less (before|the (first|second|earlier))\b")
SPLICE = re.compile(
    r"^(?!(?:If|When|Where|While|Because|Since|As|After|Before|With|Without|Although|Though|Once"
    r"|Until|Unless|In|On|At|For|From|By|Of|To|Whether|Here|Then|So|But|And|Or)\b)[^,:(]*\b(?:is|are"
    r"|has|have|holds?|must|may|can|cannot|takes?|needs?)\b[^:]*, (?:it|they|this|this one|these"
    r"|there|the (?:one|value) (?:at|in) \w+ x|(?:(?!but|and)\w+ )?x|nothing) (?:is|are|was|does"
    r"|do|has|have|holds?|must|may|can|cannot|takes?|needs?|says?)\b"
)
"""Two sentences that only a comma joins: "x must be whole, it is a string"."""

SENTENCE_END = re.compile(
    r"(?<=:)\s+(?=[A-Z\"(*])|(?<=\.\*\*)\s+|(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bal\.)(?<=[.!?])\s+(?=\S)"
)
"""A command or a name may begin a sentence in lower case."""

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
    text = re.sub(r"::\n\n(( +\S.*)?\n)+(?=\S)", "\n\n", text)  # literal blocks
    text = re.sub(r"^.*\n *(-{3,}|={3,}) *$", "\n", text, flags=re.M)  # sections of numpydoc
    text = re.sub(r"^ *=+( +=+)+ *\n(.*\S.*\n)* *=+( +=+)+ *$", "\n", text, flags=re.M)  # tables
    text = re.sub(r"^ *>>> (.*\n)*?(?= *$)", "\n", text, flags=re.M)  # with what is printed
    text = re.sub(r"^ *(\||#|>>>|\.\.\.|:::|\.\. |:[\w-]+: |[│├└]).*$", "\n", text, flags=re.M)
    # Names and types of parameters, of results and of errors.
    text = re.sub(r"^ *[^\s,]+(, [^\s,]+)* : .*$", "\n", text, flags=re.M)
    text = re.sub(r"^( *)[A-Za-z][\w.]*\n(?=\1 +\S)", "\n\n", text, flags=re.M)
    # Code may begin a sentence.
    text = re.sub(r"(\{[\w:]+\})?(``.+?``|`(?:[^`\n]|\n(?! *\n))+`)", "Code", text)
    text = re.sub(r"(?<!\w)'[^'\n]+'(?!\w)", "Code", text)
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\n\n\1\n\n", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^ *([-*]|\d+\.) ", "\n\n", text, flags=re.M)
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        yield from filter(None, SENTENCE_END.split(words))


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
        written = text.replace(".**", "**")  # a bold lead belongs to its sentence
        found = [one for one in sentences(written) if re.search(r"\w", one)]
        counted = [(len(re.findall(r"\S*\w\S*", one)), one) for one in found]
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
    """Return what a template shows but its headings; what is filled in is one word."""
    text = re.sub(
        r"\{#.*?#\}|\{%.*?%\}|<(script|style|h[1-6]|title|legend)\b.*?</\1>",
        "\n\n",
        text,
        flags=re.S,
    )
    text = re.sub(r"</?(b|i|em|strong|code|a|span|abbr|time)\b[^>]*>", "", text)
    return re.sub(r"<[^>]*>", "\n\n", re.sub(r"\{\{.*?\}\}", "x", text, flags=re.S))


def of_script(text: str) -> str:
    """Return the strings of a script that are sentences, without its comments."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    found = re.findall(r"\"([^\"\n]*)\"|`([^`]*)`", text)
    said = (re.sub(r"\$\{[^}]*\}", "x", one or other) for one, other in found)
    return "\n\n".join(each for each in said if len(re.findall(r"\b[A-Za-z]{3}", each)) > 3)


def texts() -> Iterator[tuple[str, str]]:
    """Return each file of prose, with its prose.

    Pages with the cells of their tables, docstrings and messages of modules and examples, what
    templates show, and the strings of scripts.
    """
    pages = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
    pages += [ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = re.sub(r"(?<=\n\n)( {4}.*\n)+(?=\n)", "", page.read_text("utf-8"))  # code
        yield page.relative_to(ROOT).as_posix(), "\n\n".join([text, *cells(text)])
    modules = [path for folder in ("src", "examples") for path in (ROOT / folder).rglob("*.py")]
    for path in sorted(modules):
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


NO_SENTENCE = re.compile(r"[A-Z]{4,} |-src |charset=|</|(\b\w{1,3} ){20}")
"""SQL, headers, markup and packed tables."""


def messages(tree: ast.Module) -> Iterator[str]:
    """Return the strings of a module that have words for people: errors, warnings, notes, helps.

    What is filled in is one word. Docstrings are left out.
    """
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Expr)
        for part in (node.values if isinstance(node, ast.JoinedStr) else [node.value])
    }
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else "x"
                for piece in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in inner else node.value
        if len(re.findall(r"\b[A-Za-z]{2}", text)) > 3 and not NO_SENTENCE.search(text):
            yield text


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
