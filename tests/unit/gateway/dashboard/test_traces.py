"""The trace of an attempt: which screens stand beside a step, and which step is shown first."""

from typing import Any

import pytest

from services.gateway.dashboard.traces import Trace, step_class, trace_of

AREA = {"x": 0.1, "y": 0.2, "width": 0.5, "height": 0.1}


def step(
    index: int,
    status: str | None = "passed",
    screenshot: str = "",
    *,
    picture: str = "",
    depth: int = 0,
    reused: bool = False,
) -> dict[str, Any]:
    """A step that begins at its index in seconds, and takes half a second."""
    screen = {"picture_url": f"/screens/{picture}", "tree_url": "", "lost": "", "element": {"area": AREA}}
    screen["picture_reused"] = reused
    return {
        "index": index,
        "text": f"Tap {index}",
        "status": status,
        "screenshot": screenshot,
        "element_area": AREA if status == "failed" else None,
        "depth": depth,
        "started_at": f"2026-11-29T10:00:{index:02}Z",
        "duration_seconds": 0.5,
        **({"screen": screen} if picture else {}),
    }


def trace(
    *steps: dict[str, Any],
    pictures: tuple[str, ...] = (),
    status: str = "completed",
    last: bool = True,
    simulated: bool | None = None,
) -> Trace:
    artifacts = [{"kind": "screenshot", "name": name, "url": f"/{name}"} for name in pictures]
    artifacts += [
        {"kind": "screenshot", "name": "attempt-1-gone.png", "url": ""},
        {"kind": "log", "name": "log", "url": "/log"},
    ]
    began = "2026-11-29T10:00:00Z"
    attempt = {"number": 1, "status": status, "started_at": began, "steps": steps, "artifacts": artifacts}
    attempt["simulated"] = simulated
    return trace_of(attempt, last=last)


def urls(trace: Trace) -> list[tuple[str | None, str | None]]:
    return [(each.before and each.before.url, each.after and each.after.url) for each in trace.steps]


def test_the_screen_after_a_step_is_the_one_before_the_next_step() -> None:
    shown = trace(step(0, picture="a"), step(1, picture="b"), step(2), step(3, picture="c"))
    a, b, c = "/screens/a", "/screens/b", "/screens/c"
    assert urls(shown) == [(a, b), (b, None), (None, c), (c, None)]
    first = shown.steps[0]
    assert first.before is not None
    assert first.after is not None
    assert (first.before.area, first.after.area) == (AREA, None)


def test_the_screen_after_a_step_of_steps_is_the_one_that_they_left() -> None:
    shown = trace(step(0, picture="a"), step(1, picture="b", depth=1), step(2, picture="c"))
    assert urls(shown) == [("/screens/a", "/screens/c"), ("/screens/b", "/screens/c"), ("/screens/c", None)]


def test_the_screen_before_steps_of_a_step_is_the_one_that_the_first_of_them_found() -> None:
    shown = trace(step(0, picture="a"), step(1), step(2, picture="b", depth=1), step(3, picture="c"))
    assert urls(shown)[0] == ("/screens/a", "/screens/b")
    assert urls(trace(step(0, picture="a"), step(1), step(2, picture="b")))[0] == ("/screens/a", None)


def test_the_picture_of_a_failure_is_the_screen_after_its_step() -> None:
    shown = trace(step(0, "failed", "shot.png", picture="a"), step(1, picture="b"), pictures=("shot.png",))
    after = shown.steps[0].after
    assert after is not None
    assert (after.url, after.name, after.area) == ("/shot.png", "At the failure", AREA)


def test_equal_pictures_name_the_step_that_had_it_first() -> None:
    shown = trace(step(0, picture="a"), step(1, picture="b"), step(2, picture="a"), step(3))
    assert [each.same_as for each in shown.steps] == ["", "", "Step 1", ""]


def test_a_picture_of_another_moment_says_so_before_its_step_and_after_the_previous_one() -> None:
    first, second = trace(step(0, picture="a"), step(1, picture="b", reused=True)).steps
    assert [picture and picture.reused for picture in (first.before, first.after, second.before)] == [False, True, True]


def test_pictures_of_a_simulated_device_say_so() -> None:
    pictures = ("shot.png", "attempt-1-end.png")
    shown = trace(step(0, picture="a"), step(1, "failed", "shot.png", picture="b"), pictures=pictures, simulated=True)
    named = [picture for each in shown.steps for picture in (each.before, each.after)] + [*shown.others.values()]
    names = ["Before", "After", "Before", "At the failure", "end"]
    assert [picture and picture.name for picture in named] == [f"{name}, simulated" for name in names]


def test_a_missing_screen_after_a_step_says_why() -> None:
    shown = trace(step(0, picture="a"), step(1), step(2, "running"), status="running")
    assert [each.missing_after for each in shown.steps] == ["Not kept", "Not kept", "Not there yet"]
    assert trace(step(0)).steps[0].missing_after == "None is taken after the last step"


def test_addresses_of_steps_are_unique_on_the_page() -> None:
    assert [each.anchor for each in trace(step(0), step(1)).steps] == ["step-1", "step-2"]
    assert [each.anchor for each in trace(step(0), last=False).steps] == ["attempt-1-step-1"]


def test_steps_have_their_places_in_the_timeline() -> None:
    """But for those that consist of others."""
    shown = trace(step(0), step(1, depth=1), step(2))
    assert [(each.start, each.width) for each in shown.steps] == [(None, None), (400.0, 200.0), (800.0, 200.0)]
    assert shown.seconds == 2.5
    assert [each.until for each in shown.steps] == ["2026-11-29T10:00:02Z", "2026-11-29T10:00:02Z", ""]


@pytest.mark.parametrize(("status", "label"), [("running", "Step 4"), ("completed", "Step 3")])
def test_the_failed_step_is_shown_first_or_the_newest_of_an_attempt_under_way(status: str, label: str) -> None:
    """A step that consists of others fails with the one inside."""
    steps = (step(0, "failed", "shot.png"), step(1, picture="a"), step(2, "failed", "shot.png"), step(3, picture="b"))
    shown = trace(*steps, step(4, "skipped"), pictures=("shot.png",), status=status)
    assert shown.current is not None
    assert shown.current.label == label


def test_without_pictures_the_last_step_is_shown() -> None:
    """Pictures that have expired cannot be shown."""
    shown = trace(step(0, "failed", "attempt-1-gone.png"), step(1, "skipped"))
    assert urls(shown) == [(None, None), (None, None)]
    assert shown.current is not None
    assert (shown.current.label, shown.others) == ("Step 2", {})
    assert trace().current is None


def test_pictures_of_no_step_are_named() -> None:
    names = ("attempt-1-step-003-question-1.png", "attempt-2-end.png", "attempt-1-step-001-actual.png")
    shown = trace(step(0), pictures=names)
    assert [picture.name for picture in shown.others.values()] == ["question 1", "end", "actual"]
    assert shown.actual == "attempt-1-step-001-actual.png"
    assert shown.log_url == "/log"


@pytest.mark.parametrize(
    ("status", "look"),
    [("running", "running"), ("warned", "no-verdict"), ("skipped", "skipped"), (None, "queued")],
)
def test_a_step_looks_as_it_stands(status: str | None, look: str) -> None:
    assert step_class(step(0, status)) == look
