"""A model's action is done on the element that it meant, on the present screen, or not at all."""

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ActionDialog, ModelTask, ScreenView, TaskDone
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Bounds, Element, Point, Role
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.intents import Action
from mobiletest_automation.steps.model_runner import relocate
from tests.fakes.devices import FakeDevice, Target, button, screen
from tests.fakes.models import FakeModel
from tests.unit.automation.attempts import failure_of
from tests.unit.automation.attempts import run_with_model as run


def at(y: float, text: str, **fields: object) -> Element:
    return button(text, bounds=Bounds(0, y, 360, 40), **fields)


def shop(*names: str) -> Element:
    return screen(*(at(100 + 50 * number, name) for number, name in enumerate(names)))


class Touched(FakeDevice):
    """Records where it was tapped."""

    def __init__(self, show: Element) -> None:
        super().__init__(show)
        self.places: list[float] = []

    async def tap(self, target: Target, *, times: int = 1) -> None:
        await super().tap(target)
        self.places.append(target.bounds.y if isinstance(target, Element) else target.y)


class Slow(FakeModel):
    """The screen changes before it answers."""

    def __init__(self, device: FakeDevice, then: Element, action: Action, value: str | None = None) -> None:
        super().__init__()
        self.device, self.then, self.action, self.value = device, then, action, value
        self.happened: list[str] = []

    def start_task(self, task: ModelTask) -> ActionDialog:
        return self

    async def next(self, view: ScreenView, happened: str) -> ChosenAction | TaskDone:
        self.happened.append(happened)
        if len(self.happened) > 1:
            return TaskDone()
        self.device.show = self.then
        pay = next((each for each in view.tree.children if each.text == "Pay"), None)
        return ChosenAction(self.action, None if self.value else pay, self.value)


async def test_an_element_that_moved_while_the_model_thought_is_tapped_at_its_new_place() -> None:
    device = Touched(shop("Pay"))
    result = await run(device, "Buy it", model=Slow(device, shop("Delete account", "Pay"), Action.TAP))
    assert (result.failure, device.done[-1], device.places) == (None, "tap Pay", [150])


async def test_the_model_is_informed_of_an_element_that_disappeared_and_nothing_is_tapped() -> None:
    device = Touched(shop("Pay"))
    model = Slow(device, shop("Delete account"), Action.TAP)
    assert (await run(device, "Buy it", model=model)).failure is None
    assert (device.places, "the screen has changed" in model.happened[1]) == ([], True)


async def test_a_text_that_appeared_while_the_model_thought_is_not_absent() -> None:
    device = FakeDevice(shop("Pay"))
    result = await run(device, "Buy it", model=Slow(device, shop("Pay", "Error"), Action.ASSERT_NOT_VISIBLE, "Error"))
    assert failure_of(result).category is Category.ASSERTION_FAILED


def test_a_point_is_valid_while_the_same_elements_are_there() -> None:
    clock = Element(role=Role.TEXT, text="9:41", bounds=Bounds(0, 0, 50, 20))
    later = Element(role=Role.TEXT, text="9:42", bounds=Bounds(0, 0, 50, 20))
    before = screen(clock, at(100, "Pay"))
    answer = ChosenAction(Action.TAP, point=Point(10, 110))
    assert relocate(answer, before, Outline(screen(later, at(100, "Pay")))) is answer
    assert relocate(answer, before, Outline(screen(later, at(100, "Delete account")))) is None


def test_relocation_finds_the_same_one_of_equal_elements() -> None:
    before, after = shop("Add", "Add"), shop("Add", "Add")
    present = relocate(ChosenAction(Action.TAP, before.children[1]), before, Outline(after))
    assert present == ChosenAction(Action.TAP, after.children[1])
    assert relocate(ChosenAction(Action.TAP, before.children[1]), before, Outline(shop("Add", "Add", "Add"))) is None
