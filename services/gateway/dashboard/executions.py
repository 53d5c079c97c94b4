"""The pages of executions: all of them, and one with its runs."""

import asyncio
from urllib.parse import quote

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.rest_reader import read

FILTERS = ("status", "app_id", "workflow_id", "source", "branch", "commit_sha", "pr_number")


@with_session
async def list_executions(request: web.Request) -> Values:
    """A page of the executions, newest first."""
    filters = {name: request.query[name] for name in FILTERS if request.query.get(name)}
    executions = await read(request, "executions", page=request.query.get("page"), page_size=50, **filters)
    return {"executions": executions, "filters": filters}


@with_session
async def show_execution(request: web.Request) -> Values:
    """An execution with a page of its runs."""
    execution = f"executions/{quote(request.match_info['execution_id'], safe='')}"
    found, runs = await asyncio.gather(
        read(request, execution), read(request, f"{execution}/runs", page=request.query.get("page"), page_size=100)
    )
    return {"execution": found, "runs": runs}


@with_session
async def show_run(request: web.Request) -> Values:
    """A run with its attempts, their steps and screens."""
    ids = request.match_info
    execution = f"executions/{quote(ids['execution_id'], safe='')}"
    found, run = await asyncio.gather(
        read(request, execution), read(request, f"{execution}/runs/{quote(ids['run_id'], safe='')}")
    )
    return {"execution": found, "run": run}
