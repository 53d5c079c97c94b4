"""Texts of one attempt that nobody may read afterwards: values of secret variables, and what password fields hold."""

import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

from services.executor.automation.devices.port import Device
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.screen.elements import Element, walk

MIN_LENGTH = 3
"""Shorter texts are in every other text, and are not masked."""
_SECRET_NAME = re.compile(
    r"passw(?:or)?d|passcode|passphrase|secret|token|credential|api_?key|private_?key|(?:^|_)(?:pwd|pin|otp)(?:_|\d|$)",
    re.IGNORECASE,
)


class SecretTexts:
    """Masks secret texts in what leaves the attempt, and puts them back into what comes from a model.

    A variable is shown as its template, `${PASSWORD}`, and what a password field holds as `[hidden 1]`. Each text is
    shown in one way of its own, so that it can be put back.
    """

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._spellings: dict[str, str] = {}
        self._masked: re.Pattern[str] | None = None
        self._variables: dict[str, str] = {}
        self._typed = 0

    def __len__(self) -> int:
        return len(self._shown)

    def add_variables(self, values: Mapping[str, str]) -> None:
        """Mask the values of those variables whose names say that they are secret: PASSWORD, API_TOKEN, pin.

        Variables of these names have these values from now on; earlier values stay masked.
        """
        for name, value in values.items():
            if _SECRET_NAME.search(name) and len(value) >= MIN_LENGTH:
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
        in_markup = (escape(text), escape(text, quote=False))
        for spelling in (text, json.dumps(text)[1:-1], *in_markup, quote(text), quote_plus(text)):
            self._spellings.setdefault(spelling, shown)
        longest_first = sorted(self._spellings, key=len, reverse=True)
        self._masked = re.compile("|".join(map(re.escape, longest_first)))

    def mask(self, text: str) -> str:
        """The text without secrets, also as they are spelled in JSON, XML and URLs."""
        if self._masked is None:
            return text
        return self._masked.sub(lambda found: self._spellings[found[0]], text)

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
        if self._masked is None:
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
