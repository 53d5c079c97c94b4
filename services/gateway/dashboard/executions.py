"""The pages of executions: all of them, and one with its runs."""

import asyncio
from typing import Any
from urllib.parse import quote

from aiohttp import web

from services.gateway.dashboard.builds import repository_url
from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.pictures import pictures_of, step_class
from services.gateway.dashboard.rest_reader import RestError, read

SEARCHED_PAGES = 10
FILTERS = ("status", "app_id", "workflow_id", "source", "branch", "commit_sha", "pr_number")


@with_session
async def list_executions(request: web.Request) -> Values:
    """A page of the executions, newest first."""
    filters = {name: request.query[name] for name in FILTERS if request.query.get(name)}
    executions = await read(request, "executions", page=request.query.get("page"), page_size=50, **filters)
    return {"executions": executions, "filters": filters}


@with_session
async def show_execution(request: web.Request) -> Values:
    """An execution with a page of its runs, and its gate once it has ended."""
    execution = f"executions/{quote(request.match_info['execution_id'], safe='')}"
    found, runs = await asyncio.gather(
        read(request, execution), read(request, f"{execution}/runs", page=request.query.get("page"), page_size=100)
    )
    return {
        "execution": found,
        "runs": runs,
        "platforms": {run["id"]: run["platform"] for run in runs["items"]},
        "gate": await _gate(request, execution) if found["completed_at"] else None,
    }


async def find_run(request: web.Request) -> str:
    """The address of a test's run in an execution, with `app` on that app, or of the execution if that is not among its
    first runs.
    """
    ids, app = request.match_info, request.query.get("app")
    execution = f"/executions/{quote(ids['execution_id'], safe='')}"
    for number in range(1, SEARCHED_PAGES + 1):
        runs = await read(request, f"{execution[1:]}/runs", page=number, page_size=100)
        for run in runs["items"]:
            if run["test_id"] == ids["test_id"] and app in (None, run["app_id"]):
                return f"{execution}/runs/{run['id']}"
        if not runs["has_next"]:
            break
    return execution


async def _gate(request: web.Request, execution: str) -> Any:
    """None if reporting does not know the execution yet, or does not answer: the page is of use without it."""
    try:
        return await read(request, f"{execution}/gate")
    except RestError:
        return None


@with_session
async def show_run(request: web.Request) -> Values:
    """A run with its attempts, their steps and screens."""
    ids = request.match_info
    execution = f"executions/{quote(ids['execution_id'], safe='')}"
    found, run = await asyncio.gather(
        read(request, execution), read(request, f"{execution}/runs/{quote(ids['run_id'], safe='')}")
    )
    return {
        "execution": found,
        "run": run,
        "broken": await _breakage(request, run),
        "repository": repository_url([run]),
        "pictures_of": pictures_of,
        "step_class": step_class,
    }


async def _breakage(request: web.Request, run: Any) -> Any:
    """The failing test in the comparison of the run's build with the one before; None if it does not fail there."""
    if run["success"] is not False or run["build_id"] is None:
        return None
    try:
        compared = await read(request, f"apps/builds/{run['build_id']}/compare")
    except RestError:
        return None
    failing = [*compared["newly_failing"], *compared["still_failing"]]
    return next((test for test in failing if test["test_id"] == run["test_id"]), None)
