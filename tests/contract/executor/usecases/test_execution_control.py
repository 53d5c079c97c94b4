"""Reading executions: waiting, watching, artifacts, questions, JUnit."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from mobiletest.types.v1.byte_range_pb2 import ByteRange

from mobiletest_automation.model.results import Artifact, ArtifactGone, AttemptResult
from mobiletest_automation.model.states import Status
from services.chassis.byte_ranges import FilePart
from services.chassis.context import bind, current
from services.chassis.errors import NotFound, PermissionDenied
from services.chassis.events import Event
from services.chassis.outbox import OUTBOX
from services.executor.messages import run_proto
from services.executor.model.executions import Execution
from services.executor.model.runs import QuestionPrompt
from services.executor.ports.runs import Claim, RunKey
from services.executor.storage.change_notifier import ChangeNotifier
from services.executor.usecases.executions import ExecutionControl
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, finish, started
from tests.eventually import eventually
from tests.fakes.executor import FakeArtifacts, plan

FOREVER = 3600.0
PICTURE = "attempt-1-step-002-question-1.png"


class Scene:
    """An execution of two runs, and the use cases for it."""

    def __init__(self, world: World, notifications: ChangeNotifier, keys: list[RunKey]) -> None:
        self.world = world
        self.keys = keys
        self.id = keys[0].execution_id
        self.artifacts = FakeArtifacts()
        self.control = ExecutionControl(world.executions, notifications, self.artifacts)

    async def end(self, key: RunKey, *artifacts: Artifact) -> None:
        await finish(self.world, await claimed(self.world, key), AttemptResult(artifacts=artifacts))

    async def end_all(self) -> None:
        for key in self.keys:
            await self.end(key)

    async def ask(self, picture: str = PICTURE, options: tuple[str, ...] = ("retry", "skip")) -> Claim:
        claim = await claimed(self.world, self.keys[0])
        prompt = QuestionPrompt(id="q1", text="Which one?", step_index=2, options=options, screenshot=picture)
        await self.world.runs.ask(claim.key, claim.run.fencing_token, prompt, timedelta(seconds=60))
        return claim


@pytest.fixture
async def scene(world: World, notifications: ChangeNotifier) -> Scene:
    return Scene(world, notifications, await started(world, plan("One"), plan("Two")))


async def test_get_waits_for_a_change(scene: Scene) -> None:
    execution = await scene.control.get(scene.id)
    waiting = asyncio.create_task(scene.control.get(scene.id, wait=FOREVER, after_revision=execution.revision))
    await scene.end(scene.keys[0])
    assert (await waiting).revision > execution.revision


async def test_get_does_not_wait_after_an_old_revision_or_for_an_ended_execution(scene: Scene) -> None:
    execution = await scene.control.get(scene.id)
    assert await scene.control.get(scene.id, wait=FOREVER, after_revision=execution.revision - 1) == execution
    await scene.end_all()
    execution = await scene.control.get(scene.id, wait=FOREVER, after_revision=10_000)
    assert execution.status is Status.COMPLETED


async def test_get_returns_when_the_wait_is_over(scene: Scene) -> None:
    assert (await scene.control.get(scene.id, wait=0.001)).status is Status.QUEUED


async def test_watching_yields_all_events_in_order(scene: Scene) -> None:
    seen: list[int] = []

    async def watch() -> None:
        async for happened in scene.control.watch(scene.id, 0):
            if happened is not None:
                assert isinstance(happened, Event)
                seen.append(happened.sequence)

    watching = asyncio.create_task(watch())
    await eventually(lambda: len(seen) == 3)
    await scene.end_all()
    await watching
    assert seen == list(range(1, (await scene.control.get(scene.id)).revision + 1))


async def test_a_change_whose_notification_is_lost_is_found_by_a_look(world: World) -> None:
    """The notifier does not listen."""
    scene = Scene(world, ChangeNotifier(world.mongo), await started(world, plan("One")))
    scene.control = ExecutionControl(world.executions, scene.control._changes, scene.artifacts, look_seconds=0.1)
    looks = 0

    async def watch() -> None:
        nonlocal looks
        async for happened in scene.control.watch(scene.id, 0):
            looks += happened is None

    watching = asyncio.create_task(watch())
    waiting = asyncio.create_task(scene.control.get(scene.id, wait=FOREVER))
    await eventually(lambda: looks >= 2)
    await scene.end_all()
    await watching
    assert (await waiting).revision > 1


async def test_watching_resumes_after_a_sequence(scene: Scene) -> None:
    await scene.end_all()
    last = (await scene.control.get(scene.id)).revision
    resumed = [happened async for happened in scene.control.watch(scene.id, last - 2)]
    assert [event.sequence for event in resumed if isinstance(event, Event)] == [last - 1, last]
    assert [happened async for happened in scene.control.watch(scene.id, last)] == []


async def test_watching_an_old_execution_yields_its_final_state(scene: Scene) -> None:
    await scene.end_all()
    await scene.world.mongo.collection(OUTBOX).delete_many({"subject": scene.id})
    [end] = [happened async for happened in scene.control.watch(scene.id, 0)]
    assert isinstance(end, Execution)
    assert end.status is Status.COMPLETED


async def test_an_unknown_execution_is_not_found(scene: Scene) -> None:
    unknown = str(uuid4())
    for call in (
        scene.control.get(unknown),
        scene.control.junit(unknown),
        anext(scene.control.watch(unknown, 0)),
        scene.control.answer(unknown, scene.keys[0].run_id, None, "skip"),
    ):
        with pytest.raises(NotFound, match=r"^Execution not found$"):
            await call


async def content(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def test_an_artifact_is_found_by_its_name(scene: Scene) -> None:
    key, name = scene.keys[0], "attempt-1-step-003.png"
    await scene.end(key, Artifact(name, "screenshot", "image/png", 3))
    await scene.artifacts.put(key.run_id, 1, name, b"png")
    whole = await scene.control.artifact(scene.id, key.run_id, name)
    assert (whole.artifact.content_type, await content(whole.chunks)) == ("image/png", b"png")
    part = await scene.control.artifact(scene.id, key.run_id, name, ByteRange(suffix_length=2))
    assert (part.part, part.etag, await content(part.chunks)) == (FilePart(1, 3, 3), whole.etag, b"ng")
    for other in ("other.png", f"../{name}", ""):
        with pytest.raises(NotFound, match=r"^Artifact not found$"):
            await scene.control.artifact(scene.id, key.run_id, other)


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
    await scene.end(key, Artifact("log.txt", "log", "text/plain", 3, gone))
    artifact = await scene.control.artifact(scene.id, key.run_id, "log.txt")
    assert (artifact.object_key is None) == (gone is not None)
    with pytest.raises(NotFound, match=words):
        await content(artifact.chunks)


async def test_junit_contains_every_run(scene: Scene) -> None:
    await scene.end(scene.keys[0])
    assert (await scene.control.junit(scene.id)).count(b"<testcase") == 2


async def test_a_question_is_shown_with_its_screenshot_until_it_is_answered(scene: Scene) -> None:
    claim = await scene.ask()
    run_id = claim.run.id
    scene.artifacts.kept[run_id, 1, PICTURE] = b"png"
    shown = run_proto(*await scene.control.run(scene.id, run_id)).question
    assert (shown.id, shown.text, shown.step_index, list(shown.options)) == ("q1", "Which one?", 2, ["retry", "skip"])
    assert shown.screenshot_url.endswith(f"/runs/{run_id}/artifacts/{PICTURE}")
    assert (shown.expires_at.ToDatetime() - shown.asked_at.ToDatetime()).total_seconds() == 60
    picture = await scene.control.artifact(scene.id, run_id, PICTURE)
    assert (picture.artifact.content_type, await content(picture.chunks)) == ("image/png", b"png")
    assert picture.part is None  # its size is not known before the end of the attempt
    execution, run = await scene.control.answer(scene.id, run_id, "q1", "  skip ")
    assert (execution.id, run.open_question) == (scene.id, None)
    assert await scene.world.runs.answer_to(claim.key, claim.run.fencing_token, "q1") == "skip"
    assert not run_proto(*await scene.control.run(scene.id, run_id)).HasField("question")
    picture = await scene.control.artifact(scene.id, run_id, PICTURE)
    assert await content(picture.chunks) == b"png"


@pytest.mark.parametrize("text", ['Type "${PASSWORD}" into "Search"', "Tap ${output.x}", 'Type "[hidden 1]"'])
async def test_an_answer_reads_variables_only_with_the_scope_write(scene: Scene, text: str) -> None:
    """They may be secrets, which it would type into any field. An option may show one, which it does not type."""
    shown = 'tap the 1st: text field "${PASSWORD}"'
    claim = await scene.ask(options=(shown, "skip"))
    with bind(replace(current(), scopes=frozenset({"execute", "read"}))):
        with pytest.raises(PermissionDenied, match=r"reads variables .* needs the scope write") as refusal:
            await scene.control.answer(scene.id, claim.run.id, "q1", text)
        assert (refusal.value.reason, refusal.value.metadata) == ("SCOPE_MISSING", {"scope": "write"})
        await scene.control.answer(scene.id, claim.run.id, "q1", f" {shown}")
    assert await scene.world.runs.answer_to(claim.key, claim.run.fencing_token, "q1") == shown


async def test_an_answer_with_the_scope_write_reads_variables(scene: Scene) -> None:
    claim, text = await scene.ask(), 'Type "${CODE}" into "Code"'
    await scene.control.answer(scene.id, claim.run.id, "q1", text)
    assert await scene.world.runs.answer_to(claim.key, claim.run.fencing_token, "q1") == text


async def test_an_answer_does_not_wait_for_a_question_that_it_may_not_answer(scene: Scene) -> None:
    with bind(replace(current(), scopes=frozenset({"execute"}))), pytest.raises(PermissionDenied):
        await scene.control.answer(scene.id, scene.keys[0].run_id, None, "${PASSWORD}")


async def test_a_question_without_a_screenshot_has_no_link(scene: Scene) -> None:
    claim = await scene.ask("")
    assert run_proto(*await scene.control.run(scene.id, claim.run.id)).question.screenshot_url == ""
    with pytest.raises(NotFound):
        await scene.control.artifact(scene.id, claim.run.id, "")
