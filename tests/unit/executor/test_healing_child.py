"""Proposals as a child process makes them."""

from dataclasses import replace
from typing import Any

import pytest

from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.identity import as_bound, identity_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.stored_trees import encode_tree
from services.executor.healing_child import NO_STEP, NOT_CERTAIN, UNREADABLE, VARIABLES, propose_step
from services.executor.healing_pool import HealingPool, pack_request, unpack_request
from services.executor.model.step_proposals import HealingRequest, StepProposal

TITLE = Element(role=Role.HEADING, text="Checkout", id="title", bounds=Bounds(0, 0, 100, 20))
PAY = Element(role=Role.BUTTON, text="Pay", id="main", bounds=Bounds(0, 80, 100, 20))
HELP = Element(role=Role.LINK, text="Help", id="help", bounds=Bounds(0, 120, 100, 20))
STEPS: tuple[Any, ...] = ("Launch the app", {"repeat": {"times": 2, "commands": ["back", {"tapOn": "Pay"}]}})
PATH = "steps[1].repeat.commands[1]"


def screen(*children: Element) -> Element:
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), children=children)


BEFORE = screen(TITLE, PAY, HELP)
AFTER = screen(TITLE, replace(PAY, text="Buy now"), HELP)
BOUND = as_bound(identity_of(PAY, Outline(BEFORE)), BEFORE.bounds)
REQUEST = HealingRequest(
    steps=STEPS,
    path=PATH,
    platform="android",
    past=((BOUND, 1), (BOUND, 1)),
    trees=(encode_tree(AFTER), encode_tree(BEFORE)),
)


def test_a_step_inside_another_is_proposed_with_its_path() -> None:
    proposal = propose_step(unpack_request(pack_request(REQUEST)))
    assert isinstance(proposal, StepProposal)
    assert (proposal.path, proposal.old_step) == (PATH, {"tapOn": "Pay"})
    assert (proposal.step, proposal.line) == ({"tapOn": "Buy now"}, "- tapOn: Buy now")
    assert (proposal.element.id, proposal.element.text) == ("main", "Buy now")
    assert (proposal.past_screens, proposal.held_screens) == (2, 0)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (replace(REQUEST, path="steps[7]"), NO_STEP),
        (replace(REQUEST, steps=({"nonsense": 1},)), NO_STEP),
        (replace(REQUEST, steps=({"tapOn": "${NAME}"},), path="steps[0]"), VARIABLES),
        (replace(REQUEST, trees=(b"x", encode_tree(BEFORE))), UNREADABLE),
        (replace(REQUEST, trees=(encode_tree(BEFORE),) * 2), NOT_CERTAIN),
        # The element is elsewhere on the screen of the pass, so it may be another one.
        (replace(REQUEST, past=((replace(BOUND, path="list[0]/button[0]"), 1),)), NOT_CERTAIN),
    ],
)
def test_nothing_is_proposed_where_it_is_not_certain(request_: HealingRequest, reason: str) -> None:
    assert propose_step(request_) == reason


async def test_a_child_process_makes_the_proposal() -> None:
    pool = HealingPool()
    assert await pool.propose("org", REQUEST) == propose_step(REQUEST)
    assert await pool.propose("org", replace(REQUEST, steps=())) == NO_STEP
    await pool.close()
