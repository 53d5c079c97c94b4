"""Dialogs of the system are told by packages and ids, and nothing else is."""

import pytest

from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.page_source.reader import read_source
from mobiletest_automation.screen.system_dialogs import DialogKind, find_system_dialog
from tests.fakes.devices import button, screen
from tests.unit.automation.dialogs import (
    android,
    app_error,
    crashed,
    node,
    not_responding,
    permission,
    shop,
    window,
)


def described(root: Element) -> tuple[DialogKind, str, str] | None:
    """The kind, the title and the button of the dialog."""
    dialog = find_system_dialog(root)
    return dialog and (dialog.kind, dialog.title, dialog.button.text if dialog.button is not None else "")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (not_responding("Shop reagiert nicht"), (DialogKind.NOT_RESPONDING, "Shop reagiert nicht", "wait")),
        (crashed("Shop wird beendet"), (DialogKind.CRASH, "Shop wird beendet", "close")),
        (app_error("Shop has stopped", "restart"), (DialogKind.CRASH, "Shop has stopped", "")),
        (permission(), (DialogKind.PERMISSION, "Allow Shop to take pictures?", "Don't allow")),
        (
            permission("com.android.packageinstaller", "com.android.packageinstaller:id"),
            (DialogKind.PERMISSION, "Allow Shop to take pictures?", "Don't allow"),
        ),
        (
            window(node("Battery low", "android:id/message", "com.android.systemui"), package="com.android.systemui"),
            (DialogKind.OTHER, "Battery low", ""),
        ),
        # Android 6 and earlier: only the text tells that an app has crashed.
        (
            window(node("Unfortunately, Shop has stopped.", "android:id/message", "android"), package="android"),
            (DialogKind.OTHER, "Unfortunately, Shop has stopped.", ""),
        ),
    ],
)
def test_dialogs_are_told_by_their_ids_in_every_language(shown: str, expected: tuple[DialogKind, str, str]) -> None:
    assert described(android(shown)) == expected


@pytest.mark.parametrize(
    "shown",
    [
        # The dialog of an app, even one that says the same.
        app_error("Shop isn't responding", "close", "wait", package="com.example.shop"),
        shop("Pay"),
        window(
            node("12:00", "com.android.systemui:id/clock", "com.android.systemui"),
            package="com.android.systemui",
            id_="",
        ),
        window(
            node("Install", "android:id/button1", "com.android.packageinstaller"),
            package="com.android.packageinstaller",
        ),
    ],
)
def test_other_windows_are_no_dialogs_of_the_system(shown: str) -> None:
    assert find_system_dialog(android(shown)) is None
    assert find_system_dialog(screen(button("isn't responding"))) is None


def test_a_dialog_beside_an_app_does_not_hide_it() -> None:
    alone, beside = find_system_dialog(android(crashed())), find_system_dialog(android(shop("Pay"), crashed()))
    assert alone is not None
    assert beside is not None
    assert (alone.hides_app, beside.hides_app) == (True, False)


def ios(bundle: str, kind: str) -> Element:
    place = 'x="0" y="0" width="390" height="844" visible="true" enabled="true"'
    return read_source(
        f'<XCUIElementTypeApplication type="XCUIElementTypeApplication" name=" " bundleId="{bundle}" {place}>'
        f'<XCUIElementType{kind} type="XCUIElementType{kind}" label="Akku fast leer" {place}/>'
        "</XCUIElementTypeApplication>",
        "iOS",
    )


def test_what_an_alert_of_ios_asks_is_unknown() -> None:
    assert described(ios("com.apple.springboard", "Alert")) == (DialogKind.OTHER, "Akku fast leer", "")
    assert find_system_dialog(ios("com.apple.springboard", "Icon")) is None
    assert find_system_dialog(ios("com.example.shop", "Alert")) is None
