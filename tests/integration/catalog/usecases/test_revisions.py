"""Changes that depend on the revision of what they change: no change is lost."""

import asyncio
from typing import Any, cast

import pytest
from mobiletest.catalog.v1 import apps_pb2, builds_pb2, tests_pb2, workflows_pb2

from services.catalog.grpc.apps import AppsServicer
from services.catalog.grpc.builds import BuildsServicer
from services.catalog.grpc.tests import TestsServicer
from services.catalog.grpc.workflows import WorkflowsServicer
from services.catalog.model.values import Platform
from services.catalog.usecases.tests import NewTest
from services.catalog.usecases.uploads import NewBuild
from services.catalog.usecases.workflows import NewWorkflow
from services.chassis.errors import Aborted
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def an_app(catalog: Catalog) -> Any:
    return await catalog.apps.create("Shop", Platform.ANDROID, None), AppsServicer(catalog.apps), apps_pb2


async def a_build(catalog: Catalog) -> Any:
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    build = await catalog.uploads.refer(NewBuild(app.id, "1", artifact_url="https://x.test/a.apk"))
    return build, BuildsServicer(catalog.builds, catalog.uploads, cast(Any, None), cast(Any, None)), builds_pb2


async def a_test(catalog: Catalog) -> Any:
    servicer = TestsServicer(
        catalog.tests, catalog.attachments, catalog.quarantine, catalog.imports, catalog.files, cast(Any, None)
    )
    return (await catalog.tests.create(NewTest("Pay", ("Tap Pay",)))).test, servicer, tests_pb2


async def a_workflow(catalog: Catalog) -> Any:
    return await catalog.workflows.create(NewWorkflow("w")), WorkflowsServicer(catalog.workflows), workflows_pb2


@pytest.mark.parametrize(
    ("make", "update", "delete", "id_field", "text_field"),
    [
        (an_app, "UpdateApp", "DeleteApp", "app_id", "name"),
        (a_build, "UpdateBuild", "DeleteBuild", "version_id", "package_name"),
        (a_test, "UpdateTest", "DeleteTest", "test_id", "description"),
        (a_test, "QuarantineTest", "UnquarantineTest", "test_id", "reason"),
        (a_workflow, "UpdateWorkflow", "DeleteWorkflow", "workflow_id", "name"),
    ],
)
async def test_of_concurrent_changes_of_a_revision_one_is_made(
    catalog: Catalog, make: Any, update: str, delete: str, id_field: str, text_field: str
) -> None:
    """The others learn that they had an old revision; so does a deletion. Without a revision all are made."""
    entity, servicer, messages = await make(catalog)

    def call(method: str, expected: list[int], **fields: str) -> Any:
        request = getattr(messages, f"{method}Request")(expected_revisions=expected, **{id_field: entity.id}, **fields)
        return getattr(servicer, method)(request, None)

    changes = (call(update, [entity.revision], **{text_field: f"text {number}"}) for number in range(5))
    answers = await asyncio.gather(*changes, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, Aborted)]
    [written] = [answer for answer in answers if answer not in refused]
    assert [error.reason for error in refused] == ["REVISION_MISMATCH"] * 4
    assert written.revision > entity.revision
    with pytest.raises(Aborted):
        await call(delete, [entity.revision])
    assert (await call(update, [], **{text_field: "any revision"})).revision > written.revision
    latest = await call(update, [1, written.revision + 1], **{text_field: "one of these"})
    await call(delete, [latest.revision])
