"""What every command needs: the device, its screen, the variables that steps share."""

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
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.patterns import WorkBudgetExceeded
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.flows.variables import BuiltInVariables
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.outcome import StepFailed, StepOutcome, not_found_error
from mobiletest_automation.ports import FlowFiles
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.secret_texts import Keyboard, SecretTexts

# How long a command, and an optional one, waits for its element, as in Maestro.
ELEMENT_SECONDS = 17.0
OPTIONAL_SECONDS = 7.0


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
    return StepOutcome(action=command.action, resolution=Resolution.COMMAND, element=element, message=message)


def join_messages(*messages: str) -> str:
    return "; ".join(filter(None, messages))
