"""Typing, erasing, copying, pasting, and pressing keys."""

from services.executor.automation.commands.context import CommandContext, command_outcome
from services.executor.automation.outcome import StepFailed, StepOutcome
from services.executor.automation.sentences.element_checks import text_of
from services.executor.automation.sentences.intents import Action
from services.executor.model.failures import Category
from services.flows.command_types import CopyTextFrom, EraseText, InputText, PasteText, PressKey, SetClipboard
from services.flows.selectors import Selector

TextCommand = InputText | EraseText | PressKey | CopyTextFrom | SetClipboard | PasteText


async def perform_text(context: CommandContext, command: TextCommand) -> StepOutcome:
    match command:
        case InputText(text):
            await context.device.type(text)
            return command_outcome(Action.TYPE)
        case EraseText(characters):
            await context.device.clear(characters=characters)
            return command_outcome(Action.CLEAR)
        case PressKey("back"):
            await context.device.back()
            return command_outcome(Action.BACK)
        case PressKey(key):
            await context.device.press_key(key)
            return command_outcome(Action.PRESS_KEY)
        case CopyTextFrom(selector):
            return await _copy_text(context, selector)
        case SetClipboard(text):
            context.variables.copied = text
            return command_outcome(Action.SET_CLIPBOARD)
        case PasteText():
            return await _paste_text(context)


async def _copy_text(context: CommandContext, selector: Selector) -> StepOutcome:
    element = await context.find(selector)
    text = text_of(element)
    if not text:
        what = f"{element.describe()} has no text to copy"
        raise StepFailed(Category.ASSERTION_FAILED, what, element=element)
    context.variables.copied = text
    return command_outcome(Action.COPY_TEXT, element, f'copied "{text[:200]}"')


async def _paste_text(context: CommandContext) -> StepOutcome:
    text = context.variables.copied
    if text is None:
        raise StepFailed(Category.SCRIPT_ERROR, "nothing was copied: use copyTextFrom first")
    await context.device.type(text)
    return command_outcome(Action.TYPE, message=f'pasted "{text[:200]}"')
