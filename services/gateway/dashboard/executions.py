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
