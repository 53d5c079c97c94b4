"""A session's WebDriver commands: W3C's, and those that Appium's drivers share."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Self
from urllib.parse import quote

from mobiletest_automation import logs
from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.devices.webdriver.hub_connection import (
    DriverError,
    HubConnection,
    HubUnreachable,
    Json,
)
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Bounds

log = logs.get(__name__)

ELEMENT_KEY = "element-6066-11e4-a52e-4f735466cecf"

COMMAND_SECONDS = 30.0
LOOK_SECONDS = 60.0
PAGE_SECONDS = 60.0
INSTALL_SECONDS = 300.0

# chromedriver answers null when a dialog opens, or the document is replaced, while the script runs.
SCRIPT_TRIES = 3


class DriverSession:
    """One session. Every method is bounded in time.

    Raises:
        DriverError: by every method, when the hub reports an error.
        HubUnreachable: by every method, without a valid reply in time.
    """

    def __init__(self, connection: HubConnection, session_id: str, capabilities: Mapping[str, Json]) -> None:
        self.connection = connection
        self.id = session_id
        self.capabilities = capabilities
        # How many commands were sent that may have an effect.
        self.commands = 0
        self._path = f"/session/{quote(session_id, safe='')}"

    @classmethod
    async def create(cls, connection: HubConnection, capabilities: Mapping[str, Json], *, seconds: float) -> Self:
        """A new session with these capabilities."""
        asked: dict[str, Json] = {"capabilities": {"alwaysMatch": dict(capabilities), "firstMatch": [{}]}}
        value = await connection.call("POST", "/session", asked, seconds=seconds)
        if isinstance(value, dict) and isinstance(value.get("sessionId"), str):
            got = value.get("capabilities")
            return cls(connection, str(value["sessionId"]), got if isinstance(got, dict) else {})
        raise HubUnreachable("the hub opened a session without an id")

    async def get(self, path: str, *, seconds: float = COMMAND_SECONDS) -> Json:
        return await self.connection.call("GET", self._path + path, seconds=seconds)

    async def post(
        self, path: str, body: Mapping[str, Json] | None = None, *, seconds: float = COMMAND_SECONDS
    ) -> Json:
        self.commands += 1
        return await self.connection.call("POST", self._path + path, body, seconds=seconds)

    async def delete(self, *, seconds: float) -> None:
        await self.connection.call("DELETE", self._path, seconds=seconds)

    async def end(self, *, seconds: float) -> None:
        """Delete the session within `seconds`, and close the connection. Failures of the hub are logged."""
        try:
            await self.delete(seconds=seconds)
        except DeviceFailure as failure:
            if failure.category is not Category.SESSION_LOST:
                hub = self.connection.display_url
                log.warning("session_not_deleted", hub=hub, session=self.id, error=failure.message)
        finally:
            await self.connection.close()

    # screen

    async def source(self) -> str:
        return _text(await self.get("/source", seconds=LOOK_SECONDS))

    async def screenshot(self) -> bytes:
        """A PNG."""
        try:
            picture = base64.b64decode(_text(await self.get("/screenshot", seconds=LOOK_SECONDS)))
        except ValueError as error:
            raise HubUnreachable("the driver's screenshot is not Base64") from error
        if not picture.startswith(b"\x89PNG"):
            raise HubUnreachable("the driver's screenshot is not a PNG")
        return picture

    async def window(self) -> Bounds:
        return _bounds(await self.get("/window/rect"))

    async def viewport(self) -> Bounds:
        """The part of a page that is shown; the browser's window is larger."""
        for _ in range(SCRIPT_TRIES):
            value = await self.execute("return [innerWidth, innerHeight]")
            if isinstance(value, list) and len(value) == 2:
                return Bounds(0, 0, *map(_number, value))
        raise HubUnreachable("the driver's answer from the page is malformed")

    # elements

    async def find_all(self, using: str, value: str) -> Sequence[str]:
        """The ids of the elements that match a locator, in the driver's order."""
        elements = await self.post("/elements", {"using": using, "value": value})
        return [_element(each) for each in elements] if isinstance(elements, list) else []

    async def active(self) -> str:
        """The focused element."""
        return _element(await self.get("/element/active"))

    async def text(self, element: str) -> str:
        return _text(await self.get(f"/element/{quote(element, safe='')}/text"))

    async def rect(self, element: str) -> Bounds:
        return _bounds(await self.get(f"/element/{quote(element, safe='')}/rect"))

    async def click(self, element: str) -> None:
        await self.post(f"/element/{quote(element, safe='')}/click")

    async def send_keys(self, element: str, text: str) -> None:
        await self.post(f"/element/{quote(element, safe='')}/value", {"text": text})

    async def clear(self, element: str) -> None:
        await self.post(f"/element/{quote(element, safe='')}/clear")

    # actions

    async def execute(self, script: str, *arguments: Json, seconds: float = COMMAND_SECONDS) -> Json:
        """Run JavaScript in a page, or a driver's extension by its name."""
        return await self.post("/execute/sync", {"script": script, "args": list(arguments)}, seconds=seconds)

    async def mobile(
        self, command: str, arguments: Mapping[str, Json] | None = None, *, seconds: float = COMMAND_SECONDS
    ) -> Json:
        """Run `mobile: COMMAND` of Appium's drivers; arguments have the names that the driver documents."""
        return await self.execute(f"mobile: {command}", dict(arguments or {}), seconds=seconds)

    async def cdp(self, command: str, **arguments: Json) -> Json:
        """Run a command of the Chrome DevTools Protocol through chromedriver."""
        return await self.post("/goog/cdp/execute", {"cmd": command, "params": dict(arguments)})

    async def perform(self, actions: Sequence[Json], *, lasting: float = 0.0) -> None:
        """Perform W3C actions that take `lasting` seconds. If they fail, release what is still pressed."""
        try:
            await self.post("/actions", {"actions": list(actions)}, seconds=COMMAND_SECONDS + lasting)
        except DriverError:
            with suppress(DeviceFailure):
                await self.connection.call("DELETE", self._path + "/actions", seconds=COMMAND_SECONDS)
            raise

    async def back(self) -> None:
        await self.post("/back", seconds=PAGE_SECONDS)

    async def open_url(self, url: str) -> None:
        await self.post("/url", {"url": url}, seconds=PAGE_SECONDS)

    async def url(self) -> str:
        return _text(await self.get("/url"))

    # device

    async def set_orientation(self, orientation: str) -> None:
        await self.post("/orientation", {"orientation": orientation.upper()})

    async def orientation(self) -> str:
        """Portrait or landscape."""
        return _text(await self.get("/orientation")).lower()

    async def set_rotation(self, degrees: int) -> None:
        await self.post("/rotation", {"x": 0, "y": 0, "z": degrees})

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self.post("/location", {"location": {"latitude": latitude, "longitude": longitude, "altitude": 0}})

    async def log(self, kind: str) -> Sequence[Mapping[str, Json]]:
        """Log entries since the last call: timestamp (ms since 1970), level, message."""
        value = await self.connection.call("POST", self._path + "/se/log", {"type": kind}, seconds=COMMAND_SECONDS)
        return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def element_of(value: Json) -> str | None:
    """The id in an element reference of the protocol."""
    element_id = value.get(ELEMENT_KEY) if isinstance(value, dict) else None
    return element_id if isinstance(element_id, str) else None


def _element(value: Json) -> str:
    element_id = element_of(value)
    if element_id is None:
        raise HubUnreachable("the driver found an element but sent no reference to it")
    return element_id


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise HubUnreachable(f"the driver sent {type(value).__name__} instead of a text")
    return value


def _bounds(value: Json) -> Bounds:
    sizes = value if isinstance(value, dict) else {}
    return Bounds(*(_number(sizes.get(name)) for name in ("x", "y", "width", "height")))


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
