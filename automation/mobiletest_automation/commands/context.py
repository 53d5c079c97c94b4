"""What every command needs: the device, its screen, and what the steps of an attempt share."""

import string
from dataclasses import dataclass, replace
from random import Random

from mobiletest_automation.commands.selector_search import (
    SIMPLER_SELECTOR_HINT,
    describe_matches,
    explain_missing,
    find_by_selector,
)
from mobiletest_automation.devices.port import Device, DeviceFailure, Recording
from mobiletest_automation.devices.stability import wait_until_at_rest, wait_until_stable
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.patterns import WorkBudgetExceeded
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.flows.text_commands import InputRandom
from mobiletest_automation.flows.variables import BuiltInVariables
from mobiletest_automation.keyboard import Keyboard
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.outcome import StepFailed, StepOutcome, not_found_error
from mobiletest_automation.ports import AcceptedBaselines, FlowFiles
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.scripting.fake_values import FakeValues
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.sentences.grounding import Grounding, RefusalReason, ground_first

# Screenshots of an attempt that can be baselines; earlier ones are forgotten.
TAKEN_LIMIT = 20
# How long a command, and an optional one, waits for its element, as in Maestro.
ELEMENT_SECONDS = 17.0
OPTIONAL_SECONDS = 7.0


class RandomTexts:
    """The random texts that one attempt types. Equal seeds give equal texts in the same order."""

    def __init__(self, seed: str) -> None:
        self._fake_values = FakeValues(seed)
        self._random = Random(seed)  # noqa: S311 - texts for forms, not for secrets

    def draw(self, command: InputRandom) -> str:
        """A text of ASCII letters, a number that does not begin with 0, or a value as English forms expect it.

        Addresses are of example.com, example.net and example.org, so that no stranger gets mail.
        """
        match command.kind:
            case "text":
                return "".join(self._random.choices(string.ascii_lowercase, k=command.length))
            case "number":
                rest = self._random.choices(string.digits, k=command.length - 1)
                return "".join((self._random.choice("123456789"), *rest))
            case "email":
                return self._fake_values.faker.email()
            case "person name":
                return f"{self._fake_values.faker.first_name()} {self._fake_values.faker.last_name()}"
            case "city name":
                return self._fake_values.faker.city()
            case "country name":
                return self._fake_values.faker.country()
            case "color name":
                return self._fake_values.faker.color_name()


class TakenPictures:
    """The baselines of an attempt.

    An accepted one comes before the file of the folder, and this before a screenshot of the same name.
    """

    def __init__(self, accepted: AcceptedBaselines, files: FlowFiles) -> None:
        self._accepted = accepted
        self._files = files
        self._taken: dict[str, bytes] = {}

    def add(self, name: str, picture: bytes) -> None:
        self._taken.pop(name, None)
        self._taken[name] = picture
        if len(self._taken) > TAKEN_LIMIT:
            del self._taken[next(iter(self._taken))]

    async def load(self, name: str, form: str, file: str | None) -> bytes | None:
        """`file` is the path of the file, if the folder has one."""
        accepted = await self._accepted.load(name, form)
        if accepted is not None or file is None:
            return accepted or self._taken.get(name)
        return await self._files.read(file)


class ScreenRecordings:
    """The recordings of the screen that a test has started, one at a time."""

    def __init__(self, device: Device) -> None:
        self._device = device
        # Of the recording that is being made.
        self.name: str | None = None

    async def start(self, name: str) -> None:
        """Begin a recording.

        Raises:
            StepFailed: one is being made already (script_error).
        """
        if self.name is not None:
            what = f'the recording "{self.name}" has not ended: use stopRecording before another one'
            raise StepFailed(Category.SCRIPT_ERROR, what)
        await self._device.recorder.start()
        self.name = name

    async def stop(self) -> Recording | None:
        """None if none is being made, or it cannot be read: verdicts do not depend on it."""
        if self.name is None:
            return None
        self.name = None
        try:
            return await self._device.recorder.stop()
        except DeviceFailure:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """`seconds` is how long a command waits for an element, `own_ids` are the ids of the app under test."""

    device: Device
    watcher: Watcher
    keyboard: Keyboard
    secrets: SecretTexts
    variables: BuiltInVariables
    random_texts: RandomTexts
    baselines: TakenPictures
    recordings: ScreenRecordings
    own_ids: frozenset[str]
    files: FlowFiles
    seconds: float

    def for_optional(self) -> "CommandContext":
        """The same for an optional command."""
        return replace(self, seconds=min(self.seconds, OPTIONAL_SECONDS))

    async def find(self, selector: Selector) -> "MatchedElement":
        """The element, once it is there.

        Raises:
            StepFailed: it does not appear (element_not_found).
            DeviceFailure: the screen cannot be read.
        """
        matches = await self.watcher.until(AllMatches(selector), self.seconds)
        if matches is None:
            why = explain_missing(selector, self.watcher.seen)
            raise not_found_error(str(selector), self.seconds, self.watcher.seen, why)
        return MatchedElement(matches[0], describe_matches(matches))

    async def find_at_rest(self, selector: Selector, settle_seconds: float = 0.0) -> "MatchedElement":
        """As `find`; after a swipe, or the longest wait for a screen at rest, the element is where it is then."""
        matched = await self.find(selector)
        if settle_seconds:
            await wait_until_stable(self.device, self.watcher, settle_seconds)
        if self.watcher.in_motion:
            self.watcher.in_motion = False
            element = await wait_until_at_rest(self.device, self.watcher, FirstMatch(selector))
        elif settle_seconds:
            element = FirstMatch(selector)(await self.watcher.look())
        else:
            return matched
        return MatchedElement(element or matched.element, matched.message)

    def other_app(self, app_id: str | None) -> str | None:
        """None for the app under test, whichever of its ids is given."""
        return None if app_id in self.own_ids else app_id


@dataclass(frozen=True, slots=True)
class MatchedElement:
    """The element to act on; `message` names the others, if several match."""

    element: Element
    message: str = ""


class AllMatches:
    """The elements on a screen that match a selector, the one that counts first; None if there are none.

    Raises:
        StepFailed: for a selector that takes too long: neither answer would be true (script_error).
    """

    def __init__(self, selector: Selector) -> None:
        self._selector = selector

    def __call__(self, outline: Outline) -> list[Element] | None:
        try:
            return find_by_selector(self._selector, outline) or None
        except WorkBudgetExceeded:
            what = f"{self._selector} takes too long to find: {SIMPLER_SELECTOR_HINT}"
            raise StepFailed(Category.SCRIPT_ERROR, what) from None


class FirstMatch:
    """The one of them that counts first."""

    def __init__(self, selector: Selector) -> None:
        self._matches = AllMatches(selector)

    def __call__(self, outline: Outline) -> Element | None:
        elements = self._matches(outline)
        return elements[0] if elements else None


def command_outcome(command: BaseCommand, element: Element | None = None, message: str = "") -> StepOutcome:
    return StepOutcome(action=command.action, resolution=Resolution.COMMAND, element=element, message=message)


def join_messages(*messages: str) -> str:
    return "; ".join(filter(None, messages))


def preview_value(command: BaseCommand, value: str | None = None) -> Grounding:
    """For a command without an element; `value` is its text, key, direction, link or name."""
    return Grounding(action=command.action, value=value)


def preview_element(
    command: BaseCommand, selector: Selector | None, outline: Outline, value: str | None = None
) -> Grounding:
    """For a command that needs the element, if it has a selector: the first that matches, as when the step runs."""
    if selector is None:
        return preview_value(command, value)
    elements = find_by_selector(selector, outline)
    if not elements:
        why = explain_missing(selector, outline)
        message = f"no element on the screen matches {selector}{why and ': '}{why}"
        return Grounding(reason=RefusalReason.NOT_FOUND, message=message)
    return ground_first(command.action, elements, value, describe_matches(elements))


def preview_expected(command: BaseCommand, selector: Selector, outline: Outline, value: str | None = None) -> Grounding:
    """For an element that may still appear."""
    elements = find_by_selector(selector, outline)
    message = "" if elements else f"{selector} is not on this screen"
    return ground_first(command.action, elements, value, message)
