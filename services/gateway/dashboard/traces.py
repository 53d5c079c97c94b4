"""The trace of an attempt: its steps with the screens before and after each, and when they took place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

# The width of the drawn timeline; a step is at least one unit wide.
TIMELINE_UNITS = 1000


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a screen. `area` (x, y, width, height) is where the element is, as shares of the picture, if known.

    `name` says when it was taken, such as "Before" the step, and whether a simulated device drew it. `reused`: it was
    taken at another step or run, where the screen had the same elements in the same state.
    """

    url: str
    name: str
    caption: str
    area: Mapping[str, float] | None = None
    reused: bool = False


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step. `before` is the screen that it found, `after` the one that it left; None for what was not kept.

    `until` is when the next step began, "" if there is none. `same_as` is the label of the first step with the same
    picture. `start` and `width` are its place in the timeline; None for a step that consists of others.
    """

    step: Mapping[str, Any]
    label: str
    anchor: str
    look: str
    before: Picture | None
    after: Picture | None
    until: str = ""
    same_as: str = ""
    start: float | None = None
    width: float | None = None

    @property
    def shown(self) -> Picture | None:
        """The picture of the step in the filmstrip."""
        return self.before or self.after

    @property
    def missing_after(self) -> str:
        """Why there is no screen after the step."""
        if self.look == "running":
            return "Not there yet"
        return "Not kept" if self.until else "None is taken after the last step"

    @property
    def tree_url(self) -> str:
        return str((self.step.get("screen") or {}).get("tree_url", ""))

    @property
    def lost(self) -> str:
        """Why the screen was not kept; empty if it was."""
        return str((self.step.get("screen") or {}).get("lost", ""))

    @property
    def element(self) -> Mapping[str, Any] | None:
        """The element that the step chose."""
        return (self.step.get("screen") or {}).get("element")


@dataclass(frozen=True, slots=True)
class Trace:
    """`others` are pictures of no step by their names, `actual` the name of the one that can become a baseline.

    `current` is the step that is shown first: of those with a picture the one that failed, or else the newest one, as
    always in an attempt under way. A step fails as the one inside it that failed, which comes later.
    """

    steps: Sequence[TraceStep]
    others: Mapping[str, Picture]
    current: TraceStep | None
    actual: str | None
    seconds: float
    log_url: str


def trace_of(attempt: Mapping[str, Any], *, last: bool) -> Trace:
    """The trace of an attempt of the REST interface; `last`: it is the last one of its run."""
    shots = {each["name"]: each["url"] for each in attempt["artifacts"] if each["kind"] == "screenshot" and each["url"]}
    prefix = "" if last else f"attempt-{attempt['number']}-"
    raw: Sequence[Mapping[str, Any]] = attempt["steps"]
    suffix = ", simulated" if attempt["simulated"] else ""
    steps = [_trace_step(raw, place, shots, prefix, suffix) for place in range(len(raw))]
    steps, seconds = _with_timeline(_with_reuse(steps), attempt["started_at"])
    of_steps = {step["screenshot"] for step in raw}
    log = next((each["url"] for each in attempt["artifacts"] if each["kind"] == "log" and each["url"]), "")
    return Trace(
        steps=steps,
        others={name: _other(name, url, suffix) for name, url in shots.items() if name not in of_steps},
        current=_current(steps, attempt["status"]),
        actual=next((name for name in shots if name.endswith("-actual.png")), None),
        seconds=seconds,
        log_url=log,
    )


def _trace_step(
    steps: Sequence[Mapping[str, Any]], place: int, shots: Mapping[str, str], prefix: str, suffix: str
) -> TraceStep:
    step, label = steps[place], f"Step {steps[place]['index'] + 1}"
    title, following = f"{label}: {step['text']}", _following(steps, place)
    left = steps[_first_with_screen(steps, following)] if following is not None else None
    return TraceStep(
        step=step,
        label=label,
        anchor=f"{prefix}step-{step['index'] + 1}",
        look=step_class(step),
        before=_kept(step, f"Before{suffix}", title),
        after=_after(step, left, shots, title, suffix),
        until=steps[following]["started_at"] if following is not None else "",
    )


def _following(steps: Sequence[Mapping[str, Any]], place: int) -> int | None:
    """The place of the next step that is no part of this one."""
    depth, later = steps[place]["depth"], range(place + 1, len(steps))
    return next((each for each in later if steps[each]["depth"] <= depth), None)


def _first_with_screen(steps: Sequence[Mapping[str, Any]], place: int) -> int:
    """The place of the step, or of the first one inside that kept its screen: before them nothing acts."""
    depths = [*(each["depth"] for each in steps), 0]
    while not (steps[place].get("screen") or {}).get("picture_url") and depths[place + 1] > depths[place]:
        place += 1
    return place


def _after(
    step: Mapping[str, Any], left: Mapping[str, Any] | None, shots: Mapping[str, str], title: str, suffix: str
) -> Picture | None:
    """The picture that the step took, or that of its failure; else the screen that the next step found: `left`."""
    if url := shots.get(step["screenshot"]):
        name = ("At the failure" if step["status"] == "failed" else "Screenshot") + suffix
        return Picture(url, name, f"{name}, {title}", step["element_area"])
    kept = _kept(left, f"After{suffix}", title) if left is not None else None
    return replace(kept, area=None) if kept is not None else None


def _kept(step: Mapping[str, Any], name: str, title: str) -> Picture | None:
    screen = step.get("screen") or {}
    if not screen.get("picture_url"):
        return None
    area = (screen.get("element") or {}).get("area")
    return Picture(screen["picture_url"], name, f"{name}, {title}", area, screen["picture_reused"])


def _with_reuse(steps: Sequence[TraceStep]) -> list[TraceStep]:
    first: dict[str, str] = {}
    marked: list[TraceStep] = []
    for each in steps:
        label = first.setdefault(each.before.url, each.label) if each.before is not None else each.label
        marked.append(replace(each, same_as="" if label == each.label else label))
    return marked


def _with_timeline(steps: Sequence[TraceStep], began: str) -> tuple[list[TraceStep], float]:
    """The steps with their places in the timeline, and how many seconds that is long."""
    zero = datetime.fromisoformat(began)
    starts = [(datetime.fromisoformat(each.step["started_at"]) - zero).total_seconds() for each in steps]
    ends = [start + each.step["duration_seconds"] for start, each in zip(starts, steps, strict=True)]
    whole = max(ends, default=0.0)
    unit = TIMELINE_UNITS / whole if whole > 0 else 0.0
    depths = [*(each.step["depth"] for each in steps[1:]), 0]
    placed = [
        replace(each, start=round(start * unit, 1), width=round(max((end - start) * unit, 1.0), 1))
        if following <= each.step["depth"]
        else each
        for each, start, end, following in zip(steps, starts, ends, depths, strict=False)
    ]
    return placed, whole


def _current(steps: Sequence[TraceStep], status: str) -> TraceStep | None:
    with_pictures = [each for each in steps if each.shown is not None]
    newest = with_pictures[-1] if with_pictures else steps[-1] if steps else None
    if status == "running":
        return newest
    return next((each for each in reversed(with_pictures) if each.look == "failed"), newest)


def _other(file: str, url: str, suffix: str) -> Picture:
    """A picture of no step: "question 1" of "attempt-1-step-003-question-1.png"."""
    parts = file.removesuffix(".png").split("-")
    name = " ".join(parts[4 if "step" in parts[2:3] else 2 :])
    return Picture(url, f"{name}{suffix}", name)


def step_class(step: Mapping[str, Any]) -> str:
    """How a step looks."""
    return str({"warned": "no-verdict", None: "queued"}.get(step["status"], step["status"]))
