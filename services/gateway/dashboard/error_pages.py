"""What a page says of an error: what is wrong in the words of people, and where to go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from services.gateway.http.json_responses import HttpError

# The parameters of pages' addresses that are the number of a page of a list.
PAGE_PARAMETERS = ("page", "workers")
MAX_PAGE = 2**31 - 1
SHOWN_CHARACTERS = 40
MISTYPED = "The address may have been cut off or mistyped."
DELETED = "It may have been deleted, or it belongs to another organisation than your key."

# How the filters of lists are called, where that is not their name in the address.
_LABELS = {
    "app_id": "App",
    "pr_number": "Pull request",
    "commit_sha": "Commit",
    "ci_run_id": "CI run",
    "created_after": "From (UTC)",
    "created_before": "To (UTC)",
}
# What a filter has to be, by the beginning of the kind of a problem.
_NEEDS = {
    "int_": "must be a whole number",
    "uuid_": "must be an id",
    "datetime_": "must be a day such as 2026-01-31",
    "timezone_": "must be a day such as 2026-01-31",
}


class PageUnknown(HttpError):
    """404: a list does not have the page of this number; `last` is that of its last page, at least 1."""

    def __init__(self, number: int, last: int) -> None:
        super().__init__(404, f"Page {number} does not exist: the last one is page {last}", "PAGE_UNKNOWN")
        self.number = number
        self.last = last


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """`links` are addresses with their names; an empty address is that of the page itself."""

    status: int
    title: str
    message: str
    links: Sequence[tuple[str, str]]
    hint: str = ""


def parse_page(text: str) -> int:
    """The number of a page of a list; an empty text is the first one.

    Raises:
        HttpError: 422, as the REST interface answers.
    """
    if not text:
        return 1
    if not _is_page(text):
        issue = {"loc": ["query", "page"], "msg": "Input should be the number of a page, from 1", "type": "int_parsing"}
        raise HttpError(422, [issue], "VALIDATION_FAILED")
    return int(text)


def explain(request: web.Request, error: HttpError) -> ErrorPage:
    """The page that a person sees instead of the one that was asked for."""
    if isinstance(error, PageUnknown):
        return _unknown_page_number(request, str(error.number), error.last)
    if error.status == 422:
        return _explain_address(request, error)
    if error.status == 404:
        is_path = error.code == "PATH_UNKNOWN"
        message = "No page has this address." if is_path else f"{error.message}."
        return ErrorPage(404, "Not found", message, _starts(request), MISTYPED if is_path else DELETED)
    if error.status >= 500 or error.status == 429:
        return ErrorPage(error.status, "This did not work", error.message, [("", "Try again")])
    title = "Not allowed" if error.status == 403 else "This did not work"
    return ErrorPage(error.status, title, error.message, _starts(request))


def _explain_address(request: web.Request, error: HttpError) -> ErrorPage:
    """The page of a request whose address the REST interface does not understand."""
    issues = error.detail if isinstance(error.detail, list) else []
    if any(issue["loc"][0] == "path" for issue in issues):
        return ErrorPage(404, "Not found", "Nothing has this id.", _starts(request), MISTYPED)
    wrong = [name for name in PAGE_PARAMETERS if not _is_page(request.query.get(name, "1"))]
    if wrong and any(issue["loc"][-1] == "page" for issue in issues):
        return _unknown_page_number(request, request.query[wrong[0]], None)
    named = {str(issue["loc"][-1]): issue for issue in issues if str(issue["loc"][-1]) in request.query}
    message = " ".join(map(_sentence, named.values())) or error.message
    links = [(request.path, "Show the page without filters")]
    others = {key: value for key, value in request.query.items() if key not in named}
    if named and others:
        links.insert(0, (f"?{urlencode(others)}", "Keep the other filters"))
    return ErrorPage(422, "Not understood", message, links, MISTYPED)


def _sentence(issue: Any) -> str:
    """What is wrong with a filter, named as in the form."""
    name, kind = str(issue["loc"][-1]), issue["type"]
    label = _LABELS.get(name, name.replace("_", " ").capitalize())
    need = next((need for begin, need in _NEEDS.items() if kind.startswith(begin)), None)
    return f'"{label}" {need or _without_subject(issue["msg"])}.'


def _without_subject(message: str) -> str:
    """As "must be at least 7" of "Input should be greater than or equal to 7"."""
    text = message.removeprefix("Input should ").removeprefix("String should ")
    return f"must {text}" if text != message else f"is not possible: {message}"


def _unknown_page_number(request: web.Request, number: str, last: int | None) -> ErrorPage:
    """`last`: the number of the last page, None if it is not known because `number` is not that of a page."""
    name = next((each for each in PAGE_PARAMETERS if request.query.get(each) == number), PAGE_PARAMETERS[0])
    query = {key: value for key, value in request.query.items() if key != name}
    links = [(f"{request.path}?{urlencode({**query, name: 1})}", "First page")]
    if last is None:
        message = "Pages are numbered from 1."
    elif last == 1:
        message = "The list has only one page."
    else:
        message = f"The list has {last} pages."
        links.append((f"{request.path}?{urlencode({**query, name: last})}", "Last page"))
    return ErrorPage(404, f"No page {number[:SHOWN_CHARACTERS]}", message, links)


def _starts(request: web.Request) -> Sequence[tuple[str, str]]:
    """Where somebody goes on who wanted a page of the same kind."""
    kinds = {"tests": ("/tests", "All tests"), "executions": ("/executions", "All executions")}
    kind = kinds.get(request.path.split("/")[1])
    return [kind, ("/", "All apps")] if kind else [("/", "All apps")]


def _is_page(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10 and 1 <= int(text) <= MAX_PAGE
