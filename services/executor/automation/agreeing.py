"""Says whether what is remembered may be repeated: where the rules chose it, they have to choose it again."""

from services.executor.automation.deciding import CHECKS, text_of
from services.executor.automation.elements import Element
from services.executor.automation.memories import Memory
from services.executor.automation.sentences.grammar import understand
from services.executor.automation.sentences.grounder import Reason, decide
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.automation.sentences.matching import Outline

_ANY_WILL_DO = frozenset({Action.ASSERT_VISIBLE, Action.WAIT_FOR, Action.SCROLL_UNTIL_VISIBLE})
LOOKS = _ANY_WILL_DO | CHECKS.keys()
"""What changes nothing."""


def repeatable(memory: Memory, sentence: str, element: Element, outline: Outline) -> bool:
    """Whether it can be done to the element as it is now, or holds for it, and the rules do not say otherwise."""
    action = memory.action
    if (not element.enabled and action not in LOOKS) or (action is Action.TYPE and not bare(element)):
        return False
    check = CHECKS.get(action)
    value = sentence[memory.span.start : memory.span.end] if memory.span is not None else None
    if check is not None and not check(Intent(action=action, value=value), element):
        return False
    renamed = memory.target is not None and not memory.target.exact
    return not memory.ruled or chosen_by_rules(sentence, action, element, outline, renamed=renamed)


def bare(field: Element) -> bool:
    """Whether nothing is typed in: typing at the end of something else would make another text."""
    return text_of(field).strip() in ("", field.hint.strip(), field.label.strip())


def chosen_by_rules(
    sentence: str, action: Action, element: Element, outline: Outline, *, renamed: bool = False
) -> bool:
    """Whether the rules alone do this to this element on this screen. With `renamed` it will do that they find nothing:
    its id says that it is the one, though a number in its name is another now.
    """
    meaning = understand(sentence)
    if not isinstance(meaning, Intent):
        return False
    grounding = decide(meaning, outline)
    if renamed and grounding.reason is Reason.NOT_FOUND:
        return True
    if grounding.action is not action:
        return False
    return element in grounding.candidates if action in _ANY_WILL_DO else grounding.element is element
