"""Puts the device of a session together from its driver's capabilities."""

from collections.abc import Mapping
from dataclasses import replace

from mobiletest_automation.devices.port import (
    Build,
    DeviceFailure,
    DeviceInfo,
    NoteChange,
    UncleanDevices,
    View,
    note_nothing,
)
from mobiletest_automation.devices.recording import FrameRecorder
from mobiletest_automation.devices.webdriver.android import AndroidCommands
from mobiletest_automation.devices.webdriver.appium_fake import FakeApp, FakeView
from mobiletest_automation.devices.webdriver.browser_app import BrowserApp
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.device_cleaner import DeviceCleaner
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import (
    Json,
)
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.ios import IosCommands
from mobiletest_automation.devices.webdriver.native_view import NativeView
from mobiletest_automation.devices.webdriver.phone_app import PhoneApp
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.devices.webdriver.unsupported import (
    unsupported_by_fake_driver,
    unsupported_in_browser,
    unsupported_on_android,
    unsupported_on_ios,
)
from mobiletest_automation.devices.webdriver.video import ANDROID_VIDEO, IOS_VIDEO, VideoRecorder
from mobiletest_automation.devices.webdriver.web_view import WebView
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.unclean_devices import UncleanDevice


def assemble_device(
    driver: DriverSession,
    target: HubTarget,
    info: DeviceInfo,
    build: Build,
    app: str | None,
    unclean: UncleanDevices | None = None,
    note: NoteChange | None = None,
) -> WebDriverDevice:
    """The device of a session; `app` is where the hub can read the app.

    `note` notes changes where another process cleans the device.

    Raises:
        DeviceFailure: the hub has no such device, or none that can run the build.
    """
    got = driver.capabilities
    automation = text_capability(got, "automationName").lower()
    if not automation:
        return WebDriverDevice(
            info=info,
            target=target,
            driver=driver,
            app=BrowserApp(driver, build, target.addresses),
            view=WebView(driver),
            recorder=FrameRecorder(driver.screenshot),
            unsupported=unsupported_in_browser,
            log_type="browser",
        )
    if automation == "fake":
        return WebDriverDevice(
            info=info,
            target=target,
            driver=driver,
            app=FakeApp(driver),
            view=FakeView(driver),
            recorder=FrameRecorder(driver.screenshot),
            unsupported=unsupported_by_fake_driver,
            log_type="actions",
        )
    phone = phone_commands(driver, info.platform)
    info = replace(info, udid=_udid(driver))
    asked = target.capabilities
    named = text_capability(asked, "bundleId") or text_capability(asked, "appPackage") or None
    app_id = build.package_name or named
    installs = frozenset({app_id} if app is not None and app_id is not None else ())
    cleaner = None
    if unclean is not None:
        cleaner = _cleaner(phone, driver, target, info, unclean, org_id=build.org_id, installs=installs)
    noting = note or (cleaner.note if cleaner is not None else note_nothing)
    control = PhoneApp(driver, phone, target, app_id=app_id, app=app, named=named, note=noting)
    view: View
    if text_capability(got, "browserName"):
        view = WebView(driver, control.check, by_element=True)
    else:
        view = NativeView(driver, phone, control.check)
    unsupported = (
        unsupported_on_android if info.platform != "ios" else unsupported_on_ios(info.udid, shared=not target.dedicated)
    )
    video = IOS_VIDEO if info.platform == "ios" else ANDROID_VIDEO
    return WebDriverDevice(
        info=info,
        target=target,
        driver=driver,
        app=control,
        view=view,
        recorder=VideoRecorder(driver, video),
        unsupported=unsupported,
        log_type=phone.log_type,
        app_location=app,
        cleaner=cleaner,
    )


def _udid(driver: DriverSession) -> str:
    """The id of the device at its hub; "" if the hub does not name it."""
    return text_capability(driver.capabilities, "deviceUDID") or text_capability(driver.capabilities, "udid")


def phone_commands(driver: DriverSession, platform: str) -> PhoneCommands:
    return IosCommands(driver) if platform == "ios" else AndroidCommands(driver)


def _cleaner(
    phone: PhoneCommands,
    driver: DriverSession,
    target: HubTarget,
    info: DeviceInfo,
    unclean: UncleanDevices,
    *,
    org_id: str,
    installs: frozenset[str],
) -> DeviceCleaner | None:
    """None for a device without a name of its own, which can only be used by one organisation."""
    device = _udid(driver)
    if not device and target.dedicated:
        return None
    if not device:
        message = "the hub did not name its device (capability udid or deviceUDID), so it cannot be kept clean"
        raise DeviceFailure(Category.DEVICE_UNAVAILABLE, message)
    left = UncleanDevice(
        hub=target.url,
        device=device,
        session=driver.id,
        platform=info.platform,
        org_id=org_id,
        dedicated=target.dedicated,
        apps=installs,
    )
    return DeviceCleaner(phone, unclean, left)


def text_capability(capabilities: Mapping[str, Json], name: str) -> str:
    """A text capability, with or without Appium's prefix; empty if missing."""
    value = capabilities.get(name, capabilities.get(f"appium:{name}"))
    return value if isinstance(value, str) else ""
