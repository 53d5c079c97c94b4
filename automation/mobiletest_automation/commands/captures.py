"""Screenshots of the screen or of an element, and their comparison with baselines."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mobiletest_automation.commands.context import CommandContext, command_outcome, preview_element, preview_value
from mobiletest_automation.commands.support import missing_file
from mobiletest_automation.devices.stability import wait_until_stable
from mobiletest_automation.flows.capture_commands import (
    AiCommand,
    AssertScreenshot,
    CaptureCommand,
    StartRecording,
    StopRecording,
    TakeScreenshot,
    picture_name,
)
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.model.baseline_keys import baseline_key
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed, StepOutcome
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.pictures import (
    PictureComparison,
    UnreadablePicture,
    compare_pictures,
    crop_screenshot,
    picture_size,
)
from mobiletest_automation.sentences.grounding import Grounding

# How long a screen may take to come to rest before it is compared.
SETTLE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Picture:
    """A PNG of the screen, or of the element that was cut out of the `screenshot`."""

    png: bytes
    screenshot: bytes
    element: Element | None = None


async def perform_capture(context: CommandContext, command: CaptureCommand) -> StepOutcome:
    match command:
        case TakeScreenshot(name, crop_on):
            taken = await _take_picture(context, crop_on)
            if name:
                context.baselines.add(context.secrets.mask(picture_name(name)), taken.png)
            outcome = command_outcome(command, taken.element)
            return replace(outcome, screenshot=taken.png, screenshot_name=name)
        case StartRecording(name):
            await context.recordings.start(name)
            return command_outcome(command)
        case StopRecording():
            name = context.recordings.name
            recording = await context.recordings.stop()
            message = f'the recording "{name}" could not be read' if name and recording is None else ""
            return replace(command_outcome(command, message=message), recording=recording, recording_name=name or "")
        case AssertScreenshot():
            return await _assert_screenshot(context, command)


def preview_capture(command: CaptureCommand | AiCommand, outline: Outline) -> Grounding:
    if isinstance(command, TakeScreenshot | AssertScreenshot):
        return preview_element(command, command.crop_on, outline, command.name)
    return preview_value(command, command.subject or None)


async def _take_picture(context: CommandContext, crop_on: Selector | None) -> _Picture:
    if crop_on is None:
        screenshot = await context.device.view.screenshot()
        return _Picture(screenshot, screenshot)
    element = (await context.find(crop_on)).element
    screenshot = await context.device.view.screenshot()
    screen = await context.device.view.screen_bounds()
    with _reading_screenshots():
        cropped = await asyncio.to_thread(crop_screenshot, screenshot, screen, element.bounds)
    if cropped is None:
        raise StepFailed(Category.ASSERTION_FAILED, f"{element.describe()} is not on the screen", element=element)
    return _Picture(cropped, screenshot, element)


@contextmanager
def _reading_screenshots() -> Iterator[None]:
    try:
        yield
    except UnreadablePicture as error:
        raise StepFailed(Category.DEVICE_UNAVAILABLE, str(error)) from error


async def _assert_screenshot(context: CommandContext, command: AssertScreenshot) -> StepOutcome:
    name = context.secrets.mask(picture_name(command.name))
    if command.file is not None and command.file not in context.files:
        raise StepFailed(Category.SCRIPT_ERROR, missing_file(command.file))
    await wait_until_stable(context.device, context.watcher, SETTLE_SECONDS)
    taken = await _take_picture(context, command.crop_on)
    with _reading_screenshots():
        width, height = picture_size(taken.screenshot)
    form = f"{context.device.info.flow_platform}-{width}x{height}"
    baseline = await context.baselines.load(name, form, command.file)
    key = baseline_key(name, form)
    pictures = {f"{key}-actual": taken.png}
    if baseline is None:
        missing = f'there is no baseline "{name}" for {form}'
        raise StepFailed(
            Category.ASSERTION_FAILED,
            f"{missing}: if the artifact of this run is as it should be, accept it (POST .../artifacts/NAME/accept)",
            reason=missing,
            pictures=pictures,
        )
    try:
        compared = await asyncio.to_thread(compare_pictures, taken.png, baseline)
    except UnreadablePicture as error:
        what = f'the baseline "{name}" cannot be compared: {error}'
        raise StepFailed(Category.ASSERTION_FAILED, what, pictures=pictures) from error
    if compared.equal_share < command.threshold:
        pictures[f"{key}-difference"] = compared.difference
        raise StepFailed(
            Category.ASSERTION_FAILED,
            f'the screen differs from the baseline "{name}": {_describe(compared, command)}',
            reason=f'the screen differs from the baseline "{name}"',
            element=taken.element,
            pictures=pictures,
        )
    return command_outcome(command, taken.element, _describe(compared, command))


def _describe(compared: PictureComparison, command: AssertScreenshot) -> str:
    """Rounded down, so that a share below the threshold is never shown as the threshold."""
    percent = int(compared.equal_share * 10_000) / 100
    return f"{percent:g} % of the pixels are equal, and at least {command.threshold * 100:g} % have to be"
