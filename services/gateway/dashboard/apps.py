"""The pages of apps: all of them, and one with its trend, the health of its builds, and its tests."""

import asyncio
from typing import Any

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.resources import read

PAGE_SIZE = 50
TREND_DAYS = (7, 14, 30, 60)
CANDIDATES = 10


@with_session
async def list_apps(request: web.Request) -> Values:
    """A page of the apps, searched by name and platform."""
    query = request.query
    search, platform = query.get("search") or None, query.get("platform") or None
    apps = await read(
        request, "ListApps", search=search, platform=platform, page=query.get("page"), page_size=PAGE_SIZE
    )
    return {"apps": apps, "search": search or "", "platform": platform or ""}


@with_session
async def show_app(request: web.Request) -> Values:
    """An app with its workspace, newest builds and executions, attached tests, and tests to attach."""
    query = request.query
    workspace, builds, tests, candidates, executions = await asyncio.gather(
        read(request, "GetAppWorkspace", trend_days=query.get("days") or None),
        read(request, "ListBuilds", page_size=PAGE_SIZE),
        read(request, "ListAttachments", page=query.get("page"), page_size=PAGE_SIZE),
        _find_tests(request),
        read(request, "ListExecutions", app_id=request.match_info["app_id"], page_size=10),
    )
    trend = [_with_cancelled(point) for point in workspace["execution_trend"]]
    sums = {
        name: sum(point[name] for point in trend)
        for name in ("executions", "passed", "failed", "no-verdict", "cancelled")
    }
    return {
        "app": workspace["app"],
        "workspace": workspace,
        "trend": {"days": len(trend), "choices": TREND_DAYS, "points": trend, "sums": sums},
        "builds": builds["items"],
        "tests": tests,
        "query": {name: query[name] for name in ("days", "attach", "platform") if name in query},
        "candidates": candidates,
        "executions": executions,
    }


async def _find_tests(request: web.Request) -> Any:
    """Tests of a platform whose names contain `?attach=`; None while nothing is searched."""
    query = request.query
    if "attach" not in query:
        return None
    platform = query.get("platform") or None
    return await read(request, "ListTests", search=query["attach"] or None, platform=platform, page_size=CANDIDATES)


def _with_cancelled(point: dict[str, Any]) -> dict[str, Any]:
    """`executions` of a day is passed + failed + infra_failed + cancelled."""
    without = point["infra_failed"]
    cancelled = point["executions"] - point["passed"] - point["failed"] - without
    return {**point, "no-verdict": without, "cancelled": cancelled}
