"""The sessions of runs that lost their worker are found until they are forgotten."""

from services.executor.model.attempts import AttemptResult
from services.executor.model.runs import Session
from services.executor.ports.runs import OrphanedSession, RunKey
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, finish, lose, started
from tests.fakes.executor import plan

SESSION = Session("http://hub:4723", "s-1")


async def test_the_session_of_a_lost_worker_is_an_orphan_until_it_is_forgotten(world: World) -> None:
    [key] = await started(world)
    claim = await claimed(world, key)
    await world.runs.note_session(key, claim.run.fencing_token, SESSION)
    await world.runs.renew({key.run_id: claim.run.fencing_token})
    assert await _orphans_of(world, key) == []
    await lose(world, key)
    [left] = await _orphans_of(world, key)
    assert left.session == SESSION
    assert left.seconds >= 0
    again = await claimed(world, key, "worker-2")
    assert ([orphan.session for orphan in again.run.orphans], again.run.lease and again.run.lease.session) == (
        [SESSION],
        None,
    )
    await world.runs.forget_orphan(key, Session("http://hub:4723", "s-2"))
    assert len(await _orphans_of(world, key)) == 1
    await world.runs.forget_orphan(key, SESSION)
    assert await _orphans_of(world, key) == []
    await finish(world, again)


async def _orphans_of(world: World, key: RunKey) -> list[OrphanedSession]:
    return [left for left in await world.runs.orphans(100) if left.key == key]


async def test_the_session_of_a_run_handed_back_is_an_orphan(world: World) -> None:
    keys = await started(world, plan(), plan())
    for key in keys:
        claim = await claimed(world, key)
        await world.runs.note_session(key, claim.run.fencing_token, SESSION)
    await world.runs.hand_back(keys[0], 1)
    await world.runs.finish(keys[1], 1, AttemptResult())
    assert [left.session for left in await _orphans_of(world, keys[0])] == [SESSION]
    assert await _orphans_of(world, keys[1]) == []
    await world.runs.forget_orphan(keys[0], SESSION)
