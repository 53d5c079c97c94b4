"""Selectors of elements, positions, and conditions of commands."""

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from services.flows.patterns import Pattern

Direction: TypeAlias = Literal["up", "down", "left", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Selects the elements that meet all the criteria; `index` picks one of them, counted from 0, from the top.

    `width` and `height` are pixels, and may differ by `tolerance`.
    """

    text: Pattern | None = None
    id: Pattern | None = None
    index: int | None = None
    enabled: bool | None = None
    checked: bool | None = None
    focused: bool | None = None
    selected: bool | None = None
    width: float | None = None
    height: float | None = None
    tolerance: float | None = None
    below: "Selector | None" = None
    above: "Selector | None" = None
    left_of: "Selector | None" = None
    right_of: "Selector | None" = None
    child_of: "Selector | None" = None
    contains_child: "Selector | None" = None
    contains_descendants: "tuple[Selector, ...] | None" = None

    def __str__(self) -> str:
        criteria = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(_criterion(name, value) for name, value in criteria.items() if value is not None)


def _criterion(name: str, value: object) -> str:
    words = name.replace("_", " ")
    match name, value:
        case "text", Pattern():
            return f'"{value.source}"'
        case _, Pattern():
            return f'{words} "{value.source}"'
        case _, Selector():
            return f"{words} ({value})"
        case _, tuple():
            return f"{words} ({'; '.join(map(str, value))})"
        case _, bool():
            return words if value else f"not {words}"
        case _, float():
            return f"{words} {value:g}"
        case _:
            return f"{words} {value}"


@dataclass(frozen=True, slots=True)
class Position:
    """A point of the screen or of an element: in pixels, or as a share 0..1 of its size if `relative`."""

    x: float
    y: float
    relative: bool

    def __str__(self) -> str:
        return f"{self.x * 100:g}%, {self.y * 100:g}%" if self.relative else f"{self.x:g}, {self.y:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """All parts must hold; `platform` is android or ios, `truth` a text that must count as true."""

    visible: Selector | None = None
    not_visible: Selector | None = None
    platform: str | None = None
    truth: str | None = None
