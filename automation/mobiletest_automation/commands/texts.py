"""Commands that type, press keys, and copy texts: what they do, and what a preview of them shows."""

from typing import assert_never

from mobiletest_automation.commands.context import (
    CommandContext,
    command_outcome,
    join_messages,
    preview_element,
    preview_value,
)
from mobiletest_automation.flows import text_commands as commands
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed, StepOutcome
from mobiletest_automation.screen.elements import walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounding import Grounding


async def perform_text(context: CommandContext, command: commands.TextCommand) -> StepOutcome:
    device = context.device
    match command:
        case commands.InputText(text):
            await context.keyboard.type(text)
        case commands.InputRandom():
            text = context.random_texts.draw(command)
            await context.keyboard.type(text)
            return command_outcome(command, message=f'typed "{cut(text, 200)}"')
        case commands.EraseText(0):
            pass
        case commands.EraseText(characters):
            await device.view.clear(characters=characters)
        case commands.SetClipboard(text):
            context.variables.copied = text
        case commands.CopyTextFrom():
            return await _copy_text(context, command)
        case commands.PasteText():
            return await _paste_text(context, command)
        case commands.PressKey("back") | commands.Back():
            await device.view.back()
        case commands.PressKey(key):
            await device.view.press_key(key)
        case commands.HideKeyboard():
            context.watcher.in_motion = True
            await device.view.hide_keyboard()
        case _:
            assert_never(command)
    return command_outcome(command)


def preview_text(command: commands.TextCommand, outline: Outline) -> Grounding:
    match command:
        case commands.CopyTextFrom(selector):
            return preview_element(command, selector, outline)
        case commands.InputText(text):
            return _preview_focused_field(command, outline, text)
        case commands.InputRandom() | commands.EraseText() | commands.PasteText():
            return _preview_focused_field(command, outline)
        case commands.SetClipboard(text):
            return preview_value(command, text)
        case commands.PressKey(key) if key != "back":
            return preview_value(command, key)
        case _:
            return preview_value(command)


def _preview_focused_field(command: commands.TextCommand, outline: Outline, text: str | None = None) -> Grounding:
    """Into the field that has the focus; not every page source says which one that is."""
    focused = next((element for element in walk(outline.root) if element.editable and element.focused), None)
    message = "" if focused else "no field has the focus: tap a field first"
    return Grounding(action=command.action, element=focused, value=text, message=message)


async def _copy_text(context: CommandContext, command: commands.CopyTextFrom) -> StepOutcome:
    """Of an element without a text its hint, or else its label, as in Maestro; they may all be empty."""
    matched = await context.find(command.selector)
    text = matched.element.text or matched.element.hint or matched.element.label
    context.variables.copied = text
    copied = f"copied {quote(text, limit=200)}" if text else "copied an empty text"
    return command_outcome(command, matched.element, join_messages(copied, matched.message))


async def _paste_text(context: CommandContext, command: commands.PasteText) -> StepOutcome:
    text = context.variables.copied
    if text is None:
        raise StepFailed(Category.SCRIPT_ERROR, "nothing was copied: use copyTextFrom first")
    await context.keyboard.type(text)
    return command_outcome(command, message=f"pasted {quote(text, limit=200)}")
