"""Sessions are recorded in the lease before use, and orphaned sessions are deleted."""

import asyncio

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from services.chassis.errors import Unavailable
from services.executor.maintenance.orphan_sessions import OrphanSweeper
from services.executor.model.runs import Orphan
from services.executor.ports.runs import RunKey
from services.executor.storage.runs import MongoRuns
from services.executor.worker.session_tracker import SessionTracker
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, lose, run_of, running, started
from tests.eventually import eventually, stop
from tests.fakes.executor import plan

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


@pytest.fixture
def hub() -> Hub:
    return Hub()


async def orphaned(world: World) -> RunKey:
    """A run whose worker was lost with an open session."""
    claim = await running(world)
    await world.runs.note_session(claim.key, claim.run.fencing_token, SESSION)
    await lose(world, claim.key)
    return claim.key


async def orphans_of(world: World, key: RunKey) -> tuple[Orphan, ...]:
    return (await run_of(world, key)).orphans


async def test_the_session_of_a_lost_worker_is_an_orphan_until_it_is_forgotten(world: World) -> None:
    [key] = await started(world)
    claim = await claimed(world, key)
    await world.runs.note_session(key, claim.run.fencing_token, SESSION)
    await world.runs.renew({key.run_id: claim.run.fencing_token})
    assert await world.runs.orphans(100) == []
    await lose(world, key)
    [left] = await world.runs.orphans(100)
    assert (left.key, left.session, left.seconds >= 0) == (key, SESSION, True)
    again = (await claimed(world, key, "worker-2")).run
    assert again.lease is not None
    assert ([orphan.session for orphan in again.orphans], again.lease.session) == ([SESSION], None)
    await world.runs.forget_orphan(key, Session(SESSION.hub, "s-2"))
    assert len(await world.runs.orphans(100)) == 1
    await world.runs.forget_orphan(key, SESSION)
    assert await world.runs.orphans(100) == []


async def test_the_session_of_a_run_handed_back_is_an_orphan(world: World) -> None:
    back, ended = await started(world, plan(), plan())
    for key in (back, ended):
        claim = await claimed(world, key)
        await world.runs.note_session(key, claim.run.fencing_token, SESSION)
    await world.runs.hand_back(back, 1)
    await world.runs.finish(ended, 1, AttemptResult())
    assert [left.key for left in await world.runs.orphans(100)] == [back]


async def test_a_lost_run_cannot_record_a_session(world: World, hub: Hub) -> None:
    claim = await running(world)
    await lose(world, claim.key)
    with pytest.raises(DeviceFailure, match="belongs to another worker") as raised:
        await SessionTracker(world.runs, hub.delete).recorder(claim)(SESSION)
    assert raised.value.category is Category.EXECUTOR_LOST


class Stumbling(MongoRuns):
    """Unavailable for the first `times` records of sessions."""

    times = 0

    async def note_session(self, key: RunKey, token: int, session: Session) -> None:
        self.times -= 1
        if self.times >= 0:
            raise Unavailable("down")
        await super().note_session(key, token, session)


@pytest.mark.parametrize(("times", "noted"), [(2, True), (100, False)])
async def test_recording_a_session_in_the_lease_is_retried_a_few_times(
    world: World, hub: Hub, times: int, noted: bool
) -> None:
    runs = Stumbling(world.transactions)
    runs.times = times
    claim = await running(world)
    note = SessionTracker(runs, hub.delete).recorder(claim)
    if noted:
        await note(SESSION)
    else:
        with pytest.raises(DeviceFailure, match="down"):
            await note(SESSION)
    lease = (await run_of(world, claim.key)).lease
    assert lease is not None
    assert lease.session == (SESSION if noted else None)


async def test_the_next_worker_deletes_the_orphaned_session(world: World, hub: Hub) -> None:
    key = await orphaned(world)
    await SessionTracker(world.runs, hub.delete).delete_orphans(await claimed(world, key))
    assert hub.asked == [SESSION]
    assert await orphans_of(world, key) == ()


@pytest.mark.parametrize("error", [None, RuntimeError("boom")])
async def test_a_hub_that_does_not_answer_is_not_fatal_and_the_orphan_stays(
    world: World, hub: Hub, error: Exception | None
) -> None:
    key = await orphaned(world)
    hub.away, hub.error = True, error
    await SessionTracker(world.runs, hub.delete).delete_orphans(await claimed(world, key))
    assert [orphan.session for orphan in await orphans_of(world, key)] == [SESSION]


async def test_the_sweep_deletes_orphans_and_backs_off_from_failing_hubs(world: World, hub: Hub) -> None:
    key = await orphaned(world)
    orphans = OrphanSweeper(world.runs, SessionTracker(world.runs, hub.delete))
    hub.away = True
    assert await orphans.sweep() == 1
    assert await orphans.sweep() == 0
    assert len(hub.asked) == 1
    hub.away = False
    assert await OrphanSweeper(world.runs, SessionTracker(world.runs, hub.delete)).sweep() == 1
    assert await orphans_of(world, key) == ()


async def test_the_sweep_gives_up_old_orphans(world: World, hub: Hub) -> None:
    key = await orphaned(world)
    hub.away = True
    await world.advance(901)
    await OrphanSweeper(world.runs, SessionTracker(world.runs, hub.delete)).sweep()
    assert await orphans_of(world, key) == ()


async def test_orphans_of_ended_runs_are_deleted_too(world: World, hub: Hub) -> None:
    key = await orphaned(world)
    await world.executions.cancel(key.execution_id)
    await OrphanSweeper(world.runs, SessionTracker(world.runs, hub.delete)).sweep()
    assert hub.asked == [SESSION]


@pytest.mark.parametrize("every", [0.01, None])
async def test_the_sweeper_runs_when_woken_and_periodically_on_workers(
    world: World, hub: Hub, every: float | None
) -> None:
    await orphaned(world)
    orphans = OrphanSweeper(world.runs, SessionTracker(world.runs, hub.delete), every=every)
    running = asyncio.create_task(orphans.run())
    if every is None:
        await asyncio.sleep(0)
        assert hub.asked == []
        orphans.wake()
    await eventually(lambda: hub.asked)
    await stop(running)
