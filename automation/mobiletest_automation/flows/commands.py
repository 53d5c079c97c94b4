"""The commands that hold no other steps, by their names in Maestro."""

from dataclasses import dataclass

from mobiletest_automation.flows.selectors import Direction, Position, Selector


class BaseCommand:
    """A command; `subject` describes its arguments in a few words and may be empty."""

    __slots__ = ()

    @property
    def subject(self) -> str:
        return ""

    @property
    def declared_seconds(self) -> float:
        """How long the command may take by its own arguments; 0 if they say nothing."""
        return 0.0


@dataclass(frozen=True, slots=True)
class _TextCommand(BaseCommand):
    text: str

    @property
    def subject(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class InputText(_TextCommand):
    """Type into the field that has the focus."""


@dataclass(frozen=True, slots=True)
class EraseText(BaseCommand):
    characters: int = 50

    @property
    def subject(self) -> str:
        return f"{self.characters} characters"


@dataclass(frozen=True, slots=True)
class PasteText(BaseCommand):
    """Type the text that was copied last."""


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
class _Tap(BaseCommand):
    """Tap `times` times, with pauses of `pause_seconds`; before and after that wait until the screen is stable, up to
    `settle_seconds`.

    `point` is relative to the element, or to the screen if there is no selector. `retry_if_no_change` taps again
    if the screen stays the same.
    """

    selector: Selector | None = None
    point: Position | None = None
    retry_if_no_change: bool = False
    settle_seconds: float = 0.0
    times: int = 1
    pause_seconds: float = 0.1

    @property
    def subject(self) -> str:
        return ", ".join(str(each) for each in (self.selector, self.point) if each is not None)

    @property
    def declared_seconds(self) -> float:
        return self.times * (self.pause_seconds + 1) + 2 * self.settle_seconds


@dataclass(frozen=True, slots=True)
class TapOn(_Tap):
    pass


@dataclass(frozen=True, slots=True)
class DoubleTapOn(_Tap):
    pass


@dataclass(frozen=True, slots=True)
class LongPressOn(_Tap):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Swipe(BaseCommand):
    """Swipe from `start` to `end`, or in the direction of the finger across the screen or from the element `source`.

    `source_point` is relative to the element; its middle without one.
    """

    direction: Direction | None = None
    start: Position | None = None
    end: Position | None = None
    source: Selector | None = None
    source_point: Position | None = None
    seconds: float = 0.4
    settle_seconds: float = 0.0

    @property
    def subject(self) -> str:
        return self.direction or "from point to point"


@dataclass(frozen=True, slots=True)
class Scroll(BaseCommand):
    """Swipe up once, to scroll down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrollUntilVisible(BaseCommand):
    """Scroll until at least `share` (0..1) of the element is visible, or near the middle of the screen if `centered`.

    `direction` leads to the element; one swipe takes `seconds`.
    """

    selector: Selector
    direction: Direction = "down"
    timeout_seconds: float = 20.0
    seconds: float = 0.6
    share: float = 1.0
    centered: bool = False
    settle_seconds: float = 0.0

    @property
    def subject(self) -> str:
        return str(self.selector)

    @property
    def declared_seconds(self) -> float:
        return self.timeout_seconds + self.settle_seconds


@dataclass(frozen=True, slots=True)
class AssertVisible(_ElementCommand):
    pass


@dataclass(frozen=True, slots=True)
class AssertNotVisible(_ElementCommand):
    pass


@dataclass(frozen=True, slots=True)
class CopyTextFrom(_ElementCommand):
    """Copy the text of an element to ${maestro.copiedText}."""


@dataclass(frozen=True, slots=True)
class SetClipboard(_TextCommand):
    """Put a text into ${maestro.copiedText}."""


@dataclass(frozen=True, slots=True)
class AssertTrue(BaseCommand):
    """`value` is the text that the condition has become, `raw` the condition as written if it has variables."""

    value: str
    raw: str = ""

    @property
    def subject(self) -> str:
        return self.raw or self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendedWaitUntil(BaseCommand):
    """Wait until `visible` is visible and `not_visible` is not, by default as long as a step may take."""

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
    """Wait until the screen stops changing; after the timeout the test continues anyway."""

    timeout_seconds: float = 15.0

    @property
    def declared_seconds(self) -> float:
        return self.timeout_seconds
