"""Sessions are recorded in the lease before use, and orphaned sessions are deleted."""

import asyncio
from dataclasses import replace

import pytest

from services.chassis.errors import Unavailable
from services.executor.automation.devices.port import DeviceFailure
from services.executor.maintenance.orphan_sessions import OrphanSweeper
from services.executor.model.failures import Category
from services.executor.model.runs import Session
from services.executor.ports.runs import Claim, RunKey
from services.executor.worker.session_tracker import SessionTracker
from tests.eventually import eventually
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import run_of, started

SESSION = Session("http://hub:4723", "s-1")


class Hub:
    """A hub that deletes sessions unless it is `away` or raises."""

    def __init__(self) -> None:
        self.away = False
        self.error: Exception | None = None
        self.asked: list[Session] = []

    async def delete(self, session: Session) -> bool:
        self.asked.append(session)
        if self.error is not None:
            raise self.error
        return not self.away


async def claimed(store: FakeExecutions, key: RunKey) -> Claim:
    claim = await store.claim(key, "worker-1")
    assert claim is not None
    return claim


async def orphaned(store: FakeExecutions) -> RunKey:
    """A run whose worker was lost with an open session."""
    [key] = await started(store)
    claim = await claimed(store, key)
    await store.note_session(key, claim.run.fencing_token, SESSION)
    store.advance(16)
    await store.expire(key)
    return key


async def test_a_session_is_recorded_in_the_lease() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    claim = await claimed(store, key)
    await SessionTracker(store, Hub().delete).recorder(claim)(SESSION)
    lease = run_of(store, key).lease
    assert lease is not None
    assert lease.session == SESSION


async def test_a_lost_run_cannot_record_a_session() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    claim = await claimed(store, key)
    store.advance(16)
    await store.expire(key)
    with pytest.raises(DeviceFailure, match="belongs to another worker") as raised:
        await SessionTracker(store, Hub().delete).recorder(claim)(SESSION)
    assert raised.value.category is Category.EXECUTOR_LOST


class Stumbling(FakeExecutions):
    """Unavailable for the first `times` records of sessions."""

    times = 2

    async def note_session(self, key: RunKey, token: int, session: Session) -> None:
        self.times -= 1
        if self.times >= 0:
            raise Unavailable("down")
        await super().note_session(key, token, session)


@pytest.mark.parametrize(("times", "noted"), [(2, True), (100, False)])
async def test_recording_a_session_is_retried_a_few_times(times: int, noted: bool) -> None:
    store = Stumbling()
    store.times = times
    [key] = await started(store)
    note = SessionTracker(store, Hub().delete).recorder(await claimed(store, key))
    if noted:
        await note(SESSION)
    else:
        with pytest.raises(DeviceFailure, match="down"):
            await note(SESSION)
    lease = run_of(store, key).lease
    assert lease is not None
    assert (lease.session is not None) is noted


async def test_the_next_worker_deletes_the_orphaned_session() -> None:
    store, hub = FakeExecutions(), Hub()
    key = await orphaned(store)
    await SessionTracker(store, hub.delete).delete_orphans(await claimed(store, key))
    assert hub.asked == [SESSION]
    assert run_of(store, key).orphans == ()


@pytest.mark.parametrize("error", [None, RuntimeError("boom")])
async def test_a_hub_that_does_not_answer_is_not_fatal_and_the_orphan_stays(error: Exception | None) -> None:
    store, hub = FakeExecutions(), Hub()
    key = await orphaned(store)
    hub.away, hub.error = True, error
    await SessionTracker(store, hub.delete).delete_orphans(await claimed(store, key))
    assert [orphan.session for orphan in run_of(store, key).orphans] == [SESSION]


async def test_the_sweep_deletes_orphans_and_backs_off_from_failing_hubs() -> None:
    store, hub = FakeExecutions(), Hub()
    key = await orphaned(store)
    orphans = OrphanSweeper(store, SessionTracker(store, hub.delete))
    hub.away = True
    assert await orphans.sweep() == 1
    assert await orphans.sweep() == 0
    assert len(hub.asked) == 1
    hub.away = False
    assert await OrphanSweeper(store, SessionTracker(store, hub.delete)).sweep() == 1
    assert run_of(store, key).orphans == ()


async def test_the_sweep_gives_up_old_orphans() -> None:
    store, hub = FakeExecutions(), Hub()
    key = await orphaned(store)
    hub.away = True
    store.advance(901)
    await OrphanSweeper(store, SessionTracker(store, hub.delete)).sweep()
    assert run_of(store, key).orphans == ()


async def test_orphans_of_ended_runs_are_deleted_too() -> None:
    store, hub = FakeExecutions(), Hub()
    key = await orphaned(store)
    run = run_of(store, key)
    store.stored[run.id] = replace(run, claimable_at=None)
    await OrphanSweeper(store, SessionTracker(store, hub.delete)).sweep()
    assert hub.asked == [SESSION]


@pytest.mark.parametrize("every", [0.01, None])
async def test_the_sweeper_runs_when_woken_and_periodically_on_workers(every: float | None) -> None:
    store, hub = FakeExecutions(), Hub()
    key = await orphaned(store)
    orphans = OrphanSweeper(store, SessionTracker(store, hub.delete), every=every)
    running = asyncio.create_task(orphans.run())
    if every is None:
        await asyncio.sleep(0)
        assert hub.asked == []
        orphans.wake()
    await eventually(lambda: run_of(store, key).orphans == ())
    running.cancel()
