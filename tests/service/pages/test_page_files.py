"""Files of the pages: all are served, nothing else is, and the wheel holds them."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.service.pages.page_routes import FOLDER, client_folder, page_files
from tests.service.one_collector import Site


async def test_every_file_of_the_pages_is_served_and_nothing_else(here: Site) -> None:
    for name, file in page_files().items():
        answer = await here.ask("GET", f"/static/{name}", token=None)
        assert answer.status_code == 200 and answer.content == file.content
        tag = {"if-none-match": answer.headers["etag"]}
        again = await here.ask("GET", f"/static/{name}", token=None, headers=tag)
        assert again.status_code == 304 and again.content == b""
    icon = await here.ask("GET", "/favicon.ico", token=None)
    assert icon.headers["content-type"] == "image/svg+xml"
    for name in (
        "",
        "../page_routes.py",
        "%2e%2e/page_routes.py",
        "vendor/SHA256SUMS",
        "x",
    ):
        answer = await here.ask("GET", f"/static/{name}", token=None)
        assert answer.status_code == 404, name


def test_the_client_and_all_its_parts_are_served() -> None:
    files = page_files()
    client = client_folder()
    served = {name for name in files if name.startswith("client/")}
    assert served == {"client/lapwing.mjs"} | {
        f"client/lapwing/{path.name}" for path in (client / "lapwing").glob("*.mjs")
    }
    for name in served:  # what a part imports is there, too
        text = files[name].content.decode()
        for wanted in re.findall(r'from "\./([^"]+)"', text):
            assert str(Path(name).parent / wanted) in files


def test_vendored_files_are_the_bytes_that_were_published() -> None:
    listed = dict(
        reversed(line.split(maxsplit=1))
        for line in (FOLDER / "vendor" / "SHA256SUMS").read_text().splitlines()
    )
    found = {path.name for path in (FOLDER / "vendor").iterdir()} - {"SHA256SUMS"}
    assert set(listed) == found
    for name, known in listed.items():
        content = (FOLDER / "vendor" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == known, name


def test_the_wheel_holds_the_client_where_the_pages_look_for_it() -> None:
    root = Path(lw.__file__).parents[2]
    project = root / "pyproject.toml"
    if not project.exists():
        pytest.skip("an installed package has no project file")
    wheel = tomllib.loads(project.read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    target = (FOLDER / "client").relative_to(Path(lw.__file__).parents[1]).as_posix()
    assert wheel["force-include"] == {
        "clients/js/lapwing.mjs": f"{target}/lapwing.mjs",
        "clients/js/lapwing": f"{target}/lapwing",
    }
    assert client_folder() == root / "clients" / "js"
