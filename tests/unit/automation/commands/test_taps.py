"""Where taps go: on lists that still move, on one of several elements, at a point of an element."""

from dataclasses import replace

import pytest

from mobiletest_automation.commands.selector_search import find_by_selector
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.flows.patterns import Pattern
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.keyboard import Keyboard
from mobiletest_automation.model.failures import Category
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Bounds, Element, Point
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.sentences.intents import Action
from mobiletest_automation.steps.device_actions import DeviceActions
from tests.fakes.devices import FakeDevice, button, screen
from tests.unit.automation.attempts import failure_of, pay, run

ORDER = button("Order", bounds=Bounds(100, 500, 100, 40))


class MovingList(FakeDevice):
    """After each swipe, each of the next `readings` of the screen finds everything 12 pixels higher."""

    def __init__(self, *elements: Element, readings: int = 14) -> None:
        super().__init__(screen(*(elements or (ORDER,))))
        self._elements = elements or (ORDER,)
        self._readings = readings
        self._left = 0
        self._offset = 0

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        self._move()
        return await super().tree(css)

    async def screenshot(self) -> bytes:
        self._move()
        return b"picture %d" % self._offset

    def _move(self) -> None:
        if self._left:
            self._left -= 1
            self._offset += 12
            self.show = screen(*(_moved(each, self._offset) for each in self._elements))

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        await super().swipe(start, end, seconds)
        self._left = self._readings

    async def hide_keyboard(self) -> None:
        await super().hide_keyboard()
        self._left = self._readings

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        self._note(f"tap {target.bounds.center.y if isinstance(target, Element) else target.y:g}")

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        await self.tap(target)

    async def type(self, text: str, target: Element | None = None) -> None:
        assert target is not None
        await self.tap(target)


def _moved(element: Element, up: float) -> Element:
    box = element.bounds
    return replace(element, bounds=Bounds(box.x, box.y - up, box.width, box.height))


MOVE = {"swipe": {"direction": "UP"}}
UNTIL = {"scrollUntilVisible": {"element": "Order", "visibilityPercentage": 10}}
AT_REST = 520 - 14 * 12


@pytest.mark.parametrize(
    ("steps", "y"),
    [
        ([MOVE, {"tapOn": "Order"}], AT_REST),
        ([{"swipe": {"start": "50%, 80%", "end": "50%, 20%"}}, {"tapOn": "Order"}], AT_REST),
        ([{"swipe": {"direction": "UP", "from": {"text": "Order", "point": "0%, 0%"}}}, {"tapOn": "Order"}], AT_REST),
        (["scroll", {"doubleTapOn": "Order"}], AT_REST),
        (["hideKeyboard", {"longPressOn": "Order"}], AT_REST),
        ([MOVE, {"assertVisible": "Order"}, {"tapOn": {"text": "Order", "point": "50%, 0%"}}], AT_REST - 20),
        ([MOVE, {"tapOn": {"text": "Order", "waitToSettleTimeoutMs": 9000}}], AT_REST),
        ([MOVE, {"tapOn": {"text": "Order", "retryTapIfNoChange": True}}], AT_REST),
        ([MOVE, {"swipe": {"direction": "LEFT", "from": "Order"}}], AT_REST),
        # A launch begins with a screen that nobody swiped.
        ([MOVE, "launchApp", {"tapOn": "Order"}], 520 - 12),
        # Sentences too, and what types into a field of the list.
        (["Swipe up", 'Tap "Order"'], AT_REST),
        (["Scroll down", 'Double tap "Order"'], AT_REST),
        ([MOVE, 'Long press "Order"'], AT_REST),
        (["Swipe up", {"tapOn": "Order"}], AT_REST),
    ],
    ids=str,
)
async def test_a_tap_after_a_swipe_waits_until_the_element_is_at_rest(steps: list[object], y: float) -> None:
    device = MovingList()
    assert (await run(device, *steps)).failure is None
    acted = next(each for each in device.done if each.startswith(("tap", "swipe 150,")))
    assert acted in (f"tap {y:g}", f"swipe 150,{y:g} 36,{y:g}")


async def test_an_action_that_a_cache_or_a_model_chose_waits_too() -> None:
    device = MovingList()
    watcher = Watcher(device)
    actions = DeviceActions(device, watcher, Keyboard(device, watcher, SecretTexts()))
    await actions.perform(ChosenAction(Action.SWIPE, value="up"))
    seen = find_by_selector(Selector(text=Pattern("Order")), await watcher.look())
    await actions.perform(ChosenAction(Action.TAP, seen[0]))
    assert device.done[-1] == f"tap {AT_REST}"


async def test_only_the_first_tap_after_a_swipe_waits() -> None:
    device = MovingList(readings=0)
    await run(device, MOVE, {"tapOn": "Order"})
    waited = device.timer.now()
    await run(device, MOVE, {"tapOn": "Order"}, {"tapOn": "Order"}, {"tapOn": "Order"})
    assert device.timer.now() == 2 * waited


async def test_a_list_that_never_rests_is_tapped_after_three_seconds() -> None:
    device = MovingList(button("Order", bounds=Bounds(100, 60_000, 100, 40)), readings=10_000)
    result = await run(device, MOVE, {"tapOn": "Order"})
    assert result.failure is None
    assert 3 <= device.timer.now() < 4
    assert device.done[-1] == f"tap {device.show.children[0].bounds.center.y:g}"  # type: ignore[union-attr]


async def test_the_tap_waits_for_the_screen_before_and_after_it_if_it_says_so() -> None:
    device = MovingList(readings=0)
    step = {"tapOn": {"text": "Order", "waitToSettleTimeoutMs": 4000}}
    await run(device, "back", step)
    assert device.timer.now() == pytest.approx(0.4)


async def test_of_several_elements_the_first_at_rest_is_tapped() -> None:
    first, second = button("Order", bounds=Bounds(0, 100, 100, 40)), button("Order", bounds=Bounds(0, 400, 100, 40))
    device = MovingList(first, second)
    result = await run(device, MOVE, {"tapOn": "Order"})
    assert device.done[-1] == f"tap {120 - 14 * 12}"
    assert result.steps[-1].message.startswith('2 elements match, the first is used: button "Order" at 50, ')


ROWS = tuple(button("Add", bounds=Bounds(0, 100 * row, 100, 40), id=f"add{row}") for row in range(9))


@pytest.mark.parametrize(
    "step",
    [
        {"tapOn": "Add"},
        {"longPressOn": "Add"},
        {"doubleTapOn": {"text": "Add", "point": "1, 1"}},
        {"swipe": {"direction": "UP", "from": "Add"}},
        {"copyTextFrom": "Add"},
    ],
)
async def test_a_step_that_acts_names_all_that_match(step: object) -> None:
    result = await run(FakeDevice(screen(*ROWS)), step)
    message = result.steps[0].message
    assert '9 elements match, the first is used: button "Add" at 50, 20; not button "Add" at 50, 120, ' in message
    assert message.endswith("at 50, 420, ...: add an index or a position to choose another")
    alone = await run(FakeDevice(screen(*ROWS)), {"tapOn": {"text": "Add", "index": 0}})
    assert alone.steps[0].message == ""


@pytest.mark.parametrize("point", ["80, 10", "10, 40", "-1, 10", "500, 500"])
@pytest.mark.parametrize("name", ["tapOn", "longPressOn", "doubleTapOn"])
async def test_a_point_outside_of_its_element_is_an_error(name: str, point: str) -> None:
    device = FakeDevice(screen(pay()))
    failure = failure_of(await run(device, {name: {"text": "Pay", "point": point}}))
    assert failure.category is Category.SCRIPT_ERROR
    assert failure.message == f'the point {point} is outside of button "Pay", which is 80 x 40 pixels large'
    assert device.done == ["install"]


async def test_a_swipe_from_a_point_outside_of_its_element_is_an_error() -> None:
    device = FakeDevice(screen(pay()))
    step = {"swipe": {"direction": "UP", "from": {"text": "Pay", "point": "80, 40"}}}
    assert failure_of(await run(device, step)).category is Category.SCRIPT_ERROR
    assert (await run(device, {"tapOn": {"text": "Pay", "point": "79, 39"}})).failure is None
    assert (await run(device, {"tapOn": {"text": "Pay", "point": "100%, 100%"}})).failure is None


async def test_all_taps_of_a_step_are_repeated_if_nothing_changes() -> None:
    device = FakeDevice(screen(pay()))
    result = await run(device, {"tapOn": {"text": "Pay", "repeat": 3, "retryTapIfNoChange": True}})
    assert device.done.count("tap Pay") == 6
    assert "the tap was repeated" in result.steps[0].message


MISSING = screen(Element(id="shelf", children=(button("Rye"),)), Element(id="shelf", children=(button("Sold out"),)))


@pytest.mark.parametrize(
    ("step", "category"),
    [
        ({"tapOn": {"text": "Sold out", "childOf": {"id": "shelves"}}}, Category.ELEMENT_NOT_FOUND),
        ({"assertVisible": {"text": "Sold out", "childOf": {"id": "shelves"}}}, Category.ASSERTION_FAILED),
        ({"extendedWaitUntil": {"visible": {"text": "Sold out", "childOf": {"id": "shelves"}}, "timeout": 10}},
         Category.STEP_TIMEOUT),
        ({"scrollUntilVisible": {"element": {"text": "Sold out", "childOf": {"id": "shelves"}}, "timeout": 10}},
         Category.ELEMENT_NOT_FOUND),
    ],
)  # fmt: skip
async def test_a_failed_step_distinguishes_a_missing_container_from_a_missing_child(
    step: object, category: Category
) -> None:
    failure = failure_of(await run(FakeDevice(MISSING), step))
    assert failure.category is category
    why = 'its container, id "shelves", is not on the screen, but "Sold out" is; did you mean shelf?'
    assert f": {why} On the screen: " in failure.message
    assert failure.reason.endswith(f": {why}")
    child = failure_of(await run(FakeDevice(MISSING), _with_shelf(step)))
    assert "does not contain it, but it is elsewhere on the screen. On the screen: " in child.message


def _with_shelf(step: object) -> object:
    if isinstance(step, dict):
        return {name: _with_shelf(value) for name, value in step.items()}
    return "shelf" if step == "shelves" else step


@pytest.mark.parametrize("name", ["assertNotVisible", "extendedWaitUntil"])
@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"text": "Cake", "childOf": {"id": "shelves"}},
         'its container, id "shelves", is not on the screen; did you mean shelf?'),
        ({"text": "Rye", "below": "Breads"}, 'what it must be below, "Breads", is not on the screen'),
        ({"text": "Cake", "childOf": {"id": "shelf"}}, ""),
        ("Cake", ""),
    ],
)  # fmt: skip
async def test_an_absent_element_with_a_missing_container_is_remarked(
    name: str, selector: object, message: str
) -> None:
    argument = {"notVisible": selector, "timeout": 100} if name == "extendedWaitUntil" else selector
    result = await run(FakeDevice(MISSING), {name: argument})
    assert (result.failure, result.steps[0].message) == (None, message)
