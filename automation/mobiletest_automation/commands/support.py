"""Finds what a device cannot do before the first step of a test."""

from collections.abc import Iterator, Sequence

from mobiletest_automation.devices.port import Device, DeviceFailure
from mobiletest_automation.flows.capture_commands import AssertScreenshot
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import AddMedia
from mobiletest_automation.flows.script_commands import RunScript
from mobiletest_automation.flows.selectors import ALWAYS, NOT_A_WEB_PAGE, Condition, css_selectors_of
from mobiletest_automation.flows.steps import Flow, Repeat, Retry, RunFlow, Step
from mobiletest_automation.flows.workspace_media import IMPORT_HINT
from mobiletest_automation.model.failures import Category
from mobiletest_automation.ports import FlowFiles


def check_supported(device: Device, flow: Flow, files: FlowFiles) -> None:
    """Check the commands that the test certainly runs, before it begins.

    Raises:
        DeviceFailure: one cannot be done on the device, or needs a file that was not sent along (config_invalid).
    """
    platform = device.info.flow_platform
    for step in _certain_steps((*flow.on_start, *flow.steps, *flow.on_complete), platform):
        if reason := unsupported(device, step.command) or _missing_files(step, files):
            raise DeviceFailure(Category.CONFIG_INVALID, f"{step.path}: {reason}", step.path)


def unsupported(device: Device, command: BaseCommand) -> str:
    """Why this device cannot carry out the command, as far as that is known; "" if it can."""
    if css_selectors_of(command) and not device.info.browser:
        return NOT_A_WEB_PAGE
    return device.unsupported(command)


def missing_file(path: str) -> str:
    return f"the file {path} was not sent along: {IMPORT_HINT}"


def _missing_files(step: Step, files: FlowFiles) -> str:
    """Of a file whose name has variables, only its step can tell."""
    if step.pending is not None:
        return ""
    needed: Sequence[str] = ()
    match step.command:
        case AddMedia(paths):
            needed = paths
        case AssertScreenshot(file=str(path)):
            needed = (path,)
    return next((missing_file(path) for path in needed if path not in files), "")


def _certain_steps(steps: Sequence[Step], platform: str) -> Iterator[Step]:
    """The steps that run if those before them pass, and whose failure is not tolerated."""
    for step in steps:
        if step.optional:
            continue
        match step.command:
            case RunFlow(commands, when):
                yield from _certain_condition(step, when, platform)
                if _certainly_holds(step, when, platform):
                    yield from _certain_steps(commands, platform)
            case Repeat(commands, times, condition):
                yield from _certain_condition(step, condition, platform)
                if times != 0 and step.pending is None and _certainly_holds(step, condition, platform):
                    yield from _certain_steps(commands, platform)
            case RunScript(when=condition):
                yield from _certain_condition(step, condition, platform)
            case Retry(commands):
                yield from _certain_steps(commands, platform)
            case _:
                yield step


def _certain_condition(step: Step, condition: Condition, platform: str) -> Iterator[Step]:
    """The step itself, if its condition certainly looks for its elements on this platform."""
    if step.pending is None and condition.platform in (None, platform) and condition.truth is None:
        yield step


def _certainly_holds(step: Step, condition: Condition, platform: str) -> bool:
    return condition == ALWAYS or (step.pending is None and condition == Condition(platform=platform))
