"""Static HTML, and what tags and attributes say."""

import pytest

from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.page_source.html_semantics import checked_of, ids_of, names_of, role_of
from tests.unit.automation.screen.page_source.samples import by_id, read


def page(body: str) -> str:
    return f"<!doctype html><html><head><title>T</title></head><body>{body}</body></html>"


def only(body: str) -> Element:
    return by_id(page(body), "x")


ROLES: list[tuple[str, dict[str, str], Role]] = [
    ("button", {}, Role.BUTTON),
    ("a", {"href": "/"}, Role.LINK),
    ("a", {}, Role.TEXT),
    ("input", {}, Role.FIELD),
    ("input", {"type": "EMAIL"}, Role.FIELD),
    ("input", {"type": "no such type"}, Role.FIELD),
    ("input", {"type": "submit"}, Role.BUTTON),
    ("input", {"type": "checkbox"}, Role.CHECKBOX),
    ("input", {"type": "checkbox", "role": "switch"}, Role.SWITCH),
    ("input", {"type": "radio"}, Role.RADIO),
    ("input", {"type": "range"}, Role.SLIDER),
    ("input", {"role": "combobox"}, Role.FIELD),
    ("textarea", {}, Role.FIELD),
    ("div", {"contenteditable": ""}, Role.FIELD),
    ("div", {"contenteditable": "false"}, Role.OTHER),
    ("select", {}, Role.PICKER),
    ("div", {"role": "combobox"}, Role.PICKER),
    ("div", {"role": "button"}, Role.BUTTON),
    ("div", {"role": "unheard-of  tab"}, Role.TAB),
    ("li", {}, Role.CELL),
    ("tr", {}, Role.CELL),
    ("li", {"role": "menuitem"}, Role.CELL),
    ("ul", {"role": "none"}, Role.OTHER),
    ("h2", {}, Role.HEADING),
    ("img", {}, Role.IMAGE),
    ("span", {}, Role.TEXT),
    ("dialog", {}, Role.DIALOG),
    ("progress", {}, Role.PROGRESS),
    ("body", {}, Role.SCREEN),
    ("custom-element", {}, Role.OTHER),
]


def test_roles() -> None:
    assert [row for row in ROLES if role_of(row[0], row[1]) is not row[2]] == []


@pytest.mark.parametrize(
    "body",
    [
        *('<label for="x">Name</label><input id="x" title="Other">', '<label>Name <input id="x"></label>'),
        '<input id="x" aria-label=" Name ">',
        '<b id="l1">First</b><i id="l2">name</i><input id="x" aria-labelledby="l1 l2" aria-label="Other">',
        *('<input id="x" title="Name">', '<img id="x" alt="Name">'),
        '<label for="x">Name <select><option>A</select></label><input id="x">',
    ],
)
def test_labels(body: str) -> None:
    assert only(body).label.lower() in ("name", "first name")


def test_hints_and_values() -> None:
    field = only('<input id="x" placeholder="you@x.y" value="Ada  L">')
    assert (field.hint, field.text) == ("you@x.y", "Ada  L")
    assert only('<textarea id="x">\nHello\n you</textarea>').text == "Hello\n you"
    assert only('<input id="x" type="submit">').text == "Submit"
    assert only('<input id="x" type="submit" value="Pay">').text == "Pay"
    assert only('<select id="x"><option>A<option selected>B</select>').text == "B"


def test_texts_of_elements_named_by_content() -> None:
    assert only('<button id="x"><svg><title>Plus</title></svg> Add <b>to</b>\n cart</button>').text == "Add to cart"
    assert (
        only('<p id="x">Hel<b>lo</b>, <a href="/">you</a><br>there<span hidden> not me</span></p>').text
        == "Hello, you there"
    )
    assert only('<div id="x">Total: <b>$5</b></div>').text == "Total: $5"
    assert only('<div id="x"><p>A</p><p>B</p></div>').text == ""
    assert only('<li id="x">Mug <button>Add</button></li>').text == "Mug"
    assert only('<p id="x">&lt;b&gt; &amp; &eacute;&#233;</p>').text == "<b> & éé"


def test_ids_and_their_substitutes() -> None:
    assert names_of("button", {"id": "a", "data-testid": "b"}, content="").id == "a"
    assert names_of("button", {"data-testid": "b", "name": "c"}, content="").id == "b"
    assert names_of("input", {"name": "c"}, content="").id == "c"
    assert names_of("div", {"id": "flt-semantic-node-1", "flt-semantics-identifier": "pay"}, content="").id == "pay"


@pytest.mark.parametrize(
    ("attributes", "ids"),
    [
        ({"id": "node-1", "flt-semantics-identifier": "pay"}, ["pay", "node-1"]),
        ({"id": "a", "data-testid": "b", "name": "c"}, ["a", "b", "c"]),
        ({"aria-label": "Basket"}, ["Basket"]),
        ({"title": "Help", "name": "help"}, ["help", "Help"]),
        ({"for": "email"}, ["email"]),
        # What names an element is no id beside an id.
        ({"id": "a", "aria-label": "Basket", "title": "Help", "for": "email"}, ["a"]),
        ({"data-testid": "b", "aria-label": "Basket"}, ["b"]),
        ({"id": "", "aria-label": ""}, []),
    ],
)
def test_all_that_is_the_id_of_an_element(attributes: dict[str, str], ids: list[str]) -> None:
    assert ids_of(attributes) == ids


HIDDEN = (
    *('<b id="x" hidden>A</b>', '<b id="x" aria-hidden="true">A</b>', '<b id="x" style="visibility:hidden">A</b>'),
    *('<b id="x" style="color: red; DISPLAY : none !important">A</b>', '<input id="x" type="hidden">'),
    *('<dialog id="x">A</dialog>', '<select><option id="x">A</select>', '<details><p id="x">A</p></details>'),
)
VISIBLE = (
    *('<b id="x" style="display:block">A</b>', '<dialog id="x" open>A</dialog>'),
    *('<select size="3"><option id="x">A</select>', '<details open><p id="x">A</p></details>'),
    '<details><summary id="x">A</summary></details>',
)


@pytest.mark.parametrize("body", [*HIDDEN, *VISIBLE])
def test_which_elements_are_visible(body: str) -> None:
    assert only(body).visible is (body in VISIBLE)


def test_states() -> None:
    assert only('<input id="x" type="checkbox" checked>').checked is True
    assert only('<input id="x" type="checkbox">').checked is False
    assert only('<div id="x" role="switch" aria-checked="true">').checked is True
    assert only('<input id="x">').checked is None
    assert checked_of("input", {"type": "checkbox", "checked": ""}, checked=False) is False
    assert only('<button id="x" disabled>').enabled is False
    assert only('<button id="x" aria-disabled="true">').enabled is False
    assert only('<fieldset disabled><p><button id="x"></p></fieldset>').enabled is False
    assert only('<div id="x" role="tab" aria-selected="true">').selected is True
    assert only('<input id="x" autofocus>').focused is True


def test_scripts_and_styles_are_not_content() -> None:
    source = page(
        "<script>'<p>no</p>'</script><style>p{}</style><template><p>no</p></template><p>yes<noscript>no</noscript></p>"
    )
    assert [element.text for element in read(source) if element.text] == ["yes"]


def test_omitted_end_tags() -> None:
    lists = "<ul><li>A<li>B<ul><li>C</ul></ul><p>D<p>E<div>F</div><table><tr><td>G<td>H<tr><td>I</table>"
    texts = [element.text for element in read(page(lists)) if element.text]
    assert texts == ["A", "B", "C", "D", "E", "F", "G", "H", "I"]
    rows = [element for element in read(page(lists)) if element.role is Role.CELL]
    assert [len(row.children) for row in rows] == [0, 1, 0, 2, 1]


def test_html_attributes_are_unchanged() -> None:
    body = "<INPUT ID=x Data-A='1 > 0' disabled value=\"&quot;a&quot;\" value=b x:y=z/>"
    assert only(body).attributes == {"id": "x", "data-a": "1 > 0", "disabled": "", "value": '"a"', "x:y": "z/"}


def test_bounds_follow_the_lines_of_the_source() -> None:
    body = "<h1>A</h1><p>B <b>C</b> <i>D</i></p><table><tr><td>E<td>F<tr><td>G<td>H</table>"
    at = {each.text: each.bounds for each in read(page(body)) if each.text and not each.children}
    assert at["A"].bottom <= at["C"].y
    assert (at["C"].y, at["C"].right) == (at["D"].y, at["D"].x)
    assert at["E"].y == at["F"].y < at["G"].y == at["H"].y
    assert (at["E"].x, at["F"].x) == (at["G"].x, at["H"].x)


def test_what_is_inside_a_disabled_fieldset_is_disabled() -> None:
    nested = '<fieldset disabled><fieldset><div><input id="x"></div></fieldset></fieldset>'
    assert not only(nested).enabled
    assert only(nested.replace(" disabled", "")).enabled
    assert only(f'{nested.replace("x", "y")}<input id="x">').enabled


def test_texts_of_other_elements_count_once_and_are_cut() -> None:
    labels = '<p id="a">First</p><p id="b">name</p>'
    assert only(f'{labels}<input id="x" aria-labelledby="a b a a">').label == "First name"
    labels = f'<p id="a">{"x" * 900}</p><p id="b">{"y" * 900}</p>'
    assert only(f'{labels}<input id="x" aria-labelledby="a b">').label == "x" * 900 + " " + "y" * 99
    assert only(f'<p id="x"><b>{"a " * 20_000}</b>.</p>').text == ("a " * 5_000).strip()
    assert only(f'<p id="x">{"a " * 20_000}</p>').text == ("a " * 20_000).strip()
