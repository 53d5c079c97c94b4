"""Android hierarchies, of Appium and of `uiautomator dump`."""

import pytest

from mobiletest_automation.screen.elements import Role
from mobiletest_automation.screen.page_source.reader import read_source
from tests.unit.automation.screen.page_source.samples import box, by_id, read

BOUNDS = 'bounds="[0,0][100,50]"'


def screen(*nodes: str, size: str = 'width="1080" height="2340"') -> str:
    return f"<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<hierarchy {size}>{''.join(nodes)}</hierarchy>"


def test_attributes_are_unchanged() -> None:
    element = by_id(screen(f'<node resource-id="a:id/b" NAF="true" odd-one="1 &amp; 2" {BOUNDS}/>'), "a:id/b")
    assert element.attributes == {"resource-id": "a:id/b", "NAF": "true", "odd-one": "1 & 2", "bounds": "[0,0][100,50]"}


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("android.widget.Button", Role.BUTTON),
        ("android.widget.ImageButton", Role.BUTTON),
        ("com.google.android.material.button.MaterialButton", Role.BUTTON),
        ("android.widget.EditText", Role.FIELD),
        ("android.widget.AutoCompleteTextView", Role.FIELD),
        ("android.widget.CheckBox", Role.CHECKBOX),
        ("android.widget.RadioButton", Role.RADIO),
        ("android.widget.Switch", Role.SWITCH),
        ("androidx.appcompat.widget.SwitchCompat", Role.SWITCH),
        ("android.widget.ToggleButton", Role.SWITCH),
        ("android.widget.Spinner", Role.PICKER),
        ("android.widget.SeekBar", Role.SLIDER),
        ("android.widget.ProgressBar", Role.PROGRESS),
        ("android.widget.TextView", Role.TEXT),
        ("android.widget.ImageView", Role.IMAGE),
        ("androidx.recyclerview.widget.RecyclerView", Role.LIST),
        ("androidx.appcompat.app.ActionBar$Tab", Role.TAB),
        ("android.view.View", Role.OTHER),
    ],
)
def test_the_class_decides_the_role_as_tag_or_attribute(kind: str, role: Role) -> None:
    sources = [screen(f'<node class="{kind}" resource-id="x" {BOUNDS}/>')]
    if "$" not in kind:
        sources.append(screen(f'<{kind} resource-id="x" {BOUNDS}/>'))
    assert [by_id(source, "x").role for source in sources] == [role] * len(sources)


def test_compose_roles_come_from_attributes() -> None:
    view = 'class="android.view.View" resource-id="x"'
    assert by_id(screen(f'<node {view} checkable="true" checked="true" {BOUNDS}/>'), "x").checked is True
    assert by_id(screen(f'<node {view} password="true" {BOUNDS}/>'), "x").role is Role.FIELD
    text = 'class="android.widget.TextView" heading="true" resource-id="x"'
    assert by_id(screen(f"<node {text} {BOUNDS}/>"), "x").role is Role.HEADING


def test_the_hint_of_an_empty_field_is_not_its_text() -> None:
    field = 'class="android.widget.EditText" resource-id="x" text="E-mail"'
    for more in ('hint="E-mail"', 'showing-hint="true"'):
        element = by_id(screen(f"<node {field} {more} {BOUNDS}/>"), "x")
        assert (element.text, element.hint) == ("", "E-mail")
    assert by_id(screen(f'<node {field} hint="Your e-mail" {BOUNDS}/>'), "x").text == "E-mail"


@pytest.mark.parametrize(
    ("attributes", "visible"),
    [
        ('bounds="[0,0][100,50]"', True),
        ('bounds="[0,0][100,50]" displayed="true"', True),
        ('bounds="[0,0][100,50]" displayed="false"', False),
        ('bounds="[0,2340][100,2400]"', False),
        ('bounds="[-100,0][0,50]"', False),
        # Less than a tenth of it.
        ('bounds="[-100,0][1,50]"', False),
        ('bounds="[0,2331][100,2431]"', False),
        ('bounds="[1050,2300][1150,2440]"', False),
        ('bounds="[0,2330][100,2430]"', True),
        ('bounds="[-900,0][100,50]"', True),
        # All of the screen, however large it is.
        ('bounds="[0,-9000][1080,9000]"', True),
        ('bounds="[1,-20000][1079,9000]"', False),
        # A line; nothing at all; what is turned inside out; and a toast, whose bounds are unknown.
        ('bounds="[0,0][0,50]"', True),
        ('bounds="[0,400][1080,400]"', True),
        ('bounds="[0,400][1080,400]" displayed="false"', True),
        ('bounds="[0,2341][1080,2341]"', False),
        ('bounds="[1000,400][2000,400]"', False),
        ('bounds="[9,9][9,9]"', False),
        ('bounds="[9,9][5,20]"', False),
        ('class="android.widget.Toast" bounds="[0,0][0,0]"', True),
        ("", False),
    ],
)
def test_elements_outside_the_screen_are_not_visible(attributes: str, visible: bool) -> None:
    assert by_id(screen(f'<node resource-id="x" {attributes}/>'), "x").visible is visible


def test_an_element_is_visible_if_something_in_it_is() -> None:
    child = '<node resource-id="y" bounds="[0,2300][100,2340]"/>'
    outer = f'<node resource-id="x" bounds="[0,2300][1080,9000]">{child}</node>'
    assert by_id(screen(outer), "x").visible
    assert not by_id(screen(outer.replace(child, "")), "x").visible


def test_without_a_size_the_windows_define_the_screen() -> None:
    source = screen(
        '<node bounds="[0,0][1080,2000]"><node resource-id="x" bounds="[0,2100][50,2200]"/></node>', size=""
    )
    assert box(read_source(source)) == (0, 0, 1080, 2000)
    assert by_id(source, "x").visible is False


def test_states() -> None:
    states = 'enabled="false" focused="true" selected="true" clickable="true" checked="true"'
    element = by_id(screen(f'<node resource-id="x" {states} {BOUNDS}/>'), "x")
    assert (element.enabled, element.focused, element.selected, element.clickable, element.checked) == (
        False,
        True,
        True,
        True,
        None,
    )


def test_only_direct_children_of_a_list_are_rows_and_none_of_the_hierarchy() -> None:
    inner = f'<node class="android.view.ViewGroup" {BOUNDS}/>'
    rows = f'<node {BOUNDS}>{inner}</node><node class="a.Button" {BOUNDS}/>'
    source = screen(f'<node class="android.widget.ListView" {BOUNDS}>{rows}</node>')
    roles = [Role.SCREEN, Role.LIST, Role.CELL, Role.OTHER, Role.BUTTON]
    assert [element.role for element in read(source)] == roles
    assert [element.role for element in read(screen(inner, size='class="x.ListView"'))] == [Role.SCREEN, Role.OTHER]
