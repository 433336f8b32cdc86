"""The generated pages of the reference leave nothing out."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from lapwing.service.app import ENDPOINTS
from lapwing.service.openapi import openapi_document

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"

sys.path.append(str(ROOT / "docs"))

from reference_pages import declarations  # noqa: E402


def test_every_address_has_its_section_and_every_object_is_in_the_file() -> None:
    page = (REFERENCE / "http.md").read_text("utf-8")
    document = openapi_document(ENDPOINTS)
    wanted = {
        f"{method.upper()} `{path}`"
        for path, item in document["paths"].items()
        for method in set(item) - {"parameters", "options"}
    }
    assert wanted == set(re.findall("^### (.+)$", page, re.M))
    file = json.loads((REFERENCE / "openapi.json").read_text("utf-8"))
    assert file["components"]["schemas"] == document["components"]["schemas"]
    for name in re.findall(r"`([A-Z]\w+)`", page.partition("## Devices")[2]):
        assert name in file["components"]["schemas"], name


def test_every_problem_is_said_at_the_addresses_that_give_it() -> None:
    page = (REFERENCE / "http.md").read_text("utf-8")
    upload = page.partition("### PUT `/v1/surveys/{survey}/epochs/{epoch}/batches")[2]
    problems = upload.partition("\nProblems: ")[2].partition("\n")[0]
    for word in (
        *("malformed-batch", "damaged-batch", "epoch-closed", "disk-full", "reports-refused"),
    ):
        assert f"`{word}`" in problems


def test_every_exported_name_of_the_javascript_client_is_on_its_page() -> None:
    source = (ROOT / "clients" / "js" / "lapwing.d.ts").read_text("utf-8")
    page = (REFERENCE / "javascript.md").read_text("utf-8")
    names = re.findall(r"^export (?:class|interface|function|type|const) (\w+)", source, re.M)
    assert len(names) == source.count("export ") > 20
    for name in names:
        assert re.search(rf"^(### {name}|\| `{name}` \|.*)$", page, re.M), name
    members = re.findall(r"^  (?:readonly |static )?(\w+)[?(<:]", source, re.M)
    assert len(members) > 60
    for name in set(members) - {"put", "result", "update"}:
        assert re.search(rf"^\| `(readonly |static )?{name}\b", page, re.M), name


def test_a_declaration_is_read_with_its_comment_and_its_members() -> None:
    text = """// A file.
/** What it is. */
export interface Thing {
  /** How
   *  many. */
  count?: number;
  run<T>(
    of: { a: string; b?: T },
  ): Promise<T>;
}
export type Kind = "a" | "b";
"""
    ((said, head, members), (_, kind, none)) = declarations(text)
    assert (said, head) == ("What it is.", "interface Thing")
    assert members == [
        ("How many.", "count?: number"),
        ("", "run<T>( of: { a: string; b?: T }, ): Promise<T>"),
    ]
    assert (kind, none) == ('type Kind = "a" | "b"', [])
