"""Finds conditions that compare nothing: a text around ${...} is a text, and is true whatever the variables are."""

import re
from collections.abc import Iterator

from mobiletest_automation.flows.nodes import Node, Notice
from mobiletest_automation.flows.templates import parse_template
from mobiletest_automation.flows.values import ExpressionError

# Of one flow.
NOTICES_LIMIT = 20
ALWAYS_TRUE = "this is a text, which is always true: put the whole comparison into ${...}, as in ${NAME == 'value'}"
_COMPARISON = re.compile(r"[=!]==?|[<>]=?|&&|\|\|")
_CONDITIONS = {"assertTrue": "condition", "when": "true", "while": "true"}


def constant_conditions(node: Node) -> list[Notice]:
    """A notice for each condition in the steps that is true whatever its variables are."""
    found = (each.location.notice(ALWAYS_TRUE) for each in _conditions(node) if _is_constant(each))
    return [notice for notice, _ in zip(found, range(NOTICES_LIMIT), strict=False)]


def _conditions(node: Node) -> Iterator[Node]:
    if isinstance(node.value, tuple):
        for item in node.value:
            yield from _conditions(item)
    elif node.is_mapping:
        for name, child in node.mapping().items():
            yield from _condition(name, child)
            yield from _conditions(child)


def _condition(name: str, node: Node) -> Iterator[Node]:
    argument = _CONDITIONS.get(name)
    if argument is None:
        return
    if not node.is_mapping:
        yield node
    elif argument in node.mapping():
        yield node.mapping()[argument]


def _is_constant(node: Node) -> bool:
    """Whether there is a comparison, or what is compared, outside of ${...}."""
    if not isinstance(node.value, str):
        return False
    try:
        texts = [part for part in parse_template(node.value).parts if isinstance(part, str)]
    except ExpressionError:
        return False
    return any(_COMPARISON.search(text) for text in texts)
