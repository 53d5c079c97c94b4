"""The last pass before a run: which one that is, which steps are the same, and what differs on their screens."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc
import pytest
from mobiletest.executor.v1 import screens_pb2 as pb
from mobiletest.executor.v1 import screens_pb2_grpc
from mobiletest.types.v1 import platform_pb2

from services.chassis.grpc_server import open_channel
from tests.integration.executor.catalog_server import TOKEN, Shelf
from tests.integration.executor.conftest import Client
from tests.integration.executor.models import GOOD, SEE, model

BROKEN = model().replace(b"text: Done", b"text: Failed")


class Scene:
    def __init__(self, shelf: Shelf, client: Client, stub: Any) -> None:
        self.client, self.stub = client, stub
        self._shelf = shelf
        self._ids: tuple[str, str] | None = None

    async def run(
        self,
        content: bytes,
        *steps: Any,
        version: int = 1,
        platform: int = platform_pb2.PLATFORM_ANDROID,
        env: Mapping[str, Any] | None = None,
    ) -> Any:
        """A run of the same test on the same app, which has ended."""
        planned = self._shelf.planned(*steps, build_id=self._shelf.build(content), platform=platform, env=env)
        self._ids = self._ids or (planned.test_id, planned.app.id)
        planned.test_id, planned.app.id = self._ids
        planned.test_version_number = version
        execution = await self.client.ended(await self.client.start(self._shelf.workflow(planned)))
        (run,) = await self.client.runs(execution.id)
        return run

    async def last_pass(self, run: Any, step_index: int | None = None) -> pb.LastPass:
        request = pb.GetLastPassRequest(execution_id=run.execution_id, run_id=run.id, step_index=step_index)
        answer: pb.LastPass = await self.stub.GetLastPass(request)
        return answer


@pytest.fixture
async def scene(executor: Any, connect: Any, shelf: Shelf) -> AsyncIterator[Scene]:
    async with (
        executor() as app,
        connect(app.grpc_address) as client,
        open_channel(app.grpc_address, TOKEN, timeout=60) as channel,
    ):
        yield Scene(shelf, client, screens_pb2_grpc.ScreensStub(channel))  # type: ignore[no-untyped-call]


async def test_a_step_is_compared_with_the_last_pass(scene: Scene) -> None:
    await scene.run(model(), GOOD, SEE)
    passed = await scene.run(model(), GOOD, SEE)
    failed = await scene.run(BROKEN, GOOD, SEE)
    assert (passed.success, failed.success) == (True, False)
    last = await scene.last_pass(failed)
    assert (last.run_id, last.execution_id, last.resolved_build_version) == (passed.id, passed.execution_id, "1.0")
    assert [(each.step_index, each.passing_step_index) for each in last.steps] == [(0, 0), (1, 1)]
    assert all(each.screen.picture_url and not each.HasField("difference") for each in last.steps)
    (step,) = (await scene.last_pass(failed, 0)).steps
    assert step.difference == pb.ScreenDifference()
    (step,) = (await scene.last_pass(failed, 1)).steps
    assert step.HasField("difference")
    assert step.difference.notice == ""
    assert [each.description for each in step.difference.elements] == ['text "Done" was renamed to "Failed"']
    assert list((await scene.last_pass(failed, 9)).steps) == []


async def test_a_pass_is_compared_with_the_one_before_it(scene: Scene) -> None:
    first = await scene.run(model(), GOOD, SEE)
    second = await scene.run(model(), GOOD, SEE)
    await scene.run(model(), GOOD, SEE)
    assert (await scene.last_pass(second)).run_id == first.id
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await scene.last_pass(first)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


async def test_runs_of_another_platform_are_no_passes(scene: Scene) -> None:
    await scene.run(model(), GOOD, SEE, platform=platform_pb2.PLATFORM_IOS)
    failed = await scene.run(BROKEN, GOOD, SEE)
    with pytest.raises(grpc.aio.AioRpcError, match="No earlier run of this test passed"):
        await scene.last_pass(failed)


async def test_a_pass_of_the_same_variant_comes_before_a_newer_one_of_another(scene: Scene) -> None:
    steps = ({"evalScript": "${output.locale = LOCALE}"}, GOOD, SEE)
    english, german = ({"LOCALE": value} for value in ("en", "de"))
    await scene.run(model(), *steps, env=english)
    other = await scene.run(model(), *steps, env=german)
    first = await scene.last_pass(await scene.run(BROKEN, *steps, env={"LOCALE": "fr"}))
    assert (first.run_id, first.other_variant, dict(first.variant.values)) == (other.id, True, {"LOCALE": "de"})
    same = await scene.run(model(), *steps, env=english)
    await scene.run(model(), *steps, env=german)
    last = await scene.last_pass(await scene.run(BROKEN, *steps, env=english))
    assert (last.run_id, last.other_variant, dict(last.variant.values)) == (same.id, False, {"LOCALE": "en"})
    assert [(each.step_index, each.passing_step_index) for each in last.steps] == [(0, 0), (1, 1), (2, 2)]


async def test_in_another_version_only_unique_steps_are_the_same(scene: Scene) -> None:
    passed = await scene.run(model(), "launchApp", GOOD, SEE, SEE)
    assert passed.success
    later = await scene.run(model(), GOOD, SEE, SEE, version=2)
    last = await scene.last_pass(later)
    assert [(each.step_index, each.passing_step_index) for each in last.steps] == [(0, 1)]
