"""The pages of apps: all of them, and one with its trend and the health of its builds."""

import asyncio
from typing import Any
from urllib.parse import quote

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.rest_reader import read

PAGE_SIZE = 50


@with_session
async def list_apps(request: web.Request) -> Values:
    """A page of the apps, searched by name and platform."""
    query = request.query
    search, platform = query.get("search") or None, query.get("platform") or None
    apps = await read(request, "apps", search=search, platform=platform, page=query.get("page"), page_size=PAGE_SIZE)
    return {"apps": apps, "search": search or "", "platform": platform or ""}


@with_session
async def show_app(request: web.Request) -> Values:
    """An app with its workspace, newest builds and newest executions."""
    app_id = quote(request.match_info["app_id"], safe="")
    workspace, builds, executions = await asyncio.gather(
        read(request, f"apps/{app_id}/workspace"),
        read(request, f"apps/{app_id}/builds", page_size=10),
        read(request, "executions", app_id=request.match_info["app_id"], page_size=10),
    )
    trend: list[dict[str, Any]] = workspace["execution_trend"]
    most = max((point["executions"] for point in trend), default=0)
    return {"app": workspace["app"], "workspace": workspace, "builds": builds, "executions": executions, "most": most}
