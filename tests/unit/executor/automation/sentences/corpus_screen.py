"""The screen for the corpus of sentences."""

from services.executor.automation.screen.elements import Bounds, Element, Role


def at(y: float, *, x: float = 8, width: float = 340, height: float = 40) -> Bounds:
    return Bounds(x, y, width, height)


def mug_row(name: str, y: float) -> Element:
    """A row as in real trees: without a name, with texts and a button inside."""
    return Element(
        role=Role.CELL,
        bounds=at(y),
        clickable=True,
        children=(
            Element(role=Role.TEXT, text=name, bounds=at(y, width=150)),
            Element(role=Role.BUTTON, text="Add", id=f"add_{name[0].lower()}", bounds=at(y, x=250, width=80)),
        ),
    )


SCREEN = Element(
    role=Role.SCREEN,
    bounds=Bounds(0, 0, 360, 800),
    children=(
        Element(role=Role.HEADING, text="Log in", id="title", bounds=at(0)),
        Element(role=Role.TEXT, text="First name", id="first_label", bounds=at(40)),
        Element(role=Role.FIELD, id="first", bounds=at(60)),
        Element(role=Role.FIELD, label="Name", id="name", bounds=at(100)),
        Element(role=Role.FIELD, label="Email", hint="you@example.com", id="com.shop:id/email", bounds=at(140)),
        Element(role=Role.FIELD, label="Password", id="password", bounds=at(180)),
        Element(role=Role.FIELD, hint="Search products", id="query", focused=True, bounds=at(220)),
        Element(role=Role.CHECKBOX, text="Remember me", id="remember", checked=False, bounds=at(260)),
        Element(role=Role.SWITCH, label="Wi-Fi", id="wifi", checked=True, bounds=at(300)),
        Element(role=Role.BUTTON, text="Log in", id="log_in", enabled=False, bounds=at(340)),
        Element(role=Role.BUTTON, label="Cart", id="cart", bounds=at(380)),
        mug_row("Blue mug", 420),
        mug_row("Red mug", 460),
        Element(role=Role.TEXT, text="Total: $12.00", id="total", bounds=at(500)),
        Element(role=Role.LINK, text="Terms and Conditions", id="terms", bounds=at(540)),
        Element(role=Role.TEXT, text="Welcome, Ada!", id="greeting", bounds=at(580)),
        Element(role=Role.TAB, text="Settings", id="tab_settings", bounds=at(620)),
        Element(role=Role.BUTTON, text="Save and close", id="save", bounds=at(660)),
        Element(role=Role.BUTTON, text="Buy now", id="buy", bounds=at(700)),
        Element(role=Role.BUTTON, text="Buy", id="buy_later", bounds=at(740)),
        Element(role=Role.BUTTON, text="Back", id="nav_back", bounds=at(780)),
        Element(role=Role.BUTTON, text="Hidden", id="hidden", bounds=at(790), visible=False),
    ),
)
