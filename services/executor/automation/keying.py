"""Texts and keys: typed, erased, copied, pasted, pressed."""

from services.executor.automation.deciding import text_of
from services.executor.automation.deeds import Deed
from services.executor.automation.doings import Doing
from services.executor.automation.failing import StepFailed
from services.executor.automation.sentences.intents import Action
from services.executor.automation.staging import Stage, deed
from services.executor.model.failures import Category
from services.flows.command_types import CopyTextFrom, EraseText, InputText, PasteText, PressKey, SetClipboard
from services.flows.selectors import Selector

Typing = InputText | EraseText | PressKey | CopyTextFrom | SetClipboard | PasteText


async def typed(stage: Stage, command: Typing) -> Deed:
    match command:
        case InputText(text):
            await stage.device.type(text)
            return deed(Action.TYPE)
        case EraseText(characters):
            await stage.device.clear(characters=characters)
            return deed(Action.CLEAR)
        case PressKey("back"):
            await stage.device.back()
            return deed(Action.BACK)
        case PressKey(key):
            await stage.device.press_key(key)
            return deed(Action.PRESS_KEY)
        case CopyTextFrom(selector):
            return await _copied(stage, selector)
        case SetClipboard(text):
            stage.memory.copied = text
            return deed(Doing.SET_CLIPBOARD)
        case PasteText():
            return await _pasted(stage)


async def _copied(stage: Stage, selector: Selector) -> Deed:
    element = await stage.found(selector)
    text = text_of(element)
    if not text:
        what = f"{element.describe()} has no text to copy"
        raise StepFailed(Category.ASSERTION_FAILED, what, element=element)
    stage.memory.copied = text
    return deed(Doing.COPY_TEXT, element, f'copied "{text[:200]}"')


async def _pasted(stage: Stage) -> Deed:
    text = stage.memory.copied
    if text is None:
        raise StepFailed(Category.SCRIPT_ERROR, "nothing was copied: copyTextFrom comes first")
    await stage.device.type(text)
    return deed(Action.TYPE, message=f'pasted "{text[:200]}"')
