"""Android and iOS use the commands that their drivers document; checked without a device."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from services.executor.automation.devices.port import Build, DeviceFailure, DeviceInfo, LaunchOptions, LinkTarget
from services.executor.automation.devices.webdriver.android import AndroidCommands
from services.executor.automation.devices.webdriver.assembly import assemble_device
from services.executor.automation.devices.webdriver.hub_connection import DriverError
from services.executor.automation.devices.webdriver.hub_target import HubTarget
from services.executor.automation.devices.webdriver.phone_app import PhoneApp
from services.executor.automation.devices.webdriver.sessions import capabilities_of
from services.executor.model.failures import Category
from services.flows.device_commands import Mode
from tests.fakes.unclean_devices import FakeUncleanDevices
from tests.fakes.webdriver import TARGET, FakeHub, fake_driver
from tests.unit.executor.automation.attempts import fails
from tests.unit.executor.automation.devices.webdriver.phones import (
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
    await device.press_key("lock")
    await device.hide_keyboard()
    await device.kill()
    await device.clear_keychain()
    await device.set_permissions(None, {"camera": "never"})
    hub.replies |= {"mobile: getUiMode": "no", "mobile: getAppearance": {"style": "light"}}
    await device.set_mode(Mode.DARK, on=True)
    if platform == "android":
        await device.set_mode(Mode.AIRPLANE, on=True)
    await device.add_media("a.png", b"picture")
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


async def test_only_background_apps_are_killed_on_android() -> None:
    hub = FakeHub()
    await phone("android", hub).kill()
    assert hub.asked == [("mobile: shell", {"command": "am", "args": ["kill", APP]})]
    hub = FakeHub({"mobile: shell": DriverError("unknown error", "Potentially insecure feature 'adb_shell' has not")})
    with fails(Category.CONFIG_INVALID, "ask the operator to start Appium with --allow-insecure"):
        await phone("android", hub).kill()
    with pytest.raises(DeviceFailure, match="is not the package name of an app"):
        await phone("android", hub).kill("com.example.shop;reboot")


@BOTH
async def test_a_web_page_is_no_app_of_a_phone(platform: str) -> None:
    with fails(Category.SCRIPT_ERROR, "is a web page and no app of this device"):
        await phone(platform, FakeHub()).launch(LaunchOptions(app_id="https://example.com/shop"))


async def test_an_app_that_was_killed_has_not_crashed() -> None:
    hub, now = FakeHub({"mobile: queryAppState": 1}), [0.0]
    driver = fake_driver(hub)
    app = PhoneApp(driver, AndroidCommands(driver), TARGET, app_id=APP, app=None, clock=lambda: now[0])
    for end in (lambda: app.kill(None), lambda: app.set_permissions(None, {"camera": "deny"})):
        await app.launch(LaunchOptions())
        await end()
        now[0] += 2.0
        await app.check()


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        (LinkTarget.ANY, {"url": "https://8.8.8.8/"}),
        (LinkTarget.BROWSER, {"url": "https://8.8.8.8/", "package": "com.android.chrome"}),
        (LinkTarget.OWN_APP, {"url": "https://8.8.8.8/", "package": APP}),
    ],
)
async def test_android_opens_a_link_in_the_chosen_app(target: LinkTarget, asked: Mapping[str, str]) -> None:
    hub = FakeHub()
    await phone("android", hub).open_link("https://8.8.8.8/", target)
    assert hub.asked == [("mobile: deepLink", asked)]


async def test_ios_chooses_the_app_that_opens_a_link() -> None:
    for target in LinkTarget:
        hub = FakeHub()
        await phone("ios", hub).open_link("https://8.8.8.8/", target)
        assert hub.asked == [("mobile: deepLink", {"url": "https://8.8.8.8/"})]


async def test_the_browser_of_a_phone_opens_pages() -> None:
    hub = FakeHub()
    await phone("android", hub).open_browser("https://8.8.8.8/")
    assert arguments(hub, "deepLink") == {"url": "https://8.8.8.8/", "package": "com.android.chrome"}
    with pytest.raises(DeviceFailure, match=r"com\.apple\.mobilesafari cannot be used"):
        await phone("ios", hub, target=SHARED).open_browser("https://8.8.8.8/")


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
    with fails(Category.APP_INSTALL_FAILED, "INSTALL_FAILED_NO_MATCHING_ABIS"):
        await phone(platform, hub).install(Build())
    with fails(Category.APP_LAUNCH_FAILED, rf"{APP} was not launched: unknown error: no such app"):
        await phone(platform, hub).launch()


@BOTH
async def test_a_session_lost_during_launch_keeps_its_category(platform: str) -> None:
    hub = FakeHub({"mobile: terminateApp": DriverError("invalid session id", "")})
    with fails(Category.SESSION_LOST):
        await phone(platform, hub).launch()


async def test_an_app_that_ends_without_being_stopped_has_crashed() -> None:
    hub, now = FakeHub({"mobile: queryAppState": 1}), [0.0]
    driver = fake_driver(hub)
    app = PhoneApp(driver, AndroidCommands(driver), TARGET, app_id=APP, app=None, clock=lambda: now[0])
    await app.check()
    await app.launch(LaunchOptions())
    await app.check()
    assert "mobile: queryAppState" not in hub.orders()  # it has just been launched
    now[0] = 2.0
    with fails(Category.APP_CRASH, f"{APP} is no longer running"):
        await app.check()
    now[0] = 4.0
    await app.stop(None)
    await app.check()


@BOTH
async def test_an_unknown_app_is_neither_installed_nor_launched(platform: str) -> None:
    hub = FakeHub()
    device = phone(platform, hub, app=None, package=None)
    await device.install(Build())
    assert hub.asked == []
    with fails(Category.CONFIG_INVALID, "unknown app under test"):
        await device.launch()


@BOTH
@pytest.mark.parametrize(
    "link", ["http://169.254.169.254/latest", "intent://x#Intent;end", "file:///sdcard/a", "no link"]
)
async def test_links_to_private_addresses_are_refused(platform: str, link: str) -> None:
    hub = FakeHub()
    with fails(Category.SCRIPT_ERROR, "the link cannot be opened: "):
        await phone(platform, hub).open_link(link)
    assert hub.asked == []


async def test_an_install_error_does_not_show_where_the_file_is() -> None:
    url = "https://worker-3.example:8090/files/secret-token/app.apk"
    hub = FakeHub({"mobile: installApp": DriverError("unknown error", f"Cannot download {url}: 500")})
    with pytest.raises(DeviceFailure, match="Cannot download the file: 500") as raised:
        await phone("android", hub, app=url).install(Build())
    assert "worker-3" not in raised.value.message


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
        </hierarchy>"""
}
