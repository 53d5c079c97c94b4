"""A scripted hub that records its requests, for tests without sockets."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import HubConnection, Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget

TARGET = HubTarget(url="http://hub", capabilities={}, dedicated=True)

Reply: TypeAlias = "Json | Exception | Callable[[Mapping[str, Any]], Json]"


class FakeHub:
    """`replies` are by "METHOD /path" within the session, or by the script that is executed; null otherwise."""

    display_url = "http://hub"

    def __init__(self, replies: Mapping[str, Reply] | None = None) -> None:
        self.replies = dict(replies or {})
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.closed = False

    async def call(self, method: str, path: str, body: Mapping[str, Json] | None = None, *, seconds: float) -> Json:
        order = f"{method} {path.removeprefix('/session/one')}"
        given = cast("Mapping[str, Any]", body or {})
        if order == "POST /execute/sync":
            order, given = given["script"], given["args"][0] if given["args"] else {}
        self.asked.append((order, given))
        reply = self.replies.get(order)
        if isinstance(reply, Exception):
            raise reply
        return reply(given) if callable(reply) else reply

    async def close(self) -> None:
        self.closed = True

    def orders(self) -> list[str]:
        return [order for order, _ in self.asked]


def fake_driver(connection: FakeHub, capabilities: Mapping[str, Json] | None = None) -> DriverSession:
    """A session with the id "one"."""
    return DriverSession(cast("HubConnection", connection), "one", capabilities or {})
