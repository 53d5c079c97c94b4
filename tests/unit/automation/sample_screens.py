"""Screens as UiAutomator2, XCUITest and a browser show them, written by hand, for tests of the step cache."""

from dataclasses import replace

from mobiletest_automation.screen.elements import Bounds, Element, Role

PACKAGE = "com.example.shop:id/"


def screen(*children: Element, width: float = 360, height: float = 640) -> Element:
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, width, height), children=children)


def at(y: float, element: Element, x: float = 0, width: float = 100) -> Element:
    return replace(element, bounds=Bounds(x, y, width, 40))


def android(role: Role, identifier: str = "", text: str = "", **fields: object) -> Element:
    whole = f"{PACKAGE}{identifier}" if identifier else ""
    return Element(role=role, id=whole, text=text, attributes={"package": "com.example.shop"}, **fields)  # type: ignore[arg-type]


def ios(role: Role, label: str = "", identifier: str = "", **fields: object) -> Element:
    return Element(role=role, id=identifier, label=label, **fields)  # type: ignore[arg-type]


def row(*texts: str, button: str = "", identifier: str = "") -> Element:
    said = [android(Role.TEXT, "name" if identifier else "", text) for text in texts]
    return android(Role.CELL, identifier, children=(*said, *([android(Role.BUTTON, "", button)] if button else [])))


def listing(*rows: Element, **fields: object) -> Element:
    return Element(
        role=Role.LIST,
        attributes={"class": "androidx.recyclerview.widget.RecyclerView", "scrollable": "true"},
        children=rows,
        **fields,  # type: ignore[arg-type]
    )


def android_products(
    *names: str, clock: str = "9:41", badge: str = "Cart", typed: str = "", focused: bool = False
) -> Element:
    """A list of products with a search field, tabs, and the status bar that some drivers show."""
    bar = Element(
        role=Role.OTHER,
        attributes={"package": "com.android.systemui"},
        children=(Element(role=Role.BUTTON, text=clock, attributes={"package": "com.android.systemui"}),),
    )
    return screen(
        bar,
        android(Role.HEADING, "", "Products"),
        android(Role.FIELD, "search", typed, hint="Search products", focused=focused),
        listing(*(row(name, "$12", identifier="product") for name in names)),
        android(Role.TAB, "tab_cart", badge),
        android(Role.TAB, "tab_profile", "Profile"),
    )


def android_cart(total: str = "$12", *, empty: bool = False) -> Element:
    rows = () if empty else (row("Blue mug", button="Remove"),)
    return screen(
        android(Role.HEADING, "", "Cart"),
        listing(*rows),
        android(Role.TEXT, "total", f"Total: {total}"),
        android(Role.BUTTON, "checkout", "Checkout", enabled=not empty),
        android(Role.TAB, "tab_cart", "Cart"),
        android(Role.TAB, "tab_profile", "Profile"),
    )


def ios_login(*, email: str = "", error: str = "", keyboard: bool = False) -> Element:
    """A form without ids; the keyboard is in the tree while a field has the focus."""
    keys = tuple(Element(role=Role.BUTTON, label=key) for key in "qwertyuiop")
    board = Element(attributes={"type": "XCUIElementTypeKeyboard"}, children=keys)
    return screen(
        ios(Role.HEADING, "Log in"),
        ios(Role.FIELD, "Email", text=email, focused=keyboard),
        ios(Role.FIELD, "Password"),
        ios(Role.BUTTON, "Log in", enabled=bool(email)),
        *([ios(Role.TEXT, error)] if error else []),
        *([board] if keyboard else []),
    )


def ios_register() -> Element:
    return screen(
        ios(Role.HEADING, "Register"),
        ios(Role.FIELD, "Email"),
        ios(Role.FIELD, "Password"),
        ios(Role.BUTTON, "Register"),
    )


def ios_permission(what: str) -> Element:
    """A permission dialog, with equal buttons for every permission."""
    said = ios(Role.TEXT, f'"Shop" Would Like to Access {what}')
    buttons = (ios(Role.BUTTON, "Don't Allow"), ios(Role.BUTTON, "Allow"))
    return screen(ios(Role.DIALOG, f'"Shop" Would Like to Access {what}', children=(said, *buttons)))


def ios_tabs(selected: str) -> Element:
    """Two tabs whose pages have no controls."""
    tabs = (ios(Role.TAB, name, selected=name == selected) for name in ("Home", "Offers"))
    return screen(ios(Role.TEXT, "Nothing new"), *tabs)


def web_shop(*names: str, page: str = "Products", count: int = 0, react: str = ":r1:") -> Element:
    """Cards in plain divs, under a link with a counter."""
    cards = tuple(
        Element(
            attributes={"tag": "div"},
            children=(
                Element(role=Role.LINK, text=name, attributes={"tag": "a"}),
                Element(role=Role.BUTTON, text="Add to cart", attributes={"tag": "button"}),
            ),
        )
        for name in names
    )
    return screen(
        Element(role=Role.LINK, text=f"Cart ({count})", attributes={"tag": "a"}),
        Element(role=Role.HEADING, text=page, attributes={"tag": "h1"}),
        Element(role=Role.FIELD, label="Search", id=react, attributes={"tag": "input"}),
        Element(attributes={"tag": "div"}, children=cards),
        Element(role=Role.BUTTON, text="Next page", attributes={"tag": "button"}),
    )


def settings(first: int, *, count: int = 12, seen: int = 9) -> Element:
    """A long form in a scroll view, of which Android shows only what is on the screen, from `first`."""
    rows = [android(Role.SWITCH, f"option_{chr(97 + n)}", f"Option {chr(65 + n)}", checked=False) for n in range(count)]
    shown = tuple(at(60 + 60 * n, each) for n, each in enumerate(rows[first : first + seen]))
    view = Element(attributes={"class": "android.widget.ScrollView", "scrollable": "true"}, children=shown)
    return screen(android(Role.HEADING, "", "Settings"), view, android(Role.BUTTON, "save", "Save"))
