"""Checks of a single element: enabled, checked, its text."""

from collections.abc import Callable, Mapping

from services.executor.automation.screen.elements import Element
from services.executor.automation.sentences.intents import Action, Comparison, Intent

ElementCheck = Callable[[Intent, Element], bool]


def text_of(element: Element) -> str:
    """The text on an element; of a field, what is typed in."""
    return element.text if element.editable else element.text or element.label


def _has_text(intent: Intent, element: Element) -> bool:
    expected, actual = " ".join((intent.value or "").split()), " ".join(text_of(element).split())
    if intent.comparison is Comparison.CONTAINS:
        return expected.casefold() in actual.casefold()
    return expected == actual


ELEMENT_CHECKS: Mapping[Action, ElementCheck] = {
    Action.ASSERT_ENABLED: lambda intent, element: element.enabled,
    Action.ASSERT_DISABLED: lambda intent, element: not element.enabled,
    Action.ASSERT_CHECKED: lambda intent, element: element.on is True,
    Action.ASSERT_UNCHECKED: lambda intent, element: element.on is False,
    Action.ASSERT_TEXT: _has_text,
}


def describe_mismatch(intent: Intent, element: Element) -> str:
    """How the element is, for a check that failed."""
    what = element.describe()
    match intent.action:
        case Action.ASSERT_ENABLED:
            return f"{what} is disabled"
        case Action.ASSERT_DISABLED:
            return f"{what} is enabled"
        case Action.ASSERT_CHECKED:
            return f"{what} is not checked"
        case Action.ASSERT_UNCHECKED:
            return f"{what} is checked"
        case _:
            relation = "does not contain" if intent.comparison is Comparison.CONTAINS else "is not"
            return f'the text of {what} is "{text_of(element)}", which {relation} "{intent.value}"'
