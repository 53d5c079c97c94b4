"""The pages of executions: all of them, one with its runs, and the queue."""

import asyncio
from typing import Any
from urllib.parse import quote

from aiohttp import web

from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.comparisons import NO_GATE, base_branch_of, read_gate
from services.gateway.dashboard.error_pages import PageUnknown
from services.gateway.dashboard.execution_filters import RESULTS, USUAL, read_filters, to_parameters
from services.gateway.dashboard.execution_runs import reasons_elsewhere, shown_groups
from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.resources import read

SEARCHED_PAGES, SEARCHED_PAGE_SIZE = 2, 500
RUNS_PAGE_SIZE = 100
# Executions that repeat one, or that it superseded.
RELATIVES = 5
PAGE_SIZE = 50
WORKERS_PAGE_SIZE = 100
POLL_SECONDS = 3


@with_apps
async def list_executions(request: web.Request) -> Values:
    """A page of the executions that match the filters in the address."""
    filters = read_filters(request.query)
    page = request.query.get("page")
    executions = await read(request, "ListExecutions", page=page, page_size=PAGE_SIZE, **to_parameters(filters))
    return {"executions": executions, "filters": filters, "results": RESULTS, "usual": USUAL}


@with_apps
async def show_execution(request: web.Request) -> Values:
    """An execution with its runs, the worst first, and its gate once it has ended; the check of a proposal has none."""
    execution_id = request.match_info["execution_id"]
    execution, runs, repeated, superseded = await asyncio.gather(
        read(request, "GetExecution"),
        read(request, "ListRuns", page=request.query.get("page"), page_size=RUNS_PAGE_SIZE, order="worst"),
        read(request, "ListExecutions", rerun_of=execution_id, page_size=RELATIVES),
        read(request, "ListExecutions", superseded_by=execution_id, page_size=RELATIVES),
    )
    gate = await read_gate(request) if execution["completed_at"] and "verifies" not in execution else NO_GATE
    reasons = {reason["run_id"]: reason for reason in (gate["gate"] or {"reasons": ()})["reasons"]}
    groups = shown_groups(runs, reasons)
    return {
        "execution": execution,
        "named": _base_branch(request, execution),
        "runs": runs,
        "groups": groups,
        "reasons": reasons,
        "other_reasons": reasons_elsewhere(groups, reasons),
        "repeated": repeated,
        "superseded": superseded,
        **gate,
    }


async def find_run(request: web.Request) -> str:
    """The address of a test's run in an execution, with `app` on that app, or of the execution if that is not among its
    first runs.
    """
    ids, app = request.match_info, request.query.get("app")
    execution = f"/executions/{quote(ids['execution_id'], safe='')}"
    for number in range(1, SEARCHED_PAGES + 1):
        runs = await read(request, "ListRuns", page=number, page_size=SEARCHED_PAGE_SIZE)
        for run in runs["items"]:
            if run["test_id"] == ids["test_id"] and app in (None, run["app_id"]):
                return f"{execution}/runs/{run['id']}"
        if not runs["has_next"]:
            break
    return execution


def _base_branch(request: web.Request, execution: Any) -> dict[str, str]:
    """The branch to compare with that the address of the page names, or else CI for the execution."""
    branch = (execution["ci"] or {}).get("base_branch")
    return base_branch_of(request) or ({"base_branch": branch} if branch else {})


@with_session
async def show_queue(request: web.Request) -> Values:
    """A page of the waiting runs, and the workers."""
    query = request.query
    waiting, workers = await asyncio.gather(
        _read_shrinking(request, "ListQueuedRuns", page=query.get("page"), page_size=PAGE_SIZE),
        _read_shrinking(request, "ListWorkers", page=query.get("workers"), page_size=WORKERS_PAGE_SIZE),
    )
    return {
        "queue": waiting,
        "workers": workers,
        "poll_seconds": POLL_SECONDS,
    }


async def _read_shrinking(request: web.Request, operation: str, *, page: str | None, page_size: int) -> Any:
    """A page of a list; the last one, with `missing_page`, if the list has become shorter since somebody opened it."""
    try:
        return await read(request, operation, page=page, page_size=page_size)
    except PageUnknown as error:
        shown = await read(request, operation, page=error.last, page_size=page_size)
        return {**shown, "missing_page": error.number}
