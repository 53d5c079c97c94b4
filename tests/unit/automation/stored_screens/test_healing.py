from dataclasses import replace

import pytest

from mobiletest_automation.flows.loader import Json
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.identity import identity_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.stored_screens.healing import PastBinding, propose
from mobiletest_automation.stored_screens.wordings import as_line
from tests.unit.automation.stored_screens.mutations import CHANGES, REMOVALS, heal

PLACES = ("title", "name", "main", "help", "cancel")


def element(role: Role, text: str, id: str = "", **more: object) -> Element:
    y = 40 * PLACES.index(id) if id in PLACES else 400
    shown = {"label" if role is Role.FIELD else "text": text}
    return Element(role=role, id=id, bounds=Bounds(0, y, 100, 20), **shown, **more)  # type: ignore[arg-type]


TITLE = element(Role.HEADING, "Checkout", "title")
NAME = element(Role.FIELD, "Full name", "name")
PAY = element(Role.BUTTON, "Pay", "main")
HELP = element(Role.LINK, "Help", "help")
CANCEL = element(Role.BUTTON, "Cancel", "cancel")


def outline(*children: Element) -> Outline:
    return Outline(Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), children=children))


CHECKOUT = outline(TITLE, NAME, PAY, HELP, CANCEL)


def past(bound: Element = PAY, screen: Outline = CHECKOUT) -> list[PastBinding]:
    return [PastBinding(identity_of(bound, screen), screen)] * 3


def proposed(step: Json, *now: Element, bound: Element = PAY) -> Json:
    proposal = propose(step, outline(*now), past(bound))
    return None if proposal is None else proposal.step


@pytest.mark.parametrize(
    ("step", "new"),
    [
        ('Tap "Pay"', 'Tap "Buy now"'),
        ("Tap Pay", "Tap Buy now"),
        ('Tap the "Pay" button', 'Tap the "Buy now" button'),
        ('Then tap "Pay", please', 'Then tap "Buy now", please'),
        ('Tap "Pay" below "Full name"', 'Tap "Buy now" below "Full name"'),
        ({"tapOn": "Pay"}, {"tapOn": "Buy now"}),
        (
            {"tapOn": {"text": "Pay", "retryTapIfNoChange": True}},
            {"tapOn": {"text": "Buy now", "retryTapIfNoChange": True}},
        ),
        ({"tapOn": {"text": "Pay", "enabled": True}}, {"tapOn": {"text": "Buy now", "enabled": True}}),
        ({"tapOn": {"text": "Pay", "id": "main"}}, {"tapOn": {"text": "Buy now", "id": "main"}}),
        ({"swipe": {"direction": "LEFT", "from": "Pay"}}, {"swipe": {"direction": "LEFT", "from": "Buy now"}}),
    ],
    ids=str,
)
def test_a_renamed_element_is_named_in_the_style_of_the_step(step: Json, new: Json) -> None:
    assert proposed(step, TITLE, NAME, replace(PAY, text="Buy now"), HELP, CANCEL) == new


def test_a_field_is_named_by_its_label_and_the_typed_text_stays() -> None:
    step = 'Type "Full name" into "Full name"'
    now = (TITLE, replace(NAME, label="Your name"), PAY, HELP, CANCEL)
    assert proposed(step, *now, bound=NAME) == 'Type "Full name" into "Your name"'


def test_a_renamed_id_is_replaced_if_the_text_and_place_are_as_before() -> None:
    now = replace(PAY, id="buy")
    assert proposed({"tapOn": {"id": "main"}}, TITLE, NAME, now, HELP, CANCEL) == {"tapOn": {"id": "buy"}}
    elsewhere = replace(now, bounds=Bounds(0, 600, 100, 20))
    assert proposed({"tapOn": {"id": "main"}}, TITLE, NAME, elsewhere, HELP, CANCEL) is None


def test_a_name_with_a_number_is_replaced_by_the_id() -> None:
    now = replace(PAY, text="Pay 12 € now")
    assert proposed('Tap "Pay"', TITLE, NAME, now, HELP, CANCEL) == 'Tap the element with id "main"'


def test_a_proposal_says_what_the_element_was_and_why_it_is_the_same() -> None:
    proposal = propose({"tapOn": {"id": "main"}}, outline(TITLE, NAME, replace(PAY, id="buy"), HELP, CANCEL), past())
    assert proposal is not None
    assert (proposal.line, proposal.identity.id) == ("- tapOn: {id: buy}", "buy")
    assert proposal.why == (
        'button "Pay" (id main) is now button "Pay" (id buy): only it has this text, in the same place as before'
    )


@pytest.mark.parametrize(("text", "held"), [("Buy now", 0), ("Pay 12 € now", 3)])
def test_a_proposal_says_on_how_many_past_screens_it_binds_the_element(text: str, held: int) -> None:
    """By its new name on none of the three; by its id, which has stayed, on all."""
    proposal = propose('Tap "Pay"', outline(TITLE, NAME, replace(PAY, text=text), HELP, CANCEL), past())
    assert proposal is not None
    assert proposal.held_screens == held


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ('"Pay" is enabled', "- '\"Pay\" is enabled'"),
        ('Tap "Pay"', '- Tap "Pay"'),
        ({"tapOn": "Pay"}, "- tapOn: Pay"),
        ("back", "- back"),
    ],
)
def test_a_step_is_written_as_a_line_of_a_flow(step: Json, line: str) -> None:
    assert as_line(step) == line


BUY = replace(PAY, text="Buy now")


@pytest.mark.parametrize(
    "now",
    [
        (TITLE, NAME, HELP, CANCEL),
        # Another one, with a similar text and id, in the same place.
        (TITLE, NAME, replace(PAY, text="Pay later", id="pay_later"), HELP, CANCEL),
        # Its id belongs to something of another kind and name, or to two.
        (TITLE, NAME, replace(PAY, role=Role.TEXT, text="Sold out"), HELP, CANCEL),
        (TITLE, NAME, BUY, replace(BUY, text="Buy later"), HELP, CANCEL),
        # Another screen.
        (element(Role.HEADING, "Cart"), BUY, element(Role.BUTTON, "Keep shopping"), element(Role.TEXT, "Total")),
        # It is there, but disabled: the step found it.
        (TITLE, NAME, replace(PAY, enabled=False), HELP, CANCEL),
        # The step does not fail.
        (TITLE, NAME, PAY, HELP, CANCEL),
        # The new name was that of another element before.
        (TITLE, NAME, replace(PAY, text="Help", id="buy"), CANCEL),
    ],
)
def test_nothing_is_proposed_where_it_is_not_certain(now: tuple[Element, ...]) -> None:
    assert proposed('Tap "Pay"', *now) is None


@pytest.mark.parametrize(
    "step",
    [
        *('I see "Pay"', '"Pay" is enabled', 'I do not see "Buy now"', "Go back", 'Tap "${NAME}"', "", 7),
        *({"assertVisible": "Pay"}, {"scrollUntilVisible": {"element": "Pay"}}, {"tapOn": {"css": "button"}}, "back"),
        {"runFlow": {"when": {"visible": "Pay"}, "commands": ["back"]}},
    ],
    ids=str,
)
def test_only_actions_on_elements_are_reworded(step: Json) -> None:
    assert proposed(step, TITLE, NAME, BUY, HELP, CANCEL) is None


def test_a_step_that_bound_several_elements_has_no_proposal() -> None:
    bindings = [*past(), *past(CANCEL)]
    assert propose('Tap "Pay"', outline(TITLE, NAME, BUY, HELP, CANCEL), bindings) is None
    assert propose('Tap "Pay"', outline(TITLE, NAME, BUY, HELP, CANCEL), []) is None


async def test_on_changed_app_models_no_proposal_is_wrong_and_most_are_there() -> None:
    healing = await heal(seed=2027, cases=84)
    assert healing.wrong == []
    assert healing.share >= 0.7
    assert set(healing.cases) == {*CHANGES, *REMOVALS}
