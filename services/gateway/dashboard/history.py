"""The pages of a test's past: its runs with its score, and the last screen on which a step can be tried."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.resources import read, read_parts
from services.gateway.dashboard.tests import items_of, read_report

RUNS, SCREEN_RUNS, SCORED_APPS = 50, 20, 3


@with_session
async def show_history(request: web.Request) -> Values:
    """A page of the runs, newest first, and how the test is classified on its apps, at most three of them."""
    page = request.query.get("page")
    test, runs = await asyncio.gather(
        read(request, "GetTest"), read_report(read(request, "ListTestRuns", page=page, page_size=RUNS))
    )
    return {"test": test, "runs": runs, "scores": await _scores(request, test)}


@with_session
async def show_last_screen(request: web.Request) -> Values:
    """The newest screen whose page source was recorded, of the newest 20 runs."""
    test, runs = await asyncio.gather(
        read(request, "GetTest"), read_report(read(request, "ListTestRuns", page_size=SCREEN_RUNS))
    )
    screens = (_screen(run) for run in runs["items"]) if runs else ()
    return {"test": test, "runs": runs, "screen": next(filter(None, screens), None)}


async def _scores(request: web.Request, test: Mapping[str, Any]) -> Sequence[tuple[Mapping[str, Any], Any]]:
    """The apps of the test with its row of their matrices."""
    apps = test["attachments"][:SCORED_APPS]
    matrices = await asyncio.gather(
        *(read_report(read_parts(request, "GetTestMatrix", app_id=app["app_id"], page_size=2)) for app in apps)
    )
    found = []
    for app, matrix in zip(apps, matrices, strict=True):
        rows = await items_of(matrix["tests"] if matrix is not None else (), [test["id"]])
        found += [(app, row) for row in rows.values()]
    return found


def _screen(run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The last page source of a run and the screenshot of the same moment, empty if there is none."""
    artifacts = run["report_metadata"].get("artifacts") or ()
    trees = [artifact for artifact in artifacts if artifact["kind"] == "tree" and artifact["url"]]
    if not trees:
        return None
    moment = trees[-1]["name"].rpartition("-tree.")[0]
    pictures = (artifact["url"] for artifact in artifacts if artifact["name"] == f"{moment}.png")
    return {"run": run, "source": trees[-1]["url"], "picture": next(pictures, "")}
