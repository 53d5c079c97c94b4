"""A worker reports itself when something changes, often enough, and retires when it ends."""

import asyncio
from dataclasses import replace

import pytest
from pymongo.errors import AutoReconnect

from services.executor.model.workers import WorkerReport
from services.executor.worker.heartbeat import Heartbeat
from tests.eventually import eventually
from tests.fakes.chassis import FakeClock


class RecordedWorkers:
    """The port `Workers`: keeps what it is told; `failure` is raised instead."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.reports: list[WorkerReport] = []
        self.retired: list[str] = []

    async def report(self, worker: WorkerReport) -> None:
        if self.failure is not None:
            raise self.failure
        self.reports.append(worker)

    async def retire(self, worker_id: str) -> None:
        self.retired.append(worker_id)


class State:
    """What the worker would report, and its heartbeat."""

    def __init__(self) -> None:
        self.report = WorkerReport(id="1", name="worker", slots=4)
        self.workers, self.clock = RecordedWorkers(), FakeClock()
        self.heartbeat = Heartbeat(
            self.workers, lambda: self.report, every=0.001, renewal=5, clock=self.clock.monotonic
        )


@pytest.fixture
def state() -> State:
    return State()


async def test_a_change_is_reported_at_once_and_nothing_twice(state: State) -> None:
    await state.heartbeat.beat()
    await state.heartbeat.beat()
    assert state.workers.reports == [state.report]
    state.report = replace(state.report, running=1)
    await state.heartbeat.beat()
    assert [each.running for each in state.workers.reports] == [0, 1]


async def test_a_report_is_renewed_in_time(state: State) -> None:
    await state.heartbeat.beat()
    state.clock.advance(4.9)
    await state.heartbeat.beat()
    assert len(state.workers.reports) == 1
    state.clock.advance(0.1)
    await state.heartbeat.beat()
    assert len(state.workers.reports) == 2


async def test_it_outlives_an_outage_and_retires_at_the_end(state: State) -> None:
    state.workers.failure = AutoReconnect("no primary")
    running = asyncio.create_task(state.heartbeat.run())
    await asyncio.sleep(0)
    state.workers.failure = None
    await eventually(lambda: state.workers.reports)
    running.cancel()
    await asyncio.wait({running})
    assert state.workers.retired == ["1"]
