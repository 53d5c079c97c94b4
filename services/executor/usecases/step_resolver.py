"""What a step would do on a given screen: without a run, a device or a model."""

import asyncio

from services.chassis.errors import InvalidArgument, Violation
from services.executor.automation.commands.preview import CONTAINER_COMMANDS, StepPreview, preview_step
from services.executor.automation.commands.selector_search import SIMPLER_SELECTOR_HINT
from services.executor.automation.screen.elements import Element, walk
from services.executor.automation.screen.page_source.nodes import SourceError
from services.executor.automation.screen.page_source.reader import read_source
from services.executor.model.runs import Platform
from services.flows.loader import parse_flow
from services.flows.nodes import DocumentError
from services.flows.patterns import WorkBudgetExceeded
from services.flows.steps import Command, Sentence

ELEMENTS_LIMIT = 2_000
"""On how many elements a command is tried: its selectors may compare each with each."""


class StepResolver:
    """Tells what the rules would do."""

    async def resolve(self, step: object, source: str, platform: Platform | None = None) -> StepPreview:
        """What `step` (a sentence, or an object with one command) does on the screen of the page source.

        InvalidArgument when either cannot be read; its violations are of the fields step and source. A thread does it:
        a large source must not hold up the calls of others.
        """
        command = _command(step)
        return await asyncio.to_thread(_resolved, command, source, platform)


def _resolved(command: Command, source: str, platform: Platform | None) -> StepPreview:
    tree = _tree(source, platform)
    if not isinstance(command, Sentence):
        _bound(tree)
    try:
        return preview_step(command, tree)
    except WorkBudgetExceeded:
        raise _refused("step", f"it takes too long on this source: {SIMPLER_SELECTOR_HINT}", "step.work") from None


def _command(value: object) -> Command:
    if not isinstance(value, str | dict):
        raise _refused("step", "a step is a sentence, or an object with one command", "step.type")
    try:
        (step,) = parse_flow([value], root="step").steps
    except DocumentError as error:
        raise _refused("step", f"{error.path.replace('step[0]', 'step')}: {error.message}", "step.invalid") from None
    if step.pending is not None:
        raise _refused("step", "the step has variables, which only a run knows: put their values in", "step.variables")
    if isinstance(step.command, CONTAINER_COMMANDS):
        raise _refused("step", f"{step.name} holds other steps: resolve each of them", "step.holder")
    return step.command


def _tree(source: str, platform: Platform | None) -> Element:
    try:
        return read_source(source, platform)
    except SourceError as error:
        raise _refused("source", str(error), "source.invalid") from None


def _bound(tree: Element) -> None:
    count = sum(1 for _ in walk(tree))
    if count > ELEMENTS_LIMIT:
        why = f"the source has {count} elements, a command is resolved on at most {ELEMENTS_LIMIT}: send one screen"
        raise _refused("source", why, "source.size")


def _refused(field: str, message: str, rule: str) -> InvalidArgument:
    return InvalidArgument(f"{field}: {message}", violations=[Violation(field, message, rule)])
