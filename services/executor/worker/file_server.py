"""Serves build files over HTTP to hubs on other machines: each file has a secret URL while it is offered."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from urllib.parse import quote

from aiohttp import web

TOKEN_BYTES = 32
# How long aiohttp waits for an open request, twice: a hub that stopped reading must not delay the shutdown.
CLOSE_SECONDS = 0.5


class FileServer:
    """GET and HEAD of offered files, with ranges; everything else is 404."""

    def __init__(self, listen: str, url: str | None = None) -> None:
        """`listen` is host:port; `url` is how hubs reach it, by default that address."""
        self._listen = listen
        self._url = url
        self._offered: dict[str, Path] = {}
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> "FileServer":
        app = web.Application()
        app.router.add_get("/{token}/{name}", self._get)
        self._runner = web.AppRunner(app, access_log=None, keepalive_timeout=75, shutdown_timeout=CLOSE_SECONDS)
        await self._runner.setup()
        host, _, port = self._listen.rpartition(":")
        await web.TCPSite(self._runner, host.strip("[]"), int(port)).start()
        if self._url is None:
            bound = self._runner.addresses[0]
            self._url = f"http://{bound[0]}:{bound[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @contextmanager
    def offered(self, path: Path) -> Iterator[str]:
        """The file's URL, valid inside the block (the file server port of the device pools)."""
        token = token_urlsafe(TOKEN_BYTES)
        self._offered[token] = path
        try:
            yield f"{(self._url or '').rstrip('/')}/{token}/{quote(path.name)}"
        finally:
            del self._offered[token]

    async def _get(self, request: web.Request) -> web.StreamResponse:
        path = self._offered.get(request.match_info["token"])
        if path is None or path.name != request.match_info["name"]:
            raise web.HTTPNotFound
        return web.FileResponse(path, headers={"Cache-Control": "no-store"})
