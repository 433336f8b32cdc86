"""Types, package file and page name what the module has; its arguments are those of Python."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from lapwing.client import Device
from lapwing.registry import RANDOMIZERS
from tests.clients_js.programs import CLIENT, ROOT, node
from tests.clients_js.surveys import ELSEWHERE

TYPES = (CLIENT / "lapwing.d.ts").read_text(encoding="utf-8")
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(CLIENT.rglob("*.mjs"))}
PAGE = (ROOT / "docs/guides/local/javascript-devices.md").read_text(encoding="utf-8")
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


ONLY_HERE = {
    "open": {"delaySeconds", "timeoutSeconds", "storage", "fetch", "pause"},
    "fetch": {"signal"},
    "epochs": {"signal"},
    "send": {"signal"},
}
"""Options that browsers need and Python has elsewhere: `CollectorAddress.seconds`, `patience=`."""

ONLY_IN_PYTHON = {"open": {"folder"}, "send": {"patience"}}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _python(name: str) -> tuple[list[str], list[str]]:
    """Return positional arguments and keyword-only ones of a method of Device, in camel case."""
    method = inspect.signature(getattr(Device, name)).parameters.values()
    kept = [one for one in method if one.name not in {"self", *ONLY_IN_PYTHON.get(name, ())}]
    options = [_camel(one.name) for one in kept if one.kind is one.KEYWORD_ONLY]
    return [_camel(one.name) for one in kept if one.kind is not one.KEYWORD_ONLY], options


def _javascript(text: str, name: str) -> tuple[list[str], list[str]]:
    """Return positional arguments, and the names in the object that is the last one."""
    method = "constructor" if name == "open" else name
    head = re.search(rf"^  (?:async )?{method}\(([^)]*)\) \{{$", text, re.MULTILINE)
    assert head, f"the JavaScript Device has no {name}"
    places, _, options = head[1].partition("{")
    listed = [re.findall(r"\w+", each.partition("=")[0]) for each in options.split(",")]
    names = [words[0] for words in listed if words]
    return re.findall(r"\w+", places), [n for n in names if n not in ONLY_HERE.get(name, ())]


def test_a_device_takes_the_arguments_of_the_python_device_in_their_order() -> None:
    source = SOURCES[CLIENT / "lapwing" / "device.mjs"]
    for name in ("open", "fetch", "epochs", "answer", "send", "withdraw"):
        assert _javascript(source, name) == _python(name), name
    public = {name for name in vars(Device) if not name.startswith("_")} - {
        "file",
        "epsilon_cap",
        "keep_days",
        "on_change",
    }
    ours = set(re.findall(r"^  (?:async )?([a-z]\w*)\(", source, re.MULTILINE))
    assert ours - public == {"constructor", "readSurvey", "settle"}
    assert public - ours == {"open", "batches"}


def test_the_types_have_the_arguments_in_their_order() -> None:
    device = TYPES.partition("export class Device ")[2].partition("\n}")[0]
    for name in ("fetch", "epochs", "answer", "send"):
        head = re.search(rf"^  {name}\((.*?)\): Promise", device, re.MULTILINE | re.DOTALL)
        assert head, name
        places = re.findall(r"(\w+)\??: (?=string|Survey|Value)", head[1].partition("{")[0])
        assert places == _python(name)[0], name
    for interface, name in (("DeviceOptions", "open"), ("AnswerOptions", "answer")):
        part = TYPES.partition(f"export interface {interface} {{")[2].partition("\n}")[0]
        options = re.findall(r"^  (\w+)\??:", part, re.MULTILINE)
        assert [n for n in options if n not in ONLY_HERE.get(name, ())] == _python(name)[1], name


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
    assert len(has) == 16
    for name in has | ELSEWHERE:
        assert f"`{name}`" in PAGE, name
    elsewhere = registry.partition("const ELSEWHERE = [")[2].partition("]")[0]
    assert set(re.findall(r'"([a-z-]+)"', elsewhere)) == ELSEWHERE
    assert has == {name for name, made in RANDOMIZERS.items() if made._in_javascript}
    assert has | ELSEWHERE == set(RANDOMIZERS)


def test_the_readme_lists_every_module() -> None:
    readme = (CLIENT / "README.md").read_text(encoding="utf-8")
    for path in SOURCES:
        assert f"`{path.relative_to(CLIENT).as_posix()}`" in readme
