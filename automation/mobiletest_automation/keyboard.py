"""Types texts, and reads back whether they have arrived."""

import re
from collections import Counter
from collections.abc import Callable
from unicodedata import normalize

from mobiletest_automation.devices.port import Device
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.secret_texts import SecretTexts

# How long a field may take to show what was typed.
ARRIVES_SECONDS = 1.0
_PAUSE_SECONDS = 0.1
# Keys that may leave the field, or send what is in it.
LEAVES_FIELD = frozenset("\n\r\t")
# Characters of a field that drivers return.
READ_LIMIT = 20_000
_SEPARATORS = re.compile("[,; ]", re.ASCII)
# Characters of texts in messages.
TEXT_SHOWN = 200
# What fields show in place of characters that nobody may read.
_MASKS = frozenset("*\u2022\u25cf\u2217\uff0a\u00b7\u25e6")
# Rules of fields that take only some characters.
_KINDS: tuple[Callable[[str], bool], ...] = (str.isdigit, str.isalpha, str.isascii)


class Keyboard:
    """Types texts. What is typed into a password field is secret from then on.

    A text of which characters were lost is typed once more. A password, and a field whose text cannot be read, may hold
    anything.
    """

    def __init__(
        self, device: Device, watcher: Watcher, secrets: SecretTexts, note: Callable[[str], None] = lambda remark: None
    ) -> None:
        """`note` is called with remarks about the step."""
        self._device = device
        self._watcher = watcher
        self._secrets = secrets
        self._note = note

    async def type(self, text: str, field: Element | None = None, *, cleared: bool = False) -> None:
        """Type into the field, which was `cleared` if that is known, or into the one that has the focus.

        Raises:
            StepFailed: characters were lost twice (assertion_failed).
            DeviceFailure: the device fails, or no field has the focus.
        """
        target = field or await self._focused_field()
        secret = target.secret if target is not None else self._shows_password()
        if secret:
            self._secrets.add_typed(text)
        await self._device.view.type(text, field)
        if not secret and LEAVES_FIELD.isdisjoint(text):
            await self._read_back(text, "" if cleared or target is None else target.text, target)

    async def _read_back(self, text: str, before: str, field: Element | None) -> None:
        first = await self._lacking(text, before)
        if first is None:
            return
        await self._remove(first, before)
        await self._device.view.type(text)
        second = await self._lacking(text, before)
        name = field.describe() if field is not None and field.name else "the field"
        if second is None:
            self._note(f"{name} held {self._shown(first, text)} at first, so the text was typed again")
        elif first == second and is_rule_of_field(text, before, second):
            self._note(f"{name} holds {self._shown(second, text)}: it takes no more of the text")
        else:
            message = f"typed {quote(text, limit=TEXT_SHOWN)} twice, but {name} holds {self._shown(second, text)}"
            reason = f"{name} lost characters that were typed"
            raise StepFailed(Category.ASSERTION_FAILED, message, reason=reason, element=field)

    async def _remove(self, held: str, before: str) -> None:
        """Remove what was typed from the end of what the field holds."""
        characters = len(held) - len(before) if before and held.startswith(before) else None
        if characters != 0:
            await self._device.view.clear(characters=characters)

    async def _lacking(self, text: str, before: str) -> str | None:
        """What the field holds if it lacks characters of the text after a while; None if it does not, or is unknown."""
        view, timer = self._device.view, self._device.timer
        deadline = timer.now() + ARRIVES_SECONDS
        while True:
            held = await view.field_text()
            if held is None or not lacks_characters(text, before, held):
                return None
            if timer.now() >= deadline:
                return await view.field_text(focused=True)
            await timer.sleep(_PAUSE_SECONDS)

    def _shown(self, held: str, text: str) -> str:
        """What a field holds, for a message: a part of a secret would not be masked."""
        return quote(held, limit=TEXT_SHOWN) if self._secrets.mask(text) == text else "a part of it"

    async def _focused_field(self) -> Element | None:
        """Drivers do not always say what has the focus."""
        elements = walk((await self._watcher.look()).root)
        focused = (element for element in elements if element.focused and element.editable)
        return max(focused, key=lambda element: element.secret, default=None)

    def _shows_password(self) -> bool:
        """Whether any field on the screen is for passwords: it may be the one that has the focus."""
        return self._watcher.seen is not None and any(element.secret for element in walk(self._watcher.seen.root))


def lacks_characters(typed: str, before: str, held: str) -> bool:
    """Whether a field that held `before` has only a part of what was typed: letters and digits of it in their order.

    Fields format what is typed: neither case nor other signs count, nor what a field adds or puts in place of the text.
    One that is empty, or that hides its text, cannot be read.
    """
    if not held or len(held) >= READ_LIMIT or not _MASKS.isdisjoint(set(held) - set(typed)):
        return False
    added = held.removeprefix(before)
    said, shown = _plain(typed), _plain(added)
    if len(shown) >= len(said) or (_number(typed) is not None and _number(typed) == _number(added)):
        return False
    rest = iter(said)
    return all(character in rest for character in shown) and not _is_end(typed, added)


def is_rule_of_field(typed: str, before: str, held: str) -> bool:
    """Whether the field takes a limited number of characters, or only some kind of them, or shortens numbers: that is
    the app's own matter.
    """
    said, shown = _plain(typed), _plain(held.removeprefix(before))
    if said.startswith(shown) or not any(map(str.isalpha, Counter(said) - Counter(shown))):
        return True
    return any("".join(filter(accepts, said)) == shown for accepts in _KINDS)


def _is_end(typed: str, added: str) -> bool:
    """Whether the field has the end of a list whose other parts became chips, of an address or of a phone number."""
    said, shown = _plain(typed), _plain(added).lstrip("0")
    if "://" in typed or typed.lstrip().startswith("+"):
        return said.endswith(shown)
    return bool(shown) and _plain(_SEPARATORS.split(typed.rstrip())[-1]) == shown


def _plain(text: str) -> str:
    """The letters and digits of the text, in one case."""
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None
