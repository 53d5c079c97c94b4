"""The pages of flaky tests, with what they cost, and of slow tests."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.csv_lists import listed
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.resources import read

PAGE_SIZE = 50
# How many builds can be chosen; the first is the default.
BUILDS = ("10", "20", "50")
# A test became slower or faster by this part of its time, and by so many seconds; less is noise.
CHANGED_BY, CHANGED_SECONDS = 0.2, 1.0
FLAKY = (
    *("app_id", "app_name", "test_id", "test_name", "variant", "flaky_score", "flakes", "former_flakes"),
    *("first_seen_at", "wasted_seconds", "classification_detail", "quarantine.reason"),
)
DURATIONS = ("test_id", "test_name", "seconds", "former_seconds")

Json = Mapping[str, Any]


@with_apps
async def list_flaky(request: web.Request) -> Values:
    """A page of the flaky tests of all apps, or of one."""
    page = request.query.get("page")
    flaky = await read(request, "ListFlakyTests", page=page, page_size=PAGE_SIZE, **_of_app(request))
    return {"flaky": flaky, "app_id": request.query.get("app_id", "")}


def _of_app(request: web.Request) -> Json:
    app_id = request.query.get("app_id", "").strip()
    return {"app_id": app_id} if app_id else {}


flaky_csv = listed("flaky-tests", "ListFlakyTests", FLAKY, 100, _of_app)


@with_apps
async def list_durations(request: web.Request) -> Values:
    """A page of the tests of an app, the slowest first, each with its time on the newest builds."""
    app, durations = await asyncio.gather(
        read(request, "GetApp"),
        read(request, "ListTestDurations", page=request.query.get("page"), page_size=PAGE_SIZE, **_on_builds(request)),
    )
    return {
        "app": app,
        "durations": durations,
        "rows": [(test, change_of(test), bars_of(test["builds"])) for test in durations["items"]],
        "builds": _on_builds(request)["builds"],
        "choices": BUILDS,
    }


def _on_builds(request: web.Request) -> Mapping[str, str]:
    chosen = request.query.get("builds", "")
    return {"builds": chosen if chosen in BUILDS else BUILDS[0]}


durations_csv = listed("durations", "ListTestDurations", DURATIONS, 100, _on_builds)


def change_of(test: Json) -> float | None:
    """By which part of its time a test became slower (more than 0) or faster on the newest build; None if it hardly
    did, or has no time before.
    """
    seconds, former = test["seconds"], test["former_seconds"]
    if not former or abs(seconds - former) < max(CHANGED_SECONDS, CHANGED_BY * former):
        return None
    return float(seconds / former - 1)


def bars_of(builds: Sequence[Json]) -> Sequence[tuple[Json, int]]:
    """The builds, oldest first, each with the height of its bar, 1 to 24: the longest time has the highest."""
    longest = max(build["seconds"] for build in builds)
    return [(build, max(1, round(24 * build["seconds"] / longest))) for build in reversed(builds)]
