"""Page sources of Android: of Appium's UiAutomator2 driver (a tag per class) and of `uiautomator dump` ("node")."""

import re
from collections.abc import Mapping

from mobiletest_automation.screen.elements import CHECKABLE, NOWHERE, Bounds, Element, Role
from mobiletest_automation.screen.page_source.nodes import (
    SourceNode,
    build_elements,
    is_on_screen,
    parse_number,
    walk_nodes,
)
from mobiletest_automation.screen.text_cache import cache_short_texts

_BOUNDS = re.compile(r"\[(-?\d{1,6}),(-?\d{1,6})\]\[(-?\d{1,6}),(-?\d{1,6})\]")
# The first that fits counts: a RadioButton is also a Button.
_ROLES_OF_ENDINGS: Mapping[tuple[str, ...], Role] = {
    ("RadioButton",): Role.RADIO,
    ("ToggleButton", "Switch", "SwitchCompat"): Role.SWITCH,
    ("CompoundButton", "CheckedTextView", "CheckBox"): Role.CHECKBOX,
    ("Button", "Chip"): Role.BUTTON,
    ("EditText", "AutoCompleteTextView"): Role.FIELD,
    ("Spinner", "Picker"): Role.PICKER,
    ("SeekBar", "RatingBar"): Role.SLIDER,
    ("ProgressBar", "ProgressIndicator"): Role.PROGRESS,
    ("$Tab", "TabView"): Role.TAB,
    ("TextView",): Role.TEXT,
    ("ImageView", ".Image"): Role.IMAGE,
    ("ListView", "RecyclerView", "GridView"): Role.LIST,
    ("Dialog",): Role.DIALOG,
}


# How Flutter describes a tab.
_TAB_OF = re.compile(r"\nTab \d+ of \d+$")


def read_uiautomator(root: SourceNode) -> Element:
    """The hierarchy as elements; its root is the screen."""
    screen, nodes = _screen(root), walk_nodes(root)
    rows = {child for node in nodes[1:] if _is_list(node) for child in node.nodes}

    def element_of(node: SourceNode, children: tuple[Element, ...]) -> Element:
        if node is root:
            bounds = screen or NOWHERE
            return Element(role=Role.SCREEN, bounds=bounds, attributes=node.attributes, children=children)
        role = _role(node)
        if role is Role.OTHER and node in rows:
            role = Role.CELL
        return _element(node, role, children, screen)

    return build_elements(nodes, element_of)


def _is_list(node: SourceNode) -> bool:
    """Whether its children are rows, unless they have another role."""
    return _role_of_class(node.attributes.get("class") or node.tag) is Role.LIST


def _element(node: SourceNode, role: Role, children: tuple[Element, ...], screen: Bounds | None) -> Element:
    has = node.attributes
    text, hint = _text_and_hint(has)
    bounds = _bounds(has)
    displayed = has.get("displayed") != "false" or (bounds is not None and bounds.is_line)
    seen = displayed and (_has_place(bounds, screen) or _is_toast(has))
    checkable = role in CHECKABLE or has.get("checkable") == "true"
    return Element(
        role=role,
        text=text,
        label=has.get("content-desc", ""),
        hint=hint,
        id=has.get("resource-id", ""),
        bounds=bounds or NOWHERE,
        enabled=has.get("enabled") != "false",
        visible=seen or any(child.visible for child in children),
        checked=has.get("checked") == "true" if checkable else None,
        focused=has.get("focused") == "true",
        selected=has.get("selected") == "true",
        clickable=has.get("clickable") == "true",
        secret=has.get("password") == "true",
        attributes=has,
        children=children,
    )


# The id of Android's alert dialogs, and of those of its libraries.
_ALERT = ":id/parentPanel"
# Ids of what is inside an item of Material's navigation bar and rail, whose own class says nothing.
_TAB_PARTS = re.compile(r".*:id/(?:navigation_bar_item_\w+|smallLabel|largeLabel)")


def _has_place(bounds: Bounds | None, screen: Bounds | None) -> bool:
    """Whether it is on the screen; without bounds it is not, in a source that has any."""
    return is_on_screen(bounds, screen) and (bounds is not None or screen is None)


_TOAST = "android.widget.Toast"


def _is_toast(has: Mapping[str, str]) -> bool:
    """Whether it is a toast, which is in the hierarchy as long as it is on the screen, but without its bounds."""
    return has.get("class") == _TOAST


def _is_navigation_item(node: SourceNode) -> bool:
    return any(_TAB_PARTS.fullmatch(each.attributes.get("resource-id", "")) for each in node.nodes)


def _role(node: SourceNode) -> Role:
    has = node.attributes
    role = _role_of_class(has.get("class") or node.tag)
    return _specific_role(role, node) if role in _UNSPECIFIC else role


_UNSPECIFIC = frozenset({Role.OTHER, Role.TEXT, Role.IMAGE})


def _specific_role(role: Role, node: SourceNode) -> Role:
    """What the attributes say of a node whose class does not say it."""
    has = node.attributes
    description = has.get("content-desc")
    if role is Role.OTHER and description and _is_navigation_item(node):
        return Role.TAB
    if role is Role.OTHER and has.get("resource-id", "").endswith(_ALERT):
        return Role.DIALOG
    if role is Role.TEXT and has.get("heading") == "true":
        return Role.HEADING
    if description and _TAB_OF.search(description):
        return Role.TAB
    if role in (Role.OTHER, Role.TEXT):
        if has.get("editable") == "true" or has.get("password") == "true":
            return Role.FIELD
        if has.get("checkable") == "true":
            return Role.CHECKBOX
    return role


@cache_short_texts
def _role_of_class(name: str) -> Role:
    return next((role for endings, role in _ROLES_OF_ENDINGS.items() if name.endswith(endings)), Role.OTHER)


def _text_and_hint(has: Mapping[str, str]) -> tuple[str, str]:
    """Text and hint; an empty field reports its hint as its text."""
    text, hint = has.get("text", ""), has.get("hint", "")
    if has.get("showing-hint") == "true":
        return "", hint or text
    return ("", hint) if text and text == hint else (text, hint)


def _bounds(has: Mapping[str, str]) -> Bounds | None:
    match = _BOUNDS.fullmatch(has.get("bounds", ""))
    if match is None:
        return None
    left, top, right, bottom = map(int, match.groups())
    return Bounds(left, top, right - left, bottom - top)


def _screen(root: SourceNode) -> Bounds | None:
    """The size of the hierarchy, or else the extent of its windows."""
    width, height = parse_number(root.attributes.get("width")), parse_number(root.attributes.get("height"))
    if width and height:
        return Bounds(0, 0, width, height)
    windows = [bounds for node in root.nodes if (bounds := _bounds(node.attributes)) is not None]
    if not windows:
        return None
    return Bounds(0, 0, max(each.right for each in windows), max(each.bottom for each in windows))
