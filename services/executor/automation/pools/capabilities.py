"""Capabilities of a pool: checked before a hub sees them, for hubs say little about what they refuse."""

import re
from collections.abc import Mapping

from services.executor.automation.webdriver.opening import Json
from services.flows.nodes import Node, quote, suggest

STANDARD = (
    "acceptInsecureCerts",
    "browserName",
    "browserVersion",
    "pageLoadStrategy",
    "platformName",
    "proxy",
    "setWindowRect",
    "strictFileInteractability",
    "timeouts",
    "unhandledPromptBehavior",
    "userAgent",
    "webSocketUrl",
)
"""Those of https://www.w3.org/TR/webdriver2/#capabilities; every other name has a vendor before a colon."""

_VENDOR = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,60}:[^\s:]\S{0,100}")
_OURS = {
    "app": "the build under test is given to the hub by the service: remove it",
    "newCommandTimeout": "write it as new_command_timeout, in seconds, beside capabilities",
}


def read_capabilities(node: Node) -> Mapping[str, Json]:
    """The capabilities as JSON values. DocumentError for a name that no W3C driver takes, and for what we set."""
    for name, value in node.mapping().items():
        _check(name, value)
    return {name: _json(value) for name, value in node.mapping().items()}


def _check(name: str, value: Node) -> None:
    if name in STANDARD:
        return
    if not _VENDOR.fullmatch(name):
        hint = suggest(name, STANDARD) or f"; write it with its vendor, such as appium:{name}"
        raise value.error_at_key(f"{quote(name)} is no standard capability{hint}")
    _refuse_ours(name.removeprefix("appium:"), value)
    if name == "appium:options":
        for option, inside in value.mapping().items():
            _refuse_ours(option, inside)


def _refuse_ours(name: str, value: Node) -> None:
    if name in _OURS:
        raise value.error_at_key(f"appium:{name} cannot be set here: {_OURS[name]}")


def _json(node: Node) -> Json:
    """The node's value; documents are limited in depth."""
    if isinstance(node.value, tuple):
        return [_json(item) for item in node.value]
    if isinstance(node.value, Mapping):
        return {name: _json(item) for name, item in node.value.items()}
    return node.value
