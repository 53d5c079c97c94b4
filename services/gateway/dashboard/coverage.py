"""The page of the coverage: which attached tests have a result on the build that they target."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import orjson
from aiohttp import web

from services.chassis.turns import in_turns
from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.error_pages import PageUnknown, parse_page
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.resources import read, read_parts
from services.gateway.dashboard.tests import default_version, start_request

# The most tests that one execution may have.
STARTED_AT_ONCE = 1_000
# Tests on a page.
TESTS = 200
# In the order in which somebody looks at them.
STATES = ("never run", "stale", "no verdict", "failed", "cancelled", "running", "queued", "passed")
_MISSING = ("never run", "stale", "cancelled")

Json = Mapping[str, Any]


@with_apps
async def show_coverage(request: web.Request) -> Values:
    """A page of the attached tests of an app, those without a result first."""
    app, coverage = await asyncio.gather(read(request, "GetApp"), read_parts(request, "GetAppCoverage"))
    wanted = request.query.get("state", "")
    shown, missing, counts = list[tuple[str, bytes]](), list[tuple[str, str]](), Counter[str]()
    async for text in in_turns(coverage["items"]):
        item = orjson.loads(text)
        state = state_of(item)
        counts[state] += 1
        if wanted in ("", state):
            shown.append((state, text))
        if is_missing(state, item) and item["target_build_version"]:
            missing.append((state, item["test_id"]))
    shown.sort(key=_by_state)
    missing.sort(key=_by_state)
    tests = paginate(shown, request.query.get("page", ""))
    selected = [{"test_id": test_id} for _, test_id in missing[:STARTED_AT_ONCE]]
    return {
        "app": app,
        "coverage": coverage,
        "tests": {**tests, "items": [(state, orjson.loads(text)) for state, text in tests["items"]]},
        "counts": {name: counts[name] for name in STATES},
        "state": wanted,
        "missing": len(missing),
        "started": len(selected),
        "start": start_request(app, default_version(app), selected, name=f"What was missing of {app['name']}"),
    }


def paginate(items: Sequence[Any], page: str) -> Json:
    """The items of a page and where it stands.

    Raises:
        HttpError: the text is not the number of a page.
        PageUnknown: there are fewer pages.
    """
    last, number = max(1, ceil(len(items) / TESTS)), parse_page(page)
    if number > last:
        raise PageUnknown(number, last)
    return {
        "items": items[(number - 1) * TESTS : number * TESTS],
        "page": number,
        "total_pages": last,
        "has_previous": number > 1,
        "has_next": number < last,
    }


def _by_state(each: tuple[str, Any]) -> int:
    return STATES.index(each[0])


def is_missing(state: str, item: Json) -> bool:
    """Whether a test has no result on its target; one without a verdict there may have an older one."""
    is_observed = item["last_observed_build_version"] == item["target_build_version"]
    return state in _MISSING or (state == "no verdict" and not is_observed)


def state_of(item: Json) -> str:
    """What is known of a test on its target: one that ran only on other builds is stale, not "never run"."""
    if item["last_status"] == "not_run":
        return "stale" if item["ran"] or item["last_observed_build_id"] else "never run"
    return str(item["last_status"]).replace("_", " ")
