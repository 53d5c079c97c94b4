"""Permissions, links, orientation, modes and media of phones, and how they are put back."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, LaunchOptions, MarksUnavailable, Seed
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.flows.device_commands import Mode
from mobiletest_automation.model.devices import DeviceChange, DeviceSetting
from services.executor.worker.processes.host import AttemptHost, Services
from tests.fakes.devices import FakeDevices, FakeEvidence
from tests.fakes.unclean_devices import FakeUncleanDevices
from tests.fakes.webdriver import TARGET, FakeHub, fake_driver
from tests.unit.automation.devices.webdriver.phones import APP, SHARED, arguments, in_turn, phone, said_to


async def test_android_permissions_are_set_with_all_first() -> None:
    hub = FakeHub()
    await phone("android", hub).app.launch(
        LaunchOptions(permissions={"location": "allow", "all": "deny", "a.b.OWN": "unset"})
    )
    given = [said for order, said in hub.asked if order == "mobile: changePermissions"]
    assert [each["permissions"] for each in given] == [
        "all",
        ["android.permission.ACCESS_FINE_LOCATION", "android.permission.ACCESS_COARSE_LOCATION"],
        ["a.b.OWN"],
    ]
    assert [each["action"] for each in given] == ["revoke", "grant", "revoke"]


async def test_android_grants_all_permissions_by_default_if_the_phone_lets_it() -> None:
    for reply in (None, DriverError("unknown error", "GRANT_RUNTIME_PERMISSIONS is needed")):
        hub = FakeHub({"mobile: changePermissions": reply})
        await phone("android", hub).app.launch(LaunchOptions(grants_permissions=True))
        assert arguments(hub, "changePermissions")["permissions"] == "all"
        assert arguments(hub, "changePermissions")["action"] == "grant"


async def test_ios_grants_all_permissions_by_default_when_an_app_is_restarted() -> None:
    hub = FakeHub()
    device = phone("ios", hub)
    by_default = LaunchOptions(grants_permissions=True)
    await device.app.launch(replace(by_default, stop_first=False))
    assert said_to(hub, "setPermission") == []
    await device.app.launch(by_default)
    await device.app.launch(by_default)
    (given,) = said_to(hub, "setPermission")
    assert {given["access"][name] for name in ("camera", "location-always", "notifications")} == {"yes"}
    await device.app.launch(replace(by_default, clear_state=True))
    assert len(said_to(hub, "setPermission")) == 2
    await device.app.set_permissions(None, {"camera": "deny"})
    await device.app.launch(by_default)
    assert len(said_to(hub, "setPermission")) == 4


async def test_an_iphone_that_grants_no_permissions_is_asked_once_and_starts_the_app() -> None:
    hub = FakeHub({"mobile: setPermission": DriverError("unknown error", "can only be performed on Simulator")})
    device = phone("ios", hub)
    for _ in range(2):
        await device.app.launch(LaunchOptions(grants_permissions=True))
    assert (len(said_to(hub, "setPermission")), len(said_to(hub, "launchApp"))) == (1, 2)


@pytest.mark.parametrize(
    ("answer", "access"),
    [
        ("always", {"location-always": "yes"}),
        ("allow", {"location-always": "yes"}),
        ("inuse", {"location": "yes"}),
        ("never", {"location-always": "no"}),
        ("unset", {"location-always": "unset"}),
    ],
)
async def test_ios_permissions_use_the_simulators_names(answer: str, access: dict[str, str]) -> None:
    hub = FakeHub()
    await phone("ios", hub).app.set_permissions(None, {"location": answer, "photos": "limited"})
    assert arguments(hub, "setPermission") == {"bundleId": APP, "access": {**access, "photos": "limited"}}
    hub = FakeHub()
    await phone("ios", hub).app.launch(LaunchOptions(permissions={"all": "deny", "photos": "allow"}))
    given = arguments(hub, "setPermission")["access"]
    assert (given["photos"], given["camera"]) == ("yes", "no")


async def test_android_grants_what_is_allowed_always_or_in_use() -> None:
    hub = FakeHub()
    answers = ("allow", "always", "inuse", "deny", "never", "unset")
    for answer in answers:
        await phone("android", hub).app.set_permissions("com.example.other", {"camera": answer})
    given = [said for _, said in hub.asked]
    assert [said["action"] for said in given] == ["grant"] * 3 + ["revoke"] * 3
    assert {said["appPackage"] for said in given} == {"com.example.other"}


@pytest.mark.parametrize("dedicated", [False, True])
async def test_what_a_session_changes_is_put_back_at_its_end(dedicated: bool) -> None:
    unclean = FakeUncleanDevices()
    hub = FakeHub({"mobile: getUiMode": "auto", "mobile: getConnectivity": {"airplaneMode": False}})
    hub.replies |= {"GET /orientation": in_turn("PORTRAIT", "LANDSCAPE"), "mobile: listApps": {}}
    device = phone("android", hub, target=replace(TARGET, dedicated=dedicated), unclean=unclean)
    await device.cleaner.prepare()
    await device.app.set_mode(Mode.DARK, on=True)
    await device.app.set_mode(Mode.DARK, on=False)
    await device.app.set_mode(Mode.AIRPLANE, on=True)
    await device.app.set_orientation("upside_down")
    await device.app.set_location(1, 2)
    await device.app.add_media("my cat.png", b"picture")
    (noted,) = unclean.marked.values()
    assert {(each.setting, each.before) for each in noted.changes} == {
        ("dark_mode", "auto"),
        ("airplane_mode", "no"),
        ("orientation", "portrait"),
        ("location", ""),
        ("media", "/sdcard/Pictures/mobiletest/my_cat.png"),
    }
    hub.asked.clear()
    await device.close()
    asked = [each for each in hub.asked if each[0] != "GET /orientation"]
    assert asked[:5] == [
        ("mobile: setConnectivity", {"airplaneMode": False}),
        ("mobile: setUiMode", {"mode": "night", "value": "auto"}),
        ("POST /orientation", {"orientation": "PORTRAIT"}),
        ("mobile: resetGeolocation", {}),
        ("mobile: deleteFile", {"remotePath": "/sdcard/Pictures/mobiletest/my_cat.png"}),
    ]
    assert [each.changes for each in unclean.marked.values()] == ([()] if dedicated else [])


async def test_a_change_is_noted_before_it_is_made() -> None:
    unclean, hub = FakeUncleanDevices(), FakeHub({"mobile: getUiMode": "no"})
    device = phone("android", hub, unclean=unclean)
    await device.cleaner.prepare()
    unclean.down = MarksUnavailable
    with pytest.raises(DeviceFailure, match="could not be marked"):
        await device.app.set_mode(Mode.DARK, on=True)
    assert "mobile: setUiMode" not in hub.orders()


async def test_what_another_process_is_about_to_change_is_noted_by_the_one_that_ends_the_session() -> None:
    unclean, hub = FakeUncleanDevices(), FakeHub({"mobile: getUiMode": "no"})
    device = phone("android", hub, unclean=unclean)
    await device.cleaner.prepare()
    worker = AttemptHost(
        Services(devices=FakeDevices(device), evidence=FakeEvidence()),
        org_id="a",
        platform="android",
        build=AppUnderTest(),
        seed=Seed("r", 1),
    )
    await worker.acquire_device()

    async def note(change: DeviceChange) -> None:
        assert "mobile: setUiMode" not in hub.orders()
        await worker.note_change(change)

    driver = fake_driver(hub, {"automationName": "UiAutomator2", "udid": "phone"})
    build = AppUnderTest(package_name=APP)
    session = HubSession(driver=driver, target=TARGET, info=device.info, build=build, note=note)
    attached = assemble_device(session)
    await attached.app.set_mode(Mode.DARK, on=True)
    assert [each.changes for each in unclean.marked.values()] == [(DeviceChange(DeviceSetting.DARK_MODE, "no"),)]
    await device.close()
    assert hub.asked[-2] == ("mobile: setUiMode", {"mode": "night", "value": "no"})


async def test_what_a_lost_session_changed_is_put_back_by_the_next_one() -> None:
    """Also on the device of one organisation, whose apps and data stay."""
    unclean, hub = FakeUncleanDevices(), FakeHub({"mobile: getUiMode": "no", "mobile: listApps": {}})
    lost = phone("android", hub, unclean=unclean)
    await lost.cleaner.prepare()
    await lost.app.set_mode(Mode.DARK, on=True)
    hub.asked.clear()
    await phone("android", hub, unclean=unclean).cleaner.prepare()
    assert hub.orders() == ["mobile: setUiMode", "mobile: listApps"]
    assert hub.asked[0][1] == {"mode": "night", "value": "no"}


async def test_a_driver_that_cannot_reset_an_emulators_location_does_not_keep_it_unclean() -> None:
    hub = FakeHub({"mobile: resetGeolocation": DriverError("unknown error", "does not work on emulators")})
    hub.replies["mobile: listApps"] = {}
    unclean = FakeUncleanDevices()
    device = phone("android", hub, target=SHARED, unclean=unclean)
    await device.cleaner.prepare()
    await device.app.set_location(1, 2)
    await device.close()
    assert unclean.marked == {}


@pytest.mark.parametrize(
    ("platform", "reply", "dark"),
    [
        ("android", {"mobile: getUiMode": "yes"}, True),
        ("android", {"mobile: getUiMode": "no"}, False),
        ("ios", {"mobile: getAppearance": {"style": "dark"}}, True),
        ("ios", {"mobile: getAppearance": {"style": "light"}}, False),
    ],
)
async def test_dark_mode_is_on_or_off(platform: str, reply: Mapping[str, Json], dark: bool) -> None:
    assert await phone(platform, FakeHub(dict(reply))).app.is_mode_on(Mode.DARK) is dark


async def test_modes_are_set_with_the_drivers_words() -> None:
    hub = FakeHub({"mobile: getAppearance": {"style": "light"}})
    for on in (True, False):
        await phone("ios", hub).app.set_mode(Mode.DARK, on=on)
    assert [said["style"] for said in said_to(hub, "setAppearance")] == ["dark", "light"]
    hub = FakeHub({"mobile: getConnectivity": {"airplaneMode": True}})
    assert await phone("android", hub).app.is_mode_on(Mode.AIRPLANE)
    await phone("android", hub).app.set_mode(Mode.AIRPLANE, on=False)
    assert hub.asked[-1] == ("mobile: setConnectivity", {"airplaneMode": False})
