"""A run as one HTML file: it holds its pictures, up to a limit, and loads nothing."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Protocol

from mobiletest_automation.flows.printable import visible
from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.failures import Failure
from mobiletest_automation.model.results import WEBP, Artifact, ScreenArea, StepResult, StepStatus
from mobiletest_automation.model.states import Status

# Of all pictures of a report, which take a third more in it: mail servers take files of 10 MiB and more.
PICTURE_BYTES = 6 * 1024 * 1024
LOG_BYTES = 128 * 1024
_SHOWN_TYPES = frozenset(("image/png", "image/jpeg", WEBP))
_LEFT_OUT = "left out, because the report would be too large"
_GONE = "not available any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """A run, as its report shows it; `app` and `platform` are empty if they are not known.

    `version` is the build's, `test_version` that of the test, None if it has none.
    """

    test_name: str
    app: str = ""
    platform: str = ""
    version: str = ""
    test_version: int | None = None
    status: Status
    success: bool | None
    failure: Failure | None
    attempts: Sequence[Attempt]
    seconds: float | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of a step: a kept screen by its hash, or an artifact by its name; `key` is one of them."""

    anchor: str
    name: str
    key: str
    area: ScreenArea | None
    attempt: int
    artifact: Artifact | None = None
    urgent: bool = False
    reused: bool = False


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """A picture that can be read: its media type and its bytes."""

    content_type: str
    size: int


class PictureSource(Protocol):
    """The pictures of one run."""

    async def look_up(self, shots: Sequence[Shot]) -> Mapping[str, StoredPicture]:
        """Those that are still there, by their keys."""

    async def read(self, shots: Sequence[Shot]) -> Mapping[str, bytes]:
        """Their contents by their keys; what is gone is left out."""


@dataclass(frozen=True, slots=True)
class ReportPicture:
    """A picture of a step: its bytes, or the anchor of the step `same_as` that shows it, or why it is `missing`.

    `reused`: it was taken at another step or run, where the screen had the same elements in the same state.
    """

    name: str
    content: bytes = b""
    content_type: str = ""
    area: ScreenArea | None = None
    same_as: str = ""
    missing: str = ""
    reused: bool = False

    @property
    def source(self) -> str:
        """A data URI; empty without bytes."""
        return f"data:{self.content_type};base64,{b64encode(self.content).decode()}" if self.content else ""


async def render(
    run: ReportedRun, source: PictureSource, log: bytes = b"", log_size: int = 0, *, picture_bytes: int = PICTURE_BYTES
) -> Iterator[bytes]:
    """The file in pieces, each of at most a step.

    `log` is the end of the last attempt's log, at most LOG_BYTES of its `log_size` bytes.
    """
    pictures, left_out = await _pictures(run.attempts, source, picture_bytes)
    notice = f"{left_out} pictures were left out, because the report would be too large." if left_out else ""
    cut = log_size > LOG_BYTES
    lines = (log.partition(b"\n")[2] if cut else log).decode(errors="replace")
    return _pieces(run, pictures, notice, lines, f"{LOG_BYTES // 1024} KiB" if cut else "")


def _pieces(
    run: ReportedRun, pictures: Mapping[str, list[ReportPicture]], notice: str, log: str, log_part: str
) -> Iterator[bytes]:
    macros = _macros()
    yield _bytes(macros.head(run, _verdict(run), notice))
    for attempt in reversed(run.attempts):
        yield _bytes(macros.attempt_head(attempt, _verdict(attempt), len(run.attempts) > 1))
        for step in attempt.steps:
            anchor = _anchor(run.attempts, attempt, step)
            yield _bytes(macros.step(step, anchor, pictures.get(anchor, ())))
        is_last = attempt is run.attempts[-1]
        yield _bytes(macros.attempt_end(log if is_last else "", log_part))
    yield _bytes(macros.end())


async def _pictures(
    attempts: Sequence[Attempt], source: PictureSource, room: int
) -> tuple[dict[str, list[ReportPicture]], int]:
    """The pictures of each step by its anchor, and how many were left out because there was no `room`, in bytes.

    Those of failures come first, then those of the last steps. A screen that several steps have is there once.
    """
    shots = [shot for attempt in reversed(attempts) for shot in _shots(attempts, attempt)]
    first: dict[str, Shot] = {}
    for shot in [*(each for each in shots if each.urgent), *reversed(shots)]:
        first.setdefault(shot.key, shot)
    contents = await _contents(list(first.values()), source, room)
    pictures: dict[str, list[ReportPicture]] = {}
    for shot in shots:
        holder = first[shot.key]
        picture = contents[shot.key]
        if holder is not shot and not picture.missing:
            picture = ReportPicture(shot.name, same_as=holder.anchor, reused=shot.reused)
        pictures.setdefault(shot.anchor, []).append(picture)
    return pictures, sum(picture.missing == _LEFT_OUT for picture in contents.values())


async def _contents(shots: Sequence[Shot], source: PictureSource, room: int) -> dict[str, ReportPicture]:
    """The picture of each key, as long as there is room."""
    stored = await source.look_up(shots)
    pictures: dict[str, ReportPicture] = {}
    chosen: list[Shot] = []
    for shot in shots:
        picture = stored.get(shot.key)
        if picture is None or picture.content_type not in _SHOWN_TYPES:
            pictures[shot.key] = ReportPicture(shot.name, missing=_GONE)
        elif picture.size > room:
            pictures[shot.key] = ReportPicture(shot.name, missing=_LEFT_OUT)
        else:
            room -= picture.size
            chosen.append(shot)
    contents = await source.read(chosen)
    for shot in chosen:
        content = contents.get(shot.key)
        pictures[shot.key] = (
            ReportPicture(shot.name, content, stored[shot.key].content_type, shot.area, reused=shot.reused)
            if content
            else ReportPicture(shot.name, missing=_GONE)
        )
    return pictures


def _shots(attempts: Sequence[Attempt], attempt: Attempt) -> Iterator[Shot]:
    """The pictures of the attempt's steps: the screens that they found, what they took, and what a failure showed."""
    artifacts = {each.name: each for each in attempt.artifacts if not each.gone}
    suffix = ", simulated" if attempt.simulated else ""
    for step in attempt.steps:
        anchor, failed = _anchor(attempts, attempt, step), step.status is StepStatus.FAILED
        if step.screen is not None and step.screen.picture:
            name, element = f"Before{suffix}", step.screen.element
            area = element.area if element is not None else None
            reused = step.screen.picture_reused
            yield Shot(anchor, name, step.screen.picture, area, attempt.number, urgent=failed, reused=reused)
        if (artifact := artifacts.get(step.screenshot)) is not None and _is_own(attempt, step):
            name = ("At the failure" if failed else "Screenshot") + suffix
            yield Shot(anchor, name, artifact.name, step.element_area, attempt.number, artifact, urgent=failed)


def _is_own(attempt: Attempt, step: StepResult) -> bool:
    """Whether the picture is not of a step inside, which failed and comes later."""
    later = attempt.steps[step.index + 1 : step.index + 2]
    return not any(each.screenshot == step.screenshot and each.depth > step.depth for each in later)


def _anchor(attempts: Sequence[Attempt], attempt: Attempt, step: StepResult) -> str:
    """The fragment that leads to a step, as on the page of the run."""
    prefix = "" if attempt is attempts[-1] else f"attempt-{attempt.number}-"
    return f"{prefix}step-{step.index + 1}"


def _bytes(text: str) -> bytes:
    return text.lstrip().encode(errors="replace")


def _verdict(item: ReportedRun | Attempt) -> str:
    if item.success is not None:
        return "passed" if item.success else "failed"
    return "no verdict" if item.status.value == "failed" else item.status.value


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


@cache
def _macros() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # with its parts 4 MiB, for few requests

    environment = Environment(
        loader=PackageLoader("mobiletest_automation"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "seconds": _seconds}
    return environment.get_template("run_report.html").module
