"""The addresses of the pages."""

from __future__ import annotations

from starlette.routing import BaseRoute

from lapwing.service.pages import sign_in, survey_pages, take_part
from lapwing.service.pages.page_answers import for_people
from lapwing.service.pages.page_files import PageFiles, page_files
from lapwing.service.requests import at


def routes() -> list[BaseRoute]:
    """Return the routes of all pages, and of what they load."""
    files = PageFiles(page_files())
    survey = "/surveys/{survey}"
    pages = {
        "/": {"GET": survey_pages.show_overview},
        "/sign-in": {"GET": sign_in.show, "POST": sign_in.sign_in},
        "/sign-out": {"POST": sign_in.sign_out},
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
