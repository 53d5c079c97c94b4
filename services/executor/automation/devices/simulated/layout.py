"""Lays the elements of a screen out below one another, and those of a row beside one another."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.executor.automation.devices.simulated.app_model import Widget
from services.executor.automation.screen.elements import Bounds, Role

WIDTH = 360
HEIGHT = 640
SCREEN = Bounds(0, 0, WIDTH, HEIGHT)
BAR = 56
"""The height of the title bar."""

_MARGIN = 8
_HEIGHTS = {Role.TEXT: 32, Role.LINK: 32, Role.HEADING: 44, Role.IMAGE: 96}
_HEIGHT = 48


@dataclass(frozen=True, slots=True)
class PlacedWidget:
    """An element and where it is on the screen, which may be above or below what can be seen."""

    widget: Widget
    bounds: Bounds
    inside: "tuple[PlacedWidget, ...]" = ()

    @property
    def on_screen(self) -> bool:
        middle = self.bounds.center.y
        return BAR <= middle <= HEIGHT


def place(widgets: Iterable[Widget], top: float) -> tuple[tuple[PlacedWidget, ...], float]:
    """The elements from `top` downwards, and where the last one ends."""
    return _stacked(widgets, _MARGIN, top, WIDTH - 2 * _MARGIN)


def _stacked(widgets: Iterable[Widget], x: float, top: float, width: float) -> tuple[tuple[PlacedWidget, ...], float]:
    placed, y = [], top
    for widget in widgets:
        one = _row(widget, x, y, width) if widget.role is Role.CELL else _block(widget, x, y, width)
        placed.append(one)
        y = one.bounds.bottom + _MARGIN
    return tuple(placed), y


def _block(widget: Widget, x: float, y: float, width: float) -> PlacedWidget:
    if not widget.widgets:
        return PlacedWidget(widget, Bounds(x, y, width, _HEIGHTS.get(widget.role, _HEIGHT)))
    inside, end = _stacked(widget.widgets, x, y, width)
    return PlacedWidget(widget, Bounds(x, y, width, end - y), inside)


def _row(widget: Widget, x: float, y: float, width: float) -> PlacedWidget:
    share = width / max(len(widget.widgets), 1)
    inside = tuple(
        PlacedWidget(child, Bounds(x + index * share, y, share, _HEIGHT)) for index, child in enumerate(widget.widgets)
    )
    return PlacedWidget(widget, Bounds(x, y, width, _HEIGHT), inside)
