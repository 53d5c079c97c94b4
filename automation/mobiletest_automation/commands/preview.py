"""What a preview of a command shows: its element and its value on a screen."""

from mobiletest_automation.commands.selector_search import describe_matches, explain_missing, find_by_selector
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounding import Grounding, RefusalReason, ground_first


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
