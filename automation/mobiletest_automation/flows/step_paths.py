"""Finds and replaces steps in the steps of a test by their paths: "steps[3].repeat.commands[0]"."""

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

# A JSON value.
Json: TypeAlias = Any

_PART = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)", re.ASCII)


class NoSuchStep(Exception):
    """The steps have nothing at this path."""


def step_at(steps: Sequence[Json], path: str) -> Json:
    """The step at the path.

    Raises:
        NoSuchStep: there is none.
    """
    value: Any = steps
    for key in _keys(path):
        try:
            value = value[key]
        except (LookupError, TypeError) as error:
            raise NoSuchStep(path) from error
    return value


def replace_step(steps: Sequence[Json], path: str, old: Json, step: Json) -> list[Json]:
    """The steps with another one in place of the `old` one at the path; the others are not copied.

    Raises:
        NoSuchStep: the old one is not there.
    """
    if step_at(steps, path) != old:
        raise NoSuchStep(path)
    changed: list[Json] = _replaced(list(steps), _keys(path), step)
    return changed


def _keys(path: str) -> list[int | str]:
    """Without the name of the root."""
    return [int(index) if index else name for index, name in _PART.findall(path)][1:]


def _replaced(value: Any, keys: Sequence[int | str], step: Json) -> Any:
    if not keys:
        return step
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    copy[keys[0]] = _replaced(copy[keys[0]], keys[1:], step)
    return copy
