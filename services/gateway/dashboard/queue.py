"""The page of the queue: what waits and why, and the workers with their devices."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.rest_reader import read

PAGE_SIZE = 50
WORKERS_PAGE_SIZE = 100
POLL_SECONDS = 3


@with_session
async def show_queue(request: web.Request) -> Values:
    """A page of the waiting runs, and the workers."""
    query = request.query
    waiting, workers = await asyncio.gather(
        read(request, "queue", page=query.get("page"), page_size=PAGE_SIZE),
        read(request, "workers", page=query.get("workers"), page_size=WORKERS_PAGE_SIZE),
    )
    return {
        "queue": waiting,
        "workers": workers,
        "devices": _count_devices(workers["items"]),
        "poll_seconds": POLL_SECONDS,
    }


def _count_devices(workers: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
    """How many devices of active workers there are, and how many are free; those that workers share count once."""
    active = [worker for worker in workers if worker["state"] == "active"]
    pools = {
        pool["name"] if pool["shared"] else (worker["name"], pool["name"]): pool
        for worker in active
        for pool in worker["pools"]
    }
    free = sum(pool["slots"] - pool["busy"] for pool in pools.values() if pool["devices"][0]["state"] != "unavailable")
    return {"total": sum(pool["slots"] for pool in pools.values()), "free": free}
