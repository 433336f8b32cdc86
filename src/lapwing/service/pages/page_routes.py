"""The addresses of the pages, and the files that they load.

Files are the style, the scripts, and the client that randomizes in a browser.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from lapwing.protocol.messages.problems import Problem
from lapwing.service.pages import add_survey, sign_in, survey_pages, take_part, token_pages
from lapwing.service.pages.page_answers import for_people
from lapwing.service.problem_answers import ProblemError
from lapwing.service.requests import at

FOLDER = Path(__file__).parent / "static"

TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}
"""What is served, by the ends of names. Nothing else is."""


class PageFile(NamedTuple):
    """A file in memory, and the tag of its content."""

    content: bytes
    media_type: str
    tag: str


def client_folder() -> Path:
    """Return the folder of the JavaScript client: in the package, or in the repository."""
    packed = FOLDER / "client"
    return packed if packed.is_dir() else Path(__file__).parents[4] / "clients" / "js"


def page_files() -> dict[str, PageFile]:
    """Return all files by their addresses below ``/static/``."""
    client = client_folder()
    found = {
        path.relative_to(FOLDER).as_posix(): path
        for path in sorted(FOLDER.rglob("*"))
        if "client" not in path.relative_to(FOLDER).parts
    }
    for path in [client / "lapwing.mjs", *sorted((client / "lapwing").glob("*.mjs"))]:
        found[f"client/{path.relative_to(client).as_posix()}"] = path
    return {
        name: _read(path) for name, path in found.items() if path.suffix in TYPES and path.is_file()
    }


def _read(path: Path) -> PageFile:
    content = path.read_bytes()
    return PageFile(content, TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


class PageFiles:
    """Answers with the files as they were when it was made."""

    def __init__(self, files: Mapping[str, PageFile]) -> None:
        self._files = files

    async def show(self, request: Request) -> Response:
        """Return a file, or say that it is unchanged when the browser has it."""
        return self.answer(request, request.path_params["path"])

    async def icon(self, request: Request) -> Response:
        """Return the icon that browsers ask for on their own."""
        return self.answer(request, "icon.svg")

    def answer(self, request: Request, name: str) -> Response:
        """Return the file of a name, or raise the problem that there is none."""
        file = self._files.get(name)
        if file is None:
            raise ProblemError(Problem.NOTHING_HERE, "there is no such file")
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.media_type)


def routes() -> list[BaseRoute]:
    """Return the routes of all pages, and of what they load."""
    files = PageFiles(page_files())
    survey = "/surveys/{survey}"
    pages = {
        "/": {"GET": survey_pages.show_overview},
        "/sign-in": {"GET": sign_in.show, "POST": sign_in.sign_in},
        "/sign-out": {"POST": sign_in.sign_out},
        "/add-survey": {"GET": add_survey.show, "POST": add_survey.add},
        "/tokens": {"GET": token_pages.show, "POST": token_pages.make},
        "/revoke-token": {"POST": token_pages.revoke},
        "/close-epoch": {"POST": add_survey.close_epoch},
        survey: {"GET": survey_pages.show_survey},
        survey + "/result": {"GET": survey_pages.show_result},
        survey + "/alarm": {"GET": survey_pages.show_alarm},
        "/take-part/{survey}": {"GET": take_part.show},
    }
    return [
        *(
            at(path, {method: for_people(each) for method, each in methods.items()})
            for path, methods in pages.items()
        ),
        at("/favicon.ico", {"GET": files.icon}),
        at("/static/{path:path}", {"GET": files.show}),
    ]
