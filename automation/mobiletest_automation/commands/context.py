"""What every command needs: the device, its screen, the variables that steps share, and the name of its action."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mobiletest_automation.commands.baselines import TakenPictures
from mobiletest_automation.commands.random_texts import RandomTexts
from mobiletest_automation.commands.recordings import ScreenRecordings
from mobiletest_automation.commands.selector_search import (
    SIMPLER_SELECTOR_HINT,
    describe_matches,
    explain_missing,
    find_by_selector,
)
from mobiletest_automation.devices.port import Device
from mobiletest_automation.devices.stability import wait_until_at_rest, wait_until_stable
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.flows import capture_commands, commands, device_commands
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.patterns import WorkBudgetExceeded
from mobiletest_automation.flows.script_commands import EvalScript, RunScript
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.flows.variables import BuiltInVariables
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.outcome import StepFailed, StepOutcome, not_found_error
from mobiletest_automation.ports import FlowFiles
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.secret_texts import Keyboard, SecretTexts
from mobiletest_automation.sentences.intents import Action

# How long a command, and an optional one, waits for its element, as in Maestro.
ELEMENT_SECONDS = 17.0
OPTIONAL_SECONDS = 7.0

_ACTIONS: Mapping[type[BaseCommand], Action] = {
    commands.TapOn: Action.TAP,
    commands.DoubleTapOn: Action.DOUBLE_TAP,
    commands.LongPressOn: Action.LONG_PRESS,
    commands.InputText: Action.TYPE,
    commands.PasteText: Action.TYPE,
    commands.EraseText: Action.CLEAR,
    commands.PressKey: Action.PRESS_KEY,
    commands.Back: Action.BACK,
    commands.HideKeyboard: Action.HIDE_KEYBOARD,
    commands.Swipe: Action.SWIPE,
    commands.Scroll: Action.SCROLL,
    commands.ScrollUntilVisible: Action.SCROLL_UNTIL_VISIBLE,
    commands.AssertVisible: Action.ASSERT_VISIBLE,
    commands.AssertNotVisible: Action.ASSERT_NOT_VISIBLE,
    commands.AssertTrue: Action.ASSERT_TRUE,
    commands.ExtendedWaitUntil: Action.WAIT_FOR,
    commands.WaitForAnimationToEnd: Action.WAIT_UNTIL_STILL,
    commands.CopyTextFrom: Action.COPY_TEXT,
    commands.SetClipboard: Action.SET_CLIPBOARD,
    device_commands.LaunchApp: Action.LAUNCH_APP,
    device_commands.StopApp: Action.STOP_APP,
    device_commands.ClearState: Action.CLEAR_STATE,
    device_commands.KillApp: Action.KILL_APP,
    device_commands.ClearKeychain: Action.CLEAR_KEYCHAIN,
    device_commands.SetPermissions: Action.SET_PERMISSIONS,
    device_commands.OpenLink: Action.OPEN_LINK,
    device_commands.OpenBrowser: Action.OPEN_BROWSER,
    device_commands.AddMedia: Action.ADD_MEDIA,
    device_commands.Travel: Action.TRAVEL,
    device_commands.SetLocation: Action.SET_LOCATION,
    device_commands.SetOrientation: Action.SET_ORIENTATION,
    capture_commands.InputRandom: Action.TYPE,
    capture_commands.TakeScreenshot: Action.SCREENSHOT,
    capture_commands.StartRecording: Action.START_RECORDING,
    capture_commands.StopRecording: Action.STOP_RECORDING,
    capture_commands.AssertScreenshot: Action.ASSERT_SCREENSHOT,
    capture_commands.AssertWithAI: Action.ASSERT_WITH_AI,
    capture_commands.AssertNoDefectsWithAI: Action.ASSERT_NO_DEFECTS_WITH_AI,
    capture_commands.ExtractTextWithAI: Action.EXTRACT_TEXT,
    RunScript: Action.RUN_SCRIPT,
    EvalScript: Action.EVAL_SCRIPT,
}


def action_of(command: BaseCommand) -> Action:
    """What a command does, as the API names it."""
    match command:
        case commands.PressKey("back"):
            return Action.BACK
        case device_commands.SetMode(mode):
            return Action(f"set_{mode}")
        case device_commands.AssertMode(mode):
            return Action(f"assert_{mode}")
        case _:
            return _ACTIONS[type(command)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """`seconds` is how long a command waits for an element, `own_ids` are the ids of the app under test."""

    device: Device
    watcher: Watcher
    keyboard: Keyboard
    secrets: SecretTexts
    variables: BuiltInVariables
    random_texts: RandomTexts
    baselines: TakenPictures
    recordings: ScreenRecordings
    own_ids: frozenset[str]
    files: FlowFiles
    seconds: float

    def for_optional(self) -> "CommandContext":
        """The same for an optional command."""
        return replace(self, seconds=min(self.seconds, OPTIONAL_SECONDS))

    async def find(self, selector: Selector) -> "Found":
        """The element, once it is there. StepFailed (element_not_found) if it does not appear."""
        matches = await self.watcher.until(AllMatches(selector), self.seconds)
        if matches is None:
            why = explain_missing(selector, self.watcher.seen)
            raise not_found_error(str(selector), self.seconds, self.watcher.seen, why)
        return Found(matches[0], describe_matches(matches))

    async def find_at_rest(self, selector: Selector, settle_seconds: float = 0.0) -> "Found":
        """As `find`; after a swipe, or the longest wait for a screen at rest, the element is where it is then."""
        found = await self.find(selector)
        if settle_seconds:
            await wait_until_stable(self.device, self.watcher, settle_seconds)
        if self.watcher.in_motion:
            self.watcher.in_motion = False
            element = await wait_until_at_rest(self.device, self.watcher, FirstMatch(selector))
        elif settle_seconds:
            element = FirstMatch(selector)(await self.watcher.look())
        else:
            return found
        return Found(element or found.element, found.message)

    def other_app(self, app_id: str | None) -> str | None:
        """None for the app under test, whichever of its ids is given."""
        return None if app_id in self.own_ids else app_id


@dataclass(frozen=True, slots=True)
class Found:
    """The element to act on; `message` names the others, if several match."""

    element: Element
    message: str = ""


class AllMatches:
    """The elements on a screen that match a selector, the one that counts first; None if there are none.

    StepFailed (script_error) for a selector that takes too long: neither answer would be true.
    """

    def __init__(self, selector: Selector) -> None:
        self._selector = selector

    def __call__(self, outline: Outline) -> list[Element] | None:
        try:
            return find_by_selector(self._selector, outline) or None
        except WorkBudgetExceeded:
            what = f"{self._selector} takes too long to find: {SIMPLER_SELECTOR_HINT}"
            raise StepFailed(Category.SCRIPT_ERROR, what) from None


class FirstMatch:
    """The one of them that counts first."""

    def __init__(self, selector: Selector) -> None:
        self._matches = AllMatches(selector)

    def __call__(self, outline: Outline) -> Element | None:
        elements = self._matches(outline)
        return elements[0] if elements else None


def command_outcome(command: BaseCommand, element: Element | None = None, message: str = "") -> StepOutcome:
    return StepOutcome(action=action_of(command), resolution=Resolution.COMMAND, element=element, message=message)


def join_messages(*messages: str) -> str:
    return "; ".join(filter(None, messages))
