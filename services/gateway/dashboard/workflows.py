"""The pages of workflows: all of them, one with its start and its history, and the form that makes or changes one."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from aiohttp import web

from services.chassis.turns import list_in_turns
from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.coverage import paginate
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.pins import Pin, app_or_none, find_missing
from services.gateway.dashboard.resources import read, read_parts, read_tagged
from services.gateway.dashboard.workflow_settings import env_lines, settings_of

# Workflows on a page, each with its last execution, which is a read of its own.
PAGE_SIZE = 20
EXECUTIONS = 20
# The most tests that a workflow lists by id; those of its tags may be more.
TESTS = 1_000
PLATFORMS = (("Android", "android_build"), ("iOS", "ios_build"))

Json = Mapping[str, Any]


@with_apps
async def list_workflows(request: web.Request) -> Values:
    """A page of the workflows, searched by name, each with its last execution and the apps that it names."""
    search = request.query.get("search", "").strip()
    workflows = await read(
        request, "ListWorkflows", search=search or None, page=request.query.get("page"), page_size=PAGE_SIZE
    )
    items = workflows["items"]
    last, apps = await asyncio.gather(
        asyncio.gather(*(_last_execution(request, workflow["id"]) for workflow in items)),
        _named_apps(request, items),
    )
    missing = await find_missing(request, _pins(items))
    rows = [
        (workflow, execution, builds_of(workflow, apps, missing))
        for workflow, execution in zip(items, last, strict=True)
    ]
    return {"workflows": workflows, "rows": rows, "search": search}


async def _last_execution(request: web.Request, workflow_id: str) -> Json | None:
    page = await read(request, "ListExecutions", workflow_id=workflow_id, page_size=1)
    return next(iter(page["items"]), None)


async def _named_apps(request: web.Request, workflows: Sequence[Json]) -> Mapping[str, Json | None]:
    """The apps that build configurations name, by id; None for one that was deleted."""
    ids = sorted({build["app_id"] for workflow in workflows for _, build in _choices(workflow)})
    apps = await asyncio.gather(*(app_or_none(request, app_id) for app_id in ids))
    return dict(zip(ids, apps, strict=True))


def _choices(workflow: Json) -> list[tuple[str, Json]]:
    """The builds that a workflow names, with their platforms."""
    config = workflow["build_config"] or {}
    return [(platform, config[field]) for platform, field in PLATFORMS if config.get(field)]


def _pins(workflows: Sequence[Json]) -> list[Pin]:
    builds = [build for workflow in workflows for _, build in _choices(workflow)]
    return [(build["app_id"], build["pinned_version"]) for build in builds if build["pinned_version"]]


def builds_of(workflow: Json, apps: Mapping[str, Json | None], missing: Collection[Pin]) -> list[Json]:
    """The builds of a workflow: platform, app (None if it was deleted) and version (None: the current one).

    `is_missing`: no build has the version.
    """
    return [
        {
            "platform": platform,
            "app": apps.get(build["app_id"]),
            "version": build["pinned_version"],
            "is_missing": (build["app_id"], build["pinned_version"]) in missing,
        }
        for platform, build in _choices(workflow)
    ]


@with_apps
async def show_workflow(request: web.Request) -> Values:
    """A workflow with a page of its tests, what it can start on, and a page of its executions."""
    query, workflow_id = request.query, request.match_info["workflow_id"]
    workflow, tests, executions = await asyncio.gather(
        read(request, "GetWorkflow"),
        read_parts(request, "ListWorkflowTests", page=1, page_size=TESTS),
        read(request, "ListExecutions", workflow_id=workflow_id, page=query.get("page"), page_size=EXECUTIONS),
    )
    named, missing, app = await asyncio.gather(
        _named_apps(request, [workflow]), find_missing(request, _pins([workflow])), _chosen_app(request)
    )
    rows = await list_in_turns(map(orjson.loads, tests["items"]))
    return {
        "workflow": workflow,
        "builds": builds_of(workflow, named, missing),
        "tests": {**paginate(rows, query.get("tests", "")), "total": tests["total"]},
        "counts": {platform: _count_for(rows, platform) for platform, _ in PLATFORMS},
        "executions": executions,
        "platforms": PLATFORMS,
        "chosen": {"app": app, "version": query.get("version", "")},
        "settings": [each for each in settings_of(workflow["run_config"]) if each.value],
        "env": env_lines(workflow["env"]),
    }


async def _chosen_app(request: web.Request) -> Json | None:
    """The app on which the address offers to start the workflow."""
    app_id = request.query.get("app")
    return await app_or_none(request, app_id) if app_id else None


def _count_for(tests: Collection[Json], platform: str) -> int:
    return sum(test["platform"] in (None, platform) for test in tests)


@with_apps
async def new_workflow(request: web.Request) -> Values:
    """The form for a new workflow."""
    return {
        "workflow": None,
        "etag": "",
        "tests": [],
        "platforms": PLATFORMS,
        "settings": settings_of(None),
        "env": "",
    }


@with_apps
async def edit_workflow(request: web.Request) -> Values:
    """The form with a workflow; `etag` makes sure that nobody else's change is overwritten."""
    (workflow, etag), tests = await asyncio.gather(
        read_tagged(request, "GetWorkflow"), read_parts(request, "ListWorkflowTests", page=1, page_size=TESTS)
    )
    rows = await list_in_turns(map(orjson.loads, tests["items"]))
    return {
        "workflow": workflow,
        "etag": etag,
        "tests": [test for test in rows if test["is_listed"]],
        "platforms": PLATFORMS,
        "settings": settings_of(workflow["run_config"]),
        "env": env_lines(workflow["env"]),
    }
