"""Random steps about the elements of a screen, equal for equal seeds: sentences and selectors of all kinds."""

import re
from random import Random
from typing import Any

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.screen.elements import Element

SENTENCES = (
    *('Tap "{a}"', "Tap {a}", 'Tap the "{a}" below "{b}"', "Tap the {a} next to {b}", 'Tap the second "{a}"'),
    *('Tap the "{a}" button', 'I see "{a}"', 'I do not see "{a}"', '"{a}" is enabled', '"{a}" is disabled'),
    *('Check "{a}"', '"{a}" is checked', 'Type "x" into "{a}"', 'Wait for "{a}"', '"{a}" shows "{b}"', '{a} is "{b}"'),
    *('Scroll until "{a}" is visible', 'I see a text containing "{a}"', "Long press {a}", 'Swipe left on "{a}"'),
    *('Clear "{a}"', "Tap id {id}"),
)
STATES = ("enabled", "checked", "focused", "selected")
RELATIONS = ("below", "above", "leftOf", "rightOf", "childOf", "containsChild")


class StepGenerator:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def step(self, elements: list[Element]) -> object:
        """A step that can be read."""
        while True:
            step = self._sentence(elements) if self._happens(0.4) else self._command(elements)
            try:
                parse_flow([step])
            except DocumentError:
                continue
            return step

    def _sentence(self, elements: list[Element]) -> str:
        names = [text for each in elements for text in _texts(each) if len(text) < 60 and '"' not in text] or ["Pay"]
        name = self.random.choice(names)
        name = f"{name}s" if self._happens(0.15) else name.lower() if self._happens(0.1) else name
        identifier = self.random.choice(elements).id or "pay"
        return self.random.choice(SENTENCES).format(a=name, b=self.random.choice(names), id=identifier)

    def _command(self, elements: list[Element]) -> dict[str, object]:
        selector, visibility = self._selector(elements), self.random.choice(("visible", "notVisible"))
        commands: tuple[dict[str, object], ...] = (
            *({name: selector} for name in ("tapOn", "doubleTapOn", "longPressOn", "copyTextFrom")),
            *({name: selector} for name in ("assertVisible", "assertNotVisible")),
            {"tapOn": {**selector, "retryTapIfNoChange": True}},
            {"extendedWaitUntil": {visibility: selector, "timeout": 2000}},
            {"scrollUntilVisible": {"element": selector, "timeout": 2000, "centerElement": self._happens(0.3)}},
            {"swipe": {"from": selector, "direction": "UP"}},
            {"runFlow": {"when": {visibility: selector}, "commands": ["back"]}},
        )
        return self.random.choice(commands)

    def _selector(self, elements: list[Element], depth: int = 0) -> dict[str, Any]:
        element, selector = self.random.choice(elements), dict[str, Any]()
        text = next(iter(_texts(element)), "")
        if text and self._happens(0.7):
            selector["text"] = self._pattern(text[:100])
        if element.id and self._happens(0.5):
            selector["id"] = self.random.choice((element.id, f".*{re.escape(element.id[-3:])}"))
        if self._happens(0.2):
            selector["index"] = self.random.randrange(-3, 4)
        if self._happens(0.15):
            selector[self.random.choice(STATES)] = self._happens(0.6)
        if self._happens(0.05):
            selector["traits"] = self.random.choice(("text", "square", "long-text"))
        if self._happens(0.05):
            selector |= {"width": int(element.bounds.width), "tolerance": self.random.randrange(20)}
        if depth < 2:
            for relation in RELATIONS:
                if self._happens(0.08):
                    selector[relation] = self._selector(elements, depth + 1)
            if self._happens(0.05):
                selector["containsDescendants"] = [self._selector(elements, depth + 1)]
        return selector or {"text": ".*"}

    def _pattern(self, text: str) -> str:
        patterns = (text, re.escape(text), f"{re.escape(text[:4])}.*", f".*{re.escape(text[2:])}", ".*", text.upper())
        return self.random.choice(patterns)

    def _happens(self, share: float) -> bool:
        return self.random.random() < share


def _texts(element: Element) -> list[str]:
    return [text for text in (element.text, element.label, element.hint) if text]
