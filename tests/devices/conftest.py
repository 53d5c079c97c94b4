"""Real hubs for every test here."""

from tests.hubs import appium, chromedriver, web_shop

__all__ = ["appium", "chromedriver", "web_shop"]
