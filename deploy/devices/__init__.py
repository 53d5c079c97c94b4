"""Appium and chromedriver on this machine, for tests and for trying things out."""
