"""The screens of an attempt, in the order of its steps, as the page of a run shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Picture:
    """A screenshot. `area` (x, y, width, height) is where the step's element is, as shares of the picture, if known."""

    name: str
    url: str
    caption: str
    label: str
    failed: bool = False
    area: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures by name. `first` is of the step that failed, or the last one; `actual` can become a baseline."""

    by_name: Mapping[str, Picture]
    first: Picture | None
    actual: Picture | None


def pictures_of(attempt: Mapping[str, Any]) -> Pictures:
    """The screenshots of an attempt of the REST interface."""
    steps = {step["screenshot"]: step for step in attempt["steps"] if step["screenshot"]}
    shown = [each for each in attempt["artifacts"] if each["kind"] == "screenshot" and each["url"]]
    pictures = [_picture(each["name"], each["url"], steps.get(each["name"])) for each in shown]
    return Pictures(
        by_name={picture.name: picture for picture in pictures},
        first=next((picture for picture in pictures if picture.failed), pictures[-1] if pictures else None),
        actual=next((picture for picture in pictures if picture.name.endswith("-actual.png")), None),
    )


def _picture(name: str, url: str, step: Mapping[str, Any] | None) -> Picture:
    if step is None:
        return Picture(name, url, caption=_label(name), label=_label(name))
    label = f"Step {step['index'] + 1}"
    failed = step["status"] == "failed"
    return Picture(name, url, f"{label}: {step['text']}", label, failed=failed, area=step["element_area"])


def _label(name: str) -> str:
    """What a picture of no step is called: "question 1" of "attempt-1-step-003-question-1.png"."""
    parts = name.removesuffix(".png").split("-")
    return " ".join(parts[4 if "step" in parts[2:3] else 2 :])


def step_class(attempt: Mapping[str, Any], step: Mapping[str, Any]) -> str:
    """How a step looks: a step of a running attempt that has not ended is reported as a warning."""
    if attempt["status"] == "running" and step["message"] == "not finished":
        return "running"
    return str({"warned": "no-verdict", None: "queued"}.get(step["status"], step["status"]))
