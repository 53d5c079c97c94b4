"""The drivers of hubs: how the device of each one's sessions is put together, and what its sessions are asked for.

Others come with packages: an entry point of the group `mobiletest.drivers`, whose name is the automation name of the
driver in lower case, and whose object is a `Driver`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from mobiletest_automation.devices.port import (
    AppUnderTest,
    DeviceFailure,
    DeviceInfo,
    NoteChange,
    UncleanDevices,
    View,
    note_nothing,
)
from mobiletest_automation.devices.recording import FrameRecorder
from mobiletest_automation.devices.webdriver.android import AndroidCommands
from mobiletest_automation.devices.webdriver.browser_app import BrowserApp, origin
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.device_cleaner import DeviceCleaner
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.ios import IosCommands
from mobiletest_automation.devices.webdriver.native_view import NativeView
from mobiletest_automation.devices.webdriver.phone_app import PhoneApp
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.devices.webdriver.session_log import SessionLog
from mobiletest_automation.devices.webdriver.unsupported import (
    unsupported_in_browser,
    unsupported_on_android,
    unsupported_on_ios,
)
from mobiletest_automation.devices.webdriver.video import ANDROID_VIDEO, IOS_VIDEO, VideoRecorder
from mobiletest_automation.devices.webdriver.web_view import WebView
from mobiletest_automation.model.devices import UncleanDevice
from mobiletest_automation.model.failures import Category


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSession:
    """A session at a hub, and what its device is for. `app` is where the hub can read the app.

    `unclean` is None where another process cleans the device; `note` notes changes there.
    """

    driver: DriverSession
    target: HubTarget
    info: DeviceInfo
    build: AppUnderTest
    app: str | None = None
    unclean: UncleanDevices | None = None
    note: NoteChange | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """`assemble` returns the device of a session, whose parts know how the driver describes the screen and what it
    cannot do.

    `defaults` are capabilities that a pool may change, `required` those that it may not. With `loads_app` the app is
    given with the session, because the driver has no command to install one.

    Raises:
        DeviceFailure: by `assemble`, if the hub has no such device, or none that can run the build.
    """

    assemble: Callable[[HubSession], WebDriverDevice]
    defaults: Mapping[str, Json] = field(default_factory=dict)
    required: Mapping[str, Json] = field(default_factory=dict)
    loads_app: bool = False


def find_driver(automation: str) -> Driver:
    """By its automation name; "" is that of a browser. Others than those of `_DRIVERS` and packages drive phones.

    Raises:
        DeviceFailure: the package of the driver cannot be used (config_invalid).
    """
    name = automation.lower()
    return _DRIVERS.get(name) or _load_driver(name) or Driver(assemble=_assemble_phone)


@lru_cache(maxsize=64)  # hubs say names, too
def _load_driver(name: str) -> Driver | None:
    from importlib.metadata import entry_points  # imports much, and most pools need none

    try:
        driver = next((entry.load() for entry in entry_points(group="mobiletest.drivers", name=name)), None)
    except Exception as error:
        message = f"the package of the driver {name} cannot be loaded: {type(error).__name__}: {error}"
        raise DeviceFailure(Category.CONFIG_INVALID, message) from error
    if driver is not None and not isinstance(driver, Driver):
        message = f"the entry point {name} of mobiletest.drivers is not a Driver"
        raise DeviceFailure(Category.CONFIG_INVALID, message)
    return driver


def assemble_device(session: HubSession) -> WebDriverDevice:
    """The device of a session, by the automation name of its capabilities.

    Raises:
        DeviceFailure: the hub has no such device, or none that can run the build.
    """
    return find_driver(text_capability(session.driver.capabilities, "automationName")).assemble(session)


def _assemble_browser(session: HubSession) -> WebDriverDevice:
    driver = session.driver
    log = SessionLog(driver, "browser", app_id=origin(session.build.static_url or ""))
    return WebDriverDevice(
        info=session.info,
        target=session.target,
        driver=driver,
        app=BrowserApp(driver, session.build, session.target.addresses, before_launch=log.begin_launch),
        view=WebView(driver),
        recorder=FrameRecorder(driver.screenshot),
        unsupported=unsupported_in_browser,
        session_log=log,
    )


def _assemble_phone(session: HubSession) -> WebDriverDevice:
    driver, target, app = session.driver, session.target, session.app
    phone = phone_commands(driver, session.info.platform)
    info = replace(session.info, udid=_udid(driver))
    ios = info.platform == "ios"
    asked = target.capabilities
    named = text_capability(asked, "bundleId") or text_capability(asked, "appPackage") or None
    app_id = session.build.package_name or named
    installs = frozenset({app_id} if app is not None and app_id is not None else ())
    cleaner = _cleaner(phone, session, installs)
    note = session.note or (cleaner.note if cleaner is not None else note_nothing)
    log = SessionLog(driver, phone.log_type, reports=phone.report_type, app_id=app_id or "")
    control = PhoneApp(
        driver, phone, target, app_id=app_id, app=app, named=named, note=note, before_launch=log.begin_launch
    )
    view: View
    if text_capability(driver.capabilities, "browserName"):
        view = WebView(driver, control.check, by_element=True)
    else:
        view = NativeView(driver, phone, control.check)
    return WebDriverDevice(
        info=info,
        target=target,
        driver=driver,
        app=control,
        view=view,
        recorder=VideoRecorder(driver, IOS_VIDEO if ios else ANDROID_VIDEO),
        unsupported=unsupported_on_ios(info.udid, shared=not target.dedicated) if ios else unsupported_on_android,
        session_log=log,
        app_location=app,
        cleaner=cleaner,
    )


# The app that the pool names is launched by the test.
_NO_LAUNCH: Mapping[str, Json] = {"appium:autoLaunch": False}

_DRIVERS: Mapping[str, Driver] = {
    "": Driver(assemble=_assemble_browser),
    "uiautomator2": Driver(
        assemble=_assemble_phone,
        defaults=_NO_LAUNCH,
        required={"appium:clearDeviceLogsOnStart": True},  # the log of the session before
    ),
    "xcuitest": Driver(assemble=_assemble_phone, defaults=_NO_LAUNCH),
}


def _udid(driver: DriverSession) -> str:
    """The id of the device at its hub; "" if the hub does not name it."""
    return text_capability(driver.capabilities, "deviceUDID") or text_capability(driver.capabilities, "udid")


def phone_commands(driver: DriverSession, platform: str) -> PhoneCommands:
    return IosCommands(driver) if platform == "ios" else AndroidCommands(driver)


def _cleaner(phone: PhoneCommands, session: HubSession, installs: frozenset[str]) -> DeviceCleaner | None:
    """None for a device without a name of its own, which can only be used by one organisation."""
    device = _udid(session.driver)
    if session.unclean is None or (not device and session.target.dedicated):
        return None
    if not device:
        message = "the hub did not name its device (capability udid or deviceUDID), so it cannot be kept clean"
        raise DeviceFailure(Category.DEVICE_UNAVAILABLE, message)
    left = UncleanDevice(
        hub=session.target.url,
        device=device,
        session=session.driver.id,
        platform=session.info.platform,
        org_id=session.build.org_id,
        dedicated=session.target.dedicated,
        apps=installs,
    )
    return DeviceCleaner(phone, session.unclean, left)


def text_capability(capabilities: Mapping[str, Json], name: str) -> str:
    """A text capability, with or without Appium's prefix; empty if missing."""
    value = capabilities.get(name, capabilities.get(f"appium:{name}"))
    return value if isinstance(value, str) else ""
