"""The commands that hold no other steps, by their names in Maestro; those of the finger are in `gestures`."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from services.flows.selectors import Selector

Argument: TypeAlias = str | int | float | bool


class BaseCommand:
    """`subject` is what a command is about, in a few words; empty when there is nothing to say."""

    __slots__ = ()

    @property
    def subject(self) -> str:
        return ""

    @property
    def declared_seconds(self) -> float:
        """How long the command itself says that it may take; 0 if it does not say."""
        return 0.0


@dataclass(frozen=True, slots=True)
class LaunchApp(BaseCommand):
    """Start the app under test, or `app_id`; a running one is stopped first unless `stop_app` is false."""

    app_id: str | None = None
    clear_state: bool = False
    stop_app: bool = True
    permissions: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, Argument], ...] = ()
    clear_keychain: bool = False

    @property
    def subject(self) -> str:
        return self.app_id or ""


@dataclass(frozen=True, slots=True)
class _AppCommand(BaseCommand):
    app_id: str | None = None

    @property
    def subject(self) -> str:
        return self.app_id or ""


@dataclass(frozen=True, slots=True)
class StopApp(_AppCommand):
    pass


@dataclass(frozen=True, slots=True)
class ClearState(_AppCommand):
    """Forget what the app has kept; a running one is stopped."""


@dataclass(frozen=True, slots=True)
class InputText(BaseCommand):
    """Type into the field that has the focus."""

    text: str

    @property
    def subject(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class EraseText(BaseCommand):
    characters: int = 50

    @property
    def subject(self) -> str:
        return f"{self.characters} characters"


@dataclass(frozen=True, slots=True)
class PasteText(BaseCommand):
    """Type what was copied last."""


@dataclass(frozen=True, slots=True)
class PressKey(BaseCommand):
    key: str

    @property
    def subject(self) -> str:
        return self.key


@dataclass(frozen=True, slots=True)
class Back(BaseCommand):
    pass


@dataclass(frozen=True, slots=True)
class HideKeyboard(BaseCommand):
    pass


@dataclass(frozen=True, slots=True)
class _ElementCommand(BaseCommand):
    selector: Selector

    @property
    def subject(self) -> str:
        return str(self.selector)


@dataclass(frozen=True, slots=True)
class AssertVisible(_ElementCommand):
    pass


@dataclass(frozen=True, slots=True)
class AssertNotVisible(_ElementCommand):
    pass


@dataclass(frozen=True, slots=True)
class CopyTextFrom(_ElementCommand):
    """Remember what can be read on an element, as ${maestro.copiedText}."""


@dataclass(frozen=True, slots=True)
class SetClipboard(BaseCommand):
    """Remember this text as if it had been copied."""

    text: str

    @property
    def subject(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class AssertTrue(BaseCommand):
    """`value` is the text that the condition reads as, `written` the condition if there are variables in it."""

    value: str
    raw: str = ""

    @property
    def subject(self) -> str:
        return self.raw or self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendedWaitUntil(BaseCommand):
    """Wait until the one is visible and the other is not; None for the time limit of a step."""

    visible: Selector | None = None
    not_visible: Selector | None = None
    timeout_seconds: float | None = None

    @property
    def subject(self) -> str:
        parts = [f"visible {self.visible}"] if self.visible else []
        parts += [f"not visible {self.not_visible}"] if self.not_visible else []
        return ", ".join(parts)

    @property
    def declared_seconds(self) -> float:
        return self.timeout_seconds or 0.0


@dataclass(frozen=True, slots=True)
class WaitForAnimationToEnd(BaseCommand):
    """Wait until the screen stays as it is; after so many seconds the test goes on all the same."""

    timeout_seconds: float = 15.0

    @property
    def declared_seconds(self) -> float:
        return self.timeout_seconds


@dataclass(frozen=True, slots=True)
class TakeScreenshot(BaseCommand):
    name: str | None = None

    @property
    def subject(self) -> str:
        return self.name or ""


@dataclass(frozen=True, slots=True)
class OpenLink(BaseCommand):
    link: str

    @property
    def subject(self) -> str:
        return self.link


@dataclass(frozen=True, slots=True)
class SetLocation(BaseCommand):
    """Degrees: latitude -90..90, longitude -180..180."""

    latitude: float
    longitude: float

    @property
    def subject(self) -> str:
        return f"{self.latitude:g}, {self.longitude:g}"


@dataclass(frozen=True, slots=True)
class SetOrientation(BaseCommand):
    orientation: Literal["portrait", "landscape"]

    @property
    def subject(self) -> str:
        return self.orientation
