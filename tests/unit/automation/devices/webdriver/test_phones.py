"""Android and iOS use the commands that their drivers document; checked without a device."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, DeviceInfo, LaunchOptions, LinkTarget
from mobiletest_automation.devices.webdriver.android import AndroidCommands
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.phone_app import PhoneApp
from mobiletest_automation.devices.webdriver.sessions import capabilities_of, open_device
from mobiletest_automation.flows.device_commands import Mode
from mobiletest_automation.model.failures import Category
from tests.fakes.unclean_devices import FakeUncleanDevices
from tests.fakes.webdriver import TARGET, FakeHub, fake_driver
from tests.unit.automation.attempts import fails
from tests.unit.automation.devices.webdriver.phones import (
    APP,
    AUTOMATION,
    BOTH,
    DOCUMENTED,
    FIELD,
    SHARED,
    arguments,
    documented,
    in_turn,
    phone,
)


@BOTH
async def test_only_documented_driver_commands_are_used(platform: str) -> None:
    hub = FakeHub({"mobile: queryAppState": 4, "GET /element/active": dict(FIELD)})
    hub.replies["mobile: isKeyboardShown"] = in_turn(True, False)
    installed = iter([False, False, True, False])
    hub.replies["mobile: isAppInstalled"] = lambda _: next(installed)
    device = phone(platform, hub, target=SHARED, unclean=FakeUncleanDevices())
    await device.cleaner.prepare()
    await device.app.install(AppUnderTest())
    await device.app.launch(
        LaunchOptions(clear_state=True, permissions={"all": "deny", "camera": "allow"}, arguments={"a": 1})
    )
    await device.app.launch(LaunchOptions(stop_first=False))
    await device.app.stop()
    await device.app.clear_state()
    await device.app.open_link("shop://cart")
    await device.app.set_location(1.5, 2.5)
    await device.view.press_key("home")
    await device.view.press_key("lock")
    await device.view.hide_keyboard()
    await device.app.kill()
    await device.app.clear_keychain()
    await device.app.set_permissions(None, {"camera": "never"})
    hub.replies |= {"mobile: getUiMode": "no", "mobile: getAppearance": {"style": "light"}}
    await device.app.set_mode(Mode.DARK, on=True)
    if platform == "android":
        await device.app.set_mode(Mode.AIRPLANE, on=True)
    await device.app.add_media("a.png", b"picture")
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
    await device.cleaner.prepare()
    hub.replies["mobile: removeApp"] = True
    await device.close()
    assert arguments(hub, "removeApp") == {"appId" if platform == "android" else "bundleId": APP}
    assert unclean.marked == {}


PAGE = "https://8.8.8.8/"
ARGUMENTS = {"name": "Ada", "count": 3, "big": 2**40, "on": True, "share": 0.5}
EXTRAS = [
    ["s", "name", "Ada"],
    ["i", "count", "3"],
    ["l", "big", str(2**40)],
    ["z", "on", "true"],
    ["f", "share", "0.5"],
]
PUSHED = "/sdcard/Pictures/mobiletest/a.png"


@pytest.mark.parametrize(
    ("platform", "act", "order", "asked"),
    [
        ("android", lambda it: it.app.kill(), "mobile: shell", {"command": "am", "args": ["kill", APP]}),
        ("android", lambda it: it.app.open_link(PAGE), "mobile: deepLink",
         {"url": PAGE, "package": None}),
        ("android", lambda it: it.app.open_link(PAGE, LinkTarget.BROWSER), "mobile: deepLink",
         {"url": PAGE, "package": "com.android.chrome"}),
        ("android", lambda it: it.app.open_link(PAGE, LinkTarget.OWN_APP), "mobile: deepLink",
         {"url": PAGE, "package": APP}),
        ("ios", lambda it: it.app.open_link(PAGE, LinkTarget.BROWSER), "mobile: deepLink",
         {"url": PAGE, "package": None}),
        ("ios", lambda it: it.app.open_link(PAGE, LinkTarget.OWN_APP), "mobile: deepLink",
         {"url": PAGE, "package": None}),
        ("android", lambda it: it.app.launch(LaunchOptions(arguments=ARGUMENTS)), "mobile: startActivity",
         {"extras": EXTRAS}),
        ("ios", lambda it: it.app.launch(LaunchOptions(arguments={"name": "Ada", "on": True})), "mobile: launchApp",
         {"arguments": ["-name", "Ada", "on", "true"]}),
        ("android", lambda it: it.app.set_orientation("portrait"), "POST /orientation", {"orientation": "PORTRAIT"}),
        ("android", lambda it: it.app.set_orientation("landscape_left"), "POST /orientation",
         {"orientation": "LANDSCAPE"}),
        ("android", lambda it: it.app.set_orientation("landscape_right"), "POST /rotation", {"x": 0, "y": 0, "z": 270}),
        ("android", lambda it: it.app.set_orientation("upside_down"), "POST /rotation", {"x": 0, "y": 0, "z": 180}),
        ("android", lambda it: it.app.add_media("a.png", b"picture"), "mobile: pushFile",
         {"remotePath": PUSHED, "payload": "cGljdHVyZQ=="}),
        ("ios", lambda it: it.app.add_media("a.png", b"picture"), "mobile: pushFile",
         {"remotePath": "a.png", "payload": "cGljdHVyZQ=="}),
        ("android", lambda it: it.view.press_key("Volume Up"), "mobile: pressKey", {"keycode": 24}),
        ("ios", lambda it: it.view.press_key("volume_down"), "mobile: pressButton", {"name": "volumedown"}),
        ("ios", lambda it: it.view.press_key("enter"), "POST /element/field-1/value", {"text": "\n"}),
    ],
)  # fmt: skip
async def test_a_call_ends_with_this_request(
    platform: str, act: Callable[[WebDriverDevice], Awaitable[None]], order: str, asked: dict[str, object]
) -> None:
    hub = FakeHub({"GET /element/active": dict(FIELD), "GET /orientation": "PORTRAIT"})
    await act(phone(platform, hub))
    last, said = hub.asked[-1]
    assert (last, {name: said.get(name) for name in asked}) == (order, asked)


NO_ABI = DriverError("unknown error", "INSTALL_FAILED_NO_MATCHING_ABIS")
NO_SHELL = DriverError("unknown error", "Potentially insecure feature 'adb_shell' has not")
WEB_PAGE = LaunchOptions(app_id="https://example.com/shop")


@pytest.mark.parametrize(
    ("platforms", "replies", "act", "category", "message"),
    [
        ("android", {"mobile: shell": NO_SHELL}, lambda it: it.app.kill(), Category.CONFIG_INVALID,
         "ask the operator to start Appium with --allow-insecure"),
        ("android", {}, lambda it: it.app.kill("com.example.shop;reboot"), Category.SCRIPT_ERROR,
         "is not the package name of an app"),
        ("android ios", {}, lambda it: it.app.launch(WEB_PAGE), Category.SCRIPT_ERROR,
         "is a web page, not an app of this device"),
        ("android ios", {"mobile: installApp": NO_ABI}, lambda it: it.app.install(AppUnderTest()),
         Category.APP_INSTALL_FAILED, "INSTALL_FAILED_NO_MATCHING_ABIS"),
        ("android ios", {"mobile: terminateApp": DriverError("unknown error", "no such app")},
         lambda it: it.app.launch(), Category.APP_LAUNCH_FAILED,
         rf"{APP} was not launched: unknown error: no such app"),
        ("android ios", {"mobile: terminateApp": DriverError("invalid session id", "")}, lambda it: it.app.launch(),
         Category.SESSION_LOST, "invalid session id"),
        ("ios", {"GET /element/active": dict(FIELD)}, lambda it: it.view.press_key("power"), Category.SCRIPT_ERROR,
         "an iPhone has no key power; known keys: backspace, "),
        ("android ios", {"GET /element/active": DriverError("no such element", "")}, lambda it: it.view.type("Ada"),
         Category.SCRIPT_ERROR, "no editable field has the focus"),
        ("ios", {}, lambda it: it.app.set_mode(Mode.AIRPLANE, on=True), Category.SCRIPT_ERROR,
         "airplane mode of an iOS device cannot be changed"),
        ("android", {"mobile: getUiMode": "auto"}, lambda it: it.app.is_mode_on(Mode.DARK), Category.SCRIPT_ERROR,
         "dark mode"),
        ("ios", {"mobile: getAppearance": {"style": "unsupported"}}, lambda it: it.app.is_mode_on(Mode.DARK),
         Category.SCRIPT_ERROR, "dark mode"),
        ("android", {}, lambda it: it.app.launch(LaunchOptions(permissions={"cammera": "allow"})),
         Category.SCRIPT_ERROR, "unknown permission cammera; known permissions: all, bluetooth"),
    ],
)  # fmt: skip
async def test_a_call_that_fails_has_a_category_and_says_why(
    platforms: str,
    replies: dict[str, object],
    act: Callable[[WebDriverDevice], Awaitable[object]],
    category: Category,
    message: str,
) -> None:
    for platform in platforms.split():
        with fails(category, message):
            await act(phone(platform, FakeHub(dict(replies))))


@pytest.mark.parametrize("allowed", [frozenset[str](), frozenset({"com.apple.mobilesafari"})])
async def test_web_links_open_in_safari_only_where_its_lasting_data_is_allowed(allowed: frozenset[str]) -> None:
    hub = FakeHub()
    device = phone("ios", hub, target=replace(SHARED, allowed_apps=allowed))
    await device.app.open_link("shop://cart")
    for target in (LinkTarget.ANY, LinkTarget.BROWSER):
        if allowed:
            await device.app.open_link(PAGE, target)
        else:
            with pytest.raises(DeviceFailure, match=r"com\.apple\.mobilesafari cannot be used: .*allowed_apps"):
                await device.app.open_link(PAGE, target)
    assert [given["url"] for order, given in hub.asked] == ["shop://cart", *[PAGE] * 2 * len(allowed)]


async def test_the_log_of_the_session_before_is_cleared_when_a_session_is_opened() -> None:
    for automation, clears in (("UiAutomator2", True), ("XCUITest", False), ("Fake", False)):
        asked = capabilities_of(HubTarget(url="http://hub", capabilities={"appium:automationName": automation}), None)
        assert ("appium:clearDeviceLogsOnStart" in asked) is clears


@pytest.mark.parametrize(("name", "entry"), [("gone", "no_such_package:driver"), ("wrong", "os:sep")])
async def test_a_broken_package_of_a_driver_is_a_wrong_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, entry: str
) -> None:
    folder = tmp_path / f"{name}-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(f"[mobiletest.drivers]\n{name} = {entry}\n")
    monkeypatch.syspath_prepend(tmp_path)
    target = HubTarget(url="http://127.0.0.1:9", capabilities={"appium:automationName": name})
    with fails(Category.CONFIG_INVALID, name):
        await open_device(target, DeviceInfo("phone-1", "android", simulated=False), AppUnderTest())


@pytest.mark.parametrize("moment", [1e300, -1e300, 1e15, -1, None, "yesterday", [1]])
async def test_a_log_is_read_whatever_its_times_are(moment: Json) -> None:
    hub = FakeHub({"POST /se/log": [{"timestamp": moment, "message": "late"}, {"timestamp": 0, "message": "early"}]})
    assert (await phone("android", hub).log()).text == "late\n1970-01-01T00:00:00+00:00 early\n"


async def test_an_app_that_ends_without_being_stopped_has_crashed() -> None:
    hub, now = FakeHub({"mobile: queryAppState": 1}), [0.0]
    driver = fake_driver(hub)
    app = PhoneApp(driver, AndroidCommands(driver), TARGET, app_id=APP, app=None, clock=lambda: now[0])
    await app.check()
    await app.launch(LaunchOptions())
    await app.check()
    assert "mobile: queryAppState" not in hub.orders()  # it has just been launched
    now[0] += 2.0
    with fails(Category.APP_CRASH, f"{APP} is no longer running"):
        await app.check()
    for end in (
        lambda: app.stop(None),
        lambda: app.kill(None),
        lambda: app.set_permissions(None, {"camera": "deny"}),
    ):
        await app.launch(LaunchOptions())
        await end()
        now[0] += 2.0
        await app.check()


@BOTH
async def test_an_unknown_app_is_neither_installed_nor_launched(platform: str) -> None:
    hub = FakeHub()
    device = phone(platform, hub, app=None, package=None)
    await device.app.install(AppUnderTest())
    assert hub.asked == []
    with fails(Category.CONFIG_INVALID, "unknown app under test"):
        await device.app.launch()


@BOTH
@pytest.mark.parametrize(
    "link", ["http://169.254.169.254/latest", "intent://x#Intent;end", "file:///sdcard/a", "no link"]
)
async def test_links_to_private_addresses_are_refused(platform: str, link: str) -> None:
    hub = FakeHub()
    with fails(Category.SCRIPT_ERROR, "the link cannot be opened: "):
        await phone(platform, hub).app.open_link(link)
    assert hub.asked == []


async def test_an_install_error_does_not_show_where_the_file_is() -> None:
    url = "https://worker-3.example:8090/files/secret-token/app.apk"
    hub = FakeHub({"mobile: installApp": DriverError("unknown error", f"Cannot download {url}: 500")})
    with pytest.raises(DeviceFailure, match="Cannot download the file: 500") as raised:
        await phone("android", hub, app=url).app.install(AppUnderTest())
    assert "worker-3" not in raised.value.message


@BOTH
async def test_in_a_phones_browser_the_page_is_read(platform: str) -> None:
    info = DeviceInfo("phone-1", platform, simulated=False)
    driver = fake_driver(FakeHub(), {"automationName": AUTOMATION[platform], "browserName": "Safari"})
    device = assemble_device(HubSession(driver=driver, target=TARGET, info=info, build=AppUnderTest(package_name=APP)))
    with pytest.raises(DeviceFailure, match="answer from the page is malformed"):
        await device.view.tree()
