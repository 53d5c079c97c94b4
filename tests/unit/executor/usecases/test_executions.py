"""Reading executions: waiting, watching, artifacts, JUnit."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from mobiletest.types.v1.byte_range_pb2 import ByteRange

from services.chassis.byte_ranges import FilePart
from services.chassis.context import bind
from services.chassis.errors import FailedPrecondition, NotFound
from services.chassis.events import Event
from services.executor.model.attempts import Artifact, ArtifactGone, AttemptResult
from services.executor.model.executions import Execution
from services.executor.model.states import Status
from services.executor.ports.runs import RunKey
from services.executor.usecases.executions import ExecutionControl
from tests.eventually import eventually
from tests.fakes.executor import FakeArtifacts, plan
from tests.fakes.executor_executions import FakeChangeNotifications, FakeExecutions
from tests.unit.executor.worker.builders import CALLER, started


@pytest.fixture(autouse=True)
def caller() -> Iterator[None]:
    with bind(CALLER):
        yield


class Scene:
    """An execution of two runs, and the use cases for it."""

    def __init__(self, store: FakeExecutions, keys: list[RunKey]) -> None:
        self.store = store
        self.keys = keys
        self.artifacts = FakeArtifacts()
        self.changes = FakeChangeNotifications(store)
        self.control = ExecutionControl(store, self.changes, self.artifacts)

    @property
    def id(self) -> str:
        return self.keys[0].execution_id

    async def end(self, key: RunKey, result: AttemptResult | None = None) -> None:
        claim = await self.store.claim(key, "worker-1")
        assert claim is not None
        await self.store.finish(key, claim.run.fencing_token, result or AttemptResult())


@pytest.fixture
async def scene() -> Scene:
    store = FakeExecutions()
    return Scene(store, await started(store, plan("One"), plan("Two"), retries=0))


async def test_get_without_wait_returns_at_once(scene: Scene) -> None:
    assert (await scene.control.get(scene.id)).status is Status.QUEUED


async def test_get_with_wait_returns_on_a_change(scene: Scene) -> None:
    waiting = asyncio.create_task(scene.control.get(scene.id, wait=60))
    await eventually(lambda: scene.changes.waiting)
    await scene.end(scene.keys[0])
    assert (await waiting).counts.running + (await waiting).counts.passed == 1


async def test_get_after_an_old_revision_returns_at_once(scene: Scene) -> None:
    execution = await scene.control.get(scene.id)
    assert await scene.control.get(scene.id, wait=60, after_revision=execution.revision - 1) == execution


async def test_get_returns_when_the_wait_is_over(scene: Scene) -> None:
    execution = await scene.control.get(scene.id, wait=0.01)
    assert execution.status is Status.QUEUED


async def test_get_of_an_ended_execution_returns_at_once(scene: Scene) -> None:
    for key in scene.keys:
        await scene.end(key)
    execution = await scene.control.get(scene.id, wait=60, after_revision=10_000)
    assert execution.status is Status.COMPLETED


async def test_watching_yields_all_events_in_order(scene: Scene) -> None:
    seen: list[int] = []

    async def watch() -> None:
        async for happened in scene.control.watch(scene.id, 0):
            assert isinstance(happened, Event)
            seen.append(happened.sequence)

    watching = asyncio.create_task(watch())
    await eventually(lambda: len(seen) == 3)
    for key in scene.keys:
        await scene.end(key)
    await watching
    assert seen == list(range(1, scene.store.executions[scene.id].revision + 1))


async def test_watching_resumes_after_a_sequence(scene: Scene) -> None:
    for key in scene.keys:
        await scene.end(key)
    last = scene.store.executions[scene.id].revision
    resumed = [happened async for happened in scene.control.watch(scene.id, last - 2)]
    assert [event.sequence for event in resumed if isinstance(event, Event)] == [last - 1, last]
    assert [happened async for happened in scene.control.watch(scene.id, last)] == []


async def test_watching_an_old_execution_yields_its_final_state(scene: Scene) -> None:
    for key in scene.keys:
        await scene.end(key)
    scene.store.events.clear()
    [end] = [happened async for happened in scene.control.watch(scene.id, 0)]
    assert isinstance(end, Execution)
    assert end.status is Status.COMPLETED


async def test_an_unknown_execution_is_not_found(scene: Scene) -> None:
    unknown = str(uuid4())
    for call in (
        scene.control.get(unknown),
        scene.control.junit(unknown),
        anext(scene.control.watch(unknown, 0)),
    ):
        with pytest.raises(NotFound, match=r"^Execution not found$"):
            await call


async def test_an_ended_execution_cannot_be_cancelled(scene: Scene) -> None:
    for key in scene.keys:
        await scene.end(key)
    with pytest.raises(FailedPrecondition):
        await scene.control.cancel(scene.id)


async def content(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def test_an_artifact_is_found_by_its_name(scene: Scene) -> None:
    key = scene.keys[0]
    await scene.end(key, AttemptResult(artifacts=(Artifact("attempt-1-step-003.png", "screenshot", "image/png", 3),)))
    await scene.artifacts.put(key.run_id, 1, "attempt-1-step-003.png", b"png")
    found = await scene.control.artifact(scene.id, key.run_id, "attempt-1-step-003.png")
    assert (found.artifact.content_type, await content(found.chunks)) == ("image/png", b"png")
    part = await scene.control.artifact(scene.id, key.run_id, "attempt-1-step-003.png", ByteRange(suffix_length=2))
    assert (part.part, part.etag, await content(part.chunks)) == (FilePart(1, 3, 3), found.etag, b"ng")
    for name in ("other.png", "../attempt-1-step-003.png", ""):
        with pytest.raises(NotFound, match=r"^Artifact not found$"):
            await scene.control.artifact(scene.id, key.run_id, name)


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (ArtifactGone.EXPIRED, "^Artifact expired"),
        (ArtifactGone.MISSING, "^Artifact missing"),
        (None, "^Artifact not stored yet"),
    ],
)
async def test_a_missing_artifact_says_whether_it_may_still_arrive(
    scene: Scene, gone: ArtifactGone | None, words: str
) -> None:
    key = scene.keys[0]
    await scene.end(key, AttemptResult(artifacts=(Artifact("log.txt", "log", "text/plain", 3, gone),)))
    found = await scene.control.artifact(scene.id, key.run_id, "log.txt")
    assert (found.object_key is None) == (gone is not None)
    with pytest.raises(NotFound, match=words):
        await content(found.chunks)


async def test_junit_contains_every_run(scene: Scene) -> None:
    await scene.end(scene.keys[0])
    assert (await scene.control.junit(scene.id)).count(b"<testcase") == 2
