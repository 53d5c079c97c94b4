"""The pages of apps and their builds."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.branches import read_broken
from services.gateway.dashboard.comparisons import base_branch_of, repository_of
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.resources import read, read_part
from services.gateway.dashboard.run_results import RESULTS, read_result
from services.gateway.http.json_responses import HttpError

PAGE_SIZE = 50
# Attached tests on a page of an app.
ATTACHED = 20
TREND_DAYS = (7, 14, 30, 60)
CANDIDATES = 10
MAX_BASES = 100
BUILD_RUNS = 20
# Tests shown of each list of a comparison.
MAX_COMPARED = 100
ORDERS = {"": "Worst first", "name": "Name", "last_run": "Last run"}
# Screens shown of a comparison, and those of them whose pictures are loaded at once.
MAX_SCREENS = 50
OPENED_SCREENS = 5


@with_apps
async def list_apps(request: web.Request) -> Values:
    """A page of the apps, worst first or in another order, searched by name and platform."""
    query = request.query
    search, platform = query.get("search") or None, query.get("platform") or None
    sort = query.get("sort") or None
    filters = {"search": search, "platform": platform, "sort": sort}
    apps, counted = await asyncio.gather(
        read(request, "ListAppHealth", **filters, page=query.get("page"), page_size=PAGE_SIZE),
        read(request, "ListApps", page_size=1),
    )
    return {
        "apps": apps,
        "counts": counted["platform_counts"],
        "search": search or "",
        "platform": platform or "",
        "sort": sort or "",
        "orders": ORDERS,
    }


@with_apps
async def show_app(request: web.Request) -> Values:
    """An app with its workspace, newest builds and executions, attached tests, and tests to attach."""
    query = request.query
    reading = asyncio.ensure_future(read(request, "GetAppWorkspace", trend_days=query.get("days") or None))
    workspace, broken, builds, tests, candidates, executions = await asyncio.gather(
        reading,
        read_broken(request, reading),
        read(request, "ListBuilds", page_size=PAGE_SIZE),
        read(request, "ListAttachments", page=query.get("page"), page_size=ATTACHED),
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
        "query": {name: query[name] for name in ("days", "attach", "platform", "branch") if name in query},
        "candidates": candidates,
        "executions": executions,
        **broken,
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


@with_apps
async def show_build(request: web.Request) -> Values:
    """A build of the app in the address.

    Raises:
        HttpError: the request cannot be answered.
    """
    query, named = request.query, base_branch_of(request)
    of_build = {"version_id": request.match_info["build_id"]}
    build, workspace, builds, (runs, has_runs), gate, comparison = await asyncio.gather(
        read(request, "GetBuild", **of_build),
        read(request, "GetAppWorkspace", build_id=request.match_info["build_id"]),
        read(request, "ListBuilds", page_size=MAX_BASES),
        _read_runs(request, of_build),
        read_part("gate", read(request, "GetBuildGate", **of_build, **named)),
        read_part("comparison", read(request, "CompareBuilds", **of_build, base=query.get("base") or None, **named)),
    )
    if build["app_id"] != workspace["app"]["id"]:
        raise HttpError(404, "Build not found", "BUILD_NOT_FOUND")
    return {
        "app": workspace["app"],
        "build": build,
        "sha256": build["artifact_url"].rpartition("/")[2] if build["download_url"] else None,
        "health": next(iter(workspace["build_health"]), None),
        "builds": builds,
        "runs": runs,
        "has_runs": has_runs,
        "chosen": read_result(query),
        "results": RESULTS,
        "repository": repository_of(comparison["comparison"]),
        "base": query.get("base", ""),
        "named": named,
        "screens_query": urlencode({**{name: query[name] for name in ("base",) if query.get(name)}, **named}),
        "most": MAX_COMPARED,
        **comparison,
        **gate,
    }


async def _read_runs(request: web.Request, of_build: Mapping[str, str]) -> tuple[Any, bool]:
    """A page of the runs of a build with the chosen result, and whether anything has run on it at all."""
    chosen = read_result(request.query)
    page = request.query.get("page")
    runs = await read(request, "ListBuildRuns", **of_build, **chosen, page=page, page_size=BUILD_RUNS)
    if runs["total"] or not chosen:
        return runs, runs["total"] > 0
    return runs, (await read(request, "ListBuildRuns", **of_build, page_size=1))["total"] > 0


@with_apps
async def show_screen_changes(request: web.Request) -> Values:
    """What changed on the screens since another build.

    Raises:
        HttpError: the request cannot be answered.
    """
    query, of_build = request.query, {"version_id": request.match_info["build_id"]}
    named = base_branch_of(request)
    build, app, changes = await asyncio.gather(
        read(request, "GetBuild", **of_build),
        read(request, "GetApp"),
        read_part("changes", read(request, "CompareScreens", **of_build, base=query.get("base") or None, **named)),
    )
    if build["app_id"] != app["id"]:
        raise HttpError(404, "Build not found", "BUILD_NOT_FOUND")
    values = {"app": app, "build": build, "base": query.get("base", "")}
    return {**values, "most": MAX_SCREENS, "opened": OPENED_SCREENS, **changes}
