"""What a stored screen cannot tell: then nothing is guessed."""

import re
from dataclasses import replace

from mobiletest_automation.flows.assertion_commands import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    ExtendedWaitUntil,
    WaitForAnimationToEnd,
)
from mobiletest_automation.flows.capture_commands import AiCommand, CaptureCommand
from mobiletest_automation.flows.patterns import Pattern
from mobiletest_automation.flows.script_commands import EvalScript, RunScript
from mobiletest_automation.flows.selectors import ALWAYS, Condition, Selector, css_selectors_of
from mobiletest_automation.flows.steps import Command, Repeat, Retry, RunFlow, Sentence, Step
from mobiletest_automation.flows.text_commands import CopyTextFrom
from mobiletest_automation.flows.touch_commands import DoubleTapOn, LongPressOn, ScrollUntilVisible, Swipe, TapOn
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import Action, Intent
from mobiletest_automation.steps.resolution_policy import ResolutionPolicy
from mobiletest_automation.stored_screens.device import ON_DEVICE, PICTURE

TIMING = "it waits, and a stored screen does not change"
SCRIPT = "it is a script"
VALUE = "it looks at a value, not at the screen"
WITHOUT_CONDITION = "it holds other steps and has no condition"
WITHOUT_VALUE = "it has a variable without a value"
CSS = "it has a CSS selector, and the stored screen does not have what the page's styles say"
MODEL = "a model carries it out"
MASKED = "the screen has texts that are masked as secret, which may be what it names"
# How a secret text is shown: `${PASSWORD}`, `[hidden 1]`.
_MASK = re.compile(r"\$\{[^}]*\}|\[hidden \d+\]", re.ASCII)


def why_undecidable(step: Step, policy: ResolutionPolicy) -> str:
    """Why no stored screen can tell; empty if one may."""
    command = step.command
    if step.pending is not None:
        return WITHOUT_VALUE
    if isinstance(command, Sentence):
        return _why_not_of_sentence(command.text, policy)
    condition = condition_of(command)
    if css_selectors_of(condition or command):
        return CSS
    if condition is not None and condition != ALWAYS:
        return ""
    return _why_not_of_command(command)


def _why_not_of_sentence(text: str, policy: ResolutionPolicy) -> str:
    meaning = parse_sentence(text)
    if not policy.rules_first(meaning) or (isinstance(meaning, Intent) and policy.cache_first(meaning)):
        return MODEL
    if not isinstance(meaning, Intent) or meaning.needs_screen:
        return ""
    match meaning.action:
        case Action.WAIT_FOR:
            return TIMING
        case Action.SCREENSHOT:
            return PICTURE
        case _:
            return ON_DEVICE


def _why_not_of_command(command: Command) -> str:
    match command:
        case RunFlow() | Repeat() | Retry():
            return WITHOUT_CONDITION
        case EvalScript() | RunScript():
            return SCRIPT
        case AssertTrue():
            return VALUE
        case WaitForAnimationToEnd():
            return TIMING
        case _ if isinstance(command, AiCommand):
            return MODEL
        case _ if isinstance(command, CaptureCommand):
            return PICTURE
        case _:
            looks = isinstance(command, AssertNotVisible | ExtendedWaitUntil) or selector_of(command) is not None
            return "" if looks else ON_DEVICE


def selector_of(command: Command) -> Selector | None:
    """The element that a command acts on or waits for; None if it names none."""
    match command:
        case TapOn(selector) | DoubleTapOn(selector) | LongPressOn(selector) | Swipe(source=selector):
            return selector
        case AssertVisible(selector) | CopyTextFrom(selector) | ScrollUntilVisible(selector=selector):
            return selector
        case ExtendedWaitUntil(visible=selector, not_visible=None):
            return selector
        case _:
            return None


def condition_of(command: Command) -> Condition | None:
    """The condition under which a command runs what it holds; None if it can have none."""
    match command:
        case RunFlow(when=condition) | RunScript(when=condition) | Repeat(condition=condition):
            return condition
        case _:
            return None


def has_two_parts(command: Command) -> bool:
    """Whether it waits for one thing after another: then the first one may be over on the stored screen."""
    parts = command if isinstance(command, ExtendedWaitUntil) else condition_of(command)
    return parts is not None and parts.visible is not None and parts.not_visible is not None


def may_be_masked(command: Command, outline: Outline, element: Element | None) -> bool:
    """Whether a masked text could make it another answer that the command holds with this element, or does not hold.

    A text that is secret cannot be the name of an element that is shown: that would be masked, too.
    """
    masked = {each for each in outline.selectable if _is_masked(each)}
    return bool(masked) and (element in {None, *masked} or not _names_one_text(command))


def _is_masked(element: Element) -> bool:
    return any(_MASK.search(text) for text in (element.text, element.label, element.hint, element.id) if text)


def _names_one_text(command: Command) -> bool:
    """Whether it is about the element with a certain text or id, whatever else is on the screen."""
    if not isinstance(command, Sentence):
        selector = selector_of(command)
        plain = Selector() if selector is None else replace(selector, **dict.fromkeys(_OWN, None))
        return selector is not None and plain == Selector() and all(each.is_plain for each in _patterns(selector))
    meaning = parse_sentence(command.text)
    if not isinstance(meaning, Intent) or meaning.action in (Action.ASSERT_TEXT, Action.ASSERT_NOT_VISIBLE):
        return False
    target = meaning.target
    if target is None:
        return True
    counted = any(reading.ordinal is not None for reading in target.readings)
    return target.quoted and not target.partly and target.related is None and not counted


# Of a selector, what the element itself is.
_OWN = ("text", "id", "enabled", "checked", "focused", "selected")


def _patterns(selector: Selector) -> list[Pattern]:
    return [each for each in (selector.text, selector.id) if each is not None]
