"""A run as one file: what is in it, what is left out, and that texts of others stay texts."""

import re
from dataclasses import dataclass, replace
from datetime import date

import pytest

from mobiletest_automation.html_report import LOG_BYTES
from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import (
    WEBP,
    Artifact,
    BoundElement,
    ScreenArea,
    StepResult,
    StepScreen,
    StepStatus,
)
from services.chassis.context import Caller, bind
from services.executor.model.runs import Run
from services.executor.model.screens import ScreenKey
from services.executor.usecases.held_contents import HeldContents
from services.executor.usecases.run_reports import RunReports
from tests.fakes.executor import FakeArtifacts
from tests.fakes.screens import FakeScreens
from tests.unit.executor.model.builders import NOW, new_run

ORG = "org-1"
AREA = ScreenArea(0.25, 0.5, 0.1, 0.2)


@dataclass
class OneRun:
    """The port `RunReader`."""

    stored: Run

    async def run(self, execution_id: str, run_id: str) -> Run:
        return self.stored


class Shelf:
    """Kept pictures: each has 100 bytes, which begin with its hash."""

    def __init__(self) -> None:
        self.screens = FakeScreens()
        self.artifacts = FakeArtifacts()

    async def keep(self, *hashes: str) -> None:
        for each in hashes:
            await self.screens.store(ScreenKey(ORG, each), each.encode().ljust(100), WEBP, date(2026, 3, 4))

    async def report(self, run: Run, picture_bytes: int = 10_000) -> str:
        reports = RunReports(OneRun(run), self.screens, self.artifacts, HeldContents(), picture_bytes=picture_bytes)
        with bind(Caller(ORG)):
            return (await reports.make(run.execution_id, run.id)).content.decode()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def step(
    index: int, picture: str = "", status: StepStatus = StepStatus.PASSED, *, reused: bool = False, **fields: str
) -> StepResult:
    element = BoundElement(role="button", text="Pay", area=AREA)
    screen = StepScreen(picture=picture, element=element, picture_reused=reused) if picture else None
    made = StepResult(
        index=index, kind="sentence", text=f"Tap {index}", status=status, started_at=NOW, duration_seconds=0.25
    )
    return replace(made, screen=screen, **fields)


def run_of(*steps: StepResult, artifacts: tuple[Artifact, ...] = (), number: int = 1) -> Run:
    attempt = Attempt(number=number, worker="w", started_at=NOW, success=True, steps=steps, artifacts=artifacts)
    return replace(new_run(), attempts=(attempt,), success=True)


def items(report: str) -> list[str]:
    return re.findall(r"<li id=.*?</li>", report, flags=re.DOTALL)


async def test_steps_have_their_pictures_with_the_element_marked(shelf: Shelf) -> None:
    await shelf.keep("a")
    (item,) = items(await shelf.report(run_of(step(0, "a"))))
    assert 'id="step-1"' in item
    assert 'src="data:image/webp;base64,' in item
    assert '<rect x="0.25" y="0.5" width="0.1" height="0.2"/>' in item
    assert "250 ms" in item


async def test_the_file_loads_nothing_and_runs_nothing(shelf: Shelf) -> None:
    await shelf.keep("a")
    report = await shelf.report(run_of(step(0, "a")))
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in report
    assert re.findall(r"<(?:script|link|iframe|object|base)\b|@import|url\(|\bon\w+=", report) == []
    addresses = re.findall(r'(?:src|href)="([^"]*)"', report)
    assert addresses
    assert [each for each in addresses if not each.startswith(("#", "data:"))] == []


async def test_texts_of_others_are_escaped(shelf: Shelf) -> None:
    hostile = "<script>alert(1)</script>\"'\u202e\x1b[31m"
    artifact = Artifact("attempt-1-log.txt", "log", "text/plain", 1000)
    run = run_of(step(0, text=hostile, message=hostile, element=hostile), artifacts=(artifact,))
    run = replace(run, target=replace(run.target, test_name=hostile, app_name=hostile))
    await shelf.artifacts.put(run.id, 1, artifact.name, hostile.encode())
    report = await shelf.report(run)
    assert report.count("&lt;script&gt;") == 7
    assert not re.search("<script|\u202e|\x1b", report)


async def test_a_screen_that_several_steps_have_is_there_once(shelf: Shelf) -> None:
    await shelf.keep("a", "b")
    first, second, third = items(await shelf.report(run_of(step(0, "a"), step(1, "b"), step(2, "a"))))
    assert 'the same screen as at <a href="#step-3">step 3</a>' in first
    assert "data:" in second
    assert "data:" in third


async def test_a_picture_of_another_moment_or_of_a_simulated_device_says_so(shelf: Shelf) -> None:
    await shelf.keep("a", "b")
    run = run_of(step(0, "a"), step(1, "b", reused=True), step(2, "b", reused=True))
    first, second, third = items(await shelf.report(run))
    assert "Taken earlier" not in first
    assert 'the same elements as at <a href="#step-3">step 3</a>' in second
    assert third.count("Taken earlier: the same elements in the same state") == 1
    (attempt,) = run.attempts
    simulated = await shelf.report(replace(run, attempts=(replace(attempt, simulated=True),)))
    assert all("Before, simulated" in item for item in items(simulated))


async def test_pictures_of_failures_come_first_when_there_is_no_room_for_all(shelf: Shelf) -> None:
    await shelf.keep("a", "b", "c")
    shot = Artifact("shot.png", "screenshot", "image/png", 50)
    steps = step(0, "a"), step(1, "b", StepStatus.FAILED, screenshot="shot.png"), step(2, "c")
    run = run_of(*steps, artifacts=(shot,))
    await shelf.artifacts.put(run.id, 1, "shot.png", b"png")
    report = await shelf.report(run, picture_bytes=150)
    before, failed, after = items(report)
    assert failed.count("data:") == 2
    assert "At the failure" in failed
    assert "left out" in before
    assert "left out" in after
    assert "2 pictures were left out" in report


async def test_what_is_not_stored_any_more_is_said(shelf: Shelf) -> None:
    shot = Artifact("shot.png", "screenshot", "image/png", 50)
    report = await shelf.report(run_of(step(0, "a"), step(1, screenshot="shot.png"), artifacts=(shot,)))
    assert report.count("not available any more") == 2
    assert "left out" not in report


async def test_steps_of_earlier_attempts_have_addresses_of_their_own(shelf: Shelf) -> None:
    one = run_of(step(0))
    run = replace(one, attempts=(*one.attempts, replace(one.attempts[0], number=2)))
    report = await shelf.report(run)
    assert re.findall(r'<li id="([^"]*)"', report) == ["step-1", "attempt-1-step-1"]
    assert report.index("Attempt 2: passed") < report.index("Attempt 1: passed")


async def test_a_long_log_is_cut_at_a_line(shelf: Shelf) -> None:
    content = b"".join(b"line %06d\n" % number for number in range(LOG_BYTES // 10))
    artifact = Artifact("attempt-1-log.txt", "log", "text/plain", len(content))
    run = run_of(step(0), artifacts=(artifact,))
    await shelf.artifacts.put(run.id, 1, artifact.name, content)
    report = await shelf.report(run)
    assert re.search(r"its last 128 KiB</summary><pre>line \d{6}\n", report)


async def test_a_run_without_attempts_has_a_report(shelf: Shelf) -> None:
    assert "initialized" in await shelf.report(new_run())
