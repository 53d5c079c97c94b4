"""A hub over HTTP that always shows the same screen, and records its requests."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

SCREEN = '<app><button id="go" x="1" y="1" width="10" height="10" visible="true">Go</button></app>'


@dataclass
class ScriptedHub:
    """What WebDriver's sessions need; an app that it is given as an address it fetches, as Appium does."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    fetched: list[bytes] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    refuses: bool = False
    slots: int = 100

    @property
    def apps(self) -> list[str | None]:
        """The apps that the sessions were opened with."""
        return [capabilities.get("appium:app") for capabilities in self.asked]

    async def handle(self, request: web.Request) -> web.Response:
        path = request.path.strip("/").split("/")
        if path == ["status"]:
            return _value({"ready": True})
        if path == ["session"]:
            return await self._opened((await request.json())["capabilities"]["alwaysMatch"])
        if request.method == "DELETE" and len(path) == 2:
            self.open.discard(path[1])
        return _value(SCREEN if path[-1] == "source" else None)

    async def _opened(self, capabilities: dict[str, Any]) -> web.Response:
        self.asked.append(capabilities)
        if self.refuses or len(self.open) >= self.slots:
            error = {"error": "session not created", "message": "no device is connected", "stacktrace": ""}
            return web.json_response({"value": error}, status=500)
        if str(capabilities.get("appium:app", "")).startswith("http"):
            async with aiohttp.ClientSession() as client, client.get(capabilities["appium:app"]) as answer:
                self.fetched.append(await answer.read())
        name = f"session-{len(self.asked)}"
        self.open.add(name)
        return _value({"sessionId": name, "capabilities": {"platformName": "Fake", "automationName": "Fake"}})


def _value(value: Any) -> web.Response:
    return web.json_response({"value": value})


@asynccontextmanager
async def serving_hub(hub: ScriptedHub, *, port: int = 0) -> AsyncIterator[ScriptedHub]:
    """Serve the hub inside the block; its address is set."""
    async with serve(hub.handle, port=port) as hub.url:
        yield hub


@asynccontextmanager
async def serve(handle: Callable[[web.Request], Awaitable[web.StreamResponse]], *, port: int = 0) -> AsyncIterator[str]:
    """Serve all paths inside the block; yields the address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
