from dataclasses import replace

import pytest

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.steps import Step
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.stored_trees import encode_tree
from mobiletest_automation.steps.resolution_policy import ResolutionPolicy
from mobiletest_automation.stored_screens import limits
from mobiletest_automation.stored_screens.device import ON_DEVICE, OUTSIDE, PICTURE, SCROLLING
from mobiletest_automation.stored_screens.recheck import Recheck, recheck
from mobiletest_automation.stored_screens.report import (
    NOT_REACHED,
    SCREENS_LIMIT,
    UNREADABLE,
    RecheckReport,
    StoredScreen,
    recheck_all,
)
from mobiletest_automation.stored_screens.verdict import Verdict

HOLDS, FAILS, UNKNOWN = Verdict
WITH_MODEL = ResolutionPolicy(fallback=True)


def element(role: Role, text: str, y: float, **more: object) -> Element:
    return Element(role=role, text=text, bounds=Bounds(0, y, 100, 20), **more)  # type: ignore[arg-type]


def screen(*children: Element) -> Element:
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), children=children)


CART = screen(
    element(Role.TEXT, "Total: $12", 0, id="total"),
    element(Role.BUTTON, "Remove", 40),
    element(Role.BUTTON, "Remove", 80),
    element(Role.BUTTON, "Pay", 120, id="pay"),
    element(Role.BUTTON, "Send", 160, enabled=False),
)
EMPTY = screen(element(Role.TEXT, "Your cart is empty", 0))


def parse(step: object) -> Step:
    return parse_flow([step]).steps[0]


def check(step: object, shown: Element = CART, **how: object) -> Recheck:
    return recheck(parse(step), Outline(shown), **how)  # type: ignore[arg-type]


def words(answer: Recheck) -> tuple[str, str]:
    return answer.verdict, answer.reason


@pytest.mark.parametrize(
    "step", ['Tap "Pay"', {"tapOn": {"id": "pay"}}, {"runFlow": {"when": {"visible": "Pay"}, "commands": ["back"]}}]
)
def test_a_step_that_holds_says_what_it_binds(step: object) -> None:
    answer = check(step)
    assert answer.verdict is HOLDS
    assert answer.element is CART.children[3]
    assert answer.identity is not None
    assert (answer.identity.id, answer.identity.text) == ("pay", "Pay")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ('Tap "Buy"', '"Buy" was not found'),
        ('Tap "Send"', 'button "Send" was disabled'),
        ('I do not see "Pay"', '"Pay" was still visible'),
        ('"Total: $12" shows "$13"', None),
        ('Tap "Remove"', None),
        ("Please do whatever is right", None),
        ({"tapOn": "Buy"}, '"Buy" was not found'),
        (
            {"tapOn": {"text": "Pay", "below": "Cost"}},
            '"Pay", below ("Cost") was not found: what it must be below, "Cost", is not on the screen',
        ),
        ({"tapOn": {"id": "pay", "point": "500,1"}}, None),
        ({"assertNotVisible": "P.*"}, '"P.*" was still visible'),
        ({"extendedWaitUntil": {"visible": "Thanks", "timeout": 60000}}, '"Thanks" did not appear'),
        ({"runFlow": {"when": {"visible": "Buy"}, "commands": ["back"]}}, "its condition does not hold"),
        ({"runFlow": {"when": {"platform": "iOS"}, "commands": ["back"]}}, "its condition does not hold"),
    ],
    ids=str,
)
def test_a_step_that_fails_says_why_as_a_run_does(step: object, reason: str | None) -> None:
    answer = check(step)
    assert answer.verdict is FAILS
    assert answer.reason
    assert reason in (None, answer.reason)


def test_a_refused_sentence_names_the_elements_between_which_it_does_not_choose() -> None:
    assert '2 elements match "Remove"' in check('Tap "Remove"').reason


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("Go back", ON_DEVICE),
        ("Swipe up", ON_DEVICE),
        ("Launch the app", ON_DEVICE),
        ("Wait 3 seconds", limits.TIMING),
        ("Take a screenshot", PICTURE),
        ('Scroll until "Help" is visible', SCROLLING),
        ('Tap "${NAME}"', limits.WITHOUT_VALUE),
        ("back", ON_DEVICE),
        ("scroll", ON_DEVICE),
        ({"tapOn": {"point": "50%,50%"}}, ON_DEVICE),
        ({"inputText": "Ada"}, ON_DEVICE),
        ({"launchApp": "com.shop"}, ON_DEVICE),
        ({"tapOn": "${NAME}"}, limits.WITHOUT_VALUE),
        ({"tapOn": {"css": "button"}}, limits.CSS),
        ({"tapOn": {"text": "Pay", "below": {"css": "h1"}}}, limits.CSS),
        ({"runFlow": {"when": {"visible": {"css": "button"}}, "commands": ["back"]}}, limits.CSS),
        ({"scrollUntilVisible": {"element": "Help"}}, SCROLLING),
        ({"swipe": {"direction": "UP"}}, ON_DEVICE),
        ({"takeScreenshot": "cart"}, PICTURE),
        ({"assertScreenshot": {"path": "cart", "cropOn": "Pay"}}, PICTURE),
        ({"assertTrue": "${1 == 1}"}, limits.WITHOUT_VALUE),
        ({"assertTrue": "yes"}, limits.VALUE),
        ("waitForAnimationToEnd", limits.TIMING),
        ({"evalScript": "${1}"}, limits.SCRIPT),
        ({"assertWithAI": {"assertion": "It looks good"}}, limits.MODEL),
        ({"repeat": {"times": 2, "commands": ["back"]}}, limits.WITHOUT_CONDITION),
        ({"retry": {"commands": ["back"]}}, limits.WITHOUT_CONDITION),
        ({"extendedWaitUntil": {"visible": "Loading", "notVisible": "Pay", "timeout": 100}}, limits.TIMING),
        ({"runFlow": {"when": {"visible": "Loading", "notVisible": "Buy"}, "commands": ["back"]}}, limits.TIMING),
    ],
    ids=str,
)
def test_what_a_stored_screen_cannot_tell_is_not_known(step: object, why: str) -> None:
    assert words(check(step)) == (UNKNOWN, why)


def test_a_swipe_from_outside_of_the_screen_is_not_known() -> None:
    below = screen(element(Role.LIST, "Orders", 700, children=(element(Role.TEXT, "Old", 740),)))
    tall = replace(below, children=(replace(below.children[0], bounds=Bounds(0, 700, 100, 900)),))
    step = {"swipe": {"direction": "UP", "from": {"text": "Orders", "containsChild": "Old"}}}
    assert [words(check(step, shown)) for shown in (below, tall)] == [(HOLDS, ""), (UNKNOWN, OUTSIDE)]


@pytest.mark.parametrize("step", ['Tap "Buy"', 'Tap "Remove"', "Please do whatever is right"])
def test_what_a_model_may_still_do_is_not_known(step: str) -> None:
    assert check(step, policy=WITH_MODEL).verdict is UNKNOWN
    assert check('Tap "Pay"', policy=WITH_MODEL).verdict is HOLDS
    assert check('I see "Buy"', policy=WITH_MODEL).verdict is FAILS


def test_what_may_be_a_masked_text_is_not_known() -> None:
    masked = screen(element(Role.TEXT, "Hello ${PASSWORD}", 0), *CART.children)
    for step in (
        'Tap "Buy"',
        'I do not see "Hello Ada"',
        {"tapOn": "Hello.*"},
        {"assertVisible": "H.*"},
        {"tapOn": {"text": "Remove", "index": 1}},
    ):
        assert words(check(step, masked)) == (UNKNOWN, limits.MASKED)
    for step in ('Tap "Pay"', {"tapOn": "Pay"}, {"assertVisible": {"id": "pay", "enabled": True}}):
        assert check(step, masked).verdict is HOLDS


# A report.


def stored(number: int, tree: Element = CART, step: str = "Pay") -> StoredScreen:
    return StoredScreen(id=f"{step} {number}", step=step, platform="android", tree=encode_tree(tree))


def report(step: object, own: list[StoredScreen], others: list[StoredScreen]) -> RecheckReport:
    return recheck_all(parse(step), own, others)


def test_a_report_counts_screens_of_the_step_and_of_others() -> None:
    unreadable = replace(stored(3), tree=b"no tree")
    answer = report(
        'I see "Pay"', [stored(1), stored(2, EMPTY), unreadable], [stored(1, step="Back"), stored(2, EMPTY, "Back")]
    )
    assert [answer.own[each] for each in Verdict] == [1, 1, 1]
    assert [answer.others[each] for each in Verdict] == [1, 1, 0]
    assert (answer.holds_at, answer.asserts_nothing) == ({"Back": 1}, False)
    assert words(answer.verdicts["Pay 3"]) == (UNKNOWN, UNREADABLE)
    assert all(each.element is None for each in answer.verdicts.values())


@pytest.mark.parametrize(
    ("step", "nothing"),
    [
        ('I see a text containing "t"', True),
        ({"assertNotVisible": "Error"}, True),
        ({"assertVisible": "Pay"}, False),
        ({"runFlow": {"when": {"visible": ".*"}, "commands": ["back"]}}, True),
        ('Tap "Pay"', None),
        ({"tapOn": ".*"}, None),
        ({"assertTrue": "yes"}, None),
    ],
    ids=str,
)
def test_a_check_that_holds_on_all_other_screens_asserts_nothing(step: object, nothing: bool | None) -> None:
    assert report(step, [], [stored(1, step="Back"), stored(2, EMPTY, "Help")]).asserts_nothing is nothing


def test_the_newest_screens_are_checked() -> None:
    answer = report('Tap "Pay"', [stored(number) for number in range(SCREENS_LIMIT + 9)], [])
    assert sum(answer.own.values()) == SCREENS_LIMIT
    assert "Pay 0" in answer.verdicts


def test_screens_for_which_there_is_no_time_are_not_known() -> None:
    trees = [screen(element(Role.BUTTON, "Pay", y)) for y in range(4)]
    clock = iter(range(0, 100, 3))
    own = [stored(number, tree) for number, tree in enumerate([*trees, trees[0]])]
    answer = recheck_all(parse('Tap "Pay"'), own, [], seconds=10, now=lambda: next(clock))
    assert [answer.own[each] for each in Verdict] == [4, 0, 1]
    assert words(answer.verdicts["Pay 3"]) == (UNKNOWN, NOT_REACHED)
