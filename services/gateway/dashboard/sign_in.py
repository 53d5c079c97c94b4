"""The page to sign in."""

from aiohttp import web

from services.gateway.dashboard.pages import render


async def show(request: web.Request) -> web.StreamResponse:
    """The form; afterwards the browser goes to the page that was wanted, if it is one of ours.

    Browsers leave out the cookie when a link of another site is followed: then they go to the page once more first.
    """
    wanted = request.query.get("next", "")
    if request.headers.get("Sec-Fetch-Site") == "cross-site" and _is_own(wanted):
        return render(request, "again.html", {"next": wanted})
    return show_form(request)


def show_form(request: web.Request, error: str = "", status: int = 200) -> web.Response:
    """The form, and what is wrong with what was sent. The browser sends it by POST, with a script or without."""
    return render(request, "sign_in.html", {"next": wanted_page(request), "error": error}, status)


def wanted_page(request: web.Request) -> str:
    """The page of ours to go to after signing in."""
    wanted = request.query.get("next", "")
    return wanted if _is_own(wanted) else "/"


def _is_own(place: str) -> bool:
    """Whether an address is a page of this origin: "//" begins a host, and browsers drop tabs and ends of lines."""
    return place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
