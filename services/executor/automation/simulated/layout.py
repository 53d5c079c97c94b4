"""Lays the elements of a screen out below one another, and those of a row beside one another."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.executor.automation.elements import Bounds, Role
from services.executor.automation.simulated.model import Widget

WIDTH = 360
HEIGHT = 640
BAR = 56
"""The height of the title bar."""

_MARGIN = 8
_HEIGHTS = {Role.TEXT: 32, Role.LINK: 32, Role.HEADING: 44, Role.IMAGE: 96}
_HEIGHT = 48


@dataclass(frozen=True, slots=True)
class Placed:
    """An element and where it is on the screen, which may be above or below what can be seen."""

    widget: Widget
    bounds: Bounds
    inside: "tuple[Placed, ...]" = ()

    @property
    def on_screen(self) -> bool:
        middle = self.bounds.center.y
        return BAR <= middle <= HEIGHT


def place(widgets: Iterable[Widget], top: float) -> tuple[tuple[Placed, ...], float]:
    """The elements from `top` downwards, and where the last one ends."""
    return _stacked(widgets, _MARGIN, top, WIDTH - 2 * _MARGIN)


def _stacked(widgets: Iterable[Widget], x: float, top: float, width: float) -> tuple[tuple[Placed, ...], float]:
    placed, y = [], top
    for widget in widgets:
        one = _row(widget, x, y, width) if widget.role is Role.CELL else _block(widget, x, y, width)
        placed.append(one)
        y = one.bounds.bottom + _MARGIN
    return tuple(placed), y


def _block(widget: Widget, x: float, y: float, width: float) -> Placed:
    if not widget.widgets:
        return Placed(widget, Bounds(x, y, width, _HEIGHTS.get(widget.role, _HEIGHT)))
    inside, end = _stacked(widget.widgets, x, y, width)
    return Placed(widget, Bounds(x, y, width, end - y), inside)


def _row(widget: Widget, x: float, y: float, width: float) -> Placed:
    share = width / max(len(widget.widgets), 1)
    inside = tuple(
        Placed(child, Bounds(x + index * share, y, share, _HEIGHT)) for index, child in enumerate(widget.widgets)
    )
    return Placed(widget, Bounds(x, y, width, _HEIGHT), inside)
