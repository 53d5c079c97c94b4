"""Screens of phones with dialogs of the system, as drivers describe them."""

from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.page_source.reader import read_source

PANEL = "[40,800][1040,1500]"
PERMISSIONS = "com.android.permissioncontroller:id"


def node(text: str, id_: str, package: str, kind: str = "Button") -> str:
    return (
        f'<android.widget.{kind} class="android.widget.{kind}" package="{package}" text="{text}" resource-id="{id_}" '
        f'clickable="true" bounds="[100,1300][500,1400]" displayed="true"/>'
    )


def window(*nodes: str, package: str, id_: str = "android:id/parentPanel") -> str:
    return (
        f'<android.widget.FrameLayout class="android.widget.FrameLayout" package="{package}" bounds="{PANEL}" '
        f'displayed="true"><android.widget.LinearLayout class="android.widget.LinearLayout" package="{package}" '
        f'resource-id="{id_}" bounds="{PANEL}" displayed="true">{"".join(nodes)}</android.widget.LinearLayout>'
        "</android.widget.FrameLayout>"
    )


def android(*windows: str) -> Element:
    return read_source(f'<hierarchy width="1080" height="2400">{"".join(windows)}</hierarchy>', "Android")


def app_error(title: str, *buttons: str, package: str = "android") -> str:
    """The dialog with the buttons aerr_*, each of which has its name as its text."""
    shown = [node(title, "android:id/alertTitle", package, "TextView")]
    return window(*shown, *(node(name, f"android:id/aerr_{name}", package) for name in buttons), package=package)


def not_responding(title: str = "System UI isn't responding") -> str:
    return app_error(title, "close", "wait")


def crashed(title: str = "Clock keeps stopping") -> str:
    return app_error(title, "restart", "app_info", "close")


def permission(package: str = "com.google.android.permissioncontroller", ids: str = PERMISSIONS) -> str:
    return window(
        node("Allow Shop to take pictures?", f"{ids}/permission_message", package, "TextView"),
        node("Only this time", f"{ids}/permission_allow_one_time_button", package),
        node("Never", f"{ids}/permission_deny_and_dont_ask_again_button", package),
        node("Don't allow", f"{ids}/permission_deny_button", package),
        package=package,
        id_=f"{ids}/grant_dialog",
    )


def shop(*texts: str) -> str:
    package = "com.example.shop"
    return window(*(node(text, f"{package}:id/{text.lower()}", package) for text in texts), package=package, id_="")
