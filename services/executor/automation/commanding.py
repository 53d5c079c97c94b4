"""Carries out the commands that hold no other steps, each by the module of its subject."""

from services.executor.automation import keying, looking, moving, steering, touching
from services.executor.automation.deeds import Deed
from services.executor.automation.devices import Device
from services.executor.automation.staging import Stage
from services.executor.automation.watching import Watcher
from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    CopyTextFrom,
    DoubleTapOn,
    EraseText,
    ExtendedWaitUntil,
    InputText,
    LongPressOn,
    PasteText,
    PressKey,
    Scroll,
    ScrollUntilVisible,
    SetClipboard,
    Swipe,
    TapOn,
    WaitForAnimationToEnd,
)
from services.flows.selectors import Condition
from services.flows.steps import Command, Repeat, Retry, RunFlow, Sentence
from services.flows.variables import BuiltInVariables


class Commander:
    """Does what a command says, waiting up to `seconds` for what it needs. Raises StepFailed and DeviceFailure."""

    def __init__(
        self,
        device: Device,
        watcher: Watcher,
        platform: str,
        memory: BuiltInVariables,
        *,
        own_ids: frozenset[str] = frozenset(),
        seconds: float,
    ) -> None:
        """`own_ids` are the ids that mean the app under test."""
        self._stage = Stage(
            device=device, watcher=watcher, platform=platform, memory=memory, own_ids=own_ids, seconds=seconds
        )

    async def do(self, command: Command) -> Deed:
        match command:
            case TapOn() | DoubleTapOn() | LongPressOn():
                return await touching.touched(self._stage, command)
            case InputText() | EraseText() | PressKey() | CopyTextFrom() | SetClipboard() | PasteText():
                return await keying.typed(self._stage, command)
            case AssertVisible() | AssertNotVisible() | AssertTrue() | ExtendedWaitUntil() | WaitForAnimationToEnd():
                return await looking.looked(self._stage, command)
            case Swipe() | Scroll() | ScrollUntilVisible():
                return await moving.moved(self._stage, command)
            case Sentence() | RunFlow() | Repeat() | Retry():
                raise AssertionError(f"{type(command).__name__} is no command of its own")
            case _:
                return await steering.steered(self._stage, command)

    async def holds(self, condition: Condition) -> bool:
        """Whether a condition holds; the screen gets a moment to become what it is going to be."""
        return await looking.holds(self._stage, condition)
