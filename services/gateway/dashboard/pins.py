"""Versions that tests and workflows name, and whether a build has them: a run on one that none has does not start."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from aiohttp import web

from services.gateway.dashboard.resources import read
from services.gateway.http.json_responses import HttpError

Json = Mapping[str, Any]
# The id of an app and a version of it.
Pin: TypeAlias = tuple[str, str]
# Those that the header of a test names.
HEADER_APPS = 5


async def find_missing(request: web.Request, pins: Iterable[Pin]) -> frozenset[Pin]:
    """Those of the pins that no build has; each costs a call. An app that was deleted has no pins.

    Raises:
        HttpError: the builds cannot be read.
    """
    named = sorted(set(pins))
    found = await asyncio.gather(*(_has_build(request, pin) for pin in named))
    return frozenset(pin for pin, has_build in zip(named, found, strict=True) if not has_build)


def pins_of(test: Json, most: int) -> list[Pin]:
    """The pins of the first attachments of a test."""
    attachments = test["attachments"][:most]
    return [(each["app_id"], each["pinned_version"]) for each in attachments if each["pinned_version"]]


async def read_header(request: web.Request, test: Json) -> Mapping[str, Any]:
    """The test for the header of its pages, with what among the versions that it shows no build has.

    Raises:
        HttpError: the apps or builds cannot be read.
    """
    unpinned = [each["app_id"] for each in test["attachments"][:HEADER_APPS] if not each["pinned_version"]]
    missing, apps = await asyncio.gather(
        find_missing(request, pins_of(test, HEADER_APPS)),
        asyncio.gather(*(app_or_none(request, app_id) for app_id in unpinned)),
    )
    return {"test": test, "missing_pins": missing, "missing_current": missing_current(filter(None, apps))}


def missing_current(apps: Iterable[Json]) -> Mapping[str, str]:
    """By app, the version that is chosen for it and that no build has."""
    return {app["id"]: app["current_version"] for app in apps if app["current_version"] and not app["current_build_id"]}


async def app_or_none(request: web.Request, app_id: str) -> Json | None:
    """The app; None if there is none of this id."""
    try:
        app: Json = await read(request, "GetApp", app_id=app_id)
    except HttpError as error:
        if error.status not in (404, 422):
            raise
        return None
    return app


async def _has_build(request: web.Request, pin: Pin) -> bool:
    app_id, version = pin
    try:
        builds = await read(request, "ListBuilds", app_id=app_id, version=version, page_size=1)
    except HttpError as error:
        if error.status != 404:
            raise
        return True
    return bool(builds["total"])
