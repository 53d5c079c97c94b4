"""Previews what a step would do on a given screen, without a run, a device or a model."""

from collections.abc import Callable

from mobiletest_automation.commands.executor import preview_step
from mobiletest_automation.commands.selector_search import SIMPLER_SELECTOR_HINT
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.patterns import WorkBudgetExceeded
from mobiletest_automation.flows.steps import BlockCommand, Command, Sentence
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.page_source.nodes import SourceError
from mobiletest_automation.screen.page_source.reader import read_source
from mobiletest_automation.sentences.grounding import Grounding
from services.chassis.errors import InvalidArgument, Violation

# A command is resolved on at most this many elements, because its selectors may compare each pair.
ELEMENTS_LIMIT = 2_000


Read = Callable[[str, Platform | None], Element]


def resolve_step(step: object, source: str, platform: Platform | None = None, read: Read = read_source) -> Grounding:
    """What `step` (a sentence, or an object with one command) does on the screen of the page source, by the rules.

    The work is bounded, but takes seconds for a hostile source: see `resolver_pool`.

    Raises:
        InvalidArgument: the step or the source cannot be parsed; its violations name the field.
    """
    command = _command(step)
    tree = _tree(source, platform, read)
    if not isinstance(command, Sentence):
        _check_size(tree)
    try:
        return preview_step(command, tree)
    except WorkBudgetExceeded:
        raise _invalid("step", f"it takes too long on this source: {SIMPLER_SELECTOR_HINT}", "step.work") from None


def _command(value: object) -> Command:
    if not isinstance(value, str | dict):
        raise _invalid("step", "expected a sentence, or an object with one command", "step.type")
    try:
        (step,) = parse_flow([value], root="step").steps
    except DocumentError as error:
        raise _invalid("step", f"{error.path.replace('step[0]', 'step')}: {error.message}", "step.invalid") from None
    if step.pending is not None:
        raise _invalid(
            "step", "the step has variables, which only a run can resolve: replace them with values", "step.variables"
        )
    if isinstance(step.command, BlockCommand):
        raise _invalid("step", f"{step.name} contains other steps: resolve each of them", "step.holder")
    return step.command


def _tree(source: str, platform: Platform | None, read: Read) -> Element:
    try:
        return read(source, platform)
    except SourceError as error:
        raise _invalid("source", str(error), "source.invalid") from None


def _check_size(tree: Element) -> None:
    count = sum(1 for _ in walk(tree))
    if count > ELEMENTS_LIMIT:
        why = f"the source has {count} elements, a command is resolved on at most {ELEMENTS_LIMIT}: send one screen"
        raise _invalid("source", why, "source.size")


def _invalid(field: str, message: str, rule: str) -> InvalidArgument:
    return InvalidArgument(f"{field}: {message}", violations=[Violation(field, message, rule)])


class LastScreen:
    """Keeps one screen, for requests of the same organisation with the same source."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[str, Platform | None, str], Element] | None = None

    def read(self, org_id: str, source: str, platform: Platform | None) -> Element:
        """The screen of the source; see `read_source`. Nobody may change it."""
        key = (org_id, platform, source)
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # so that reading the next may use all of the memory
            self._kept = (key, read_source(source, platform))
        return self._kept[1]
