"""Gestures as W3C pointer actions, and keys as W3C key actions."""

from collections.abc import Iterable, Sequence

from services.executor.automation.devices.webdriver.hub_connection import Json
from services.executor.automation.screen.elements import Point

TAP_SECONDS = 0.05
BETWEEN_TAPS_SECONDS = 0.08
_SWIPE_STEPS = 10


def tap(point: Point, *, times: int = 1, pointer: str = "touch") -> list[Json]:
    """`pointer` is touch or mouse."""
    moves: list[Json] = [_move(point)]
    for number in range(times):
        moves += [_pause(BETWEEN_TAPS_SECONDS)] if number else []
        moves += [_DOWN, _pause(TAP_SECONDS), _UP]
    return [_finger(moves, pointer)]


def long_press(point: Point, seconds: float) -> list[Json]:
    return [_finger([_move(point), _DOWN, _pause(seconds), _UP])]


def swipe(start: Point, end: Point, seconds: float) -> list[Json]:
    """A stroke in small steps, because not every driver interpolates."""
    part = seconds / _SWIPE_STEPS
    path: list[Json] = [_move(_between(start, end, step / _SWIPE_STEPS), part) for step in range(1, _SWIPE_STEPS + 1)]
    return [_finger([_move(start), _DOWN, *path, _UP])]


def keys(values: Iterable[str]) -> list[Json]:
    """Each key is pressed and released."""
    strokes: list[Json] = []
    for value in values:
        strokes += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
    return [{"type": "key", "id": "keyboard", "actions": strokes}]


_DOWN: Json = {"type": "pointerDown", "button": 0}
_UP: Json = {"type": "pointerUp", "button": 0}


def _finger(actions: Sequence[Json], pointer: str = "touch") -> Json:
    return {"type": "pointer", "id": pointer, "parameters": {"pointerType": pointer}, "actions": list(actions)}


def _move(point: Point, seconds: float = 0.0) -> Json:
    return {
        "type": "pointerMove",
        "duration": round(seconds * 1000),
        "origin": "viewport",
        "x": round(point.x),
        "y": round(point.y),
    }


def _pause(seconds: float) -> Json:
    return {"type": "pause", "duration": round(seconds * 1000)}


def _between(start: Point, end: Point, share: float) -> Point:
    return Point(start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share)
