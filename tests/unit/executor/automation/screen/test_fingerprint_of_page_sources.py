"""Screens are known again in page sources as the drivers give them."""

import pytest

from services.executor.automation.screen.fingerprint import fingerprint_of, same_screen
from services.executor.automation.screen.page_source.reader import read_source


def node(kind: str, place: str, inside: str = "", **said: str) -> str:
    more = " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in said.items())
    package = "" if "package" in said else 'package="com.shop"'
    return f'<{kind} class="{kind}" {package} displayed="true" enabled="true" bounds="{place}" {more}>{inside}</{kind}>'


def android(
    title: str = "Products",
    names: tuple[str, ...] = ("Blue mug", "Red mug"),
    *,
    typed: str = "",
    clock: str = "9:41",
    tab: str = "Home",
) -> str:
    """What UiAutomator2 says of a list with a toolbar, a search field and a bottom navigation."""
    bar = node(
        "androidx.appcompat.widget.Toolbar",
        "[0,0][1080,150]",
        node("android.widget.ImageButton", "[0,0][100,150]", content_desc="Navigate up", clickable="true")
        + node("android.widget.TextView", "[200,0][800,150]", text=title),
    )
    field = node(
        "android.widget.EditText", "[0,160][1080,260]", resource_id="com.shop:id/search", text=typed, hint="Search"
    )
    listing = node("androidx.recyclerview.widget.RecyclerView", "[0,300][1080,2000]", _rows(names), scrollable="true")
    kind = "com.google.android.material.bottomnavigation.BottomNavigationView"
    system = node("android.widget.TextView", "[0,2310][200,2400]", text=clock, package="com.android.systemui")
    return (
        '<?xml version="1.0"?><hierarchy width="1080" height="2400" rotation="0">'
        f"{bar}{field}{listing}{node(kind, '[0,2100][1080,2300]', _tabs(tab))}{system}</hierarchy>"
    )


def _rows(names: tuple[str, ...]) -> str:
    return "".join(
        node(
            "android.view.ViewGroup",
            f"[0,{300 + 200 * n}][1080,{490 + 200 * n}]",
            node("android.widget.TextView", f"[0,{300 + 200 * n}][500,{490 + 200 * n}]", text=name)
            + node("android.widget.TextView", f"[600,{300 + 200 * n}][900,{490 + 200 * n}]", text=f"${n + 10}"),
            clickable="true",
        )
        for n, name in enumerate(names)
    )


def _tabs(selected: str) -> str:
    return "".join(
        node(
            "android.widget.FrameLayout",
            f"[{500 * n},2100][{500 * n + 499},2300]",
            content_desc=name,
            clickable="true",
            selected=str(name == selected).lower(),
        )
        for n, name in enumerate(("Home", "Offers"))
    )


def element(kind: str, y: int, inside: str = "", *, name: str = "", **said: str) -> str:
    tag = f"XCUIElementType{kind}"
    more = " ".join(f'{key}="{value}"' for key, value in {"label": name, **said}.items())
    place = f'x="0" y="{y}" width="390" height="44" visible="true" enabled="true" accessible="true"'
    return f'<{tag} type="{tag}" name="{name}" {place} {more}>{inside}</{tag}>'


def ios(
    title: str = "Cart",
    names: tuple[str, ...] = ("Blue mug",),
    *,
    keyboard: bool = False,
    clock: str = "9:41",
    badge: str = "",
    tab: str = "Cart",
) -> str:
    """What XCUITest says of a table under a navigation bar, with a field, tabs, and the keyboard when it is there."""
    bar = element("NavigationBar", 47, element("StaticText", 47, name=title), name=title)
    rows = "".join(
        element("Cell", 200 + 44 * n, element("StaticText", 200 + 44 * n, name=name)) for n, name in enumerate(names)
    )
    tabs = "".join(
        element("Button", 800, name=name, selected=str(name == tab).lower(), **({"value": badge} if badge else {}))
        for name in ("Home", "Cart")
    )
    keys = element("Keyboard", 500, "".join(element("Key", 510, name=key) for key in "qwe")) if keyboard else ""
    status = element("StatusBar", 0, element("Other", 0, name=clock))
    content = (
        bar
        + element("TextField", 100, name="Voucher", value="x" if keyboard else "", placeholderValue="Voucher")
        + element("Table", 200, rows)
        + element("Button", 700, name="Checkout")
        + element("TabBar", 800, tabs)
    )
    app = "XCUIElementTypeApplication"
    place = 'x="0" y="0" width="390" height="844"'
    return f'<?xml version="1.0"?><{app} type="{app}" name="Shop" {place}>{status}{content}{keys}</{app}>'


def web(title: str = "Products", names: tuple[str, ...] = ("Blue mug", "Red mug", "Plate"), *, count: int = 0) -> str:
    """A page as a browser has it."""
    cards = "".join(f"<li><a href='/{n}'>{name}</a><button>Add to cart</button></li>" for n, name in enumerate(names))
    return f"""<html><body>
      <nav><a href="/">Shop</a> <a href="/cart">Cart ({count})</a></nav>
      <h1>{title}</h1><p>It is 9:4{count}.</p>
      <label for="q">Search</label><input id="q" placeholder="Search products">
      <ul>{cards}</ul><button type="button">Next</button></body></html>"""


EQUAL = {
    "android: other rows": (android(), android(names=("Fork", "Spoon", "Knife"))),
    "android: typed text and clock": (android(), android(typed="mug", clock="17:03")),
    "ios: other rows and clock": (ios(), ios(names=("Fork", "Spoon"), clock="17:03")),
    "ios: keyboard": (ios(), ios(keyboard=True)),
    "ios: badge": (ios(), ios(badge="3 items")),
    "web: other cards and counter": (web(), web(names=("Fork", "Spoon", "Knife", "Cup"), count=3)),
}
DIFFERENT = {
    "android: title": (android(), android(title="Orders")),
    "android: open tab": (android(), android(tab="Offers")),
    "ios: title": (ios(), ios(title="Orders")),
    "ios: open tab": (ios(), ios(tab="Home")),
    "web: title": (web(), web(title="Offers")),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL.keys())
def test_changed_data_do_not_change_the_fingerprint(pair: tuple[str, str]) -> None:
    one, other = (fingerprint_of(read_source(source)) for source in pair)
    assert same_screen(one, other)


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_different_screens_have_different_fingerprints(pair: tuple[str, str]) -> None:
    one, other = (fingerprint_of(read_source(source)) for source in pair)
    assert not same_screen(one, other)
