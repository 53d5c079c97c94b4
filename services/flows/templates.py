"""Texts with ${...} in them: checked when they are written, filled when they are needed; \\${ means a mere ${."""

from dataclasses import dataclass
from functools import lru_cache

from services.flows.expressions import Evaluate, Lookup, parse_expression
from services.flows.values import ExpressionError, text_of

OPENING = "${"
TEXT_LIMIT = 20_000
REMEMBERED_LENGTH = 500


def is_template(text: str) -> bool:
    return OPENING in text


@dataclass(frozen=True, slots=True)
class Template:
    """Literal texts and expressions, in order."""

    parts: tuple[str | Evaluate, ...]

    def fill(self, lookup: Lookup) -> str:
        """The text with all values in it. ExpressionError when one has none."""
        text = "".join(part if isinstance(part, str) else text_of(part(lookup)) for part in self.parts)
        if len(text) > TEXT_LIMIT:
            raise ExpressionError(f"the text becomes longer than {TEXT_LIMIT} characters")
        return text


def parse_template(text: str) -> Template:
    """ExpressionError when what stands in ${...} is no expression."""
    return _remembered(text) if len(text) <= REMEMBERED_LENGTH else _parsed(text)


@lru_cache(maxsize=1024)
def _remembered(text: str) -> Template:
    return _parsed(text)


def _parsed(text: str) -> Template:
    parts: list[str | Evaluate] = []
    position = 0
    while (found := text.find(OPENING, position)) >= 0:
        if text[position:found].endswith("\\"):
            parts.append(text[position : found - 1] + OPENING)
            position = found + len(OPENING)
            continue
        parts.append(text[position:found])
        expression, position = parse_expression(text, found + len(OPENING))
        parts.append(expression)
    return Template((*parts, text[position:]))
