"""What every command needs: the device, its screen, the variables that steps share, and the name of its action."""

from collections.abc import Mapping
from dataclasses import dataclass

from services.executor.automation.commands.selector_search import SIMPLER_SELECTOR_HINT, find_by_selector
from services.executor.automation.devices.port import Device
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.outcome import StepFailed, StepOutcome, not_found_error
from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category
from services.flows import command_types
from services.flows.command_types import BaseCommand
from services.flows.patterns import WorkBudgetExceeded
from services.flows.selectors import Selector
from services.flows.variables import BuiltInVariables

_ACTIONS: Mapping[type[BaseCommand], Action] = {
    command_types.TapOn: Action.TAP,
    command_types.DoubleTapOn: Action.DOUBLE_TAP,
    command_types.LongPressOn: Action.LONG_PRESS,
    command_types.InputText: Action.TYPE,
    command_types.PasteText: Action.TYPE,
    command_types.EraseText: Action.CLEAR,
    command_types.PressKey: Action.PRESS_KEY,
    command_types.Back: Action.BACK,
    command_types.HideKeyboard: Action.HIDE_KEYBOARD,
    command_types.Swipe: Action.SWIPE,
    command_types.Scroll: Action.SCROLL,
    command_types.ScrollUntilVisible: Action.SCROLL_UNTIL_VISIBLE,
    command_types.AssertVisible: Action.ASSERT_VISIBLE,
    command_types.AssertNotVisible: Action.ASSERT_NOT_VISIBLE,
    command_types.AssertTrue: Action.ASSERT_TRUE,
    command_types.ExtendedWaitUntil: Action.WAIT_FOR,
    command_types.WaitForAnimationToEnd: Action.WAIT_UNTIL_STILL,
    command_types.CopyTextFrom: Action.COPY_TEXT,
    command_types.SetClipboard: Action.SET_CLIPBOARD,
    command_types.LaunchApp: Action.LAUNCH_APP,
    command_types.StopApp: Action.STOP_APP,
    command_types.ClearState: Action.CLEAR_STATE,
    command_types.OpenLink: Action.OPEN_LINK,
    command_types.SetLocation: Action.SET_LOCATION,
    command_types.SetOrientation: Action.SET_ORIENTATION,
    command_types.TakeScreenshot: Action.SCREENSHOT,
}


def action_of(command: BaseCommand) -> Action:
    """What a command does, as the API names it."""
    return Action.BACK if command == command_types.PressKey("back") else _ACTIONS[type(command)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """`seconds` is how long a command waits for an element, `own_ids` are the ids of the app under test."""

    device: Device
    watcher: Watcher
    platform: str
    variables: BuiltInVariables
    own_ids: frozenset[str]
    seconds: float

    async def find(self, selector: Selector) -> Element:
        """The element, once it is there. StepFailed (element_not_found) if it does not appear."""
        element = await self.watcher.until(FirstMatch(selector), self.seconds)
        if element is None:
            raise not_found_error(str(selector), self.seconds, self.watcher.seen)
        return element

    def other_app(self, app_id: str | None) -> str | None:
        """None for the app under test, whichever of its ids is given."""
        return None if app_id in self.own_ids else app_id


class FirstMatch:
    """The first element on a screen that matches a selector; None if there is none.

    StepFailed (script_error) for a selector that takes too long: neither answer would be true.
    """

    def __init__(self, selector: Selector) -> None:
        self._selector = selector

    def __call__(self, outline: Outline) -> Element | None:
        try:
            found = find_by_selector(self._selector, outline)
        except WorkBudgetExceeded:
            what = f"{self._selector} takes too long to find: {SIMPLER_SELECTOR_HINT}"
            raise StepFailed(Category.SCRIPT_ERROR, what) from None
        return found[0] if found else None


def command_outcome(command: BaseCommand, element: Element | None = None, message: str = "") -> StepOutcome:
    return StepOutcome(action=action_of(command), resolution=Resolution.COMMAND, element=element, message=message)
