"""The page of a build: its health, its runs, what changed since another build, and whether CI may continue."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.resources import read, read_part
from services.gateway.http.json_responses import HttpError

MAX_BASES = 100
# Tests shown of each list of a comparison.
MAX_COMPARED = 100


@with_session
async def show_build(request: web.Request) -> Values:
    """A build of the app in the address. HttpError."""
    query, named = request.query, base_branch_of(request)
    of_build = {"version_id": request.match_info["build_id"]}
    found, workspace, builds, runs, gate, comparison = await asyncio.gather(
        read(request, "GetBuild", **of_build),
        read(request, "GetAppWorkspace"),
        read(request, "ListBuilds", page_size=MAX_BASES),
        read(request, "ListBuildRuns", **of_build, page=query.get("page"), page_size=20),
        read_part("gate", read(request, "GetBuildGate", **of_build, **named)),
        read_part("comparison", read(request, "CompareBuilds", **of_build, base=query.get("base") or None, **named)),
    )
    if found["app_id"] != workspace["app"]["id"]:
        raise HttpError(404, "Build not found", "BUILD_NOT_FOUND")
    health = next((each for each in workspace["build_health"] if each["build_id"] == found["id"]), None)
    return {
        "app": workspace["app"],
        "build": found,
        "sha256": found["artifact_url"].rpartition("/")[2] if found["download_url"] else None,
        "health": health,
        "builds": builds,
        "runs": runs,
        "repository": repository_url(runs["items"]),
        "base": query.get("base", ""),
        "named": named,
        "most": MAX_COMPARED,
        **comparison,
        **gate,
    }


def base_branch_of(request: web.Request) -> dict[str, str]:
    """The parameter with the branch to compare with, if the address of the page names one."""
    branch = request.query.get("base_branch", "").strip()
    return {"base_branch": branch} if branch else {}


def repository_url(runs: list[dict[str, Any]]) -> str | None:
    """The address of the repository as CI named it with the newest of the runs; None unless it is http or https."""
    named = next((text for run in runs if (text := (run["metadata"] or {}).get("repository"))), "")
    try:
        scheme, host = urlsplit(named).scheme, urlsplit(named).hostname
    except ValueError:
        return None
    return named.rstrip("/").removesuffix(".git") if scheme in ("http", "https") and host else None
