"""Carries out the commands that hold no other steps."""

from services.executor.automation.deeds import Deed
from services.executor.automation.devices import Device
from services.executor.automation.elements import Element
from services.executor.automation.failing import not_found, not_visible, still_visible
from services.executor.automation.gestures import point, scroll, swipe
from services.executor.automation.selecting import select
from services.executor.automation.sentences.intents import Action
from services.executor.automation.sentences.matching import Outline
from services.executor.automation.watching import Watcher
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category
from services.flows.actions import (
    AssertNotVisible,
    AssertVisible,
    Back,
    EraseText,
    ExtendedWaitUntil,
    InputText,
    LaunchApp,
    Scroll,
    StopApp,
    Swipe,
    TakeScreenshot,
    TapOn,
)
from services.flows.commands import Command
from services.flows.expressions import true_of
from services.flows.selectors import Condition, Selector
from services.flows.variables import Memory

CONDITION_SECONDS = 3.0
"""How long something may take to appear before a condition does not hold."""


class Commander:
    """Does what a command says, waiting up to `seconds` for what it needs. Raises StepFailed and DeviceFailure."""

    def __init__(
        self,
        device: Device,
        watcher: Watcher,
        platform: str,
        memory: Memory,
        *,
        own_ids: frozenset[str] = frozenset(),
        seconds: float,
    ) -> None:
        """`own_ids` are the ids that mean the app under test."""
        self._memory = memory
        self._own_ids = own_ids
        self._device = device
        self._watcher = watcher
        self._platform = platform
        self._seconds = seconds

    async def do(self, command: Command) -> Deed:
        match command:
            case TapOn(selector) if selector is not None:
                element = await self._found(selector)
                await self._device.tap(element)
                return _deed(Action.TAP, element)
            case InputText(text):
                await self._device.type(text)
                return _deed(Action.TYPE)
            case EraseText(characters):
                await self._device.clear(characters=characters)
                return _deed(Action.CLEAR)
            case AssertVisible(selector):
                return await self._seen(selector, self._seconds, Category.ASSERTION_FAILED)
            case AssertNotVisible(selector):
                return await self._gone(selector, self._seconds, Category.ASSERTION_FAILED)
            case ExtendedWaitUntil():
                return await self._waited(command)
            case Swipe():
                return await self._swiped(command)
            case _:
                return await self._simple(command)

    async def _simple(self, command: Command) -> Deed:
        match command:
            case LaunchApp(app_id, clear_state, stop_app):
                await self._device.launch(app_id, clear_state=clear_state, stop_first=stop_app)
                return _deed(Action.LAUNCH_APP)
            case StopApp(app_id):
                await self._device.stop(app_id)
                return _deed(Action.STOP_APP)
            case Back():
                await self._device.back()
                return _deed(Action.BACK)
            case Scroll():
                await scroll(self._device, "down")
                return _deed(Action.SCROLL)
            case TakeScreenshot(name):
                picture = await self._device.screenshot()
                return Deed(action=Action.SCREENSHOT, resolution=Resolution.COMMAND, picture=picture, name=name)
            case _:
                raise AssertionError(f"{type(command).__name__} is no command of its own")

    async def holds(self, condition: Condition) -> bool:
        """Whether a condition holds; the screen gets a moment to become what it is going to be."""
        if condition.platform is not None and condition.platform != self._platform:
            return False
        if condition.truth is not None and not true_of(condition.truth):
            return False
        if condition.visible is not None:
            seconds = min(CONDITION_SECONDS, self._seconds)
            if await self._watcher.until(_First(condition.visible), seconds) is None:
                return False
        return condition.not_visible is None or await self._watcher.until_gone(_First(condition.not_visible), 0) is None

    async def _found(self, selector: Selector) -> Element:
        element = await self._watcher.until(_First(selector), self._seconds)
        if element is None:
            raise not_found(str(selector), self._seconds, self._watcher.seen)
        return element

    async def _seen(self, selector: Selector, seconds: float, category: Category) -> Deed:
        element = await self._watcher.until(_First(selector), seconds)
        if element is None:
            raise not_visible(str(selector), seconds, self._watcher.seen, category)
        return _deed(Action.ASSERT_VISIBLE, element)

    async def _gone(self, selector: Selector, seconds: float, category: Category) -> Deed:
        element = await self._watcher.until_gone(_First(selector), seconds)
        if element is not None:
            raise still_visible(str(selector), seconds, element, category)
        return _deed(Action.ASSERT_NOT_VISIBLE)

    async def _waited(self, command: ExtendedWaitUntil) -> Deed:
        seconds = self._seconds if command.timeout_seconds is None else command.timeout_seconds
        deed = _deed(Action.WAIT_FOR)
        if command.visible is not None:
            deed = await self._seen(command.visible, seconds, Category.STEP_TIMEOUT)
        if command.not_visible is not None:
            await self._gone(command.not_visible, seconds, Category.STEP_TIMEOUT)
        return _deed(Action.WAIT_FOR, deed.element)

    async def _swiped(self, command: Swipe) -> Deed:
        if command.direction is not None:
            source = await self._found(command.source) if command.source is not None else None
            await swipe(self._device, command.direction, source=source, seconds=command.seconds)
            return _deed(Action.SWIPE, source)
        screen = (await self._watcher.look()).root.bounds
        if command.start is not None and command.end is not None:
            await self._device.swipe(point(command.start, screen), point(command.end, screen), command.seconds)
        return _deed(Action.SWIPE)


def _deed(action: Action, element: Element | None = None) -> Deed:
    return Deed(action=action, resolution=Resolution.COMMAND, element=element)


class _First:
    """The element that a selector means on a screen, if there is one."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector

    def __call__(self, outline: Outline) -> Element | None:
        found = select(self._selector, outline)
        return found[0] if found else None
