"""Page sources of Appium's fake driver: the XML file of its app, with Mock elements and possibly a web view."""

from collections.abc import Mapping

from mobiletest_automation.screen.elements import CHECKABLE, NOWHERE, Bounds, Element, Role
from mobiletest_automation.screen.page_source.html_semantics import role_of
from mobiletest_automation.screen.page_source.nodes import (
    SourceNode,
    build_elements,
    is_on_screen,
    parse_number,
    walk_nodes,
)

PREFIX = "Mock"
# A MockTextField is a text: the driver types into a MockInputField only.
_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("AppiumAUT", "app"), Role.SCREEN),
    "Button": Role.BUTTON,
    "Link": Role.LINK,
    **dict.fromkeys(("InputField", "Input", "SecureField", "SearchField"), Role.FIELD),
    **dict.fromkeys(("CheckBox", "Checkbox"), Role.CHECKBOX),
    **dict.fromkeys(("Switch", "Toggle"), Role.SWITCH),
    **dict.fromkeys(("Radio", "RadioButton"), Role.RADIO),
    "Tab": Role.TAB,
    **dict.fromkeys(("ListItem", "Cell", "Row"), Role.CELL),
    **dict.fromkeys(("Picker", "Spinner"), Role.PICKER),
    "Slider": Role.SLIDER,
    **dict.fromkeys(("Image", "ImageView"), Role.IMAGE),
    **dict.fromkeys(("Heading", "Title"), Role.HEADING),
    **dict.fromkeys(("TextField", "Text", "TextView", "Label", "StaticText"), Role.TEXT),
    **dict.fromkeys(("ListView", "List", "Table"), Role.LIST),
    **dict.fromkeys(("Alert", "Dialog", "alert"), Role.DIALOG),
    **dict.fromkeys(("Progress", "ProgressBar"), Role.PROGRESS),
}

_HEAD = frozenset({"head", "title", "script", "style"})


def read_fake(root: SourceNode) -> Element:
    """The app as elements. Alerts are not visible, because the source does not say which one is open."""
    app = root if root.tag == "app" else next((node for node in root.nodes if node.tag == "app"), root)
    width, height = _size(app.attributes)
    screen = Bounds(0, 0, width, height) if width and height else None
    return build_elements(walk_nodes(app), lambda node, children: _element(node, children, screen))


def _element(node: SourceNode, children: tuple[Element, ...], screen: Bounds | None) -> Element:
    has = node.attributes
    role = _ROLES.get(node.tag.removeprefix(PREFIX)) or role_of(node.tag.lower(), has)
    bounds = screen if node.tag == "app" else _bounds(has)
    return Element(
        role=role,
        text=has.get("text") or node.direct_text or has.get("value", ""),
        label=has.get("label") or has.get("name", ""),
        hint=has.get("hint") or has.get("placeholder", ""),
        id=has.get("id", ""),
        bounds=bounds or NOWHERE,
        enabled=has.get("enabled") != "false",
        visible=_visible(node, bounds, screen, children),
        checked=_true(has, "checked") or _true(has, "selected") if role in CHECKABLE else None,
        focused=_true(has, "focused"),
        selected=_true(has, "selected"),
        clickable="showAlert" in has or _true(has, "clickable"),
        secret=_true(has, "password") or node.tag.endswith("SecureTextField"),
        attributes=has,
        children=children,
    )


def _visible(node: SourceNode, bounds: Bounds | None, screen: Bounds | None, children: tuple[Element, ...]) -> bool:
    said = {node.attributes.get("visible"), node.attributes.get("displayed")}
    if "false" in said or node.tag == "alert" or node.tag in _HEAD:
        return False
    return is_on_screen(bounds, screen) or any(child.visible for child in children)


def _true(has: Mapping[str, str], name: str) -> bool:
    return has.get(name) == "true"


def _size(has: Mapping[str, str]) -> tuple[float | None, float | None]:
    return parse_number(has.get("width")), parse_number(has.get("height"))


def _bounds(has: Mapping[str, str]) -> Bounds | None:
    """Bounds with left and top 0 if missing; None for an element without a size."""
    width, height = _size(has)
    if width is None or height is None:
        return None
    return Bounds(parse_number(has.get("left")) or 0, parse_number(has.get("top")) or 0, width, height)
