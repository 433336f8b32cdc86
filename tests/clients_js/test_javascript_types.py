"""The types, the package file and the page name what the JavaScript module has."""

from __future__ import annotations

import json
import re

import pytest

from tests.clients_js.programs import CLIENT, ROOT, node
from tests.clients_js.surveys import ELSEWHERE

TYPES = (CLIENT / "lapwing.d.ts").read_text(encoding="utf-8")
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(CLIENT.rglob("*.mjs"))}
PAGE = (ROOT / "docs" / "clients-javascript.md").read_text(encoding="utf-8")
MOST_LINES = 500

LISTED = """
import * as lapwing from "../../clients/js/lapwing.mjs";
const members = (made) => [...Object.getOwnPropertyNames(made.prototype ?? {}),
  ...Object.getOwnPropertyNames(made)];
console.log(JSON.stringify(Object.fromEntries(Object.entries(lapwing).map(
  ([name, made]) => [name, typeof made === "function" ? members(made) : []]))));
"""


@pytest.mark.service
def test_every_name_and_every_method_has_a_type() -> None:
    found = json.loads(node("--input-type=module", "-e", LISTED))
    declared = set(re.findall(r"^export (?:class|function|const) (\w+)", TYPES, re.MULTILINE))
    assert set(found) == declared
    for name, members in found.items():
        part = TYPES.partition(f"export class {name} ")[2].partition("\n}")[0]
        ours = set(members) - {"constructor", "prototype", "length", "name"}
        missing = {member for member in ours if not re.search(rf"\b{member}\b", part)}
        assert not missing or name.endswith("Error"), (name, missing)


def test_nothing_is_imported_but_neighbors_and_nothing_is_made_of_texts() -> None:
    for path, text in SOURCES.items():
        for target in re.findall(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""", text):
            assert target.startswith("./") and (path.parent / target).exists(), (path.name, target)
        assert not re.search(r"\beval\b|\bFunction\(|innerHTML|Math\.random", text), path.name
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert package["type"] == "module" and not any("ependencies" in key for key in package)
    assert "scripts" not in package


def test_modules_are_short_and_lines_fit() -> None:
    for path, text in SOURCES.items():
        lines = text.splitlines()
        assert len(lines) <= MOST_LINES and max(map(len, lines)) <= 100, path.name
        assert lines[0].startswith("// "), f"{path.name} says first what it is"
        assert not any(line != line.rstrip() for line in lines), path.name


def test_the_page_names_what_there_is_and_what_there_is_not() -> None:
    registry = SOURCES[CLIENT / "lapwing" / "registry.mjs"]
    table = registry.partition("const RANDOMIZERS = ")[2].partition("\n});")[0]
    has = set(re.findall(r'^  "?([a-z-]+)"?:', table, re.MULTILINE))
    assert len(has) == 13
    for name in has | ELSEWHERE:
        assert f"`{name}`" in PAGE, name
    elsewhere = registry.partition("const ELSEWHERE = [")[2].partition("]")[0]
    assert set(re.findall(r'"([a-z-]+)"', elsewhere)) == ELSEWHERE


def test_the_readme_lists_every_module() -> None:
    readme = (CLIENT / "README.md").read_text(encoding="utf-8")
    for path in SOURCES:
        assert f"`{path.relative_to(CLIENT).as_posix()}`" in readme
