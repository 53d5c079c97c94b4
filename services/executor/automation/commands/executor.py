"""Runs the commands that hold no other steps, each in the module of its subject."""

from services.executor.automation.commands import app_control, assertions, swipes, taps, text
from services.executor.automation.commands.context import CommandContext
from services.executor.automation.outcome import StepOutcome
from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    CopyTextFrom,
    EraseText,
    ExtendedWaitUntil,
    InputText,
    PasteText,
    PressKey,
    SetClipboard,
    WaitForAnimationToEnd,
)
from services.flows.gestures import DoubleTapOn, LongPressOn, Scroll, ScrollUntilVisible, Swipe, TapOn
from services.flows.selectors import Condition
from services.flows.steps import Command, Repeat, Retry, RunFlow, Sentence


class CommandExecutor:
    """Raises StepFailed and DeviceFailure."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    async def run(self, command: Command) -> StepOutcome:
        match command:
            case TapOn() | DoubleTapOn() | LongPressOn():
                return await taps.perform_tap(self._context, command)
            case InputText() | EraseText() | PressKey() | CopyTextFrom() | SetClipboard() | PasteText():
                return await text.perform_text(self._context, command)
            case AssertVisible() | AssertNotVisible() | AssertTrue() | ExtendedWaitUntil() | WaitForAnimationToEnd():
                return await assertions.perform_assertion(self._context, command)
            case Swipe() | Scroll() | ScrollUntilVisible():
                return await swipes.perform_swipe(self._context, command)
            case Sentence() | RunFlow() | Repeat() | Retry():
                raise AssertionError(f"{type(command).__name__} is not a single command")
            case _:
                return await app_control.perform_app_command(self._context, command)

    async def condition_holds(self, condition: Condition) -> bool:
        """Whether the condition is true; an element gets a moment to appear."""
        return await assertions.condition_holds(self._context, condition)
