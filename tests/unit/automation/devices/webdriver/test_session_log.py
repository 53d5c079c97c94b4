"""The log of a session, from its beginning to now."""

from collections.abc import Mapping
from typing import Any

import pytest

from mobiletest_automation.devices.port import LEFT_OUT
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, HubUnreachable, Json
from mobiletest_automation.devices.webdriver.session_log import PART_LIMIT, SessionLog
from mobiletest_automation.model.failures import Category
from tests.fakes.webdriver import FakeHub, fake_driver
from tests.unit.automation.attempts import fails


class Logging(FakeHub):
    """A hub that answers each request for a log with what was logged since the last one, one line each time."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[str] = []
        self.reported: list[str] = []

    def log(self, *lines: str) -> None:
        self.waiting += lines

    async def call(self, method: str, path: str, body: Mapping[str, Json] | None = None, *, seconds: float) -> Json:
        await super().call(method, path, body, seconds=seconds)
        kept = self.reported if (body or {}).get("type") == "crashlog" else self.waiting
        entries: list[Json] = [{"message": line} for line in kept]
        kept.clear()
        return entries


@pytest.fixture
def hub() -> Logging:
    return Logging()


@pytest.fixture
def log(hub: Logging) -> SessionLog:
    return SessionLog(fake_driver(hub), "logcat", reports="crashlog", app_id="com.example.shop")


async def test_all_that_was_logged_is_kept(hub: Logging, log: SessionLog) -> None:
    hub.log("install")
    assert (await log.read()).text == "install\n"
    hub.log("start", "stop")
    assert (await log.read()).text == "install\nstart\nstop\n"


async def test_what_came_since_the_last_launch_and_the_last_steps_is_told_apart(hub: Logging, log: SessionLog) -> None:
    hub.log("install")
    await log.begin_launch()
    for step in ("one", "two", "three"):
        await log.begin_step()
        hub.log(step)
        await log.read()
    logged = await log.read()
    assert (logged.text, logged.since_launch) == ("install\none\ntwo\nthree\n", "one\ntwo\nthree\n")
    assert (logged.recent, logged.app_id) == ("two\nthree\n", "com.example.shop")
    await log.begin_launch()
    hub.log("again")
    logged = await log.read()
    assert (logged.since_launch, logged.recent) == ("again\n", "again\n")


async def test_nothing_is_recent_if_nothing_came(hub: Logging, log: SessionLog) -> None:
    hub.log("old")
    await log.read()
    await log.begin_step()
    await log.begin_step()
    assert (await log.read()).recent == ""


async def test_a_long_log_keeps_its_beginning_and_its_end(hub: Logging, log: SessionLog) -> None:
    hub.log("first")
    for _ in range(3):
        hub.log("x" * PART_LIMIT)
        await log.read()
    hub.log("last")
    text = (await log.read()).text
    assert (text.startswith("first\n"), text.endswith("last\n"), text.count(LEFT_OUT)) == (True, True, 1)
    assert len(text) < PART_LIMIT + 100


async def test_reports_of_crashes_are_kept_apart(hub: Logging, log: SessionLog) -> None:
    hub.reported = ["one", "two", "three", "four"]
    assert (await log.read()).reports == ("two", "three", "four")
    assert (await log.read()).reports == ("two", "three", "four")


@pytest.mark.parametrize("error", [DriverError("unknown error", "no such log"), HubUnreachable("gone")])
async def test_a_log_that_cannot_be_read_changes_no_launch_and_no_step(error: Exception) -> None:
    hub = FakeHub({"POST /se/log": error})
    log = SessionLog(fake_driver(hub), "logcat")
    await log.begin_launch()
    await log.begin_step()
    await log.begin_launch()
    assert hub.orders() == ["POST /se/log"]  # it is not asked again


async def test_a_lost_session_is_a_failure() -> None:
    hub = FakeHub({"POST /se/log": DriverError("invalid session id", "gone")})
    with fails(Category.SESSION_LOST):
        await SessionLog(fake_driver(hub), "logcat").read()


async def test_reading_the_log_is_no_command_that_may_change_the_screen(hub: Logging) -> None:
    driver: Any = fake_driver(hub)
    await SessionLog(driver, "logcat").read()
    assert driver.commands == 0
