"""The frames of a video follow the steps of the attempt; only one has its pictures in memory."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import cast

import pytest

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import WEBP, StepResult, StepScreen, StepStatus
from services.chassis.context import Caller, bind
from services.chassis.errors import ResourceExhausted
from services.executor.model.runs import Run
from services.executor.model.screens import ScreenKey
from services.executor.usecases.executions import ExecutionControl
from services.executor.usecases.held_contents import HeldContents
from services.executor.usecases.videos import FRAMES_LIMIT, VideoFrame, VideoUseCases, frames_of
from tests.fakes.screens import FakeScreens
from tests.unit.executor.model.builders import new_run

BEGAN = datetime(2026, 11, 29, tzinfo=UTC)


def step(seconds: float, picture: str = "", screen: bool = True) -> StepResult:
    return StepResult(
        index=0,
        kind="sentence",
        text="",
        status=StepStatus.PASSED,
        started_at=BEGAN + timedelta(seconds=seconds),
        screen=StepScreen(picture=picture) if screen else None,
    )


def test_a_picture_is_shown_until_the_next_step_with_one_began() -> None:
    steps = [step(0, "a"), step(0.5, "b"), step(0.7, screen=False), step(0.8), step(1.1, "c")]
    assert frames_of(steps) == [VideoFrame("a", 500), VideoFrame("b", 600), VideoFrame("c", 2000)]


def test_a_frame_lasts_from_a_fifth_of_a_second_to_two_seconds() -> None:
    """Whatever the clocks of workers say."""
    steps = [step(0, "a"), step(60, "b"), step(60.01, "c"), step(20, "d")]
    assert [frame.milliseconds for frame in frames_of(steps)] == [2000, 200, 200, 2000]


def test_equal_pictures_that_follow_one_another_are_one_frame() -> None:
    steps = [step(0, "a"), step(0.3, "a"), step(0.8, "b"), step(1, "a")]
    assert frames_of(steps) == [VideoFrame("a", 800), VideoFrame("b", 200), VideoFrame("a", 2000)]
    assert frames_of([step(at, "a") for at in range(9)]) == [VideoFrame("a", 2000)]


def test_a_long_attempt_shows_its_end() -> None:
    frames = frames_of([step(at, str(at)) for at in range(FRAMES_LIMIT + 30)])
    assert (len(frames), frames[0].picture, frames[-1].picture) == (FRAMES_LIMIT, "30", str(FRAMES_LIMIT + 29))


def test_without_pictures_there_are_no_frames() -> None:
    assert frames_of([step(0), step(1, screen=False)]) == []


class OneRun:
    """The control of one run, which ended with one picture."""

    async def run(self, execution_id: str, run_id: str) -> tuple[None, Run]:
        attempt = Attempt(number=1, worker="worker-1", started_at=BEGAN, steps=(step(0, "a"),))
        return None, replace(new_run(), org_id="org-1", attempts=(attempt,))


class SlowVideos:
    """The port `Videos`: no video is ever made."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def make(self, org_id: str, frames: Iterable[tuple[bytes, int]]) -> bytes | None:
        self.begun.set()
        await asyncio.Event().wait()
        return None


async def test_requests_that_wait_have_read_no_pictures() -> None:
    screens, videos = FakeScreens(), SlowVideos()
    await screens.store(ScreenKey("org-1", "a"), b"picture", WEBP, date(2026, 11, 29))
    usecases = VideoUseCases(cast(ExecutionControl, OneRun()), screens, videos, HeldContents())
    with bind(Caller("org-1")):
        tasks = [asyncio.create_task(usecases.download("execution", "run", None)) for _ in range(50)]
    await videos.begun.wait()
    calls = screens.calls
    ended, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert screens.calls == calls
    assert (len(ended), len(waiting)) == (45, 5)
    with pytest.raises(ResourceExhausted):
        await ended.pop()
    for task in waiting:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
