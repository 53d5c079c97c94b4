"""Where the elements of a simulated screen are: one below the other, those of a row side by side."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mobiletest_automation.devices.simulated.app_model import Widget
from mobiletest_automation.devices.simulated.running_app import RunningApp
from mobiletest_automation.screen.elements import Bounds, Point, Role

WIDTH = 360
HEIGHT = 640
SCREEN = Bounds(0, 0, WIDTH, HEIGHT)
# The height of the title bar.
BAR = 56

_MARGIN = 8
_HEIGHTS = {Role.TEXT: 32, Role.LINK: 32, Role.HEADING: 44, Role.IMAGE: 96}
_HEIGHT = 48


@dataclass(frozen=True, slots=True)
class PlacedWidget:
    """An element and its place, which may be above or below the visible part of the screen."""

    widget: Widget
    bounds: Bounds
    inside: "tuple[PlacedWidget, ...]" = ()

    @property
    def on_screen(self) -> bool:
        middle = self.bounds.center.y
        return BAR <= middle <= HEIGHT


def layout_of(app: RunningApp) -> tuple[tuple[PlacedWidget, ...], float]:
    """The elements that are present now, and the height of all of them together."""
    if app.loading:
        return _stack((Widget(key=f"{app.screen.name}/loading", role=Role.PROGRESS, id="loading"),), BAR)
    placed, end = _stack(_present(app.screen.widgets, app), BAR - app.scrolled)
    return placed, end + app.scrolled


def present_widgets(app: RunningApp) -> list[Widget]:
    """All elements that are present now, also those inside others."""
    return list(_flatten(layout_of(app)[0]))


def widgets_at(app: RunningApp, point: Point) -> list[Widget]:
    """The visible elements at a point, the innermost first."""
    if not (0 <= point.x <= WIDTH and BAR <= point.y <= HEIGHT):
        return []
    widgets: list[Widget] = []
    level = layout_of(app)[0]
    while level:
        hit = next((placed for placed in level if placed.bounds.contains(point)), None)
        if hit is None:
            break
        widgets.insert(0, hit.widget)
        level = hit.inside
    return widgets


def _present(widgets: tuple[Widget, ...], app: RunningApp) -> tuple[Widget, ...]:
    shown = (widget for widget in widgets if app.shows(widget))
    return tuple(replace(each, widgets=_present(each.widgets, app)) if each.widgets else each for each in shown)


def _flatten(placed: Iterable[PlacedWidget]) -> Iterator[Widget]:
    for each in placed:
        yield each.widget
        yield from _flatten(each.inside)


def _stack(
    widgets: Iterable[Widget], top: float, *, x: float = _MARGIN, width: float = WIDTH - 2 * _MARGIN
) -> tuple[tuple[PlacedWidget, ...], float]:
    """The elements from `top` downwards, and where the last one ends."""
    placed, y = [], top
    for widget in widgets:
        one = _row(widget, x, y, width) if widget.role is Role.CELL else _block(widget, x, y, width)
        placed.append(one)
        y = one.bounds.bottom + _MARGIN
    return tuple(placed), y


def _block(widget: Widget, x: float, y: float, width: float) -> PlacedWidget:
    if not widget.widgets:
        return PlacedWidget(widget, Bounds(x, y, width, _HEIGHTS.get(widget.role, _HEIGHT)))
    inside, end = _stack(widget.widgets, y, x=x, width=width)
    return PlacedWidget(widget, Bounds(x, y, width, end - y), inside)


def _row(widget: Widget, x: float, y: float, width: float) -> PlacedWidget:
    share = width / max(len(widget.widgets), 1)
    inside = tuple(
        PlacedWidget(child, Bounds(x + index * share, y, share, _HEIGHT)) for index, child in enumerate(widget.widgets)
    )
    return PlacedWidget(widget, Bounds(x, y, width, _HEIGHT), inside)
