"""What every command needs: the device, its screen, and the variables that steps share."""

from dataclasses import dataclass

from services.executor.automation.commands.selector_search import SIMPLER_SELECTOR_HINT, find_by_selector
from services.executor.automation.devices.port import Device
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.outcome import StepFailed, StepOutcome, not_found_error
from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category
from services.flows.patterns import WorkBudgetExceeded
from services.flows.selectors import Selector
from services.flows.variables import BuiltInVariables


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


def command_outcome(action: str, element: Element | None = None, message: str = "") -> StepOutcome:
    return StepOutcome(action=action, resolution=Resolution.COMMAND, element=element, message=message)
