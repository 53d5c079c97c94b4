"""Apps of Appium's fake driver, whose file is the page source."""

from mobiletest_automation.screen.elements import Role
from mobiletest_automation.screen.page_source.reader import read_source
from tests.unit.automation.screen.page_source.samples import box, by_id, read

APP = """<?xml version="1.0" encoding="UTF-8"?>
<AppiumAUT><app width="400" height="852">
  <MockNavBar id="nav" top="1" left="2" width="100" height="50"><MockTextField id="Shop"/></MockNavBar>
  <MockWebView id="web" top="10" left="10.5" width="20.25" height="20">
    <html><head><title>Web</title></head><body><h1 id="hello">Hello</h1></body></html>
  </MockWebView>
  <MockListView id="list" top="15" left="20" width="30" height="2">
    <MockListItem id="item">Mug</MockListItem>
  </MockListView>
  <MockInputField id="input" name="TypeMe" placeholder="here" value="Ada"/>
  <MockButton id="hidden" visible="false" enabled="false"/>
  <MockButton id="chosen" selected="true"/>
  <MockButton id="asks" showAlert="alert" text="Delete"/>
  <MockCheckBox id="box" checked="true"/>
  <MockButton id="far" left="500" top="0" width="10" height="10"/>
  <MockButton id="edge" left="395" top="0" width="100" height="10"/>
  <alert id="alert" text="Sure?"/>
</app></AppiumAUT>"""


def test_roles_of_mocks_and_web_view_elements() -> None:
    roles = {element.id: element.role for element in read(APP) if element.id}
    assert roles == {
        "nav": Role.OTHER,
        "Shop": Role.TEXT,
        "web": Role.OTHER,
        "hello": Role.HEADING,
        "list": Role.LIST,
        "item": Role.CELL,
        "input": Role.FIELD,
        "hidden": Role.BUTTON,
        "chosen": Role.BUTTON,
        "asks": Role.BUTTON,
        "box": Role.CHECKBOX,
        "far": Role.BUTTON,
        "edge": Role.BUTTON,
        "alert": Role.DIALOG,
    }


def test_bounds_come_from_the_driver() -> None:
    assert box(read_source(APP)) == (0, 0, 400, 852)
    assert box(by_id(APP, "web")) == (10.5, 10, 20.25, 20)
    assert box(by_id(APP, "input")) == (0, 0, 0, 0)


def test_names_and_states() -> None:
    field = by_id(APP, "input")
    assert (field.text, field.label, field.hint, field.visible) == ("Ada", "TypeMe", "here", True)
    assert by_id(APP, "item").text == "Mug"
    assert (by_id(APP, "hidden").visible, by_id(APP, "hidden").enabled) == (False, False)
    assert by_id(APP, "chosen").selected is True
    assert by_id(APP, "asks").clickable is True
    assert by_id(APP, "box").checked is True


def test_alerts_and_elements_outside_are_not_visible() -> None:
    assert [by_id(APP, name).visible for name in ("alert", "far", "edge")] == [False] * 3


def test_the_app_file_and_the_page_source_read_the_same() -> None:
    bare = APP.replace("<AppiumAUT>", "").replace("</AppiumAUT>", "")
    assert [element.attributes for element in read(bare)] == [element.attributes for element in read(APP)]
