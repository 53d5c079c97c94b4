"""Progress of an attempt: reported by its process, and remembered by the worker in case there is no result."""

from datetime import UTC, datetime
from typing import Any, cast

from mobiletest_automation.devices.port import NO_BUILD, Seed
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import StepResult, StepStatus
from services.executor.worker.processes.attempt_process import PAUSE_SECONDS, UNHURRIED_REPORTS, ProgressReporter
from services.executor.worker.processes.host import REPORTS_LIMIT, AttemptHost, Services
from services.executor.worker.processes.messages import ReportProgress, decode, encode
from services.executor.worker.processes.remote_ports import WorkerLink
from tests.fakes.devices import FakeDevices, FakeEvidence

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Link:
    """The part of WorkerLink that reports."""

    def __init__(self) -> None:
        self.sent: list[ReportProgress] = []

    async def notify(self, message: ReportProgress) -> None:
        self.sent.append(message)


def step(index: int) -> StepResult:
    return StepResult(index=index, kind="back", text="back", status=StepStatus.PASSED, started_at=NOW)


async def test_a_long_repetition_reports_ever_more_seldom() -> None:
    link, now, day = Link(), 0.0, 86_400
    reporter = ProgressReporter(cast("WorkerLink", link), lambda: now)
    for _ in range(UNHURRIED_REPORTS + 500):
        await reporter((step(0),), ())
    assert len(link.sent) == UNHURRIED_REPORTS + 1
    while now < day:
        now += PAUSE_SECONDS * 20
        await reporter((step(0),), ())
    assert len(link.sent) < REPORTS_LIMIT / 5


async def test_forgotten_steps_are_not_shown() -> None:
    services = Services(devices=FakeDevices(), evidence=FakeEvidence())
    host = AttemptHost(services, org_id="org", platform="android", build=NO_BUILD, seed=Seed("run", 1))
    link: Any = Link()
    reporter = ProgressReporter(link, lambda: 0.0)
    for count in (1, 2, 3, 2):
        await reporter(tuple(step(index) for index in range(count)), ())
    for message in link.sent:
        host.report(decode(encode(message)))
    failure = Failure(Category.SCRIPT_ERROR, "too much", "too much")
    assert [each.index for each in host.early_end(failure).steps] == [0, 1]
