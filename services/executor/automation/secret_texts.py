"""Texts of one attempt that nobody may read afterwards: values of secret variables, and what password fields hold."""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, quote_plus

from services.executor.automation.devices.port import Device
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.screen.elements import Element, walk
from services.flows.secret_names import is_secret_name

MIN_LENGTH = 3
"""Shorter texts are in every other text, and are not masked."""
LINE_LENGTH = 8
"""From this length, lines of a secret are masked on their own."""
SHORTENED_LIMIT = 100_000
"""In longer texts, which are neither messages nor lists of elements, nothing was shortened."""
LEAST_BEFORE_ELLIPSIS, LEAST_BEFORE_END = 4, 24
"""How many characters of a secret are recognised where a text was shortened."""
_ELLIPSIS, _END = re.compile(r"\.\.\.|…"), re.compile(r'"|$')
_PERCENT = re.compile("%[0-9A-F]{2}")
_QUOTES = tuple(
    str.maketrans({'"': double, "'": single})
    for double, single in (('"', "'"), ("&quot;", "'"), ("&quot;", "&#x27;"), ("&quot;", "&#39;"), ("&quot;", "&apos;"))
)


class SecretTexts:
    """Masks secret texts in what leaves the attempt, and puts them back into what comes from a model.

    A variable is shown as its template, `${PASSWORD}`, and what a password field holds as `[hidden 1]`. Each text is
    shown in one way of its own, so that it can be put back.
    """

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._spellings: dict[str, str] = {}
        self._variables: dict[str, str] = {}
        self._typed = 0

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
        self._shown[text] = shown
        for spelling in _spellings(text):
            self._spellings.setdefault(spelling, shown)

    def mask(self, text: str) -> str:
        """The text without secrets, also as they are spelled in JSON, XML and URLs, and without beginnings of them
        where a message was shortened.
        """
        present = [spelling for spelling in self._spellings if spelling in text]
        if present:
            longest_first = sorted(present, key=len, reverse=True)
            text = re.sub("|".join(map(re.escape, longest_first)), lambda found: self._spellings[found[0]], text)
        return self._mask_shortened(text) if len(text) <= SHORTENED_LIMIT else text

    def find_across(self, text: str, position: int) -> tuple[int, int] | None:
        """Where a secret begins and ends of which this position is inside: the text must not be cut there."""
        for spelling in self._spellings:
            size = len(spelling)
            begin = text.find(spelling, max(0, position - size + 1), position + size - 1)
            if begin >= 0:
                return begin, begin + size
        return None

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


def _spellings(text: str) -> Iterator[str]:
    """The text, it in one line and composed as in sentences, and each of its longer lines, as logs, JSON, XML, HTML and
    URLs spell them.
    """
    lines = [line.strip() for line in text.splitlines()] if "\n" in text else []
    flat = " ".join(text.split())
    for each in (text, flat, normalize("NFC", flat), *(line for line in lines if len(line) >= LINE_LENGTH)):
        if len(each) < MIN_LENGTH:
            continue
        yield each
        for quoted in (json.dumps(each), json.dumps(each, ensure_ascii=False)):
            yield from (quoted[1:-1], quoted[1:-1].replace("<", "\\u003c").replace(">", "\\u003e"))
        yield repr(each)[1:-1]
        for encoded in _percent_encoded(each):
            yield from (encoded, _PERCENT.sub(lambda code: code[0].lower(), encoded))
        for quotes in _QUOTES:
            markup = escape(each, quote=False).translate(quotes)
            yield from (markup, markup.replace("\n", "&#10;"), markup.replace("\n", "&#xA;"))


def _percent_encoded(text: str) -> tuple[str, ...]:
    """As Python, encodeURIComponent and the forms of browsers write it."""
    in_script, in_form = quote(text, safe="!'()*"), quote_plus(text, safe="*").replace("~", "%7E")
    return quote(text), quote(text, safe=""), quote_plus(text), in_script, in_form


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


class Keyboard:
    """Types texts. What is typed into a password field is secret from then on."""

    def __init__(self, device: Device, watcher: Watcher, secrets: SecretTexts) -> None:
        self._device = device
        self._watcher = watcher
        self._secrets = secrets

    async def type(self, text: str, field: Element | None = None) -> None:
        """Type into the field, or into the one that has the focus."""
        if field.secret if field is not None else await self._secret_field_has_focus():
            self._secrets.add_typed(text)
        await self._device.type(text, field)

    async def _secret_field_has_focus(self) -> bool:
        """Drivers do not always say what has the focus; then any password field on the screen counts."""
        elements = list(walk((await self._watcher.look()).root))
        focused = [element for element in elements if element.focused and element.editable]
        return any(element.secret for element in focused or elements)
