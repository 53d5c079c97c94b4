"""The frames of a video follow the steps of the attempt."""

from datetime import UTC, datetime, timedelta

from mobiletest_automation.model.results import StepResult, StepScreen, StepStatus
from services.executor.usecases.videos import FRAMES_LIMIT, VideoFrame, frames_of

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
