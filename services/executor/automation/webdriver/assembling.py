"""Which parts a device has, by what the hub says of the session that it opened."""

from collections.abc import Mapping

from services.executor.automation.devices import Build, DeviceInfo, Session
from services.executor.automation.webdriver.android import Android
from services.executor.automation.webdriver.browser import BrowserApp
from services.executor.automation.webdriver.client import DriverSession
from services.executor.automation.webdriver.contexts import AppiumContexts, BrowserTabs
from services.executor.automation.webdriver.device import WebDriverDevice
from services.executor.automation.webdriver.fake import FakeApp, FakeView
from services.executor.automation.webdriver.ios import Ios
from services.executor.automation.webdriver.native import NativeView, press_android, press_ios
from services.executor.automation.webdriver.phone import PhoneApp
from services.executor.automation.webdriver.web import WebView
from services.executor.automation.webdriver.wire import Json


def assemble(
    driver: DriverSession, session: Session, info: DeviceInfo, build: Build, app: str | None
) -> WebDriverDevice:
    """The device of a session; `app` is where the hub can read the app from."""
    got = driver.capabilities
    automation = said(got, "automationName").lower()
    if not automation:
        view = WebView(driver)
        return WebDriverDevice(info, driver, session, BrowserApp(driver, build), BrowserTabs(driver, view))
    if automation == "fake":
        fake = AppiumContexts(driver, FakeView(driver), WebView(driver, by_element=True))
        return WebDriverDevice(info, driver, session, FakeApp(driver), fake)
    phone = Ios(driver) if info.platform == "ios" else Android(driver)
    press = press_ios if info.platform == "ios" else press_android
    app_id = build.package_name or said(got, "bundleId") or said(got, "appPackage") or None
    contexts = AppiumContexts(
        driver,
        NativeView(driver, info.platform, press),
        WebView(driver, by_element=True),
        in_web=bool(said(got, "browserName")),
    )
    return WebDriverDevice(info, driver, session, PhoneApp(driver, phone, app_id=app_id, app=app), contexts)


def said(capabilities: Mapping[str, Json], name: str) -> str:
    """A capability that is text, with or without Appium's prefix; empty if there is none."""
    value = capabilities.get(name, capabilities.get(f"appium:{name}"))
    return value if isinstance(value, str) else ""
