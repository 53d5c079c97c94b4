"""The page to sign in."""

from aiohttp import web

from services.gateway.dashboard.pages import render


async def show(request: web.Request) -> web.StreamResponse:
    """The form; afterwards the browser goes to the page that was wanted, if it is one of ours."""
    wanted = request.query.get("next", "")
    own = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and "\n" not in wanted
    return render(request, "sign_in.html", {"next": wanted if own else "/"})
