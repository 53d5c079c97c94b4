"""A process that is ready at once and ends on SIGTERM; it writes its name to its output."""

import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def note_republish(name: str) -> None:
    """Stands for `republish`: adds the service's name to the file `republished` in the state folder."""
    with Path(os.environ["MOBILETEST_ARTIFACT_SPOOL"]).with_name("republished").open("a") as file:
        file.write(f"{name}\n")


def serve(name: str) -> None:
    """Answer 200 on the admin address, and on the public one if the environment names one."""
    sys.stdout.write(f"{name} starts\n")
    for variable in ("MOBILETEST_ADMIN_LISTEN", "MOBILETEST_HTTP_LISTEN"):
        if variable in os.environ:
            _listen(os.environ[variable])
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    stopped.wait()


def _listen(address: str) -> None:
    host, _, port = address.rpartition(":")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

    server = ThreadingHTTPServer((host, int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
