"""A small site with the static files and the sample page, under the content security policy of the dashboard."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from deploy.vendored_files import DASHBOARD

FOLDER = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
BUILDS = 24
TESTS = ("Add a product to the basket", "Check out with a saved card", "Log in with a wrong password shows the reason")
OUTCOMES = ("passed", "passed", "failed", "passed", "passed", "no-verdict", "passed", "cancelled", "skipped", "passed")
LIVE = ("running", "queued", "passed retried")


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


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/":
            page = (FOLDER / "sample.html").read_text().replace("<!-- matrix -->", matrix_rows())
            return self._answer(page.encode(), "text/html")
        if path == "/echo":
            return self._echo()
        file = DASHBOARD / path[1:] if path.startswith("/static/") else FOLDER / path[1:]
        if not file.is_file():
            return self.send_error(404)
        return self._answer(file.read_bytes(), TYPES[file.suffix])

    def do_POST(self) -> None:
        self._echo()

    def _echo(self) -> None:
        """The CSRF token of the request, and a toast."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        token = self.headers.get("X-CSRF-Token", "no token")
        self._answer(token.encode(), "text/html", {"HX-Trigger": '{"toast": {"message": "Sent", "kind": "failed"}}'})

    def _answer(self, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(200)
        for name, value in {"Content-Security-Policy": POLICY, "Content-Type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Nothing is logged."""


@contextmanager
def serve_site() -> Iterator[str]:
    """Serve the site on a free port; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
