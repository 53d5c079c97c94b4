"""Accepting, downloading and deleting the baselines of tests."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mobiletest_automation.model.baseline_keys import baseline_key
from mobiletest_automation.model.results import Artifact, ArtifactGone, AttemptResult
from services.chassis.context import Caller, bind
from services.chassis.errors import InvalidArgument, NotFound, PermissionDenied, Unavailable
from services.chassis.object_store import ObjectStore
from services.executor.model.baselines import Baseline
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.ports.baselines import TestKey
from services.executor.ports.runs import RunKey
from services.executor.storage.baselines import MongoBaselines
from services.executor.storage.change_notifier import ChangeNotifier
from services.executor.usecases.baselines import BaselineUseCases
from services.executor.usecases.executions import ExecutionControl
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, finish, started
from tests.fakes.executor import FakeArtifacts, FakeExistingTests, FakeLimitsSource

KEY = baseline_key("home.png", "android-720x1280")
ACTUAL = f"attempt-1-step-003-{KEY}-actual.png"
PICTURE = Artifact(ACTUAL, "screenshot", "image/png", 3)


@dataclass
class Scene:
    """A run that has ended with a picture, and the use cases."""

    key: RunKey
    test: TestKey
    baselines: MongoBaselines
    limits: FakeLimitsSource
    tests: FakeExistingTests
    usecases: BaselineUseCases

    async def accept(self, artifact: Artifact = PICTURE) -> Baseline:
        return await self.usecases.accept(self.key.execution_id, self.key.run_id, artifact.name)


@pytest.fixture
def make(world: World, notifications: ChangeNotifier, tmp_path: Path) -> Callable[..., Awaitable[Scene]]:
    async def ended_with(artifact: Artifact = PICTURE) -> Scene:
        baselines = MongoBaselines(world.mongo, ObjectStore.open(tmp_path.as_uri()))
        artifacts, limits = FakeArtifacts(), FakeLimitsSource()
        [key] = await started(world)
        run = await finish(world, await claimed(world, key), AttemptResult(artifacts=(artifact,)))
        await artifacts.put(key.run_id, 1, artifact.name, b"png")
        control = ExecutionControl(world.executions, notifications, artifacts)
        test = TestKey(run.org_id, run.target.test_id)
        tests = FakeExistingTests(test)
        return Scene(key, test, baselines, limits, tests, BaselineUseCases(control, baselines, limits, tests))

    return ended_with


@pytest.fixture
async def scene(make: Callable[..., Awaitable[Scene]]) -> Scene:
    return await make()


async def content(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def test_a_kept_picture_becomes_the_baseline_of_the_runs_test(scene: Scene) -> None:
    accepted = await scene.accept()
    assert (accepted.test_id, accepted.key, accepted.size_bytes) == (scene.test.test_id, KEY, 3)
    assert accepted.form == "android-720x1280"
    assert await scene.baselines.load(scene.test, KEY) == b"png"
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
async def test_another_artifact_does_not_become_a_baseline(
    make: Callable[..., Awaitable[Scene]], artifact: Artifact, error: type[Exception]
) -> None:
    scene = await make(artifact)
    with pytest.raises(error):
        await scene.accept(artifact)
    assert await scene.baselines.of_test(scene.test) == []


async def test_a_picture_beyond_the_organisations_bytes_is_refused(scene: Scene) -> None:
    scene.limits.limits = OrganisationLimits(baseline_bytes=2)
    with pytest.raises(PermissionDenied):
        await scene.accept()
    scene.limits.limits = OrganisationLimits(baseline_bytes=3)
    await scene.accept()


async def test_a_baseline_is_downloaded_and_deleted(scene: Scene) -> None:
    await scene.accept()
    test_id = scene.test.test_id
    assert await content((await scene.usecases.download(test_id, KEY)).chunks) == b"png"
    await scene.usecases.delete(test_id, KEY)
    with pytest.raises(NotFound):
        await scene.usecases.download(test_id, KEY)
    with pytest.raises(NotFound):
        await scene.usecases.delete(test_id, KEY)
    assert await scene.usecases.of_test(test_id) == []


async def test_baselines_are_listed_without_the_catalog(scene: Scene) -> None:
    """Only where there are none it is asked whether there is the test."""
    accepted = await scene.accept()
    scene.tests.error = Unavailable("the catalog does not answer")
    assert await scene.usecases.of_test(scene.test.test_id) == [accepted]
    await scene.usecases.delete(scene.test.test_id, KEY)
    with pytest.raises(Unavailable):
        await scene.usecases.of_test(scene.test.test_id)


@pytest.mark.parametrize("key", ["..", "home.png", f"../{KEY}", baseline_key("home.png", "ios-720x1280")])
async def test_an_unknown_baseline_is_not_found(scene: Scene, key: str) -> None:
    await scene.accept()
    with pytest.raises(NotFound):
        await scene.usecases.download(scene.test.test_id, key)
    with pytest.raises(NotFound):
        await scene.usecases.delete(scene.test.test_id, key)


async def test_another_organisation_sees_no_baseline(scene: Scene) -> None:
    await scene.accept()
    with bind(Caller(org_id="another", via_gateway=True)):
        with pytest.raises(NotFound, match="Test not found"):
            await scene.usecases.of_test(scene.test.test_id)
        with pytest.raises(NotFound):
            await scene.usecases.delete(scene.test.test_id, KEY)
    assert len(await scene.baselines.of_test(scene.test)) == 1
