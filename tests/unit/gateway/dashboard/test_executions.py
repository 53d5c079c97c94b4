"""The pictures of an attempt: their captions, and which one is shown first."""

from typing import Any

import pytest

from services.gateway.dashboard.executions import pictures_of, step_class

AREA = {"x": 0.1, "y": 0.2, "width": 0.5, "height": 0.1}


def step(index: int, status: str | None, screenshot: str = "", message: str = "") -> dict[str, Any]:
    return {
        "index": index,
        "text": f"Tap {index}",
        "status": status,
        "screenshot": screenshot,
        "message": message,
        "element_area": AREA if status == "failed" else None,
    }


def attempt(*steps: dict[str, Any], pictures: tuple[str, ...], status: str = "completed") -> dict[str, Any]:
    artifacts = [{"kind": "screenshot", "name": name, "url": f"/{name}"} for name in pictures]
    return {"status": status, "steps": steps, "artifacts": [*artifacts, {"kind": "log", "name": "log", "url": "/log"}]}


def test_the_picture_of_the_failed_step_comes_first() -> None:
    pictures = pictures_of(
        attempt(
            step(0, "passed", "attempt-1-step-000-home.png"),
            step(1, "failed", "attempt-1-step-001.png"),
            pictures=("attempt-1-step-000-home.png", "attempt-1-step-001.png", "attempt-1-step-001-actual.png"),
        )
    )
    assert [picture.caption for picture in pictures.by_name.values()] == ["Step 1: Tap 0", "Step 2: Tap 1", "actual"]
    assert pictures.first is not None
    assert (pictures.first.name, pictures.first.failed, pictures.first.area) == ("attempt-1-step-001.png", True, AREA)
    assert pictures.actual is not None
    assert pictures.actual.name == "attempt-1-step-001-actual.png"


def test_without_a_failure_the_last_picture_comes_first() -> None:
    pictures = pictures_of(attempt(pictures=("attempt-1-step-003-question-1.png", "attempt-2-end.png")))
    assert [picture.label for picture in pictures.by_name.values()] == ["question 1", "end"]
    assert pictures.first is not None
    assert pictures.first.name == "attempt-2-end.png"


def test_an_attempt_may_have_no_pictures() -> None:
    """Those that have expired cannot be shown."""
    gone = attempt(step(0, "failed", "attempt-1-step-000.png"), pictures=())
    gone["artifacts"].append({"kind": "screenshot", "name": "attempt-1-step-000.png", "url": ""})
    assert (pictures_of(gone).first, pictures_of(gone).by_name) == (None, {})


@pytest.mark.parametrize(("status", "shown"), [("running", "/screens/b"), ("completed", "/home.png")])
def test_an_attempt_under_way_shows_its_newest_screen(status: str, shown: str) -> None:
    steps = [step(number, "passed", "home.png" if number == 0 else "") for number in range(4)]
    for each, hash_ in zip(steps, ("a", "b", ""), strict=False):
        each["screen"] = {"picture": hash_, "picture_url": hash_ and f"/screens/{hash_}", "element": {"area": AREA}}
    first = pictures_of(attempt(*steps, pictures=("home.png",), status=status)).first
    assert first is not None
    assert first.url == shown


@pytest.mark.parametrize(
    ("status", "shown"),
    [("running", "running"), ("warned", "no-verdict"), ("skipped", "skipped"), (None, "queued")],
)
def test_a_step_looks_as_it_stands(status: str | None, shown: str) -> None:
    assert step_class(step(0, status)) == shown
