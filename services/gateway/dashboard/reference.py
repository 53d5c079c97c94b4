"""The page of the API documentation, which everyone may read: Swagger UI shows the OpenAPI document."""

from aiohttp import web

from services.gateway.dashboard.pages import render


async def show(request: web.Request) -> web.StreamResponse:
    """The page; who has signed in can try operations without giving a key."""
    return render(request, "reference.html", {})
