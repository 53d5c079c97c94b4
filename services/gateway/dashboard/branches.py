"""The pages of the branches and pull requests of an app, and what is broken on the newest build of one."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from aiohttp import web

from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.comparisons import base_branch_of, repository_of, repository_url
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.pull_requests import (
    executions_of,
    of_repository,
    pull_request_url,
    repositories_of,
    repository_name,
)
from services.gateway.dashboard.resources import read, read_part
from services.gateway.http.json_responses import HttpError

PAGE_SIZE = 50
# Branches offered in the filter of an app; others are found by typing their name.
BRANCHES_OFFERED = 50
EXECUTIONS = 20
# Tests shown of each list.
MAX_TESTS = 50
USUAL_BASE = "main"
NOTHING = {"comparison": None, "comparison_refusal": None}

Json = Mapping[str, Any]


async def read_broken(request: web.Request, reading: Awaitable[Json]) -> Values:
    """What is broken on the newest build of `?branch=` with a verdict, or of any; `tested` is that build, None if there
    is none. `reading` brings the workspace of the app.
    """
    branch = request.query.get("branch", "").strip()
    workspace, branches, named = await asyncio.gather(
        reading,
        read(request, "ListAppBranches", kind="branch", page_size=BRANCHES_OFFERED),
        read(request, "ListAppBranches", kind="branch", name=branch) if branch else _nothing(),
    )
    tested = _newest_of(named["items"], workspace) if branch else newest_tested(workspace, branches["items"])
    compared = await _compare(request, tested) if tested else NOTHING
    return {
        "branch": branch,
        "branches": branches,
        "tested": tested,
        "most": MAX_TESTS,
        "repository": repository_of(compared["comparison"]),
        **compared,
    }


async def _nothing() -> Json:
    return {"items": []}


def newest_tested(workspace: Json, branches: Sequence[Json]) -> Json | None:
    """The newest build with a verdict; the health of builds has only the newest ones, so if none of these has one, the
    newest older build on which a run of these branches ended.
    """
    health = _health_of(workspace)
    older = [build for each in branches for build in each["builds"] if build["build_id"] not in health]
    newest_older = max(older, key=lambda build: build["uploaded_at"], default=None)
    return next((build for build in health.values() if build["completed_runs"]), newest_older)


def _health_of(workspace: Json) -> Mapping[str, Json]:
    """By id, the health of the newest builds, newest first."""
    return {build["build_id"]: build for build in workspace["build_health"]}


def _newest_of(branches: Sequence[Json], workspace: Json) -> Json | None:
    """The newest build of the branch, if possible none that is known to have no verdict."""
    builds, untested = branches[0]["builds"] if branches else [], _untested(workspace)
    return next((build for build in builds if build["build_id"] not in untested), builds[0] if builds else None)


def _untested(workspace: Json) -> set[str]:
    """The builds that are known to have no verdict: only of the newest ones it is known."""
    return {build["build_id"] for build in workspace["build_health"] if not build["completed_runs"]}


async def _compare(request: web.Request, build: Json, base: str | None = None) -> Values:
    named = base_branch_of(request)
    return await read_part(
        "comparison", read(request, "CompareBuilds", version_id=build["build_id"], base=base, **named)
    )


@with_apps
async def list_branches(request: web.Request) -> Values:
    """A page of the branches and pull requests of an app, searched by the beginning of their names."""
    query = request.query
    search, kind = query.get("search", "").strip(), query.get("kind", "")
    workspace, branches = await asyncio.gather(
        read(request, "GetAppWorkspace"),
        read(
            request,
            "ListAppBranches",
            search=search or None,
            kind=kind or None,
            page=query.get("page"),
            page_size=PAGE_SIZE,
        ),
    )
    filters = {"search": search, "kind": kind}
    return {"app": workspace["app"], "branches": branches, "health": _health_of(workspace), "query": filters}


@with_apps
async def show_branch(request: web.Request) -> Values:
    """A branch: what it broke, what fails on the base branch anyway, its builds and executions.

    Raises:
        HttpError: there is no such branch.
    """
    return await _show(request, "branch", request.match_info["name"])


@with_apps
async def show_pull_request(request: web.Request) -> Values:
    """A pull request: as a branch; if its number is that of pull requests of several repositories, of the one that
    `?repository=` names, and without one no verdict.

    Raises:
        HttpError: there is no such pull request.
    """
    return await _show(request, "pull_request", request.match_info["number"])


async def _show(request: web.Request, kind: str, name: str) -> Values:
    base_branch = base_branch_of(request).get("base_branch", USUAL_BASE)
    its_executions = {"pr_number": name} if kind == "pull_request" else {"branch": name, "exact": "true"}
    workspace, named, base, newest, executions = await asyncio.gather(
        read(request, "GetAppWorkspace"),
        read(request, "ListAppBranches", kind=kind, name=name),
        read(request, "ListAppBranches", kind="branch", name=base_branch),
        read(request, "ListAppBranches", page_size=BRANCHES_OFFERED),
        read(request, "ListExecutions", app_id=request.match_info["app_id"], page_size=EXECUTIONS, **its_executions),
    )
    if not named["items"]:
        raise HttpError(404, "No finished run of this app names this branch or pull request", "BRANCH_NOT_FOUND")
    branch, executions, repositories = _apart(request, named["items"][0], executions)
    tested = None if repositories["undecided"] else _newest_of([branch], workspace)
    own_base = kind == "branch" and name == base_branch
    base_build = None if own_base or not tested else base_build_of(base["items"], tested, workspace)
    compared = await _compare(request, tested, base_build) if tested else NOTHING
    return {
        "app": workspace["app"],
        "item": branch,
        "address": pull_request_url(branch),
        "source_url": repository_url(branch["repository"]),
        "base_branch": base_branch,
        "own_base": own_base,
        "tested": tested,
        "sharing": sharing_build(newest["items"], branch, tested) if tested else (),
        "most": MAX_TESTS,
        "health": _health_of(workspace),
        "repository": repository_url(branch["repository"]) or repository_of(compared["comparison"]),
        "executions": executions,
        "executions_query": its_executions,
        **repositories,
        **compared,
    }


def _apart(request: web.Request, branch: Json, executions: Json) -> tuple[Json, Json, Values]:
    """The branch or pull request and its executions; a pull request of one repository if several have its number.

    `undecided`: several have it, and the address names none of them.
    """
    several = repositories_of(branch, executions["items"]) if branch["kind"] == "pull_request" else ()
    if len(several) < 2:
        return branch, executions, {"several": (), "chosen": None, "undecided": False}
    chosen = repository_name(request.query.get("repository", "").strip())
    if chosen is None or chosen not in several:
        return branch, executions, {"several": several, "chosen": None, "undecided": True}
    values = {"several": several, "chosen": chosen, "undecided": False}
    its_executions = executions_of(executions, chosen)
    return of_repository(branch, chosen, its_executions), its_executions, values


def sharing_build(branches: Sequence[Json], branch: Json, build: Json) -> Sequence[Json]:
    """Those of these branches, and pull requests of other branches, whose runs tested the build, too: a build has one
    result for each test, that of the newest run.
    """
    own = (_source_of(branch), (branch["kind"], branch["name"]))
    others = (each for each in branches if _source_of(each) not in own and (each["kind"], each["name"]) not in own)
    return [each for each in others if build["build_id"] in {tested["build_id"] for tested in each["builds"]}]


def _source_of(branch: Json) -> tuple[str, str]:
    """What is one change: a branch and its pull requests."""
    if branch["kind"] == "pull_request" and branch["head_branch"]:
        return ("branch", branch["head_branch"])
    return (branch["kind"], branch["name"])


def base_build_of(branches: Sequence[Json], build: Json, workspace: Json) -> str | None:
    """The newest build of the base branch before the build, else its newest one, without those that are known to have
    no verdict; None: reporting chooses.
    """
    without = {build["build_id"], *_untested(workspace)}
    builds = [each for each in branches[0]["builds"] if each["build_id"] not in without] if branches else []
    earlier = (each for each in builds if each["uploaded_at"] < build["uploaded_at"])
    chosen = next(earlier, builds[0] if builds else None)
    return str(chosen["build_id"]) if chosen else None
