"""Commands that type, press keys, and copy texts."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from mobiletest_automation.flows.commands import (
    BaseCommand,
    CommandSpec,
    ElementCommand,
    Reader,
    bare_reader,
    element_reader,
    optional_argument,
    single_argument,
    text_reader,
)
from mobiletest_automation.flows.nodes import Node

RandomKind: TypeAlias = Literal["text", "number", "email", "person name", "city name", "country name", "color name"]

LENGTH_LIMIT = 1_000
DEFAULT_LENGTH = 8
_REMOTE = (
    *("dpad up", "dpad down", "dpad left", "dpad right", "dpad center"),
    *("media play pause", "media stop", "media next", "media previous", "media rewind", "media fast forward"),
    *("system navigation up", "system navigation down", "button a", "button b", "menu"),
)
KEYS = (
    *("enter", "backspace", "delete", "tab", "space", "escape", "search"),
    *("back", "home", "lock", "power", "volume up", "volume down"),
    *(f"remote {name}" for name in _REMOTE),
    *("tv input", "tv input hdmi 1", "tv input hdmi 2", "tv input hdmi 3"),
)


@dataclass(frozen=True, slots=True)
class _TextCommand(BaseCommand):
    text: str

    @property
    def subject(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class InputText(_TextCommand):
    """Type into the field that has the focus."""

    ACTION: ClassVar = "type"


@dataclass(frozen=True, slots=True)
class InputRandom(BaseCommand):
    """Type a random value of a kind; `length` is that of texts and numbers."""

    ACTION: ClassVar = "type"
    kind: RandomKind
    length: int = DEFAULT_LENGTH

    @property
    def subject(self) -> str:
        return f"{self.length} characters" if self.kind in ("text", "number") else ""


def _random_reader(kind: RandomKind) -> Reader:
    """For values that have a length; one below 1 is the default, as in Maestro."""

    def read(node: Node) -> BaseCommand:
        argument = optional_argument(node, "length")
        length = DEFAULT_LENGTH if argument is None else argument.integer(-LENGTH_LIMIT, LENGTH_LIMIT)
        return InputRandom(kind, length if length > 0 else DEFAULT_LENGTH)

    return read


@dataclass(frozen=True, slots=True)
class EraseText(BaseCommand):
    ACTION: ClassVar = "clear"
    characters: int = 50

    @property
    def subject(self) -> str:
        return f"{self.characters} characters"


def _read_erase_text(node: Node) -> BaseCommand:
    argument = optional_argument(node, "charactersToErase")
    return EraseText() if argument is None else EraseText(argument.integer(0, 10_000))


@dataclass(frozen=True, slots=True)
class CopyTextFrom(ElementCommand):
    """Copy the text of an element to ${maestro.copiedText}."""

    ACTION: ClassVar = "copy_text"


@dataclass(frozen=True, slots=True)
class SetClipboard(_TextCommand):
    """Put a text into ${maestro.copiedText}."""


@dataclass(frozen=True, slots=True)
class PasteText(BaseCommand):
    """Type the text that was copied last."""

    ACTION: ClassVar = "type"


@dataclass(frozen=True, slots=True)
class PressKey(BaseCommand):
    key: str

    @property
    def action(self) -> str:
        return "back" if self.key == "back" else "press_key"

    @property
    def subject(self) -> str:
        return self.key


def _read_press_key(node: Node) -> BaseCommand:
    return PressKey(single_argument(node, "key").choice(KEYS))


@dataclass(frozen=True, slots=True)
class Back(BaseCommand):
    pass


@dataclass(frozen=True, slots=True)
class HideKeyboard(BaseCommand):
    pass


TextCommand: TypeAlias = (
    InputText | InputRandom | EraseText | CopyTextFrom | SetClipboard | PasteText | PressKey | Back | HideKeyboard
)
TEXT_COMMANDS = (
    CommandSpec("inputText", text_reader(InputText), "`optional` works, which Maestro ignores"),
    CommandSpec("inputRandomText", _random_reader("text"), "all `inputRandom*`: every attempt at a run types the same"),
    CommandSpec("inputRandomNumber", _random_reader("number")),
    CommandSpec("inputRandomEmail", bare_reader(InputRandom("email"))),
    CommandSpec("inputRandomPersonName", bare_reader(InputRandom("person name"))),
    CommandSpec("inputRandomCityName", bare_reader(InputRandom("city name"))),
    CommandSpec("inputRandomCountryName", bare_reader(InputRandom("country name"))),
    CommandSpec("inputRandomColorName", bare_reader(InputRandom("color name"))),
    CommandSpec("eraseText", _read_erase_text),
    CommandSpec("copyTextFrom", element_reader(CopyTextFrom)),
    CommandSpec("setClipboard", text_reader(SetClipboard)),
    CommandSpec("pasteText", bare_reader(PasteText())),
    CommandSpec(
        "pressKey",
        _read_press_key,
        "a key that the device does not have is refused, also on iOS, where Maestro does nothing",
    ),
    CommandSpec("back", bare_reader(Back()), "goes back on iOS, too, where Maestro does nothing"),
    CommandSpec("hideKeyboard", bare_reader(HideKeyboard()), simulated="no effect"),
)
