"""The page to sign in."""

from aiohttp import web

from services.gateway.dashboard.pages import render


async def show(request: web.Request) -> web.StreamResponse:
    """The form; afterwards the browser goes to the page that was wanted, if it is one of ours."""
    wanted = request.query.get("next", "")
    return render(request, "sign_in.html", {"next": wanted if _is_own(wanted) else "/"})


def _is_own(place: str) -> bool:
    """Whether an address is a page of this origin: "//" begins a host, and browsers drop tabs and ends of lines."""
    return place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
