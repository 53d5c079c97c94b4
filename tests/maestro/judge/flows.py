"""What is judged: a flow in a folder, and the screens that its device shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["passed", "failed", "refused", "unfinished"]
# A name and its arguments: ["tap", 270, 480].
Action: TypeAlias = Sequence[object]

# The app under test of a flow whose header does not name it, or by variables.
ANY_APP = "*"

NO_SCREEN = '<hierarchy rotation="0" width="540" height="960"/>'


@dataclass(frozen=True, slots=True)
class Moves:
    """A list that goes on moving after a swipe, by so many pixels at each of the next readings of the screen."""

    pixels: int
    readings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFlow:
    """`path` is that of the flow in its `folder`. Each tap, swipe, key or text shows the next of the screens."""

    id: str
    folder: Path
    path: str
    screens: tuple[str, ...] = (NO_SCREEN,)
    moves: Moves | None = None
    env: Mapping[str, str]

    @property
    def text(self) -> str:
        return (self.folder / self.path).read_text()


@dataclass(frozen=True, slots=True)
class Outcome:
    """`refused` is a flow that is not begun."""

    verdict: Verdict
    actions: tuple[Action, ...]
    message: str = ""
