"""Android and iOS use the commands that their drivers document; checked without a device."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.executor.automation.devices.port import Build, DeviceFailure, DeviceInfo, LaunchOptions, UncleanDevices
from services.executor.automation.devices.webdriver.android import AndroidCommands
from services.executor.automation.devices.webdriver.device import WebDriverDevice
from services.executor.automation.devices.webdriver.driver_session import ELEMENT_KEY
from services.executor.automation.devices.webdriver.hub_connection import DriverError, Json
from services.executor.automation.devices.webdriver.hub_target import HubTarget
from services.executor.automation.devices.webdriver.native_view import NativeView
from services.executor.automation.devices.webdriver.phone_app import PhoneApp
from services.executor.automation.devices.webdriver.sessions import assemble_device, capabilities_of
from services.executor.automation.screen.elements import NOWHERE, Bounds, Element, Role, walk
from services.executor.model.failures import Category
from tests.fakes.unclean_devices import FakeUncleanDevices
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
    return assemble_device(driver, target, info, Build(package_name=package), app, unclean)


def documented(platform: str, hub: FakeHub) -> list[str]:
    """The names of the requested commands, all of whose arguments are documented."""
    commands = [(order.removeprefix("mobile: "), given) for order, given in hub.asked if order.startswith("mobile: ")]
    for name, given in commands:
        known = DOCUMENTED[platform][name]
        assert set(known["required"]) <= set(given) <= {*known["required"], *known["optional"]}, name
    return [name for name, _ in commands]


def arguments(hub: FakeHub, name: str) -> Mapping[str, Any]:
    return next(given for order, given in hub.asked if order == f"mobile: {name}")


@BOTH
async def test_only_documented_driver_commands_are_used(platform: str) -> None:
    hub = FakeHub({"mobile: queryAppState": 4, "mobile: isKeyboardShown": True, "GET /element/active": dict(FIELD)})
    installed = iter([False, False, True, False])
    hub.replies["mobile: isAppInstalled"] = lambda _: next(installed)
    device = phone(platform, hub, target=SHARED, unclean=FakeUncleanDevices())
    await device.prepare()
    await device.install(Build())
    await device.launch(
        LaunchOptions(clear_state=True, permissions={"all": "deny", "camera": "allow"}, arguments={"a": 1})
    )
    await device.launch(LaunchOptions(stop_first=False))
    await device.stop()
    await device.clear_state()
    await device.open_link("shop://cart")
    await device.set_location(1.5, 2.5)
    await device.press_key("home")
    await device.hide_keyboard()
    await device.close()
    assert set(documented(platform, hub)) >= {"installApp", "terminateApp", "clearApp", "deepLink", "hideKeyboard"}
    assert set(documented(platform, hub)) >= {"listApps", "removeApp", "isAppInstalled", "setClipboard"}
    assert set(DOCUMENTED[platform]) - set(documented(platform, hub)) <= {"launchApp", "queryAppState"}


@BOTH
async def test_without_a_list_of_apps_the_known_app_is_removed(platform: str) -> None:
    """As on iOS simulators and on Android before 8."""
    hub, unclean = (
        FakeHub({"mobile: listApps": DriverError("unknown error", "only on real devices")}),
        FakeUncleanDevices(),
    )
    device = phone(platform, hub, target=SHARED, unclean=unclean)
    await device.prepare()
    hub.replies["mobile: removeApp"] = True
    await device.close()
    assert arguments(hub, "removeApp") == {"appId" if platform == "android" else "bundleId": APP}
    assert unclean.marked == {}


@pytest.mark.parametrize("allowed", [frozenset[str](), frozenset({"com.apple.mobilesafari"})])
async def test_web_links_open_in_safari_only_where_its_lasting_data_is_allowed(allowed: frozenset[str]) -> None:
    hub = FakeHub()
    device = phone("ios", hub, target=replace(SHARED, allowed_apps=allowed))
    await device.open_link("shop://cart")
    if allowed:
        await device.open_link("https://8.8.8.8/")
    else:
        with pytest.raises(DeviceFailure, match=r"com\.apple\.mobilesafari cannot be used: .*allowed_apps"):
            await device.open_link("https://8.8.8.8/")
    assert [given["url"] for order, given in hub.asked] == ["shop://cart", "https://8.8.8.8/"][: 1 + len(allowed)]


async def test_the_log_of_the_session_before_is_cleared_when_a_session_is_opened() -> None:
    for automation, clears in (("UiAutomator2", True), ("XCUITest", False), ("Fake", False)):
        asked = capabilities_of(HubTarget(url="http://hub", capabilities={"appium:automationName": automation}), None)
        assert ("appium:clearDeviceLogsOnStart" in asked) is clears


async def test_android_permissions_are_set_with_all_first() -> None:
    hub = FakeHub()
    await phone("android", hub).launch(
        LaunchOptions(permissions={"location": "allow", "all": "deny", "a.b.OWN": "unset"})
    )
    given = [said for order, said in hub.asked if order == "mobile: changePermissions"]
    assert [each["permissions"] for each in given] == [
        "all",
        ["android.permission.ACCESS_FINE_LOCATION", "android.permission.ACCESS_COARSE_LOCATION"],
        ["a.b.OWN"],
    ]
    assert [each["action"] for each in given] == ["revoke", "grant", "revoke"]
    with pytest.raises(DeviceFailure, match="unknown permission cammera; known permissions: all, bluetooth"):
        await phone("android", hub).launch(LaunchOptions(permissions={"cammera": "allow"}))


async def test_ios_permissions_use_the_simulators_names() -> None:
    hub = FakeHub()
    await phone("ios", hub).launch(LaunchOptions(permissions={"all": "deny", "photos": "allow"}))
    access = arguments(hub, "setPermission")["access"]
    assert (access["photos"], access["camera"]) == ("yes", "no")


async def test_android_launch_arguments_are_intent_extras() -> None:
    hub = FakeHub()
    await phone("android", hub).launch(
        LaunchOptions(arguments={"name": "Ada", "count": 3, "big": 2**40, "on": True, "share": 0.5})
    )
    assert arguments(hub, "startActivity")["extras"] == [
        ["s", "name", "Ada"],
        ["i", "count", "3"],
        ["l", "big", str(2**40)],
        ["z", "on", "true"],
        ["f", "share", "0.5"],
    ]


async def test_ios_launch_arguments_are_process_arguments() -> None:
    hub = FakeHub()
    await phone("ios", hub).launch(LaunchOptions(arguments={"name": "Ada", "on": True}))
    assert arguments(hub, "launchApp")["arguments"] == ["-name", "Ada", "-on", "true"]


@BOTH
async def test_failed_installs_and_launches_have_their_own_categories(platform: str) -> None:
    refusal = DriverError("unknown error", "INSTALL_FAILED_NO_MATCHING_ABIS")
    hub = FakeHub({"mobile: installApp": refusal, "mobile: terminateApp": DriverError("unknown error", "no such app")})
    with pytest.raises(DeviceFailure, match="INSTALL_FAILED_NO_MATCHING_ABIS") as raised:
        await phone(platform, hub).install(Build())
    assert raised.value.category is Category.APP_INSTALL_FAILED
    with pytest.raises(DeviceFailure, match=rf"{APP} was not launched: unknown error: no such app") as raised:
        await phone(platform, hub).launch()
    assert raised.value.category is Category.APP_LAUNCH_FAILED


@BOTH
async def test_a_session_lost_during_launch_keeps_its_category(platform: str) -> None:
    hub = FakeHub({"mobile: terminateApp": DriverError("invalid session id", "")})
    with pytest.raises(DeviceFailure) as raised:
        await phone(platform, hub).launch()
    assert raised.value.category is Category.SESSION_LOST


async def test_an_app_that_ends_without_being_stopped_has_crashed() -> None:
    hub, now = FakeHub({"mobile: queryAppState": 1}), [0.0]
    driver = fake_driver(hub)
    app = PhoneApp(driver, AndroidCommands(driver), TARGET, app_id=APP, app=None, clock=lambda: now[0])
    await app.check()
    await app.launch(LaunchOptions())
    await app.check()
    assert "mobile: queryAppState" not in hub.orders()  # it has just been launched
    now[0] = 2.0
    with pytest.raises(DeviceFailure, match=f"{APP} is no longer running") as raised:
        await app.check()
    assert raised.value.category is Category.APP_CRASH
    now[0] = 4.0
    await app.stop(None)
    await app.check()


@BOTH
async def test_an_unknown_app_is_neither_installed_nor_launched(platform: str) -> None:
    hub = FakeHub()
    device = phone(platform, hub, app=None, package=None)
    await device.install(Build())
    assert hub.asked == []
    with pytest.raises(DeviceFailure, match="unknown app under test") as raised:
        await device.launch()
    assert raised.value.category is Category.CONFIG_INVALID


@BOTH
@pytest.mark.parametrize(
    "link", ["http://169.254.169.254/latest", "intent://x#Intent;end", "file:///sdcard/a", "no link"]
)
async def test_links_to_private_addresses_are_refused(platform: str, link: str) -> None:
    hub = FakeHub()
    with pytest.raises(DeviceFailure, match="the link cannot be opened: ") as raised:
        await phone(platform, hub).open_link(link)
    assert raised.value.category is Category.SCRIPT_ERROR
    assert hub.asked == []


async def test_an_install_error_does_not_show_where_the_file_is() -> None:
    url = "https://worker-3.example:8090/files/secret-token/app.apk"
    hub = FakeHub({"mobile: installApp": DriverError("unknown error", f"Cannot download {url}: 500")})
    with pytest.raises(DeviceFailure, match="Cannot download the file: 500") as raised:
        await phone("android", hub, app=url).install(Build())
    assert "worker-3" not in raised.value.message


async def test_keys_are_pressed_by_name() -> None:
    hub = FakeHub({"GET /element/active": dict(FIELD)})
    await phone("android", hub).press_key("Volume Up")
    assert arguments(hub, "pressKey") == {"keycode": 24}
    await phone("ios", hub).press_key("volume_down")
    assert arguments(hub, "pressButton") == {"name": "volumedown"}
    await phone("ios", hub).press_key("enter")
    assert hub.asked[-1] == ("POST /element/field-1/value", {"text": "\n"})
    with pytest.raises(DeviceFailure, match="an iPhone has no key power; known keys: backspace, "):
        await phone("ios", hub).press_key("power")


@BOTH
async def test_typing_without_focus_is_a_script_error(platform: str) -> None:
    hub = FakeHub({"GET /element/active": DriverError("no such element", "")})
    with pytest.raises(DeviceFailure, match="no editable field has the focus") as raised:
        await phone(platform, hub).type("Ada")
    assert raised.value.category is Category.SCRIPT_ERROR


async def test_a_tap_goes_to_the_middle_of_the_visible_part() -> None:
    hub = FakeHub({"GET /source": _SOURCES["android"]})
    device = phone("android", hub)
    tree = await device.tree()
    button = next(each for each in walk(tree) if each.text == "Half")
    await device.tap(button)
    move = hub.asked[-1][1]["actions"][0]["actions"][0]
    assert (move["x"], move["y"]) == (100, 580)


async def test_elements_outside_the_screen_are_not_tapped() -> None:
    hub = FakeHub({"GET /source": _SOURCES["android"]})
    device = phone("android", hub)
    await device.tree()
    for bounds in (Bounds(0, 900, 100, 100), NOWHERE):
        with pytest.raises(DeviceFailure, match="is not on the screen and was not tapped") as raised:
            await device.tap(Element(text="Below", bounds=bounds))
        assert raised.value.category is Category.ELEMENT_NOT_FOUND
    assert "POST /actions" not in hub.orders()


@BOTH
async def test_typing_waits_until_the_tapped_field_has_the_focus(platform: str) -> None:
    """Drivers answer a tap before the phone has moved the focus: the field before must not get the text."""
    hub = FakeHub({"GET /element/field-1/rect": _rect(0, 100), "GET /element/field-2/rect": _rect(0, 200)})
    hub.replies["GET /element/active"] = moving("field-1", "field-1", "field-1", "field-2")
    await phone(platform, hub).type("Ada", Element(role=Role.FIELD, bounds=Bounds(0, 200, 100, 40)))
    assert hub.asked[-1] == ("POST /element/field-2/value", {"text": "Ada"})


async def test_a_field_moved_by_the_keyboard_is_still_the_tapped_one() -> None:
    hub = FakeHub({"GET /element/field-1/rect": _rect(0, 100), "GET /element/active": dict(FIELD)})
    driver = fake_driver(hub)
    native = NativeView(driver, AndroidCommands(driver), patience=0.0)
    field = Element(role=Role.FIELD, label="Name", bounds=Bounds(0, 500, 100, 40))
    with pytest.raises(DeviceFailure, match='has the focus after a tap on field "Name"'):
        await native.type("Ada", field)
    assert "POST /element/field-1/value" not in hub.orders()
    hub.replies["GET /element/active"] = moving(None, "field-1")
    await native.type("Ada", field)
    assert hub.asked[-1] == ("POST /element/field-1/value", {"text": "Ada"})


async def test_clearing_removes_the_last_characters_wherever_the_caret_is() -> None:
    hub = FakeHub({"GET /element/active": dict(FIELD)})
    await phone("android", hub).clear(characters=2)
    pressed = [said["keycode"] for order, said in hub.asked if order == "mobile: pressKey"]
    assert pressed == [123, 67, 67]


def moving(*focused: str | None) -> Callable[[Mapping[str, Any]], Json]:
    """The focus, look by look; the last one stays."""
    left = list(focused)

    def reply(_: Mapping[str, Any]) -> Json:
        name = left.pop(0) if len(left) > 1 else left[0]
        if name is None:
            raise DriverError("no such element", "")
        return {ELEMENT_KEY: name}

    return reply


def _rect(x: int, y: int) -> Json:
    return {"x": x, "y": y, "width": 100, "height": 40}


@BOTH
async def test_in_a_phones_browser_the_page_is_read(platform: str) -> None:
    info = DeviceInfo("phone-1", platform, simulated=False)
    driver = fake_driver(FakeHub(), {"automationName": AUTOMATION[platform], "browserName": "Safari"})
    device = assemble_device(driver, TARGET, info, Build(package_name=APP), None)
    with pytest.raises(DeviceFailure, match="answer from the page is malformed"):
        await device.tree()


_SOURCES = {
    "android": """<hierarchy rotation="0" width="360" height="640"><android.widget.FrameLayout bounds="[0,0][360,640]"
        class="android.widget.FrameLayout"><android.widget.Button text="Half" class="android.widget.Button"
        bounds="[0,520][200,760]" enabled="true" displayed="true" clickable="true"/></android.widget.FrameLayout>
        </hierarchy>""",
}
