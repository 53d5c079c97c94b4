"""Replaces what differs from recording to recording: ids, keys, hashes, times. What was equal stays equal."""

import json
import random
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

# When the story begins in the examples.
START = datetime(2026, 11, 20, 9, 15, tzinfo=UTC)
_BETWEEN = timedelta(milliseconds=640)
# Times further away than this keep their distance: expiries, retention.
_STORY = timedelta(minutes=5)

_FREE_FORM = frozenset(("metadata", "report_metadata", "element", "candidates"))
_EVENT = re.compile(r"^data: (\{.*\})$", re.MULTILINE)
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_KEY = re.compile(r"\bmt_([0-9A-Za-z]{12})(_[0-9A-Za-z]{38})?\b")
_HASH = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16})\b")
_TAG = re.compile(r"(?<=-)[0-9a-f]{8}(?=\\\")")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?=Z|\b)")
_MINUTE = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d(?= UTC)")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b(?![T ])")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_SECONDS = re.compile(r"((?:_seconds|time)\\*\"?(?:: ?|=\\\"))(\d+\.\d+)")


def stabilize(recorded: dict[str, Any]) -> dict[str, Any]:
    """The recording with stable values. Durations are rounded, from a second on to half seconds."""
    text = json.dumps(_sort_free_form(recorded))
    text = _replace(_UUID, text, lambda number, _: str(UUID(int=_random(number).getrandbits(128), version=4)))
    text = _ADDRESS.sub("https://mobiletest.example.com", text)
    text = _KEY.sub(_masked_key(), text)
    text = _replace(_HASH, text, lambda number, text_hash: _hexadecimal(number, len(text_hash)))
    text = _replace(_TAG, text, lambda number, tag: _hexadecimal(1000 + number, len(tag)))
    text = _shift_times(text)
    text = _SECONDS.sub(lambda match: f"{match[1]}{_rounded(float(match[2]))}", text)
    stable: dict[str, Any] = json.loads(text)
    return stable


def _sort_free_form(value: Any, *, free: bool = False) -> Any:
    """The service keeps the order of the fields that it describes, but not of free-form objects."""
    if isinstance(value, dict):
        names = sorted(value) if free else value
        return {name: _sort_free_form(value[name], free=free or name in _FREE_FORM) for name in names}
    if isinstance(value, list):
        return [_sort_free_form(inner, free=free) for inner in value]
    return _EVENT.sub(_sort_event, value) if isinstance(value, str) else value


def _sort_event(match: re.Match[str]) -> str:
    return f"data: {json.dumps(_sort_free_form(json.loads(match[1])), separators=(',', ':'), ensure_ascii=False)}"


def _rounded(seconds: float) -> float:
    return round(seconds * 2) / 2 if seconds >= 1 else round(seconds, 1)


def _replace(pattern: re.Pattern[str], text: str, make: Callable[[int, str], str]) -> str:
    """Replace each value by the one made for its number, in the order in which they occur first."""
    known: dict[str, str] = {}
    return pattern.sub(lambda match: known.setdefault(match[0], make(len(known), match[0])), text)


def _masked_key() -> Callable[[re.Match[str]], str]:
    prefixes: dict[str, str] = {}

    def mask(match: re.Match[str]) -> str:
        prefix = prefixes.setdefault(match[1], _hexadecimal(2000 + len(prefixes), 12))
        return f"mt_{prefix}{'_' + '*' * 38 if match[2] else ''}"

    return mask


def _shift_times(text: str) -> str:
    """Times of the story keep their order, others their distance from its start, in minutes; days are moved."""
    moments = {time: _moment(time) for time in _TIME.findall(text)}
    latest_before = datetime.now(UTC) - _STORY
    story = sorted({moment for moment in moments.values() if latest_before <= moment <= datetime.now(UTC)})
    first = story[0]
    stable = {moment: START + number * _BETWEEN for number, moment in enumerate(story)}
    text = _TIME.sub(
        lambda match: _written(match[0], stable.get(moments[match[0]]) or _far(moments[match[0]], first)), text
    )
    text = _MINUTE.sub(f"{START:%Y-%m-%d %H:%M}", text)
    days = START.date() - first.date()
    return _DATE.sub(lambda match: _day(match[0], days), text)


def _far(moment: datetime, first: datetime) -> datetime:
    return START + timedelta(minutes=round((moment - first) / timedelta(minutes=1)))


def _day(text: str, days: timedelta) -> str:
    return (datetime.fromisoformat(text) + days).date().isoformat()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _written(text: str, moment: datetime) -> str:
    """As precise as the text."""
    digits = text.partition(".")[2]
    fraction = f".{moment.microsecond:06d}".ljust(len(digits) + 1, "0")[: len(digits) + 1] if digits else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}"


def _hexadecimal(number: int, length: int) -> str:
    return "".join(_random(number).choices("0123456789abcdef", k=length))


def _random(number: int) -> random.Random:
    return random.Random(number)


def json_shape(value: Any, path: str = "") -> Iterable[str]:
    """Each path in JSON with its type: "items[].id: str"; the items of an array are taken together."""
    if isinstance(value, dict):
        yield f"{path}: object"
        for name, inner in value.items():
            yield from json_shape(inner, f"{path}.{name}")
    elif isinstance(value, list):
        yield f"{path}: array"
        for inner in value:
            yield from json_shape(inner, f"{path}[]")
    else:
        yield f"{path}: {'number' if type(value) in (int, float) else type(value).__name__}"
