"""The page of the queue: what waits and why, and the workers with their devices."""

import asyncio

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.resources import read

PAGE_SIZE = 50
WORKERS_PAGE_SIZE = 100
POLL_SECONDS = 3


@with_session
async def show_queue(request: web.Request) -> Values:
    """A page of the waiting runs, and the workers."""
    query = request.query
    waiting, workers = await asyncio.gather(
        read(request, "ListQueuedRuns", page=query.get("page"), page_size=PAGE_SIZE),
        read(request, "ListWorkers", page=query.get("workers"), page_size=WORKERS_PAGE_SIZE),
    )
    return {
        "queue": waiting,
        "workers": workers,
        "poll_seconds": POLL_SECONDS,
    }
