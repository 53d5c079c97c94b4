"""A phone is clean before another organisation gets it, whatever happened to the session and the worker before."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.types.v1 import execution_pb2, run_config_pb2

from mobiletest_automation.devices.port import (
    AppUnderTest,
    Device,
    DeviceFailure,
    DeviceInfo,
    LaunchOptions,
    MarksUnavailable,
)
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.sessions import delete_session, open_device
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category
from services.chassis.context import ALL_SCOPES, Caller, bind
from tests.eventually import eventually
from tests.fakes.unclean_devices import FakeUncleanDevices
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.devices.phone_hub import OWN, PhoneHub, app_file, phone_pool, serving_phone

SECRET = "the account of Ada"
SHOP, OTHER = "com.example.shop", "com.example.other"
PHONE = DeviceInfo("phone-1", "android", simulated=False)
SIMULATOR = DeviceInfo("simulator-1", "ios", simulated=False)
SKIP = run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(skip_app_install=True, retries=0))
ONCE = run_config_pb2.RunConfig(execution_mode=run_config_pb2.ExecutionMode(retries=0))


@pytest.fixture
async def hub() -> AsyncIterator[PhoneHub]:
    async with serving_phone(PhoneHub()) as served:
        yield served


@pytest.fixture
def unclean() -> FakeUncleanDevices:
    return FakeUncleanDevices()


Use = Callable[..., Any]


@pytest.fixture
def use(hub: PhoneHub, unclean: FakeUncleanDevices, tmp_path: Path) -> Use:
    """Opens the phone for an organisation, and installs the shop unless `app_id` is None.

    With `named`, the bundle id that the pool names, the phone is an iOS simulator.
    """

    async def open_phone(
        org_id: str, *, app_id: str | None = SHOP, package: str | None = SHOP, named: str | None = None, **fields: Any
    ) -> Device:
        file = tmp_path / "app.apk"
        file.write_bytes(app_file(app_id or "", secret=SECRET))
        capabilities: Any = {"platformName": "Android", "appium:automationName": "UiAutomator2"}
        if named is not None:
            hub.broken.add("listApps")
            capabilities = {"platformName": "iOS", "appium:automationName": "XCUITest", "appium:bundleId": named}
        target = HubTarget(url=hub.url, capabilities=capabilities, **fields)
        build = AppUnderTest(org_id=org_id, package_name=package)
        app = str(file) if app_id is not None else None
        device = await open_device(target, SIMULATOR if named else PHONE, build, app=app, unclean=unclean)
        try:
            await device.app.install(build)
        except BaseException:
            await device.close()
            raise
        return device

    return open_phone


async def test_the_app_its_data_the_clipboard_and_the_log_are_gone_after_a_session(hub: PhoneHub, use: Use) -> None:
    device = await use("a")
    await device.app.launch()
    hub.leave(SECRET)
    assert hub.holds(SECRET)
    await device.close()
    assert hub.commands()[-4:] == ["removeApp", "clearApp", "setClipboard", "delete"]
    assert not hub.holds(SECRET)
    assert set(hub.apps) == set(OWN)
    later = await use("b", app_id=None)
    assert SECRET not in (await later.log()).text


async def test_apps_that_the_app_installed_itself_are_removed_too(hub: PhoneHub, use: Use) -> None:
    device = await use("a")
    hub.apps["com.example.hidden"] = SECRET
    await device.close()
    assert set(hub.apps) == set(OWN)


async def test_a_killed_workers_phone_is_cleaned_with_the_deletion_of_its_session(
    hub: PhoneHub, use: Use, unclean: FakeUncleanDevices
) -> None:
    await use("a")
    hub.leave(SECRET)
    assert await delete_session(Session(hub.url, "session-1"), unclean=unclean)
    assert hub.commands()[-4:] == ["removeApp", "clearApp", "setClipboard", "delete"]
    assert not hub.holds(SECRET)
    assert unclean.marked == {}


async def test_a_phone_whose_session_is_gone_is_cleaned_before_it_is_used_again(
    hub: PhoneHub, use: Use, unclean: FakeUncleanDevices
) -> None:
    await use("a")
    hub.leave(SECRET)
    hub.open.clear()  # the hub was restarted
    assert await delete_session(Session(hub.url, "session-1"), unclean=unclean)
    assert hub.holds(SECRET)
    device = await use("b", app_id=None)
    assert not hub.holds(SECRET)
    assert hub.commands()[-6:-1] == ["open", "listApps", "removeApp", "clearApp", "setClipboard"]
    await device.close()
    assert unclean.marked == {}


@pytest.mark.parametrize("command", ["removeApp", "setClipboard", "clearApp"])
async def test_a_phone_that_cannot_be_cleaned_is_not_used(
    hub: PhoneHub, use: Use, unclean: FakeUncleanDevices, command: str
) -> None:
    hub.broken.add(command)
    await (await use("a")).close()
    assert len(unclean.marked) == 1
    for org_id in ("b", "a"):
        with pytest.raises(DeviceFailure, match="still holds something of an earlier run") as raised:
            await use(org_id)
        assert raised.value.category is Category.DEVICE_UNAVAILABLE
        await eventually(lambda: not hub.open)
    hub.broken.clear()
    await (await use("b")).close()
    assert (set(hub.apps), unclean.marked) == (set(OWN), {})


async def test_a_phone_is_not_used_unless_it_could_be_marked(
    hub: PhoneHub, use: Use, unclean: FakeUncleanDevices
) -> None:
    unclean.down = MarksUnavailable
    with pytest.raises(DeviceFailure, match="could not be marked") as raised:
        await use("a")
    assert raised.value.category is Category.EXECUTOR_LOST
    assert "installApp" not in hub.commands()
    await eventually(lambda: not hub.open)


async def test_a_hub_that_does_not_name_its_phone_cannot_share_it(hub: PhoneHub, use: Use) -> None:
    hub.names_device = False
    with pytest.raises(DeviceFailure, match="did not name its device"):
        await use("a")
    await eventually(lambda: not hub.open)
    await (await use("a", dedicated=True)).close()


@pytest.mark.parametrize("app_id", [OTHER, "com.android.vending", "io.appium.settings"])
async def test_only_the_installed_app_and_what_is_allowed_can_be_started(hub: PhoneHub, use: Use, app_id: str) -> None:
    hub.apps[OTHER] = SECRET
    device = await use("a")
    for use_app in (lambda: device.app.launch(LaunchOptions(app_id=app_id)), lambda: device.app.clear_state(app_id)):
        with pytest.raises(DeviceFailure, match=f"{app_id} cannot be used: .*com.android.chrome, com.android.settings"):
            await use_app()
    for allowed in (None, SHOP, "com.android.settings", "com.android.chrome"):
        await device.app.launch(LaunchOptions(app_id=allowed))
    await device.close()
    device = await use("a", allowed_apps=frozenset({app_id}))
    await device.app.launch(LaunchOptions(app_id=app_id))
    await device.close()
    assert app_id in hub.apps


async def test_a_build_without_a_file_does_not_start_what_is_installed(hub: PhoneHub, use: Use) -> None:
    hub.apps[OTHER] = SECRET
    device = await use("b", app_id=None, package=OTHER)
    with pytest.raises(DeviceFailure, match=f"{OTHER} cannot be used"):
        await device.app.launch()
    await device.close()
    assert OTHER in hub.apps


@pytest.mark.parametrize("package", ["com.android.vending", "com.android.settings", OTHER])
async def test_apps_of_the_device_are_neither_replaced_nor_removed(hub: PhoneHub, use: Use, package: str) -> None:
    hub.apps[OTHER] = SECRET
    with pytest.raises(DeviceFailure, match=f"{package} is an app of the device") as raised:
        await use("a", app_id=package, package=package)
    assert raised.value.category is Category.CONFIG_INVALID
    assert "installApp" not in hub.commands()
    assert package in hub.apps


async def test_a_file_with_another_id_than_its_build_is_refused_and_removed(hub: PhoneHub, use: Use) -> None:
    with pytest.raises(DeviceFailure, match=f"another app than {SHOP}: correct the build's package_name") as raised:
        await use("a", app_id=OTHER)
    assert raised.value.category is Category.ARTIFACT_INVALID
    assert set(hub.apps) == set(OWN)


@pytest.mark.parametrize("killed", [False, True])
async def test_a_simulator_is_cleaned_of_the_app_that_only_the_pool_names(
    hub: PhoneHub, use: Use, unclean: FakeUncleanDevices, killed: bool
) -> None:
    """By its worker, or by the one that deletes the session of a killed worker."""
    device = await use("a", package=None, named=SHOP)
    assert hub.holds(SECRET)
    await (delete_session(Session(hub.url, "session-1"), unclean=unclean) if killed else device.close())
    assert hub.commands()[-3:] == ["removeApp", "setClipboard", "delete"]
    assert (set(hub.apps), unclean.marked) == (set(OWN), {})


async def test_the_app_of_a_build_is_removed_rather_than_the_one_that_the_pool_names(hub: PhoneHub, use: Use) -> None:
    hub.apps[OTHER] = ""
    await (await use("a", named=OTHER)).close()
    assert set(hub.apps) == {*OWN, OTHER}


async def test_apps_of_a_simulator_are_neither_replaced_nor_removed(
    hub: PhoneHub, use: Use, unclean: FakeUncleanDevices
) -> None:
    """Though the simulator cannot list them."""
    hub.apps[OTHER] = SECRET
    for package in (OTHER, None):
        with pytest.raises(DeviceFailure, match=f"{OTHER} is an app of the device"):
            await use("a", app_id=OTHER, package=package, named=OTHER)
        await (await use("a", app_id=None, package=package, named=OTHER)).close()
    assert "removeApp" not in hub.commands()
    assert (set(hub.apps), unclean.marked) == ({*OWN, OTHER}, {})


async def test_a_dedicated_phone_keeps_its_apps_until_another_organisation_gets_it(hub: PhoneHub, use: Use) -> None:
    await (await use("a", dedicated=True)).close()
    assert SHOP in hub.apps
    device = await use("a", dedicated=True, app_id=None)
    await device.app.launch()
    assert hub.holds(SECRET)
    await device.close()
    await use("b", app_id=None)
    assert set(hub.apps) == set(OWN)


def planned(shelf: Shelf, *steps: Any, app_id: str = SHOP, secret: str = "") -> str:
    """A workflow with a run on the app."""
    run = shelf.planned(*steps, build_id=shelf.build(app_file(app_id, secret=secret)), file_name="app.apk")
    run.build.package_name = app_id
    return shelf.workflow(run)


async def test_an_organisation_cannot_read_the_app_of_the_one_before(
    executor: Any, connect: Any, shelf: Shelf, tmp_path: Path, hub: PhoneHub
) -> None:
    """With launchApp of its id, or with skip_app_install of a build that names it."""
    (tmp_path / "pools.yaml").write_text(phone_pool(hub))
    async with executor(device_pools=str(tmp_path / "pools.yaml")) as app, connect(app.grpc_address) as client:
        assert (await client.ended(await client.start(planned(shelf, f'I see "{SECRET}"', secret=SECRET)))).success
        with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES)):
            look = [{"launchApp": {"appId": SHOP}}, f'I see "{SECRET}"']
            launching = await client.start(planned(shelf, *look, app_id=OTHER), run_config=ONCE)
            assert not (await client.ended(launching)).success
            [run] = await client.runs(launching)
            assert f"{SHOP} cannot be used" in run.failure.message
            skipping = await client.start(planned(shelf, f'I see "{SECRET}"'), run_config=SKIP)
            assert (await client.ended(skipping)).status == execution_pb2.EXECUTION_STATUS_FAILED
            [run] = await client.runs(skipping)
            assert run.failure.category == execution_pb2.FAILURE_CATEGORY_CONFIG_INVALID
            assert "dedicate a device pool" in run.failure.message
        await eventually(lambda: set(hub.apps) == set(OWN))


async def test_a_dedicated_pool_runs_only_its_organisation_which_may_skip_installing(
    executor: Any, connect: Any, shelf: Shelf, tmp_path: Path, hub: PhoneHub, caller: Caller
) -> None:
    (tmp_path / "pools.yaml").write_text(phone_pool(hub, fields=f"organisation: '{caller.org_id}'"))
    async with executor(device_pools=str(tmp_path / "pools.yaml")) as app, connect(app.grpc_address) as client:
        with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES)) as other:
            others = await client.start(planned(shelf, 'I see "Home"'))
        for config in (ONCE, SKIP):
            execution_id = await client.start(planned(shelf, f'I see "{SECRET}"', secret=SECRET), run_config=config)
            assert (await client.ended(execution_id)).success
        assert hub.commands().count("installApp") == 1
        with bind(other):
            assert (await client.get(others)).status == execution_pb2.EXECUTION_STATUS_QUEUED
