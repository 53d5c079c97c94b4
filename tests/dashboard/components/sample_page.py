"""The sample page, its matrix and an echo: what Chromium gets from a host that does not exist."""

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Route

from deploy.vendored_files import DASHBOARD
from services.gateway.dashboard.pages import SECURITY_HEADERS

ADDRESS = "http://sample.localhost"
FOLDER = Path(__file__).parent
BUILDS = 24
TESTS = ("Add a product to the basket", "Check out with a saved card", "Log in with a wrong password shows the reason")
OUTCOMES = ("passed", "passed", "failed", "passed", "passed", "no-verdict", "passed", "cancelled", "skipped", "passed")
LIVE = ("running", "queued", "passed")


def matrix_rows() -> str:
    """The head and the rows of the heat map."""
    head = "".join(f'<th scope="col"><span>2.{number}.0</span></th>' for number in range(BUILDS))
    outcomes = cycle((*OUTCOMES, *OUTCOMES[3:7], *LIVE))
    rows = (f'<tr><th scope="row"><a href="/">{test}</a></th>{_cells(outcomes)}</tr>' for test in TESTS * 4)
    return f'<thead><tr><th scope="col"><span>Test</span></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'


def _cells(outcomes: Iterator[str]) -> str:
    return "".join(
        f'<td><a class="cell {outcome}" href="/" aria-label="{outcome}"></a></td>'
        for outcome in islice(outcomes, BUILDS)
    )


async def answer(route: Route) -> None:
    """Answer a request with the page, with one of its files, or with a word."""
    path = urlsplit(route.request.url).path
    if path == "/":
        page = (FOLDER / "sample.html").read_text().replace("<!-- matrix -->", matrix_rows())
        await route.fulfill(body=page, content_type="text/html", headers=dict(SECURITY_HEADERS))
    elif path == "/echo":
        await route.fulfill(body="echo")
    else:
        await route.fulfill(path=DASHBOARD / path[1:] if path.startswith("/static/") else FOLDER / path[1:])
