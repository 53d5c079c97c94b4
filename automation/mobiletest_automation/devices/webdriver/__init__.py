"""Real devices and browsers through the W3C WebDriver protocol: Appium's drivers and chromedriver."""
