"""A hub over HTTP with one phone, which keeps apps, their data, its clipboard and its log over sessions.

It shows the source of an Android phone; of iOS it knows the arguments of commands.
"""

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.integration.executor.devices.scripted_hub import serve

OWN = ("com.android.settings", "com.android.chrome", "com.android.vending", "io.appium.settings")
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # a PNG


def app_file(app_id: str, *, secret: str = "") -> bytes:
    """The content of an app's file; a started app shows its secret."""
    return json.dumps({"id": app_id, "secret": secret}).encode()


@dataclass
class PhoneHub:
    """What the drivers answer. `asked` are the commands in their order, `broken` those that fail."""

    url: str = ""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    opened: int = 0
    names_device: bool = True
    apps: dict[str, str] = field(default_factory=lambda: dict.fromkeys(OWN, ""))
    clipboard: str = ""
    log: list[str] = field(default_factory=list)
    shown: str = ""

    def commands(self) -> list[str]:
        return [name for name, _ in self.asked]

    def leave(self, text: str) -> None:
        """What a test leaves besides its app."""
        self.clipboard = text
        self.log.append(text)
        self.apps["com.android.chrome"] = text

    def holds(self, text: str) -> bool:
        """Whether anything of this text could be read by the next session, which clears the log when it is opened."""
        return text in repr((self.apps, self.clipboard, self.shown))

    async def handle(self, request: web.Request) -> web.Response:
        path = request.path.strip("/").split("/")
        body = await request.json() if request.can_read_body else {}
        if path == ["status"]:
            return _value({"ready": True})
        if path == ["session"]:
            return self._open(body["capabilities"]["alwaysMatch"])
        if path[1] not in self.open:
            return _error("invalid session id", "A session is either terminated or not started", 404)
        if request.method == "DELETE" and len(path) == 2:
            self.asked.append(("delete", {}))
            self.open.discard(path[1])
            return _value(None)
        if path[2:] == ["execute", "sync"]:
            return self._execute(body["script"].removeprefix("mobile: "), (body["args"] or [{}])[0])
        return _value(self._look(path[-1]))

    def _open(self, capabilities: dict[str, Any]) -> web.Response:
        self.asked.append(("open", capabilities))
        self.opened += 1
        self.open = {f"session-{self.opened}"}  # the driver ends other sessions on the phone
        if capabilities.get("appium:clearDeviceLogsOnStart"):
            self.log.clear()
        device = {"deviceUDID": "emulator-5554"} if self.names_device else {}
        got = {"automationName": capabilities["appium:automationName"], **device}
        return _value({"sessionId": f"session-{self.opened}", "capabilities": got})

    def _look(self, what: str) -> Any:
        bounds = '[0,0][360,640]" enabled="true" displayed="true'
        text = f'<android.widget.TextView text="{self.apps.get(self.shown, "") or "Home"}" bounds="{bounds}"/>'
        source = f'<hierarchy rotation="0" width="360" height="640">{text}</hierarchy>'
        looks = {"source": source, "screenshot": _PIXEL, "rect": {"x": 0, "y": 0, "width": 360, "height": 640}}
        if what == "log":
            return [{"timestamp": 0, "level": "INFO", "message": line} for line in self.log]
        return looks.get(what)

    def _execute(self, command: str, given: dict[str, Any]) -> web.Response:
        self.asked.append((command, given))
        app_id = given.get("appId") or given.get("bundleId") or ""
        if command in self.broken:
            return _error("unknown error", f"{command} failed", 500)
        known: dict[str, Callable[[dict[str, Any]], Any]] = {
            "installApp": self._install,
            "removeApp": lambda given: self.apps.pop(app_id, None) is not None,
            "listApps": lambda given: {app_id: {"packageName": app_id} for app_id in self.apps},
            "isAppInstalled": lambda given: app_id in self.apps,
            "queryAppState": lambda given: 4 if self.shown == app_id else 1,
            "clearApp": lambda given: self.apps.update({app_id: ""}),
            "setClipboard": lambda given: setattr(self, "clipboard", base64.b64decode(given["content"]).decode()),
            "activateApp": lambda given: setattr(self, "shown", app_id),
        }
        if command == "activateApp" and app_id not in self.apps:
            return _error("unknown error", "the app is not installed", 500)
        return _value(known.get(command, lambda given: None)(given))

    def _install(self, given: dict[str, Any]) -> None:
        file = json.loads(Path(given.get("appPath") or given["app"]).read_bytes())
        self.apps[file["id"]] = file["secret"]


def _value(value: Any) -> web.Response:
    return web.json_response({"value": value})


def _error(code: str, message: str, status: int) -> web.Response:
    return web.json_response({"value": {"error": code, "message": message, "stacktrace": ""}}, status=status)


@asynccontextmanager
async def serving_phone(hub: PhoneHub) -> AsyncIterator[PhoneHub]:
    """Serve the hub inside the block; its address is set."""
    async with serve(hub.handle) as hub.url:
        yield hub


def phone_pool(hub: PhoneHub, *, fields: str = "") -> str:
    """A pools file with the phone; `fields` are more fields of its pool, in YAML's flow style."""
    capabilities = "{platformName: Android, 'appium:automationName': UiAutomator2}"
    known = f"name: phone, platform: android, kind: webdriver, url: '{hub.url}', slots: 1, app: path"
    return f"pools:\n  - {{{known}, capabilities: {capabilities}{fields and f', {fields}'}}}\n"
