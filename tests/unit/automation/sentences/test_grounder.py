"""The grounder never guesses, explains refusals, and returns elements with all their attributes."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobiletest_automation.screen.elements import Bounds, Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounder import ground_sentence
from mobiletest_automation.sentences.grounding import RefusalReason
from mobiletest_automation.sentences.intents import Action
from tests.examples import examples
from tests.unit.automation.sentences.test_real_screens import CORPUS
from tests.unit.automation.sentences.test_real_screens import screen as screen_of

SCREEN = screen_of(CORPUS / "shop.html")


def screen(*children: Element) -> Element:
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, 360, 640), children=children)


def button(text: str, identifier: str = "", y: float = 0, x: float = 0) -> Element:
    return Element(role=Role.BUTTON, text=text, id=identifier, bounds=Bounds(x, y, 100, 20))


def text(shown: str, identifier: str = "") -> Element:
    return Element(role=Role.TEXT, text=shown, id=identifier)


def row(name: str, *buttons: str, y: float) -> Element:
    texts = (Element(role=Role.TEXT, text=name, bounds=Bounds(0, y, 90, 40)),)
    held = (Element(role=Role.BUTTON, text=text, bounds=Bounds(100, y, 90, 40)) for text in buttons)
    return Element(role=Role.CELL, bounds=Bounds(0, y, 360, 40), children=(*texts, *held))


ROWS = screen(row("Mug", "Add", y=0), row("Mug", "Add", y=50), row("Ada", "Remove", y=100))
CASES = screen(button("ok"), button("OK"))
MESSAGES = [
    Element(role=Role.CELL, id=f"com.example:id/{kind}", text=f"{kind} {n}")
    for n, kind in enumerate(("folder", "advice", "message", "message"))
]
MIXED, PLAIN = (screen(Element(role=Role.LIST, children=tuple(shown))) for shown in (MESSAGES, MESSAGES[2:]))
WORDS_AS_IDS = screen(button("", "com.shop:id/addToCart"), button("", "log-out"))
ON_IT = text("Pay")
LABELLED = Element(role=Role.BUTTON, label="Pay", children=(ON_IT,))
HEADING = Element(role=Role.HEADING, text="Pay")
HIDDEN = Element(role=Role.OTHER, visible=False, children=(button("Pay"),))
CONTAINER = Element(role=Role.OTHER, id="checkout", children=(text("Delete all"),))
FIELD = Element(role=Role.FIELD, id="x1")
ERROR = screen(text("Error: no connection"))
ADA = Element(role=Role.TEXT, text="Ada", bounds=Bounds(0, 0, 200, 20))
NEAR = button("Edit", y=30)
AMBIGUOUS, NOT_FOUND = RefusalReason.AMBIGUOUS, RefusalReason.NOT_FOUND


@pytest.mark.parametrize(
    ("tree", "sentence", "expected"),
    [
        # Exact beats case insensitive.
        (CASES, "Tap OK", CASES.children[1]),
        (CASES, "Tap ok", CASES.children[0]),
        (CASES, "Tap Ok", AMBIGUOUS),
        # Rows are counted where all are of one kind: a list of messages may begin with advice.
        (MIXED, "Tap the first message", AMBIGUOUS),
        (PLAIN, "Tap the first message", MESSAGES[2]),
        # A text beats an id; ids are read as words.
        (screen(button("Later", "send"), send := button("Send", "later")), "Tap Send", send),
        (WORDS_AS_IDS, "Tap add to cart", WORDS_AS_IDS.children[0]),
        (WORDS_AS_IDS, "Tap the log out button", WORDS_AS_IDS.children[1]),
        # A button and the text on it are one thing.
        (screen(LABELLED), "Tap Pay", LABELLED),
        (screen(Element(role=Role.OTHER, label="Pay", children=(ON_IT,))), "Tap Pay", ON_IT),
        # Neither a heading, nor what is hidden, nor a container that is found by its id only is tapped.
        (screen(HEADING, pay := button("Pay")), "Tap Pay", pay),
        (screen(HEADING), "Tap Pay", NOT_FOUND),
        (screen(HIDDEN), "Tap Pay", NOT_FOUND),
        (screen(CONTAINER), "Tap checkout", NOT_FOUND),
        # A quoted text in a check is never an id.
        (screen(text("", "error")), 'I see "error"', None),
        (screen(text("", "error")), 'I do not see "error"', None),
        # A field is found by the text before it and by the label of its box; "first name" is no first "Name".
        (screen(text("Postcode"), FIELD), 'Type "AB1" into Postcode', FIELD),
        (screen(Element(role=Role.OTHER, label="Postcode", children=(FIELD,))), 'Type "AB1" into Postcode', FIELD),
        (screen(Element(role=Role.FIELD, label="Name")), 'Type "Ada" into the first name field', NOT_FOUND),
        # A word of a text is not certainly absent.
        (ERROR, 'I do not see "Error"', AMBIGUOUS),
        (ERROR, 'I do not see "Err"', None),
        (ERROR, 'I do not see a text containing "Error"', ERROR.children[0]),
        # Below means the nearest; equal distances are ambiguous.
        (screen(ADA, button("Edit", y=90), NEAR), 'Tap "Edit" below "Ada"', NEAR),
        (screen(ADA, NEAR, button("Edit", y=30, x=100)), 'Tap "Edit" below "Ada"', AMBIGUOUS),
        (screen(ADA, NEAR), 'Tap "Edit" above "Ada"', NOT_FOUND),
    ],
)
def test_which_element_is_meant(tree: Element, sentence: str, expected: Element | RefusalReason | None) -> None:
    grounding = ground_sentence(sentence, tree)
    assert (grounding.element if grounding.reason is None else grounding.reason) is expected
    assert (grounding.action is Action.NONE) is (grounding.reason is not None)


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
    grounding = ground_sentence('Tap the "x" button inside "anchor"', tree)
    assert grounding.reason is RefusalReason.AMBIGUOUS
    assert len(calls) < 20 * 50


def test_all_matches_are_candidates() -> None:
    grounding = ground_sentence('Tap "Add"', SCREEN)
    assert (grounding.action, grounding.reason) == (Action.NONE, RefusalReason.AMBIGUOUS)
    assert [element.id for element in grounding.candidates] == ["add_b", "add_r"]
    assert 'button "Add"' in grounding.message


def test_checking_a_checked_box_does_nothing() -> None:
    tree = screen(Element(role=Role.CHECKBOX, text="News", checked=True))
    grounding = ground_sentence("Check News", tree)
    assert (grounding.action, grounding.message) == (Action.ASSERT_CHECKED, "it is already checked")


@pytest.mark.parametrize(
    "sentence",
    [
        *('I do not see "Add" next to "Mug"', 'There is no "Add" button in the "Mug" row'),
        *('Wait until "Add" next to "Mug" disappears', 'I see "Add" next to "Mug"', 'Tap "Add" next to "Mug"'),
    ],
)
def test_an_ambiguous_anchor_is_ambiguous(sentence: str) -> None:
    grounding = ground_sentence(sentence, ROWS)
    assert (grounding.reason, len(grounding.candidates)) == (RefusalReason.AMBIGUOUS, 2)


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
    grounding = ground_sentence(f"Launch {name}" if "." in name else f"Launch the {name} app", ROWS)
    assert (grounding.action, grounding.value) == (Action.LAUNCH_APP, name)


WORDS = re.findall(
    r"\S+",
    """tap type see not wait until the is visible enabled into on and if Cart Add 'Log in' "Log in" "x" field button
    second scroll down swipe left 3 seconds press enter check that I , . ( ) don't next to""",
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=80))
def test_any_text_gets_an_action_or_a_reason(sentence: str) -> None:
    grounding = ground_sentence(sentence, SCREEN)
    if grounding.action is Action.NONE:
        assert grounding.reason is not None
        assert grounding.message
    else:
        assert grounding.reason is None
    assert grounding.element is None or grounding.element in set(walk(SCREEN))


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=string.ascii_letters + " -'&", min_size=1, max_size=30))
def test_a_quoted_name_matches_exactly(name: str) -> None:
    """The quoted name of a button finds it, and nothing where it is not."""
    if not name.strip():
        return
    tree = screen(Element(role=Role.BUTTON, text=name), Element(role=Role.BUTTON, text="\u2603 " + name))
    assert ground_sentence(f'Tap "{name}"', tree).element is tree.children[0]
    assert ground_sentence(f'Tap "{name}"', screen(tree.children[1])).action is Action.NONE
