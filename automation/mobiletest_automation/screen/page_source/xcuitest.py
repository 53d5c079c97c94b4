"""Page sources of iOS: of Appium's XCUITest driver and of WebDriverAgent itself."""

from collections.abc import Mapping
from dataclasses import replace

from mobiletest_automation.screen.elements import CHECKABLE, NOWHERE, Bounds, Element, Role
from mobiletest_automation.screen.page_source.nodes import (
    SourceNode,
    build_elements,
    is_on_screen,
    parse_number,
    walk_nodes,
)

PREFIX = "XCUIElementType"
_ROLES: Mapping[str, Role] = {
    "Application": Role.SCREEN,
    **dict.fromkeys(("Button", "MenuItem", "MenuButton", "MenuBarItem", "ToolbarButton", "Key"), Role.BUTTON),
    "Link": Role.LINK,
    **dict.fromkeys(("TextField", "SecureTextField", "SearchField", "TextView"), Role.FIELD),
    "CheckBox": Role.CHECKBOX,
    **dict.fromkeys(("Switch", "Toggle"), Role.SWITCH),
    "RadioButton": Role.RADIO,
    "Tab": Role.TAB,
    **dict.fromkeys(("Cell", "TableRow", "OutlineRow"), Role.CELL),
    **dict.fromkeys(("Picker", "PickerWheel", "DatePicker", "PopUpButton", "ComboBox"), Role.PICKER),
    "Slider": Role.SLIDER,
    **dict.fromkeys(("Image", "Icon"), Role.IMAGE),
    "StaticText": Role.TEXT,
    **dict.fromkeys(("Table", "CollectionView", "Outline"), Role.LIST),
    **dict.fromkeys(("Alert", "Sheet", "Dialog"), Role.DIALOG),
    **dict.fromkeys(("ProgressIndicator", "ActivityIndicator"), Role.PROGRESS),
}
_TEXT_IS_VALUE = frozenset({Role.FIELD, Role.PICKER, Role.SLIDER, Role.TEXT, Role.HEADING})
_TEXT_IS_LABEL = frozenset({Role.BUTTON, Role.LINK, Role.TAB, Role.TEXT, Role.HEADING})


def read_xcuitest(root: SourceNode) -> Element:
    """The application as elements, without Appium's wrapper."""
    app = next((node for node in walk_nodes(root) if node.tag.startswith(PREFIX)), root)
    screen = _bounds(app.attributes)
    return build_elements(walk_nodes(app), lambda node, children: _element(node, children, screen))


def _element(node: SourceNode, children: tuple[Element, ...], screen: Bounds | None) -> Element:
    has = node.attributes
    kind = has.get("type", node.tag).removeprefix(PREFIX)
    role = _role(kind, has)
    bounds = _bounds(has)
    hint = has.get("placeholderValue", "")
    visible = has.get("visible") != "false" or (bounds is not None and bounds.is_line)
    seen = visible and is_on_screen(bounds, screen)
    return Element(
        role=role,
        text=_text(role, has, hint),
        label=has.get("label", ""),
        hint=hint,
        id=has.get("name", ""),
        bounds=bounds or NOWHERE,
        enabled=has.get("enabled") != "false",
        visible=seen or any(child.visible for child in children),
        checked=has.get("value", "").lower() in ("1", "true") if role in CHECKABLE else None,
        focused=has.get("focused") == "true" or has.get("hasFocus") == "true",
        selected=has.get("selected") == "true"
        or _has_trait(has, "selected")
        or (role in (Role.BUTTON, Role.TAB) and has.get("value") == "1"),
        clickable=role is Role.OTHER and _has_trait(has, "button", "link"),
        secret=kind == "SecureTextField",
        attributes=has,
        children=_as_part_of(kind, children),
    )


def _role(kind: str, has: Mapping[str, str]) -> Role:
    role = _ROLES.get(kind, Role.OTHER)
    return Role.HEADING if role is Role.TEXT and _has_trait(has, "header") else role


def _has_trait(has: Mapping[str, str], *wanted: str) -> bool:
    traits = {trait.strip().lower() for trait in has.get("traits", "").split(",")}
    return not traits.isdisjoint(wanted)


def _as_part_of(kind: str, children: tuple[Element, ...]) -> tuple[Element, ...]:
    """Buttons of a tab bar are tabs, the text of a navigation bar is a heading."""
    becomes = {"TabBar": (Role.BUTTON, Role.TAB), "NavigationBar": (Role.TEXT, Role.HEADING)}.get(kind)
    if becomes is None:
        return children
    return tuple(replace(child, role=becomes[1]) if child.role is becomes[0] else child for child in children)


def _text(role: Role, has: Mapping[str, str], hint: str) -> str:
    """The visible text; an empty field reports its placeholder as its value."""
    value = has.get("value", "") if role in _TEXT_IS_VALUE else ""
    if role is Role.FIELD and value == hint:
        return ""
    return value or (has.get("label", "") if role in _TEXT_IS_LABEL else "")


def _bounds(has: Mapping[str, str]) -> Bounds | None:
    x, y = parse_number(has.get("x")), parse_number(has.get("y"))
    width, height = parse_number(has.get("width")), parse_number(has.get("height"))
    if x is None or y is None or width is None or height is None:
        return None
    return Bounds(x, y, width, height)
