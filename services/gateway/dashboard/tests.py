"""The pages of tests: all of them, a new one, and one with its steps."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.rest_reader import RestError, read, read_tagged
from services.gateway.dashboard.step_text import write_steps

FILTERS = ("search", "platform", "tag", "classification", "app_id")
CLASSIFICATIONS = ("broken", "regressed", "flaky", "recovered", "stable", "insufficient_data")
PAGE_SIZE, APPS = 50, 100
STARTED_APPS = 20
"""Apps of a test that its page offers to run it on."""


@with_session
async def list_tests(request: web.Request) -> Values:
    """A page of the tests that fit; of one app with their last results and classifications."""
    filters = {name: text for name in FILTERS if (text := request.query.get(name, "").strip())}
    tests, apps, results = await asyncio.gather(
        read(request, "tests", page=request.query.get("page"), page_size=PAGE_SIZE, **filters),
        read(request, "apps", page_size=APPS),
        _results(request, filters.get("app_id")),
    )
    return {
        "tests": tests,
        "apps": apps["items"],
        "filters": filters,
        "results": results,
        "classifications": CLASSIFICATIONS,
    }


@with_session
async def new_test(request: web.Request) -> Values:
    """The form for a new test."""
    apps = await read(request, "apps", page_size=APPS)
    return {"apps": apps["items"], "app_id": request.query.get("app_id", "")}


@with_session
async def show_steps(request: web.Request) -> Values:
    """A test with its steps to edit; `etag` makes sure that nobody else's change is overwritten."""
    test, etag = await read_tagged(request, test_path(request))
    return {"test": test, "etag": etag, "text": await asyncio.to_thread(write_steps, test["steps"] or ())}


@with_session
async def show_starts(request: web.Request) -> Values:
    """The apps of a test, each with the build on which it runs now and the request that starts exactly that."""
    test = await read(request, test_path(request))
    attachments = test["attachments"][:STARTED_APPS]
    apps = await asyncio.gather(*(read(request, f"apps/{each['app_id']}") for each in attachments))
    selected = [{"test_id": test["id"], "version_number": test["version_number"]}]
    starts = []
    for app, attachment in zip(apps, attachments, strict=True):
        version = attachment["pinned_version"] or default_version(app)
        body = {**start_request(app, version, selected, name=test["name"]), "override_build_config": True}
        starts.append((app, attachment, version, body))
    return {"test": test, "starts": starts}


def default_version(app: Mapping[str, Any]) -> str | None:
    """The version of the build on which tests of an app run that are not pinned; None if there is none."""
    version: str | None = app["current_version"] if app["current_build_id"] else app["latest_version"]
    return version


def start_request(app: Mapping[str, Any], version: str | None, tests: Sequence[Any], *, name: str) -> Mapping[str, Any]:
    """The body of `POST /executions` that runs tests on an app, and on this version of it unless they are pinned."""
    platform = "ios_build" if app["platform"] == "iOS" else "android_build"
    build_config = {platform: {"app_id": app["id"], "pinned_version": version}}
    return {"name": name[:200], "tests": tests, "build_config": build_config}


def test_path(request: web.Request) -> str:
    """Where the test of the page's address is, below /api/v1."""
    return f"tests/{quote(request.match_info['test_id'], safe='')}"


async def read_report(request: web.Request, path: str, **query: Any) -> Any:
    """A resource of reporting; None while reporting does not answer, so that the rest can be shown. RestError."""
    try:
        return await read(request, path, **query)
    except RestError as error:
        if error.status < 500:
            raise
        return None


async def _results(request: web.Request, app_id: str | None) -> Mapping[str, Mapping[str, Any]] | None:
    """By test, on an app: the fields of its coverage and of its row of the matrix; None while there are no reports."""
    if app_id is None:
        return {}
    app = f"apps/{quote(app_id, safe='')}"
    coverage, matrix = await asyncio.gather(
        read_report(request, f"{app}/coverage"), read_report(request, f"{app}/test_matrix", page_size=2)
    )
    if coverage is None or matrix is None:
        return None
    rows = {row["test_id"]: row for row in matrix["tests"]}
    return {item["test_id"]: {**rows.get(item["test_id"], {}), **item} for item in coverage["items"]}
