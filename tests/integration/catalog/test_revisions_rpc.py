"""Changes that depend on the revision of what they change, on the running catalog: no change is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2, builds_pb2, tests_pb2, workflows_pb2

from services.chassis.error_status import to_domain_error
from services.chassis.errors import Aborted
from tests.integration.catalog.conftest import Service
from tests.integration.catalog.test_apps_rpc import made

pytestmark = pytest.mark.asyncio(loop_scope="session")

Call = Callable[..., Awaitable[Any]]
"""A change of one resource, with the revisions that it expects and a text that makes it different from others."""


async def an_app(service: Service) -> tuple[int, Call, Call]:
    app = await made(service)

    def update(expected: list[int], text: str) -> Any:
        return service.apps.UpdateApp(apps_pb2.UpdateAppRequest(app_id=app.id, name=text, expected_revisions=expected))

    def delete(expected: list[int]) -> Any:
        return service.apps.DeleteApp(apps_pb2.DeleteAppRequest(app_id=app.id, expected_revisions=expected))

    return app.revision, update, delete


async def a_build(service: Service) -> tuple[int, Call, Call]:
    app = await made(service)
    request = builds_pb2.CreateBuildRequest(app_id=app.id, version="1", artifact_url="https://x.test/a.apk")
    build = await service.builds.CreateBuild(request)

    def update(expected: list[int], text: str) -> Any:
        return service.builds.UpdateBuild(
            builds_pb2.UpdateBuildRequest(version_id=build.id, package_name=text, expected_revisions=expected)
        )

    def delete(expected: list[int]) -> Any:
        return service.builds.DeleteBuild(
            builds_pb2.DeleteBuildRequest(version_id=build.id, expected_revisions=expected)
        )

    return build.revision, update, delete


async def a_test(service: Service) -> tuple[int, Call, Call]:
    request = tests_pb2.CreateTestRequest(name="Log in")
    request.steps.add().string_value = "scroll"
    test = await service.tests.CreateTest(request)

    def update(expected: list[int], text: str) -> Any:
        return service.tests.UpdateTest(
            tests_pb2.UpdateTestRequest(test_id=test.id, description=text, expected_revisions=expected)
        )

    def delete(expected: list[int]) -> Any:
        return service.tests.DeleteTest(tests_pb2.DeleteTestRequest(test_id=test.id, expected_revisions=expected))

    return test.revision, update, delete


async def a_quarantine(service: Service) -> tuple[int, Call, Call]:
    request = tests_pb2.CreateTestRequest(name="Log in")
    request.steps.add().string_value = "scroll"
    test = await service.tests.CreateTest(request)

    def update(expected: list[int], text: str) -> Any:
        return service.tests.QuarantineTest(
            tests_pb2.QuarantineTestRequest(test_id=test.id, reason=text, expected_revisions=expected)
        )

    def delete(expected: list[int]) -> Any:
        return service.tests.UnquarantineTest(
            tests_pb2.UnquarantineTestRequest(test_id=test.id, expected_revisions=expected)
        )

    return test.revision, update, delete


async def a_workflow(service: Service) -> tuple[int, Call, Call]:
    workflow = await service.workflows.CreateWorkflow(workflows_pb2.CreateWorkflowRequest(name="Nightly"))

    def update(expected: list[int], text: str) -> Any:
        return service.workflows.UpdateWorkflow(
            workflows_pb2.UpdateWorkflowRequest(workflow_id=workflow.id, name=text, expected_revisions=expected)
        )

    def delete(expected: list[int]) -> Any:
        return service.workflows.DeleteWorkflow(
            workflows_pb2.DeleteWorkflowRequest(workflow_id=workflow.id, expected_revisions=expected)
        )

    return workflow.revision, update, delete


async def outcome(call: Any) -> Any:
    """The response, or the error."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        return to_domain_error(error)


@pytest.mark.parametrize("make", [an_app, a_build, a_test, a_quarantine, a_workflow])
async def test_of_concurrent_changes_of_a_revision_one_is_made(service: Service, make: Any) -> None:
    """The others learn that they had an old revision; so does a deletion. Without a revision all are made."""
    revision, update, delete = await make(service)
    found = await asyncio.gather(*(outcome(update([revision], f"text {number}")) for number in range(5)))
    refused = [one for one in found if isinstance(one, Aborted)]
    [written] = [one for one in found if not isinstance(one, Exception)]
    assert [error.reason for error in refused] == ["REVISION_MISMATCH"] * 4
    assert written.revision > revision
    gone = await outcome(delete([revision]))
    assert isinstance(gone, Aborted)
    assert (await update([], "any revision")).revision > written.revision
    latest = await update([1, written.revision + 1], "one of these")
    await delete([latest.revision])
