"""Recognises dialogs of the system in front of the app: by packages and ids, which are the same in every language.

Sources: `app_error_dialog.xml`, `app_anr_dialog.xml` and `alert_dialog.xml` of Android 7 and later, the permission
controller of Android 6 and later, and WebDriverAgent, which describes SpringBoard while one of its alerts is shown.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mobiletest_automation.flows.texts import shorten
from mobiletest_automation.screen.elements import Element, Role, walk

# Characters of a title.
TITLE_SHOWN = 200

_SYSTEM = frozenset({"android", "com.android.systemui"})
# Phones of some makers have a package of their own: com.google.android.permissioncontroller.
_ASKING = ("permissioncontroller", "packageinstaller")
_SPRINGBOARD = "com.apple.springboard"

_TITLE = "android:id/alertTitle"
_WAIT = "android:id/aerr_wait"
_CLOSE = "android:id/aerr_close"
_CRASH = frozenset({_CLOSE, "android:id/aerr_restart", "android:id/aerr_app_info"})
_DENY = re.compile(r".{1,200}:id/permission_(?:deny|no_upgrade)\w{0,60}_button", re.ASCII)
_PERMISSION = re.compile(r".{1,200}:id/permission_\w{1,80}_button", re.ASCII)
_PERMISSION_TITLE = re.compile(r".{1,200}:id/permission_message", re.ASCII)


class DialogKind(StrEnum):
    """What a dialog says; OTHER where ids do not tell."""

    CRASH = "crash"
    NOT_RESPONDING = "not_responding"
    PERMISSION = "permission"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class SystemDialog:
    """`button` closes the dialog: it ends the app that has crashed, waits for the one that does not respond, or denies
    the permission; None if there is no such button. `hides_app`: nothing of an app is on the screen beside it.
    """

    kind: DialogKind
    title: str
    hides_app: bool
    button: Element | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f'"{shorten(self.title, TITLE_SHOWN)}"'


def find_system_dialog(root: Element) -> SystemDialog | None:
    """The dialog of the system on the screen of a phone; None if there is none, or none that can be recognised."""
    if root.attributes.get("bundleId") == _SPRINGBOARD:
        alert = next((element for element in walk(root) if element.role is Role.DIALOG and element.visible), None)
        return SystemDialog(DialogKind.OTHER, _first_text(alert), hides_app=True) if alert is not None else None
    windows = [window for window in root.children if window.visible]
    hides_app = all(_is_of_system(_package(window)) for window in windows)
    for window in windows:
        if _is_of_system(_package(window)) and (dialog := _dialog_in(window, hides_app=hides_app)) is not None:
            return dialog
    return None


def _dialog_in(window: Element, *, hides_app: bool) -> SystemDialog | None:
    elements = [element for element in walk(window) if element.visible]
    by_id = {element.id: element for element in elements if element.id}
    if _package(window).endswith(_ASKING):
        if not any(map(_PERMISSION.fullmatch, by_id)):
            return None
        title = next((by_id[id_].text for id_ in by_id if _PERMISSION_TITLE.fullmatch(id_)), "")
        return SystemDialog(DialogKind.PERMISSION, title or _first_text(window), hides_app, _denying(by_id.values()))
    title = by_id[_TITLE].text if _TITLE in by_id else _first_text(window)
    if _WAIT in by_id:
        return SystemDialog(DialogKind.NOT_RESPONDING, title, hides_app, by_id[_WAIT])
    if not _CRASH.isdisjoint(by_id):
        return SystemDialog(DialogKind.CRASH, title, hides_app, by_id.get(_CLOSE))
    if any(element.role is Role.DIALOG for element in elements):
        return SystemDialog(DialogKind.OTHER, title, hides_app)
    return None


def _denying(elements: Iterable[Element]) -> Element | None:
    """The button that denies, rather than one that also stops the app from asking again."""
    buttons: Sequence[Element] = [element for element in elements if _DENY.fullmatch(element.id)]
    return min(buttons, key=lambda button: len(button.id), default=None)


def _package(window: Element) -> str:
    return window.attributes.get("package", "")


def _is_of_system(package: str) -> bool:
    return package in _SYSTEM or package.endswith(_ASKING)


def _first_text(element: Element) -> str:
    return next((each.text or each.label for each in walk(element) if each.visible and (each.text or each.label)), "")
