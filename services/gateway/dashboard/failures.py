"""The pages of failures: groups of them over all apps, and one group with what people know about it."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from aiohttp import web

from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.pins import find_missing
from services.gateway.dashboard.resources import read, read_tagged

FILTERS = ("search", "app_id", "state")
STATES = ("open", "known", "fixed")
PAGE_SIZE = 50
TREND_DAYS = 60

Json = Mapping[str, Any]


@with_apps
async def list_failures(request: web.Request) -> Values:
    """A page of the groups that match, seen last first."""
    filters = {name: text for name in FILTERS if (text := request.query.get(name, "").strip())}
    failures = await read(request, "ListFailures", page=request.query.get("page"), page_size=PAGE_SIZE, **filters)
    return {"failures": failures, "filters": filters, "states": STATES}


@with_apps
async def show_failure(request: web.Request) -> Values:
    """A group with its tests, builds and variants, and the form for what is known about it."""
    app, failure, (triage, _) = await asyncio.gather(
        read(request, "GetApp"), read(request, "GetFailure"), read_tagged(request, "GetFailureTriage")
    )
    fixes = [(app["id"], triage["fixed_in"])] if triage["fixed_in"] else []
    return {
        "app": app,
        "failure": failure,
        "triage": triage,
        "is_fix_missing": bool(await find_missing(request, fixes)),
        "states": STATES,
        "days": fill_days(failure["trend"]),
    }


def fill_days(trend: Sequence[Json]) -> Sequence[Json]:
    """The days of a trend with those between on which nothing failed; none if it has none."""
    if not trend:
        return ()
    counts = {point["date"]: point["count"] for point in trend}
    first, last = (date.fromisoformat(trend[place]["date"]) for place in (0, -1))
    span = min((last - first).days, TREND_DAYS - 1)
    days = [(last - timedelta(days=ago)).isoformat() for ago in range(span, -1, -1)]
    return [{"date": day, "count": counts.get(day, 0)} for day in days]
