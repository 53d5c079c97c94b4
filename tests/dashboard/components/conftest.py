"""A headless Chromium on the sample page, whose console stays empty: no error, no violation of the policy."""

import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver import ChromeOptions

from deploy.devices.hubs import CHROMIUM_ARGUMENTS, Hub
from tests.dashboard.components.site import serve_site
from tests.hubs import chromedriver

__all__ = ["chromedriver"]


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the sample page."""
    with serve_site() as url:
        yield url


@pytest.fixture
def browser(chromedriver: Hub, site: str) -> Iterator[webdriver.Remote]:
    """Shows the sample page in English and the time of Tokyo. Fails the test if the console is not empty at its end."""
    driver = webdriver.Remote(chromedriver.url, options=chromium_options())
    try:
        emulate(driver, "setTimezoneOverride", timezoneId="Asia/Tokyo")
        emulate(driver, "setLocaleOverride", locale="en-GB")
        driver.get(site)
        yield driver
        assert driver.execute("getLog", {"type": "browser"})["value"] == []
    finally:
        driver.quit()


def chromium_options() -> ChromeOptions:
    """Selenium's form of the capabilities that the device tests use, with the console log."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in CHROMIUM_ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return options


def emulate(driver: webdriver.Remote, command: str, **parameters: object) -> None:
    """Send a command of the Emulation domain of the DevTools protocol."""
    driver.execute("executeCdpCommand", {"cmd": f"Emulation.{command}", "params": parameters})
