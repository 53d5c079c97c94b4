"""Sources of XCUITest, with and without what Appium puts around."""

import pytest

from mobiletest_automation.screen.elements import Role
from mobiletest_automation.screen.page_source.reader import read_source
from tests.unit.automation.screen.page_source.samples import box, by_id, read

PLACE = 'x="0" y="10" width="100" height="40"'


def screen(*nodes: str) -> str:
    app = f'<XCUIElementTypeApplication name="Shop" x="0" y="0" width="390" height="844">{"".join(nodes)}'
    return f'<?xml version="1.0" encoding="UTF-8"?><AppiumAUT>{app}</XCUIElementTypeApplication></AppiumAUT>'


def node(kind: str, more: str = "", inside: str = "") -> str:
    tag = f"XCUIElementType{kind}"
    return f'<{tag} type="{tag}" name="x" {PLACE} {more}>{inside}</{tag}>'


def test_the_application_is_the_screen() -> None:
    root = read_source(screen())
    assert (root.role, root.id, box(root)) == (Role.SCREEN, "Shop", (0, 0, 390, 844))
    bare = screen().replace("<AppiumAUT>", "").replace("</AppiumAUT>", "")
    assert read_source(bare).attributes == root.attributes


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("Button", Role.BUTTON),
        ("TextField", Role.FIELD),
        ("SecureTextField", Role.FIELD),
        ("SearchField", Role.FIELD),
        ("TextView", Role.FIELD),
        ("Switch", Role.SWITCH),
        ("StaticText", Role.TEXT),
        ("Image", Role.IMAGE),
        ("Link", Role.LINK),
        ("Cell", Role.CELL),
        ("Table", Role.LIST),
        ("CollectionView", Role.LIST),
        ("Slider", Role.SLIDER),
        ("PickerWheel", Role.PICKER),
        ("Alert", Role.DIALOG),
        ("ActivityIndicator", Role.PROGRESS),
        ("Other", Role.OTHER),
        ("WhateverComes", Role.OTHER),
    ],
)
def test_the_type_decides_the_role(kind: str, role: Role) -> None:
    assert by_id(screen(node(kind)), "x").role is role


def test_texts_of_fields_labels_and_buttons() -> None:
    field = by_id(screen(node("TextField", 'label="Name" value="Ada" placeholderValue="Your name"')), "x")
    assert (field.text, field.label, field.hint) == ("Ada", "Name", "Your name")
    empty = by_id(screen(node("TextField", 'value="Your name" placeholderValue="Your name"')), "x")
    assert empty.text == ""
    assert by_id(screen(node("StaticText", 'label="Total" value="$5"')), "x").text == "$5"
    assert by_id(screen(node("StaticText", 'label="Total"')), "x").text == "Total"
    assert by_id(screen(node("Button", 'label="Pay" value="1"')), "x").text == "Pay"


def test_states() -> None:
    assert by_id(screen(node("Switch", 'value="1"')), "x").checked is True
    assert by_id(screen(node("Switch", 'value="0"')), "x").checked is False
    assert by_id(screen(node("StaticText", 'value="1"')), "x").checked is None
    assert by_id(screen(node("Button", 'enabled="false"')), "x").enabled is False
    assert by_id(screen(node("Button", 'selected="true"')), "x").selected is True
    assert by_id(screen(node("Other", 'traits="Button, NotEnabled"')), "x").clickable is True


def test_bars_decide_the_roles_of_their_children() -> None:
    tab = node("TabBar", inside=node("Button", 'value="1"'))
    assert [(each.role, each.on) for each in read(screen(tab))][-1] == (Role.TAB, True)
    bar = node("NavigationBar", inside=node("StaticText", 'label="Cart"') + node("Button"))
    assert [each.role for each in read(screen(bar))][-2:] == [Role.HEADING, Role.BUTTON]


@pytest.mark.parametrize(
    ("attributes", "visible"),
    [
        ('visible="true" x="0" y="0" width="10" height="10"', True),
        ('visible="false" x="0" y="0" width="10" height="10"', False),
        ('visible="true" x="0" y="0" width="0" height="10"', True),
        ('visible="true" x="0" y="0" width="0" height="0"', False),
        # The driver calls every line invisible.
        ('visible="false" x="0" y="40" width="390" height="0"', True),
        ('visible="true" x="0" y="836" width="10" height="100"', False),
        ('visible="true" x="0" y="844" width="10" height="10"', False),
        ('visible="true" x="390.5" y="0" width="10" height="10"', False),
        ("", True),
    ],
)
def test_elements_outside_the_screen_are_not_visible(attributes: str, visible: bool) -> None:
    source = screen(f'<XCUIElementTypeButton name="x" {attributes}/>')
    assert by_id(source, "x").visible is visible


def test_a_hidden_wrapper_does_not_hide_visible_children() -> None:
    inner = '<XCUIElementTypeButton name="y" visible="true" x="0" y="0" width="9" height="9"/>'
    outer = '<XCUIElementTypeOther name="x" visible="false" x="0" y="0" width="0" height="0">'
    source = screen(f"{outer}{inner}</XCUIElementTypeOther>")
    assert (by_id(source, "x").visible, by_id(source, "y").visible) == (True, True)
