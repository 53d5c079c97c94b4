"""When the steps of attempts under way are written."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from mobiletest_automation.devices.port import NO_BUILD, Devices, Seed
from mobiletest_automation.model.results import StepResult, StepStatus
from services.chassis.errors import Unavailable
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.ports.runs import Claim, LiveAttempt
from services.executor.worker.live_steps import PAUSE_SECONDS, LiveStepsWriter
from services.executor.worker.processes.host import AttemptHost, Services
from services.executor.worker.processes.messages import ReportProgress, decode, encode, frame
from tests.fakes.chassis import FakeClock
from tests.fakes.devices import FakeDevices, FakeEvidence
from tests.fakes.executor import plan
from tests.unit.executor.model.builders import claimed_run, execution_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class FakeLiveAttempts:
    """Remembers what is written; `failures` are raised for the runs with these ids."""

    def __init__(self) -> None:
        self.writes: list[list[LiveAttempt]] = []
        self.failures: dict[str, Exception] = {}

    async def write(self, attempts: Sequence[LiveAttempt]) -> None:
        for attempt in attempts:
            if attempt.key.run_id in self.failures:
                raise self.failures[attempt.key.run_id]
        self.writes.append(list(attempts))

    @property
    def numbers(self) -> list[list[int]]:
        """How many steps each attempt of each write has."""
        return [[len(attempt.steps) for attempt in write] for write in self.writes]


class World:
    """A writer and its attempts, on a clock that stands still."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.attempts = FakeLiveAttempts()
        self.writer = LiveStepsWriter(self.attempts, self.clock.monotonic)

    async def advance(self, seconds: float = PAUSE_SECONDS) -> None:
        self.clock.advance(seconds)
        await self.writer.write_due()


def a_claim() -> Claim:
    run = claimed_run()
    return Claim(execution_of(run), run, plan())


def a_host(devices: Devices | None = None) -> AttemptHost:
    services = Services(devices=devices or FakeDevices(), evidence=FakeEvidence())
    return AttemptHost(services, org_id="org", platform="android", build=NO_BUILD, seed=Seed("run", 1))


def report(host: AttemptHost, *indexes: int) -> None:
    """Report these steps as passed, the last of which is the last step."""
    steps = tuple(
        StepResult(index=index, kind="back", text="back", status=StepStatus.PASSED, started_at=NOW) for index in indexes
    )
    host.report(decode(encode(ReportProgress(steps, (), indexes[-1] + 1))))


async def test_steps_are_written_at_most_every_half_second_and_only_if_they_changed() -> None:
    world, host = World(), a_host()
    with world.writer.follow(a_claim(), host):
        report(host, 0)
        await world.advance(0)
        assert world.attempts.writes == []
        await world.advance()
        report(host, 1)
        await world.advance(PAUSE_SECONDS / 2)
        assert world.attempts.numbers == [[1]]
        report(host, 2)
        await world.advance(PAUSE_SECONDS / 2)
        await world.advance()
    assert world.attempts.numbers == [[1], [3]]


async def test_an_attempt_that_ends_soon_costs_no_write() -> None:
    world, host = World(), a_host()
    with world.writer.follow(a_claim(), host):
        report(host, 0)
        await world.advance(0)
    await world.advance()
    assert world.attempts.writes == []


async def test_the_attempts_of_a_worker_share_a_write() -> None:
    world, one, two = World(), a_host(), a_host()
    with world.writer.follow(a_claim(), one), world.writer.follow(a_claim(), two):
        report(one, 0)
        report(two, 0, 1)
        await world.advance(0)
        await world.advance()
    assert world.attempts.numbers == [[1, 2]]


async def test_the_device_is_shown_before_the_first_step_ends() -> None:
    world, host = World(), a_host(PooledDevices(DEFAULT_POOLS))
    with world.writer.follow(a_claim(), host):
        handle = await host.acquire_device()
        await world.advance(0)
        await world.advance()
    [[attempt]] = world.attempts.writes
    assert (attempt.device, attempt.steps) == (handle.info.name, ())
    assert attempt.simulated


async def test_what_could_not_be_written_in_an_outage_is_written_afterwards() -> None:
    world, host, claim = World(), a_host(), a_claim()
    world.attempts.failures[claim.run.id] = Unavailable("away")
    with world.writer.follow(claim, host):
        report(host, 0)
        await world.advance(0)
        await world.advance()
        world.attempts.failures.clear()
        await world.advance()
    assert world.attempts.numbers == [[1]]


@pytest.mark.parametrize("malformed", [False, True])
async def test_an_attempt_that_cannot_be_stored_does_not_hide_others(malformed: bool) -> None:
    world, good, bad, claim = World(), a_host(), a_host(), a_claim()
    with world.writer.follow(claim, bad), world.writer.follow(a_claim(), good):
        report(good, 0)
        if malformed:
            bad.report(decode(frame(0, "ReportProgress", b"[]")))
        else:
            report(bad, 0)
            world.attempts.failures[claim.run.id] = OverflowError("an integer of more than 8 bytes")
        await world.advance(0)
        await world.advance()
        report(good, 1)
        await world.advance()
    assert world.attempts.numbers == [[1], [2]]
