"""The grounder never guesses, explains refusals, and returns elements with all their attributes."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.executor.automation.screen.elements import Bounds, Element, Role, walk
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.grounder import ground_sentence
from services.executor.automation.sentences.grounding import RefusalReason
from services.executor.automation.sentences.intents import Action
from tests.examples import examples
from tests.unit.executor.automation.sentences.corpus_screen import SCREEN


def screen(*children: Element) -> Element:
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, 360, 640), children=children)


def test_exact_beats_case_insensitive() -> None:
    tree = screen(Element(role=Role.BUTTON, text="ok", id="lower"), Element(role=Role.BUTTON, text="OK", id="upper"))
    assert [ground_sentence(f"Tap {name}", tree).element for name in ("OK", "ok")] == [
        tree.children[1],
        tree.children[0],
    ]
    assert ground_sentence("Tap Ok", tree).reason is RefusalReason.AMBIGUOUS


def nested(depth: int, *innermost: Element) -> Element:
    """Groups inside each other, with these elements in the innermost one."""
    bounds = Bounds(0, 0, 360, 640)
    group = Element(role=Role.OTHER, bounds=bounds, children=innermost)
    for _ in range(depth - 1):
        group = Element(role=Role.OTHER, bounds=bounds, children=(group,))
    return group


def test_containers_are_searched_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each container around the anchor: pages may be deep, and have thousands of elements."""
    buttons = [Element(role=Role.BUTTON, text="x", bounds=Bounds(0, 0, 9, 9)) for _ in range(50)]
    anchor = Element(role=Role.TEXT, text="anchor", bounds=Bounds(0, 0, 9, 9))
    tree = screen(nested(100, nested(100, anchor), nested(100, *buttons)))
    calls = []
    ancestors = Outline.ancestors

    def counted(outline: Outline, element: Element) -> list[Element]:
        calls.append(element)
        return ancestors(outline, element)

    monkeypatch.setattr(Outline, "ancestors", counted)
    found = ground_sentence('Tap the "x" button inside "anchor"', tree)
    assert found.reason is RefusalReason.AMBIGUOUS
    assert len(calls) < 20 * 50


def test_rows_are_counted_where_all_are_of_one_kind() -> None:
    """A list of messages may begin with the name of the folder and with advice."""
    kinds = ("folder", "advice", "message", "message")
    rows = [Element(role=Role.CELL, id=f"com.example:id/{kind}", text=f"{kind} {n}") for n, kind in enumerate(kinds)]
    mixed, plain = (screen(Element(role=Role.LIST, children=tuple(shown))) for shown in (rows, rows[2:]))
    assert ground_sentence("Tap the first message", mixed).reason is RefusalReason.AMBIGUOUS
    assert ground_sentence("Tap the first message", plain).element is rows[2]


def test_a_text_beats_an_id() -> None:
    tree = screen(
        Element(role=Role.BUTTON, text="Later", id="send"), Element(role=Role.BUTTON, text="Send", id="later")
    )
    assert ground_sentence("Tap Send", tree).element is tree.children[1]


def test_ids_are_read_as_words() -> None:
    tree = screen(Element(role=Role.BUTTON, id="com.shop:id/addToCart"), Element(role=Role.BUTTON, id="log-out"))
    assert ground_sentence("Tap add to cart", tree).element is tree.children[0]
    assert ground_sentence("Tap the log out button", tree).element is tree.children[1]


def test_all_matches_are_candidates() -> None:
    found = ground_sentence('Tap "Add"', SCREEN)
    assert (found.action, found.reason) == (Action.NONE, RefusalReason.AMBIGUOUS)
    assert [element.id for element in found.candidates] == ["add_b", "add_r"]
    assert 'button "Add"' in found.message


def test_a_button_and_the_text_on_it_are_one_thing() -> None:
    text = Element(role=Role.TEXT, text="Pay")
    button = Element(role=Role.BUTTON, label="Pay", children=(text,))
    assert ground_sentence("Tap Pay", screen(button)).element is button
    plain = Element(role=Role.OTHER, label="Pay", children=(text,))
    assert ground_sentence("Tap Pay", screen(plain)).element is text


def test_a_heading_of_the_same_name_is_not_tapped() -> None:
    heading, button = Element(role=Role.HEADING, text="Pay"), Element(role=Role.BUTTON, text="Pay")
    assert ground_sentence("Tap Pay", screen(heading, button)).element is button
    assert ground_sentence("Tap Pay", screen(heading)).reason is RefusalReason.NOT_FOUND


def test_a_container_found_by_its_id_only_is_not_tapped() -> None:
    box = Element(role=Role.OTHER, id="checkout", children=(Element(role=Role.TEXT, text="Delete all"),))
    assert ground_sentence("Tap checkout", screen(box)).reason is RefusalReason.NOT_FOUND


def test_a_quoted_text_in_a_check_is_never_an_id() -> None:
    tree = screen(Element(role=Role.TEXT, text="", id="error"))
    assert ground_sentence('I see "error"', tree).element is None
    assert ground_sentence('I do not see "error"', tree).action is Action.ASSERT_NOT_VISIBLE


def test_hidden_elements_and_their_children_are_not_found() -> None:
    inner = Element(role=Role.BUTTON, text="Pay")
    tree = screen(Element(role=Role.OTHER, visible=False, children=(inner,)))
    assert ground_sentence("Tap Pay", tree).reason is RefusalReason.NOT_FOUND


def test_a_field_is_found_by_the_text_before_it() -> None:
    field = Element(role=Role.FIELD, id="x1")
    tree = screen(Element(role=Role.TEXT, text="Postcode"), field)
    assert ground_sentence('Type "AB1" into Postcode', tree).element is field


def test_a_field_is_found_by_the_label_of_its_box() -> None:
    field = Element(role=Role.FIELD, id="x1")
    tree = screen(Element(role=Role.OTHER, label="Postcode", children=(field,)))
    assert ground_sentence('Type "AB1" into Postcode', tree).element is field


def test_a_name_is_not_mistaken_for_an_ordinal() -> None:
    """ "first name" names a field; if there is none, the first "Name" is not it."""
    tree = screen(Element(role=Role.FIELD, label="Name", id="name"))
    assert ground_sentence('Type "Ada" into the first name field', tree).element is None


def test_checking_a_checked_box_does_nothing() -> None:
    tree = screen(Element(role=Role.CHECKBOX, text="News", checked=True))
    found = ground_sentence("Check News", tree)
    assert (found.action, found.message) == (Action.ASSERT_CHECKED, "it is already checked")


def test_a_word_of_a_text_is_not_certainly_absent() -> None:
    tree = screen(Element(role=Role.TEXT, text="Error: no connection"))
    found = ground_sentence('I do not see "Error"', tree)
    assert (found.reason, found.candidates) == (RefusalReason.AMBIGUOUS, (tree.children[0],))
    assert ground_sentence('I do not see "Err"', tree).action is Action.ASSERT_NOT_VISIBLE
    assert ground_sentence('I do not see a text containing "Error"', tree).element is tree.children[0]


def test_below_means_the_nearest_and_equal_distances_are_ambiguous() -> None:
    def button(y: float, x: float = 0) -> Element:
        return Element(role=Role.BUTTON, text="Edit", bounds=Bounds(x, y, 100, 20))

    label = Element(role=Role.TEXT, text="Ada", bounds=Bounds(0, 0, 200, 20))
    near, far = button(30), button(90)
    assert ground_sentence('Tap "Edit" below "Ada"', screen(label, far, near)).element is near
    twins = screen(label, button(30), button(30, x=100))
    assert ground_sentence('Tap "Edit" below "Ada"', twins).reason is RefusalReason.AMBIGUOUS
    assert ground_sentence('Tap "Edit" above "Ada"', screen(label, near)).reason is RefusalReason.NOT_FOUND


def row(name: str, *buttons: str, y: float) -> Element:
    texts = (Element(role=Role.TEXT, text=name, bounds=Bounds(0, y, 90, 40)),)
    held = (Element(role=Role.BUTTON, text=text, bounds=Bounds(100, y, 90, 40)) for text in buttons)
    return Element(role=Role.CELL, bounds=Bounds(0, y, 360, 40), children=(*texts, *held))


ROWS = screen(row("Mug", "Add", y=0), row("Mug", "Add", y=50), row("Ada", "Remove", y=100))


@pytest.mark.parametrize(
    "sentence",
    [
        *('I do not see "Add" next to "Mug"', 'There is no "Add" button in the "Mug" row'),
        *('Wait until "Add" next to "Mug" disappears', 'I see "Add" next to "Mug"', 'Tap "Add" next to "Mug"'),
    ],
)
def test_an_ambiguous_anchor_is_ambiguous(sentence: str) -> None:
    found = ground_sentence(sentence, ROWS)
    assert (found.reason, len(found.candidates)) == (RefusalReason.AMBIGUOUS, 2)


@pytest.mark.parametrize(
    ("sentence", "action"),
    [
        ('I do not see "Add" next to "Ada"', Action.ASSERT_NOT_VISIBLE),
        ('I do not see "Remove" next to "Ada"', Action.ASSERT_NOT_VISIBLE),
        ('I do not see "Remove" next to "Eve"', Action.ASSERT_NOT_VISIBLE),
        ('I do not see "Remove" in the third row', Action.ASSERT_NOT_VISIBLE),
        ('I do not see "Remove" next to the person', Action.NONE),
        ('I do not see the trash icon next to "Ada"', Action.NONE),
    ],
)
def test_absence_beside_something_needs_certain_names_at_both_ends(sentence: str, action: Action) -> None:
    assert ground_sentence(sentence, ROWS).action is action


@pytest.mark.parametrize(
    "sentence",
    [
        *('I see "Ada" for 5 seconds', 'Tap "Ada" for 5 seconds', "Verify that only one Remove button is visible"),
        *("I see just a single Mug", "Type nothing into Name", "Open example.com", "Launch www.example.org"),
        *("Launch a new app", "Close the other app", "Scroll to the middle", 'The screen no longer shows "Ada"'),
        *('Wait until "Ada" is visible for 3 seconds', 'Wait until "Eve" is not visible for 3 seconds'),
    ],
)
def test_ambiguous_wording_is_refused(sentence: str) -> None:
    assert ground_sentence(sentence, ROWS).reason is RefusalReason.NEEDS_MODEL


@pytest.mark.parametrize("name", ["com.example.shop", "io.example", "New York Times", "A-Team"])
def test_apps_are_launched_by_their_names(name: str) -> None:
    found = ground_sentence(f"Launch {name}" if "." in name else f"Launch the {name} app", ROWS)
    assert (found.action, found.value) == (Action.LAUNCH_APP, name)


def test_the_element_has_every_attribute_of_the_source() -> None:
    tree = screen(Element(role=Role.BUTTON, text="Pay", attributes={"resource-id": "pay", "custom": "7"}))
    found = ground_sentence("Tap Pay", tree).element
    assert found is not None
    assert dict(found.attributes) == {"resource-id": "pay", "custom": "7"}


WORDS = re.findall(
    r"\S+",
    """tap type see not wait until the is visible enabled into on and if Cart Add 'Log in' "Log in" "x" field button
    second scroll down swipe left 3 seconds press enter check that I , . ( ) don't next to""",
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=80))
def test_any_text_gets_an_action_or_a_reason(sentence: str) -> None:
    found = ground_sentence(sentence, SCREEN)
    if found.action is Action.NONE:
        assert found.reason is not None
        assert found.message
    else:
        assert found.reason is None
    assert found.element is None or found.element in set(walk(SCREEN))


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=string.ascii_letters + " -'&", min_size=1, max_size=30))
def test_a_quoted_name_matches_exactly(name: str) -> None:
    """The quoted name of a button finds it, and nothing where it is not."""
    if not name.strip():
        return
    tree = screen(Element(role=Role.BUTTON, text=name), Element(role=Role.BUTTON, text="\u2603 " + name))
    assert ground_sentence(f'Tap "{name}"', tree).element is tree.children[0]
    assert ground_sentence(f'Tap "{name}"', screen(tree.children[1])).action is Action.NONE
