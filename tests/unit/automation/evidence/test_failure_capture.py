"""The evidence of a failing attempt, and that capturing it neither changes nor delays the verdict."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, DeviceLog, PageSource
from mobiletest_automation.evidence.failure_capture import LOG_BYTES, MARGIN_SECONDS, TREE_BYTES, FailureCapture
from mobiletest_automation.evidence.recorder import ARTIFACTS_LIMIT, TEXTS_LIMIT, StepRecorder
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult, ScreenArea
from mobiletest_automation.screen.elements import Bounds
from services.chassis.clock import SystemClock
from tests.fakes.devices import FakeDevice, FakeEvidence, button, screen
from tests.unit.automation.attempts import StoppedClock, failure_of, run

PICTURE = ("screenshot", "image/png", 12)
TREE = ("tree", "application/xml", 7)


async def attempt(
    device: FakeDevice, *steps: object, evidence: FakeEvidence | None = None, **fields: Any
) -> AttemptResult:
    return await run(device, *steps, attempt=2, evidence=evidence or FakeEvidence(), **fields)


async def out_of_time(device: "Hanging", step: object, seconds: float = 1000) -> AttemptResult:
    """An attempt that has 1000 seconds, of which these are over as soon as its device hangs."""
    clock = StoppedClock()
    running = asyncio.create_task(attempt(device, step, run_seconds=1000))
    await device.hangs.wait()
    clock.pass_time(seconds)
    return await running


def kept(result: AttemptResult) -> dict[str, tuple[str, str, int]]:
    return {artifact.name: (artifact.kind, artifact.content_type, artifact.size_bytes) for artifact in result.artifacts}


class Hanging(FakeDevice):
    """Calls named in `deaf` never return."""

    def __init__(self, *deaf: str) -> None:
        super().__init__()
        self.deaf = deaf
        self.hangs = asyncio.Event()
        self.asked: list[str] = []

    async def _hang(self, what: str) -> None:
        self.asked.append(what)
        if what in self.deaf:
            self.hangs.set()
            await asyncio.Event().wait()

    async def screenshot(self) -> bytes:
        await self._hang("screenshot")
        return b"\x89PNG picture"

    async def source(self) -> PageSource:
        await self._hang("source")
        return PageSource("<fake/>")

    async def log(self) -> DeviceLog:
        await self._hang("log")
        return DeviceLog("a line")

    async def back(self) -> None:
        await self._hang("back")


async def test_a_failing_step_leaves_a_screenshot_a_tree_and_a_log() -> None:
    evidence, device = FakeEvidence(), FakeDevice()
    device.logged = "E/Shop: out of stock\n"
    result = await attempt(device, {"takeScreenshot": "at / the start"}, "Tap Pay", evidence=evidence)
    assert kept(result) == {
        "attempt-2-step-000-at---the-start.png": PICTURE,
        "attempt-2-step-001.png": PICTURE,
        "attempt-2-step-001-tree.xml": TREE,
        "attempt-2-log.txt": ("log", "text/plain; charset=utf-8", 21),
    }
    assert list(kept(result)) == list(evidence.kept)
    assert [(step.screenshot, step.tree) for step in result.steps] == [
        ("attempt-2-step-000-at---the-start.png", ""),
        ("attempt-2-step-001.png", "attempt-2-step-001-tree.xml"),
    ]
    assert evidence.kept["attempt-2-log.txt"] == b"E/Shop: out of stock\n"


async def test_a_passing_attempt_leaves_no_log() -> None:
    device = FakeDevice(screen(button("Pay")))
    device.logged = "chatter"
    assert kept(await attempt(device, "Tap Pay")) == {}


@pytest.mark.parametrize(
    ("content_type", "name"),
    [("text/html", "tree.html"), ("application/xml", "tree.xml"), ("application/x-odd", "tree.txt")],
)
async def test_a_tree_has_the_file_extension_of_its_content_type(content_type: str, name: str) -> None:
    class Web(FakeDevice):
        async def source(self) -> PageSource:
            return PageSource("<html/>", content_type)

    result = await attempt(Web(), "Tap Pay")
    assert result.steps[0].tree == f"attempt-2-step-000-{name}"
    assert "charset=utf-8" in result.artifacts[-1].content_type or name == "tree.xml"


async def test_a_container_shows_the_evidence_of_its_failing_step() -> None:
    result = await attempt(FakeDevice(), {"repeat": {"times": 2, "commands": ["Tap Pay"]}}, step_seconds=1)
    outer, inner = result.steps
    assert (outer.screenshot, outer.tree) == (inner.screenshot, inner.tree)
    assert inner.screenshot == "attempt-2-step-001.png"


@pytest.mark.parametrize("category", [Category.SESSION_LOST, Category.NETWORK_ERROR, Category.APP_CRASH])
async def test_every_failure_is_captured(category: Category) -> None:
    device = FakeDevice()
    device.failing["back"] = DeviceFailure(category, "gone")
    result = await attempt(device, "back")
    assert (failure_of(result).category, result.steps[0].screenshot) == (category, "attempt-2-step-000.png")


async def test_an_app_that_does_not_start_is_captured() -> None:
    device = FakeDevice()
    device.failing["launch"] = DeviceFailure(Category.APP_LAUNCH_FAILED, "it died")
    result = await attempt(device, "Tap Pay", build=AppUnderTest())
    assert (result.failure is not None, kept(result)) == (
        True,
        {"attempt-2-end.png": PICTURE, "attempt-2-end-tree.xml": TREE},
    )


async def test_a_timed_out_run_is_captured() -> None:
    result = await out_of_time(Hanging("back"), "back")
    assert failure_of(result).category is Category.RUN_TIMEOUT
    assert (result.steps[0].screenshot, result.steps[0].tree) == (
        "attempt-2-step-000.png",
        "attempt-2-step-000-tree.xml",
    )


@pytest.mark.parametrize(
    ("call", "error", "noted"),
    [
        ("screenshot", DeviceFailure(Category.SESSION_LOST, "no camera"), "(no screenshot: no camera)"),
        ("source", KeyError("source"), "(no UI tree: KeyError)"),
    ],
)
async def test_a_failed_capture_is_noted_in_the_step_only(call: str, error: Exception, noted: str) -> None:
    """Also a bug of a driver."""
    device = FakeDevice()
    device.failing[call] = error  # type: ignore[assignment]
    result = await attempt(device, "Tap Pay", step_seconds=1)
    assert failure_of(result).category is Category.ELEMENT_NOT_FOUND
    assert noted not in failure_of(result).message
    assert result.steps[0].message == f"{failure_of(result).message} {noted}"
    assert (result.steps[0].screenshot == "", result.steps[0].tree == "") == (call == "screenshot", call == "source")


async def test_a_failing_store_is_noted_in_the_step() -> None:
    steps = [{"takeScreenshot": "x"}, "Take a screenshot", "Tap Nothing"]
    result = await attempt(FakeDevice(screen(button("Pay"))), *steps, evidence=FakeEvidence(OSError("full")))
    assert (failure_of(result).category, result.artifacts) == (Category.ELEMENT_NOT_FOUND, ())
    assert "the screenshot could not be stored" in result.steps[0].message
    assert "no screenshot: it could not be stored; no UI tree: it could not be stored" in result.steps[2].message


@pytest.mark.parametrize(
    ("bounds", "area"),
    [
        (Bounds(100, 200, 50, 20), ScreenArea(0.1, 0.1, 0.05, 0.01)),
        (Bounds(900, 1990, 200, 100), ScreenArea(0.9, 0.995, 0.1, 0.005)),
        (Bounds(0, 2500, 50, 20), None),
        (None, None),
    ],
    ids=["inside", "cut off by the edge", "below the screen", "on an unknown screen"],
)
async def test_the_element_is_marked_where_it_is_on_the_screenshot(
    bounds: Bounds | None, area: ScreenArea | None
) -> None:
    class Tall(FakeDevice):
        async def screen_bounds(self) -> Bounds:
            if bounds is None:
                raise DeviceFailure(Category.SESSION_LOST, "gone")
            return Bounds(0, 0, 1000, 2000)

    pay = button("Pay", bounds=bounds or Bounds(0, 0, 1, 1), enabled=False)
    result = await attempt(Tall(screen(pay)), '"Pay" is enabled')
    assert (failure_of(result).category, result.steps[0].element_area) == (Category.ASSERTION_FAILED, area)


async def test_an_unresponsive_device_is_asked_once() -> None:
    """The limit is for screenshot and tree together; nothing is asked later."""
    recorder = StepRecorder(attempt=1, evidence=FakeEvidence(), now=SystemClock().now, progress=None)
    capture = FailureCapture(recorder, run_seconds=60, capture_seconds=0.05)
    capture.device = device = Hanging("screenshot", "source", "log")
    captured = await capture.capture_screen(0)
    await capture.capture_log()
    assert captured.missing == ("no screenshot: the device does not answer", "no UI tree: the device does not answer")
    assert (device.asked, recorder.artifacts) == (["screenshot"], [])


async def test_a_slow_capture_does_not_turn_a_failure_into_a_timeout() -> None:
    """The run's time ends during the capture: the verdict is that of the step."""
    device = Hanging("screenshot")
    device.failing["press"] = DeviceFailure(Category.APP_CRASH, "it died")
    result = await out_of_time(device, "Press enter", 1000 - MARGIN_SECONDS)
    assert failure_of(result).category is Category.APP_CRASH


async def test_long_trees_and_logs_are_truncated() -> None:
    class Verbose(FakeDevice):
        async def source(self) -> PageSource:
            return PageSource("<n>" + "é" * TREE_BYTES + "</n>")

        async def log(self) -> DeviceLog:
            return DeviceLog("first" + "x" * LOG_BYTES + "last")

    evidence = FakeEvidence()
    await attempt(Verbose(), "Tap Pay", evidence=evidence)
    tree, log = evidence.kept["attempt-2-step-000-tree.txt"], evidence.kept["attempt-2-log.txt"]
    assert (len(tree) < TREE_BYTES + 100, tree.startswith("<n>é".encode())) == (True, True)
    assert (len(log) < LOG_BYTES + 100, log.startswith(b"first"), log.endswith(b"last")) == (True, True, True)


async def test_the_artifacts_of_an_attempt_are_limited() -> None:
    pictures = {"repeat": {"times": ARTIFACTS_LIMIT + 10, "commands": [{"takeScreenshot": "x"}]}}
    result = await attempt(FakeDevice(), pictures)
    assert (result.failure, len(result.artifacts)) == (None, ARTIFACTS_LIMIT)
    assert "could not be stored" in result.steps[-1].message


async def test_the_texts_of_an_attempt_are_limited() -> None:
    """MongoDB stores at most 16 MiB of an attempt's steps: beyond that there would be no verdict."""
    times = 2 * TEXTS_LIMIT // 10_000
    typed = {"repeat": {"times": times, "commands": [{"inputText": "ä" * 10_000}]}}
    result = await attempt(FakeDevice(), typed)
    assert (result.failure, len(result.steps)) == (None, times + 1)
    assert len(result.steps[1].text) > 10_000
    assert sum(len(step.text) + len(step.message) for step in result.steps) < TEXTS_LIMIT + times * 300


async def test_each_failure_of_a_repeated_step_has_a_screenshot() -> None:
    result = await attempt(FakeDevice(), {"retry": {"maxRetries": 1, "commands": ["Tap Pay"]}}, step_seconds=1)
    shots: Sequence[str] = [step.screenshot for step in result.steps]
    assert shots == ["attempt-2-step-002.png", "attempt-2-step-001.png", "attempt-2-step-002.png"]
