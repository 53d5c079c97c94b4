"""The pages of tests: all of them, a new one, and one with its steps, its runs and the last screen."""

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import orjson
from aiohttp import web

from services.chassis.turns import in_turns
from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.pins import find_missing, missing_current, pins_of, read_header
from services.gateway.dashboard.resources import read, read_parts, read_tagged
from services.gateway.dashboard.run_results import RESULTS, read_result
from services.gateway.dashboard.run_strips import strips_of
from services.gateway.dashboard.step_text import write_steps
from services.gateway.http.json_responses import HttpError

FILTERS = ("search", "platform", "tag", "classification", "app_id")
CLASSIFICATIONS = ("broken", "regressed", "flaky", "recovered", "stable", "insufficient_data")
PAGE_SIZE = 50
# Apps of a test that its page offers to run it on.
STARTED_APPS = 20

Json = Mapping[str, Any]
T = TypeVar("T")
RUNS, SCREEN_RUNS, SCORED_APPS = 50, 20, 3


@with_apps
async def list_tests(request: web.Request) -> Values:
    """A page of the tests that fit; of one app with their last results and classifications."""
    filters = {name: text for name in FILTERS if (text := request.query.get(name, "").strip())}
    tests, reports = await asyncio.gather(
        read(request, "ListTests", page=request.query.get("page"), page_size=PAGE_SIZE, **filters),
        _read_reports(request, filters.get("app_id")),
    )
    return {
        "tests": tests,
        "filters": filters,
        "results": await _results(reports, {test["id"] for test in tests["items"]}),
        "classifications": CLASSIFICATIONS,
    }


@with_apps
async def new_test(request: web.Request) -> Values:
    """The form for a new test."""
    return {"app_id": request.query.get("app_id", "")}


@with_apps
async def show_steps(request: web.Request) -> Values:
    """A test with its steps to edit; `etag` makes sure that nobody else's change is overwritten."""
    test, etag = await read_tagged(request, "GetTest")
    text, header = await asyncio.gather(asyncio.to_thread(write_steps, test["steps"] or ()), read_header(request, test))
    return {**header, "etag": etag, "text": text}


@with_apps
async def show_starts(request: web.Request) -> Values:
    """The apps of a test, each with the build on which it runs now and the request that starts exactly that."""
    test = await read(request, "GetTest")
    attachments = test["attachments"][:STARTED_APPS]
    apps = await asyncio.gather(*(read(request, "GetApp", app_id=each["app_id"]) for each in attachments))
    selected = [{"test_id": test["id"], "version_number": test["version_number"]}]
    starts = []
    missing = await find_missing(request, pins_of(test, STARTED_APPS))
    for app, attachment in zip(apps, attachments, strict=True):
        version = attachment["pinned_version"] or default_version(app)
        has_build = (app["id"], attachment["pinned_version"]) not in missing
        body = {**start_request(app, version, selected, name=test["name"]), "override_build_config": True}
        starts.append((app, attachment, version, has_build, body))
    unpinned = [app for app, attachment, *_ in starts if not attachment["pinned_version"]]
    return {"test": test, "missing_pins": missing, "missing_current": missing_current(unpinned), "starts": starts}


def default_version(app: Mapping[str, Any]) -> str | None:
    """The version of the build on which tests of an app run that are not pinned; None if there is none."""
    version: str | None = app["current_version"] if app["current_build_id"] else app["latest_version"]
    return version


def start_request(app: Mapping[str, Any], version: str | None, tests: Sequence[Any], *, name: str) -> Mapping[str, Any]:
    """The body of `POST /executions` that runs tests on an app, and on this version of it unless they are pinned."""
    platform = "ios_build" if app["platform"] == "iOS" else "android_build"
    build_config = {platform: {"app_id": app["id"], "pinned_version": version}}
    return {"name": name[:200], "tests": tests, "build_config": build_config}


async def read_report(reading: Awaitable[T]) -> T | None:
    """A resource of reporting; None while reporting does not answer, so that the rest can be shown.

    Raises:
        HttpError: the request cannot be answered.
    """
    try:
        return await reading
    except HttpError as error:
        if error.status < 500:
            raise
        return None


async def items_of(items: Iterable[bytes], test_ids: Collection[str]) -> Mapping[str, Json]:
    """By test, the items of a report (see `read_parts`) that are about these tests."""
    items_by_test: dict[str, Json] = {}
    async for text in in_turns(items):
        item = orjson.loads(text)
        if item["test_id"] in test_ids:
            items_by_test[item["test_id"]] = item
    return items_by_test


async def _read_reports(request: web.Request, app_id: str | None) -> tuple[Json, Json] | None:
    """The coverage and the matrix of an app, empty without one; None while there are no reports."""
    if app_id is None:
        return {"items": ()}, {"tests": ()}
    coverage, matrix = await asyncio.gather(
        read_report(read_parts(request, "GetAppCoverage", app_id=app_id)),
        read_report(read_parts(request, "GetTestMatrix", app_id=app_id, page_size=2)),
    )
    return None if coverage is None or matrix is None else (coverage, matrix)


async def _results(reports: tuple[Json, Json] | None, test_ids: Collection[str]) -> Mapping[str, Json] | None:
    """By test of these that is in the coverage: its fields there and in its row of the matrix; None without reports."""
    if reports is None:
        return None
    items = await items_of(reports[0]["items"], test_ids)
    rows = await items_of(reports[1]["tests"], test_ids)
    return {test_id: {**rows.get(test_id, {}), **item} for test_id, item in items.items()}


@with_apps
async def show_history(request: web.Request) -> Values:
    """A page of the runs, newest first, and how the test is classified on its apps, at most three of them.

    Runs with one result make no strips: what happened in between is not among them.
    """
    page, chosen = request.query.get("page"), read_result(request.query)
    test, runs = await asyncio.gather(
        read(request, "GetTest"), read_report(read(request, "ListTestRuns", page=page, page_size=RUNS, **chosen))
    )
    header, scores = await asyncio.gather(read_header(request, test), _scores(request, test))
    apps = {app["app_id"]: app for app in test["attachments"]}
    strips = strips_of(runs["items"], apps) if runs and not chosen else ()
    shown = {"runs": runs, "scores": scores, "apps": apps, "strips": strips}
    return {**header, **shown, "chosen": chosen, "results": RESULTS}


@with_apps
async def show_last_screen(request: web.Request) -> Values:
    """The newest screen whose page source was recorded, of the newest 20 runs."""
    test, runs = await asyncio.gather(
        read(request, "GetTest"), read_report(read(request, "ListTestRuns", page_size=SCREEN_RUNS))
    )
    screens = (_screen(run) for run in runs["items"]) if runs else ()
    return {**await read_header(request, test), "runs": runs, "screen": next(filter(None, screens), None)}


async def _scores(request: web.Request, test: Mapping[str, Any]) -> Sequence[tuple[Mapping[str, Any], Any]]:
    """The apps of the test with its report on each; without those that reporting cannot answer now."""
    apps = test["attachments"][:SCORED_APPS]
    reports = await asyncio.gather(
        *(read_report(read(request, "GetTestReport", app_id=app["app_id"], test_id=test["id"])) for app in apps)
    )
    return [(app, report) for app, report in zip(apps, reports, strict=True) if report is not None]


def _screen(run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The last page source of a run and the screenshot of the same moment, empty if there is none."""
    artifacts = run["report_metadata"].get("artifacts") or ()
    trees = [artifact for artifact in artifacts if artifact["kind"] == "tree" and artifact["url"]]
    if not trees:
        return None
    moment = trees[-1]["name"].rpartition("-tree.")[0]
    pictures = (artifact["url"] for artifact in artifacts if artifact["name"] == f"{moment}.png")
    return {"run": run, "source": trees[-1]["url"], "picture": next(pictures, "")}
