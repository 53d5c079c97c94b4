"""Texts of one attempt that nobody may read afterwards: values of secret variables, and what password fields hold."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mobiletest_automation.flows.environment import is_secret_name
from mobiletest_automation.secret_spellings import (
    LONGEST_SPELLING,
    MIN_LENGTH,
    SecretPattern,
    codes,
    patterns,
    spellings,
)

# In longer texts, which are neither messages nor lists of elements, nothing was shortened.
SHORTENED_LIMIT = 100_000
# How many characters of a secret are recognised where a text was shortened.
LEAST_BEFORE_ELLIPSIS, LEAST_BEFORE_END = 4, 24
# Of all patterns together, which bounds the time to compile them: secrets of 2,500 characters.
PATTERNS_REACH = LONGEST_SPELLING * 2_500
# Of secrets whose occurrences overlap, such as "abcabc".
LONGEST_PERIOD = 512
# Masked texts that are remembered, and their characters: screens show the same ones again and again.
REMEMBERED, REMEMBERED_LENGTH = 2_000, 200
_ELLIPSIS, _END = re.compile(r"\.\.\.|…"), re.compile(r'"|$')


class SecretTexts:
    """Masks secret texts in what leaves the attempt, and puts them back into what comes from a model.

    A variable is shown as its template, `${PASSWORD}`, and what a password field holds as `[hidden 1]`. Each text is
    shown in one way of its own, so that it can be put back.
    """

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._spellings: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        self._patterns: list[tuple[SecretPattern, str]] = []
        self._variables: dict[str, str] = {}
        self._typed = 0
        self._masked: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._shown)

    def add_variables(self, values: Mapping[str, str]) -> None:
        """Mask the values of those variables whose names say that they are secret: PASSWORD, API_TOKEN, pin.

        Variables of these names have these values from now on; earlier values stay masked.
        """
        self.add_secrets({name: value for name, value in values.items() if is_secret_name(name)})

    def add_secrets(self, values: Mapping[str, str]) -> None:
        """Mask the values of these variables, whatever their names."""
        for name, value in values.items():
            if len(value) >= MIN_LENGTH:
                self._variables[name] = value
                self._add(value, name)

    def add_typed(self, text: str) -> None:
        """Mask what was typed into a password field."""
        if text not in self._shown and len(text) >= MIN_LENGTH:
            self._typed += 1
            self._mask_as(text, f"[hidden {self._typed}]")

    def _add(self, text: str, name: str) -> None:
        if text in self._shown:
            return
        taken, shown, number = set(self._shown.values()), f"${{{name}}}", 1
        while shown in taken:
            number += 1
            shown = f"${{{name} {number}}}"
        self._mask_as(text, shown)

    def _mask_as(self, text: str, shown: str) -> None:
        self._masked.clear()
        self._shown[text] = shown
        for spelling in spellings(text):
            self._spellings.setdefault(spelling, shown)
        for code in codes(text):
            self._codes.setdefault(code, shown)
        for pattern in patterns(text):
            if sum(each.reach for each, _ in self._patterns) < PATTERNS_REACH:
                self._patterns.append((pattern, shown))

    def mask(self, text: str) -> str:
        """The text without secrets, also as they are spelled in JSON, XML, URLs and Base64 and in capitals, and without
        beginnings of them where a message was shortened.
        """
        masked = self._masked.get(text)
        if masked is not None:
            return masked
        masked = self._mask(text) if self._shown else text
        if len(text) <= REMEMBERED_LENGTH:
            if len(self._masked) >= REMEMBERED:
                self._masked.clear()
            self._masked[text] = masked
        return masked

    def _mask(self, text: str) -> str:
        parts, done = [], 0
        for begin, end, shown in _joined(sorted(self._spans(text), key=lambda span: (span[0], -span[1]))):
            parts += [text[done:begin], shown]
            done = end
        text = "".join((*parts, text[done:]))
        return self._mask_shortened(text) if len(text) <= SHORTENED_LIMIT else text

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where secrets begin and end, and how they are shown."""
        for known in (self._spellings, self._codes):
            for spelling, shown in known.items():
                yield from ((*span, shown) for span in _occurrences(text, spelling))
        lowered = text.lower() if self._patterns else ""
        for pattern, shown in self._patterns:
            yield from ((*span, shown) for span in pattern.find(text, lowered))

    def find_across(self, text: str, position: int) -> tuple[int, int] | None:
        """Where a secret begins and ends of which this position is inside: the text must not be cut there."""
        for known in (self._spellings, self._codes):
            for spelling in known:
                size = len(spelling)
                begin = text.find(spelling, max(0, position - size + 1), position + size - 1)
                if begin >= 0:
                    return begin, begin + size
        reach = max((pattern.reach for pattern, _ in self._patterns), default=0)
        start = max(0, position - reach)
        near = text[start : position + reach]
        lowered = near.lower()
        spans = (span for pattern, _ in self._patterns for span in pattern.find(near, lowered))
        return next(((begin + start, end + start) for begin, end in spans if begin < position - start < end), None)

    def find_begun(self, text: str) -> int | None:
        """Where a secret begins of which the text ends with a part; None if there is none."""
        sizes = (_size_begun(text, spelling) for spelling in self._spellings)
        begun = max(sizes, default=0)
        return len(text) - begun if begun else None

    def _mask_shortened(self, text: str) -> str:
        """Beginnings that `cut` of flows.texts could not prevent: an app or a driver has shortened the text, or
        what it shows is known to be secret only since then.
        """
        for spelling, shown in self._spellings.items():
            for end, least in ((_ELLIPSIS, LEAST_BEFORE_ELLIPSIS), (_END, LEAST_BEFORE_END)):
                if len(spelling) > least and spelling[:least] in text:
                    text = _without_beginnings(text, spelling, shown, end, least)
        return text

    def as_template(self, text: str) -> str:
        """The text with secret variables instead of their values: what the test says, the same in every attempt."""
        for name, value in sorted(self._variables.items(), key=lambda item: -len(item[1])):
            text = text.replace(value, f"${{{name}}}")
        return text

    def fill_template(self, text: str) -> str:
        """The inverse of `as_template`, with the present values."""
        for name, value in self._variables.items():
            text = text.replace(f"${{{name}}}", value)
        return text

    def mask_json(self, value: Any) -> Any:
        """A JSON value with its texts masked."""
        return self._map_texts(value, self.mask)

    def reveal_json(self, value: Any) -> Any:
        """A JSON value of a model, with the texts that it was shown as masks."""
        return self._map_texts(value, self._reveal)

    def _reveal(self, text: str) -> str:
        for hidden, shown in self._shown.items():
            text = text.replace(shown, hidden)
        return text

    def _map_texts(self, value: Any, change: Any) -> Any:
        if not self._shown:
            return value
        match value:
            case str():
                return change(value)
            case Mapping():
                return {name: self._map_texts(each, change) for name, each in value.items()}
            case list() | tuple():
                return [self._map_texts(each, change) for each in value]
            case _:
                return value


def _joined(spans: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Spans in order, of those that overlap the rest of the later ones."""
    done = 0
    for begin, end, shown in spans:
        if end > done:
            yield max(begin, done), end, shown
            done = end


def _occurrences(text: str, spelling: str) -> Iterator[tuple[int, int]]:
    """Where the spelling begins and ends; occurrences that overlap are one."""
    if spelling not in text:
        return
    periods = range(1, min(len(spelling), LONGEST_PERIOD))
    again = "|".join(re.escape(spelling[-period:]) for period in periods if spelling.startswith(spelling[period:]))
    expression = f"{re.escape(spelling)}(?:{again})*+" if again else re.escape(spelling)
    yield from (match.span() for match in re.finditer(expression, text))


def _size_begun(text: str, spelling: str) -> int:
    """How much of the spelling is at the end of the text; 0 if all of it is."""
    sizes = range(min(len(spelling), len(text)), 0, -1)
    size = next((size for size in sizes if text.endswith(spelling[:size])), 0)
    return size if size < len(spelling) else 0


def _without_beginnings(text: str, spelling: str, shown: str, ends: re.Pattern[str], least: int) -> str:
    """The text without beginnings of the spelling, of `least` characters or more, before one of the ends."""
    parts, done = [], 0
    for end in ends.finditer(text):
        begin = text.rfind(spelling[:least], max(done, end.start() - len(spelling)), end.start())
        if begin >= 0 and spelling.startswith(text[begin : end.start()]):
            parts += [text[done:begin], shown]
            done = end.start()
    return "".join((*parts, text[done:]))
