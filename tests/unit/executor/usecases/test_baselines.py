"""Accepting, downloading and deleting the baselines of tests."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import InvalidArgument, NotFound, PermissionDenied
from services.executor.model.attempts import Artifact, ArtifactGone, AttemptResult
from services.executor.model.baselines import baseline_key
from services.executor.model.limits import OrganisationLimits
from services.executor.ports.baselines import TestKey
from services.executor.ports.runs import RunKey
from services.executor.usecases.baselines import BaselineUseCases
from services.executor.usecases.executions import ExecutionControl
from tests.fakes.executor import FakeArtifacts, plan
from tests.fakes.executor_baselines import FakeBaselines, FakeLimitsSource
from tests.fakes.executor_executions import FakeChangeNotifications, FakeExecutions
from tests.unit.executor.worker.builders import CALLER, started

KEY = baseline_key("home.png", "android-720x1280")
ACTUAL = f"attempt-1-step-003-{KEY}-actual.png"
PICTURE = Artifact(ACTUAL, "screenshot", "image/png", 3)


@pytest.fixture(autouse=True)
def caller() -> Iterator[None]:
    with bind(CALLER):
        yield


@dataclass
class Scene:
    """A run that has ended, and the use cases."""

    key: RunKey
    test: TestKey
    store: FakeExecutions
    baselines: FakeBaselines
    limits: FakeLimitsSource
    usecases: BaselineUseCases

    async def accept(self, artifact: Artifact = PICTURE) -> None:
        await self.usecases.accept(self.key.execution_id, self.key.run_id, artifact.name)


async def ended_with(artifact: Artifact = PICTURE) -> Scene:
    store, artifacts, baselines, limits = FakeExecutions(), FakeArtifacts(), FakeBaselines(), FakeLimitsSource()
    [key] = await started(store, plan("One"), retries=0)
    claim = await store.claim(key, "worker-1")
    assert claim is not None
    await store.finish(key, claim.run.fencing_token, AttemptResult(artifacts=(artifact,)))
    await artifacts.put(key.run_id, 1, artifact.name, b"png")
    control = ExecutionControl(store, FakeChangeNotifications(store), artifacts)
    run = store.stored[key.run_id]
    usecases = BaselineUseCases(control, baselines, limits)
    return Scene(key, TestKey(run.org_id, run.target.test_id), store, baselines, limits, usecases)


async def content(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def test_a_kept_picture_becomes_the_baseline_of_the_runs_test() -> None:
    scene = await ended_with()
    accepted = await scene.usecases.accept(scene.key.execution_id, scene.key.run_id, ACTUAL)
    assert (accepted.test_id, accepted.key, accepted.size_bytes) == (scene.test.test_id, KEY, 3)
    assert accepted.form == "android-720x1280"
    assert scene.baselines.kept == {(scene.test, KEY): b"png"}
    assert await scene.usecases.of_test(scene.test.test_id) == [accepted]


@pytest.mark.parametrize(
    ("artifact", "error"),
    [
        (Artifact(ACTUAL.replace("-actual", "-difference"), "screenshot", "image/png", 3), InvalidArgument),
        (Artifact("attempt-1-step-003-home-actual.png", "screenshot", "image/png", 3), InvalidArgument),
        (Artifact(ACTUAL, "screenshot", "image/png", 17 * 1024**2), InvalidArgument),
        (Artifact(ACTUAL, "screenshot", "image/png", 3, ArtifactGone.EXPIRED), NotFound),
    ],
)
async def test_another_artifact_does_not_become_a_baseline(artifact: Artifact, error: type[Exception]) -> None:
    scene = await ended_with(artifact)
    with pytest.raises(error):
        await scene.accept(artifact)
    assert scene.baselines.kept == {}


async def test_a_picture_beyond_the_organisations_bytes_is_refused() -> None:
    scene = await ended_with()
    scene.limits.limits = OrganisationLimits(baseline_bytes=2)
    with pytest.raises(PermissionDenied):
        await scene.accept()
    scene.limits.limits = OrganisationLimits(baseline_bytes=3)
    await scene.accept()


async def test_a_baseline_is_downloaded_and_deleted() -> None:
    scene = await ended_with()
    await scene.accept()
    test_id = scene.test.test_id
    assert await content((await scene.usecases.download(test_id, KEY)).chunks) == b"png"
    await scene.usecases.delete(test_id, KEY)
    with pytest.raises(NotFound):
        await scene.usecases.download(test_id, KEY)
    with pytest.raises(NotFound):
        await scene.usecases.delete(test_id, KEY)


@pytest.mark.parametrize("key", ["..", "home.png", f"../{KEY}", baseline_key("home.png", "ios-720x1280")])
async def test_an_unknown_baseline_is_not_found(key: str) -> None:
    scene = await ended_with()
    await scene.accept()
    with pytest.raises(NotFound):
        await scene.usecases.download(scene.test.test_id, key)
    with pytest.raises(NotFound):
        await scene.usecases.delete(scene.test.test_id, key)


async def test_another_organisation_sees_no_baseline() -> None:
    scene = await ended_with()
    await scene.accept()
    with bind(Caller(org_id="another", via_gateway=True)):
        assert await scene.usecases.of_test(scene.test.test_id) == []
        with pytest.raises(NotFound):
            await scene.usecases.delete(scene.test.test_id, KEY)
    assert len(scene.baselines.kept) == 1
