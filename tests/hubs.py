"""Fixtures of suites on real hubs: an Appium server, a chromedriver, the web shop. Missing programs fail, never skip.

Use them by `from tests.hubs import appium, chromedriver, web_shop` in a conftest.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from deploy.devices import hubs
from deploy.devices.hubs import Hub, HubMissing

WEB_SHOP = Path(__file__).parents[1] / "examples" / "web-shop"


@pytest.fixture(scope="session")
def appium() -> Iterator[Hub]:
    """An Appium 3 server with the fake driver, for the whole session."""
    yield from start_hub(hubs.appium)


@pytest.fixture(scope="session")
def chromedriver() -> Iterator[Hub]:
    """A chromedriver for headless Chromium, for the whole session."""
    yield from start_hub(hubs.chromedriver)


@pytest.fixture(scope="session")
def web_shop() -> Iterator[str]:
    """The address of the web shop's first page; its folder is served."""
    with serve_folder(WEB_SHOP) as url:
        yield f"{url}/index.html"


def start_hub(start: Callable[[], AbstractContextManager[Hub]]) -> Iterator[Hub]:
    """Runs a hub for a fixture; fails the test if a program is not installed."""
    with ExitStack() as stack:
        try:
            hub = stack.enter_context(start())
        except HubMissing as missing:
            pytest.fail(str(missing), pytrace=False)
        yield hub


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serves a folder on a free port; yields the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        return None
