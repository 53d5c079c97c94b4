"""The limits that the catalog enforces: bytes of artifacts, keys, models, tests of an app."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from services.catalog.model.apps import App
from services.catalog.model.attachments import ATTACHED_LIMIT
from services.catalog.model.values import Platform
from services.catalog.ports import Transaction
from services.catalog.storage.artifacts import RESERVATIONS
from services.catalog.usecases.imports import NewImport
from services.catalog.usecases.tests import NewTest
from services.catalog.usecases.uploads import NewBuild
from services.catalog.usecases.workflows import NewWorkflow
from services.chassis.errors import PermissionDenied
from services.chassis.limit_refusals import refusals
from tests.fakes.catalog_samples import chunks, org
from tests.fakes.workspaces import FLOW, zip_files
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def app(catalog: Catalog) -> App:
    return await catalog.apps.create("Shop", Platform.ANDROID, None)


def counted(name: str) -> float:
    return refusals.labels(name)._value.get()


async def upload(catalog: Catalog, app: App, version: str, content: bytes, *, expected: int = 0) -> str:
    async def chunks() -> AsyncIterator[bytes]:
        yield content

    new = NewBuild(app.id, version, expected_bytes=expected or len(content))
    return (await catalog.upload(new, chunks())).id


class TestArtifactBytes:
    async def test_an_upload_beyond_the_limit_is_refused_before_its_bytes_are_read(
        self, catalog: Catalog, app: App
    ) -> None:
        await catalog.limit(artifact_bytes=10)
        await upload(catalog, app, "1", b"a" * 6)

        async def unread() -> AsyncIterator[bytes]:
            pytest.fail("the bytes were read")
            yield b""

        before = counted("artifact_bytes")
        with pytest.raises(PermissionDenied, match=r"artifact_bytes \(10\): delete builds") as refusal:
            await catalog.upload(NewBuild(app.id, "2", expected_bytes=5), unread())
        assert (refusal.value.reason, refusal.value.metadata["limit"]) == ("LIMIT_REACHED", "artifact_bytes")
        assert counted("artifact_bytes") == before + 1
        await upload(catalog, app, "3", b"b" * 4)

    async def test_a_deleted_build_gives_its_bytes_back(self, catalog: Catalog, app: App) -> None:
        await catalog.limit(artifact_bytes=10)
        first = await upload(catalog, app, "1", b"a" * 6)
        await catalog.builds.delete(first)
        await upload(catalog, app, "2", b"b" * 10)

    async def test_deleted_builds_cannot_pile_up(self, catalog: Catalog, app: App) -> None:
        """Their files are stored for another day; with them an organisation may have twice its limit."""
        await catalog.limit(artifact_bytes=10)
        for number in range(2):
            await catalog.builds.delete(await upload(catalog, app, "1", bytes([number]) * 10))
        with pytest.raises(PermissionDenied, match="removed after a day"):
            await upload(catalog, app, "1", b"c" * 10)

    async def test_a_file_larger_than_announced_is_refused(self, catalog: Catalog, app: App) -> None:
        await catalog.limit(artifact_bytes=10)
        with pytest.raises(PermissionDenied):
            await upload(catalog, app, "1", b"a" * 11, expected=1)
        assert (await catalog.ledger.sum()).used == 0

    async def test_uploads_under_way_count(self, catalog: Catalog, app: App) -> None:
        await catalog.limit(artifact_bytes=10)

        async def chunks() -> AsyncIterator[bytes]:
            with pytest.raises(PermissionDenied):
                await upload(catalog, app, "2", b"b" * 5)
            yield b"a" * 6

        await catalog.upload(NewBuild(app.id, "1", expected_bytes=6), chunks())
        assert (await catalog.ledger.sum()).used == 6

    async def test_a_long_upload_renews_its_reservation(self, catalog: Catalog, app: App) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"a"
            await catalog.mongo.collection(RESERVATIONS).delete_many({"org_id": org()})  # as if it had expired
            catalog.clock.minutes += 3
            yield b"b"
            assert (await catalog.ledger.sum()).used == 2

        await catalog.upload(NewBuild(app.id, "1", expected_bytes=2), chunks())


class TestKeys:
    @pytest.mark.usefixtures("operator")
    async def test_as_many_as_allowed(self, catalog: Catalog) -> None:
        await catalog.limit(api_keys=2)
        first = await catalog.keys.create("one", (), None)
        await catalog.keys.create("two", (), None)
        with pytest.raises(PermissionDenied, match=r"api_keys \(2\): delete keys"):
            await catalog.keys.create("three", (), None)
        await catalog.keys.delete(first.key.id)
        await catalog.keys.create("three", (), None)


class TestModels:
    async def test_a_workflow_may_name_only_allowed_models(self, catalog: Catalog) -> None:
        await catalog.limit(allowed_models=("small",))
        allowed = NewWorkflow("W", run_config={"llm_config": {"primary_model": "small"}})
        workflow = await catalog.workflows.create(allowed)
        config: Mapping[str, Any] = {"llm_config": {"primary_model": "small", "planning_model": "large"}}
        with pytest.raises(PermissionDenied, match='the model "large"') as refusal:
            await catalog.workflows.create(NewWorkflow("W", run_config=config))
        assert refusal.value.reason == "MODEL_NOT_ALLOWED"
        with pytest.raises(PermissionDenied):
            await catalog.workflows.update(workflow.id, {"run_config": config})

    @pytest.mark.parametrize("allowed", [(), ("*",), ("small", "*")])
    async def test_any_model_without_a_list(self, catalog: Catalog, allowed: tuple[str, ...]) -> None:
        await catalog.limit(allowed_models=allowed)
        await catalog.workflows.create(NewWorkflow("W", run_config={"llm_config": {"primary_model": "large"}}))


class TestAttachedTests:
    async def test_an_app_at_its_limit_of_tests_refuses_another(self, catalog: Catalog, app: App) -> None:
        async def fill(change: Transaction) -> None:
            await change.apps.replace(replace(app, attached_tests=ATTACHED_LIMIT - 1))

        await catalog.store.change(fill, of=app.id)
        last, other = [(await catalog.tests.create(NewTest(name, ("Tap it",)))).test for name in ("last", "other")]
        await catalog.attachments.attach(app.id, last.id, None)
        before = counted("attached_tests")
        for refused in (
            catalog.attachments.attach(app.id, other.id, None),
            catalog.imports.run(NewImport("w", app.id), catalog.arriving(chunks(zip_files({"a.yaml": FLOW})))),
        ):
            with pytest.raises(PermissionDenied, match=r"attached_tests \(10000\): detach tests") as refusal:
                await refused
            assert refusal.value.reason == "LIMIT_REACHED"
        assert counted("attached_tests") == before + 2
        await catalog.attachments.attach(app.id, last.id, "1.0")
        await catalog.attachments.detach(app.id, last.id)
        await catalog.attachments.attach(app.id, other.id, None)
