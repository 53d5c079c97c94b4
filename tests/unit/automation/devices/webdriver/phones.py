"""Phones behind a scripted hub, and the documented commands of their drivers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from mobiletest_automation.devices.port import AppUnderTest, DeviceInfo, UncleanDevices
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from tests.fakes.webdriver import TARGET, FakeHub, fake_driver

DOCUMENTED = yaml.safe_load((Path(__file__).parent / "drivers.yaml").read_text())


AUTOMATION = {"android": "UiAutomator2", "ios": "XCUITest"}


APP = "com.example.shop"


FIELD = {"element-6066-11e4-a52e-4f735466cecf": "field-1"}


SHARED = replace(TARGET, dedicated=False)


BOTH = pytest.mark.parametrize("platform", ["android", "ios"])


def phone(
    platform: str,
    hub: FakeHub,
    *,
    app: str | None = "/apps/shop",
    package: str | None = APP,
    target: HubTarget = TARGET,
    unclean: UncleanDevices | None = None,
) -> WebDriverDevice:
    info = DeviceInfo("phone-1", platform, simulated=False)
    driver = fake_driver(hub, {"automationName": AUTOMATION[platform], "udid": "phone"})
    build = AppUnderTest(package_name=package)
    return assemble_device(HubSession(driver=driver, target=target, info=info, build=build, app=app, unclean=unclean))


def said_to(hub: FakeHub, command: str) -> list[Any]:
    """The arguments of every request for the command."""
    return [given for order, given in hub.asked if order == f"mobile: {command}"]


def documented(platform: str, hub: FakeHub) -> list[str]:
    """The names of the requested commands, all of whose arguments are documented."""
    commands = [(order.removeprefix("mobile: "), given) for order, given in hub.asked if order.startswith("mobile: ")]
    for name, given in commands:
        known = DOCUMENTED[platform][name]
        assert set(known["required"]) <= set(given) <= {*known["required"], *known["optional"]}, name
    return [name for name, _ in commands]


def arguments(hub: FakeHub, name: str) -> Mapping[str, Any]:
    return next(given for order, given in hub.asked if order == f"mobile: {name}")


def in_turn(*replies: Json) -> Callable[[Mapping[str, Any]], Json]:
    """The replies one after another; the last one stays."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]
