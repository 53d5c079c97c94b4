"""What every command works with: the device, what is seen of it, and what the steps share."""

from dataclasses import dataclass

from services.executor.automation.deeds import Deed
from services.executor.automation.devices import Device
from services.executor.automation.elements import Bounds, Element
from services.executor.automation.failing import StepFailed, not_found
from services.executor.automation.selecting import SIMPLER, TooMuchWork, select
from services.executor.automation.sentences.matching import Outline
from services.executor.automation.watching import Watcher
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category
from services.flows.selectors import Selector
from services.flows.variables import BuiltInVariables


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """`seconds` is how long a command waits for what it needs, `own_ids` the ids that mean the app under test."""

    device: Device
    watcher: Watcher
    platform: str
    memory: BuiltInVariables
    own_ids: frozenset[str]
    seconds: float

    async def found(self, selector: Selector) -> Element:
        """The element that is meant, once it is there. StepFailed: element_not_found."""
        element = await self.watcher.until(First(selector), self.seconds)
        if element is None:
            raise not_found(str(selector), self.seconds, self.watcher.seen)
        return element

    async def screen(self) -> Bounds:
        return (await self.watcher.look()).root.bounds

    def app(self, app_id: str | None) -> str | None:
        """None for the app under test, by whichever of its ids it is called."""
        return None if app_id in self.own_ids else app_id


class First:
    """The element that a selector means on a screen, if there is one. StepFailed: script_error for one that takes too
    much work: neither "it is there" nor "it is not" would be true.
    """

    def __init__(self, selector: Selector) -> None:
        self._selector = selector

    def __call__(self, outline: Outline) -> Element | None:
        try:
            found = select(self._selector, outline)
        except TooMuchWork:
            what = f"{self._selector} takes too long to look for: {SIMPLER}"
            raise StepFailed(Category.SCRIPT_ERROR, what) from None
        return found[0] if found else None


def deed(action: str, element: Element | None = None, message: str = "") -> Deed:
    return Deed(action=action, resolution=Resolution.COMMAND, element=element, message=message)
