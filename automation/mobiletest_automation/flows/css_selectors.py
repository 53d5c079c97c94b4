"""CSS selectors of elements of web pages: which ones a command has."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.selectors import Condition, Selector

NOT_A_WEB_PAGE = "css selects elements of web pages, and this device is not a browser: use text or id"


def css_selectors_of(part: BaseCommand | Condition) -> frozenset[str]:
    """Those of its own elements, also nested ones, but not of the steps that it holds."""
    return frozenset(_walk(part))


def _walk(part: object) -> Iterator[str]:
    if isinstance(part, Selector) and part.css is not None:
        yield part.css
    if not is_dataclass(part):
        return
    for field in fields(part):
        value = getattr(part, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Condition | Selector):
                yield from _walk(each)
