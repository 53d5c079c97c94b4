"""The gRPC services Tests, Workflows and Resolution, on the running catalog."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.catalog.v1 import apps_pb2, builds_pb2, resolution_pb2, tests_pb2, workflows_pb2
from mobiletest.types.v1.platform_pb2 import PLATFORM_ANDROID, PLATFORM_IOS
from mobiletest.types.v1.run_config_pb2 import ExecutionMode, RunConfig

from services.chassis.errors import InvalidArgument, NotFound
from tests.integration.catalog.conftest import Service
from tests.integration.catalog.test_apps_rpc import failed, made

pytestmark = pytest.mark.asyncio(loop_scope="session")

STEPS: list[Any] = ['Tap "Log in"', {"tapOn": {"id": "next", "index": 1}}]


async def written(service: Service, name: str = "Log in", **fields: Any) -> tests_pb2.Test:
    request = ParseDict({"name": name, "steps": STEPS, **fields}, tests_pb2.CreateTestRequest())
    test: tests_pb2.Test = await service.tests.CreateTest(request)
    return test


def steps_of(message: Any) -> Any:
    return MessageToDict(message)["steps"]


async def test_a_test_from_creation_to_deletion(service: Service) -> None:
    test = await written(service, description="d", tags=["smoke"], platform="PLATFORM_IOS", timeoutSeconds=60)
    assert (test.version_number, test.platform, list(test.tags), test.timeout_seconds) == (
        1,
        PLATFORM_IOS,
        ["smoke"],
        60,
    )
    assert steps_of(test) == STEPS
    assert await service.tests.GetTest(tests_pb2.GetTestRequest(test_id=test.id)) == test
    mask = FieldMask(paths=["steps", "platform"])
    request = tests_pb2.UpdateTestRequest(test_id=test.id, steps=test.steps[:1], update_mask=mask)
    changed = await service.tests.UpdateTest(request)
    assert (changed.version_number, changed.HasField("platform"), steps_of(changed)) == (2, False, STEPS[:1])
    request_versions = tests_pb2.ListTestVersionsRequest(test_id=test.id, include_steps=True)
    versions = await service.tests.ListTestVersions(request_versions)
    assert [(v.version_number, steps_of(v)) for v in versions.items] == [(2, STEPS[:1]), (1, STEPS)]
    await written(service, "Log out", tags=["smoke"])
    request_list = tests_pb2.ListTestsRequest(tag="smoke", platform=PLATFORM_ANDROID, search="LOG I")
    listed = await service.tests.ListTests(request_list)
    assert ([t.id for t in listed.items], listed.total, listed.page_size) == ([test.id], 1, 50)
    await service.tests.DeleteTest(tests_pb2.DeleteTestRequest(test_id=test.id))
    assert (await failed(service.tests.GetTest(tests_pb2.GetTestRequest(test_id=test.id)))).message == "Test not found"
    assert (await service.tests.ListTests(tests_pb2.ListTestsRequest())).total == 1


async def test_attaching_pinning_detaching(service: Service) -> None:
    app, test = await made(service), await written(service)
    pin = tests_pb2.AttachTestRequest(app_id=app.id, test_id=test.id, pinned_version="1.0")
    attachment = await service.tests.AttachTest(pin)
    assert (attachment.relationship, attachment.target_build_version) == (tests_pb2.RELATIONSHIP_PINNED, "1.0")
    follow = await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=app.id, test_id=test.id))
    assert (follow.relationship, follow.HasField("target_build_version")) == (tests_pb2.RELATIONSHIP_ATTACHED, False)
    shown = await service.tests.GetTest(tests_pb2.GetTestRequest(test_id=test.id))
    assert [(a.app_id, a.app_name, a.HasField("pinned_version")) for a in shown.attachments] == [
        (app.id, "Shop", False)
    ]
    listed = await service.tests.ListAttachments(tests_pb2.ListAttachmentsRequest(app_id=app.id))
    assert ([a.test_name for a in listed.items], listed.total) == (["Log in"], 1)
    now = await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))
    assert (now.attached_tests, now.pinned_tests, now.revision) == (1, 0, 3)
    detach = tests_pb2.DetachTestRequest(app_id=app.id, test_id=test.id)
    await service.tests.DetachTest(detach)
    assert isinstance(await failed(service.tests.DetachTest(detach)), NotFound)


async def test_a_workflow_from_creation_to_deletion(service: Service) -> None:
    test = await written(service)
    run_config = RunConfig(execution_mode=ExecutionMode(retries=0, enable_planning=False), run_id="x")
    request = workflows_pb2.CreateWorkflowRequest(
        name="Nightly", test_ids=[test.id], tags=["smoke"], run_config=run_config, max_parallel=3
    )
    workflow = await service.workflows.CreateWorkflow(request)
    assert (workflow.run_config, list(workflow.test_ids), workflow.max_parallel) == (run_config, [test.id], 3)
    assert not workflow.HasField("build_config")
    mask = FieldMask(paths=["run_config", "max_parallel", "test_ids"])
    cleared = await service.workflows.UpdateWorkflow(
        workflows_pb2.UpdateWorkflowRequest(workflow_id=workflow.id, update_mask=mask)
    )
    assert (cleared.HasField("run_config"), cleared.HasField("max_parallel"), list(cleared.test_ids)) == (
        False,
        False,
        [],
    )
    listed = await service.workflows.ListWorkflows(workflows_pb2.ListWorkflowsRequest(search="night"))
    assert [w.id for w in listed.items] == [workflow.id]
    await service.workflows.DeleteWorkflow(workflows_pb2.DeleteWorkflowRequest(workflow_id=workflow.id))
    error = await failed(service.workflows.GetWorkflow(workflows_pb2.GetWorkflowRequest(workflow_id=workflow.id)))
    assert error.message == "Workflow not found"


async def test_a_plan_for_the_executor(service: Service) -> None:
    app, test = await made(service), await written(service, timeoutSeconds=60)
    prompt = apps_pb2.UpdateAppRequest(app_id=app.id, system_prompt="p")
    await service.apps.UpdateApp(prompt)
    new = builds_pb2.CreateBuildRequest(app_id=app.id, version="1", artifact_url="https://x.test", package_name="c.e")
    build = await service.builds.CreateBuild(new)
    await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=app.id, test_id=test.id))
    stray = await written(service, "Stray")
    workflow = await service.workflows.CreateWorkflow(
        workflows_pb2.CreateWorkflowRequest(name="w", test_ids=[test.id, stray.id], max_parallel=2)
    )
    plan = await service.resolution.ResolveRuns(resolution_pb2.ResolveRunsRequest(workflow_id=workflow.id))
    assert (plan.workflow_id, plan.workflow_name, plan.max_parallel) == (workflow.id, "w", 2)
    run, broken = plan.runs
    assert (run.test_id, run.test_name, run.test_version_number, run.timeout_seconds) == (test.id, "Log in", 1, 60)
    assert (steps_of(run), run.platform, run.config_error) == (STEPS, PLATFORM_ANDROID, "")
    assert (run.app.id, run.app.name, run.app.system_prompt) == (app.id, "Shop", "p")
    assert (run.build.id, run.build.version, run.build.package_name) == (build.id, "1", "c.e")
    assert (run.build.artifact_url, run.build.sha256, run.build.uploaded_at) == (
        "https://x.test",
        "",
        build.uploaded_at,
    )
    assert "attached to no app" in broken.config_error
    assert not broken.HasField("app")
    alone = await service.resolution.ResolveRuns(resolution_pb2.ResolveRunsRequest(test_id=test.id))
    assert (alone.workflow_id, [r.test_id for r in alone.runs]) == ("", [test.id])


async def test_plans_of_several_workflows(service: Service) -> None:
    """As those made one by one, but for the limits, which they have in common; what has no plan is left out."""
    test = await written(service)
    made = [
        await service.workflows.CreateWorkflow(workflows_pb2.CreateWorkflowRequest(name=name, test_ids=[test.id]))
        for name in "ab"
    ]
    ids = [made[0].id, str(uuid4()), made[1].id]
    starts = [resolution_pb2.ResolveRunsRequest(workflow_id=id_) for id_ in ids]
    answer = await service.resolution.BatchResolveRuns(resolution_pb2.BatchResolveRunsRequest(starts=starts))
    assert [plan.position for plan in answer.plans] == [0, 2]
    for plan in answer.plans:
        alone = await service.resolution.ResolveRuns(starts[plan.position])
        assert answer.limits == alone.limits
        alone.ClearField("limits")
        assert plan.runs == alone


async def test_a_quarantine_shows_wherever_the_test_does(service: Service) -> None:
    app, test = await made(service), await written(service)
    await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=app.id, test_id=test.id))
    request = tests_pb2.QuarantineTestRequest(test_id=test.id, reason="Flaky")
    quarantine = (await service.tests.QuarantineTest(request)).quarantine
    days = quarantine.until.ToDatetime() - quarantine.since.ToDatetime()
    assert (quarantine.reason, days) == ("Flaky", timedelta(days=14))
    assert [each.quarantine for each in await views(service, app.id, test.id)] == [quarantine] * 4
    for _ in range(2):
        await service.tests.UnquarantineTest(tests_pb2.UnquarantineTestRequest(test_id=test.id))
    assert not any(each.HasField("quarantine") for each in await views(service, app.id, test.id))


async def views(service: Service, app_id: str, test_id: str) -> list[Any]:
    """The test, or its attachment, in each answer that has one."""
    got = await service.tests.GetTest(tests_pb2.GetTestRequest(test_id=test_id))
    listed = await service.tests.ListTests(tests_pb2.ListTestsRequest())
    together = await service.tests.BatchGetTests(tests_pb2.BatchGetTestsRequest(test_ids=[test_id]))
    of_app = await service.tests.ListAttachments(tests_pb2.ListAttachmentsRequest(app_id=app_id))
    return [got, listed.items[0], together.tests[0], of_app.items[0]]


async def test_the_catalog_names_the_service_that_has_classifications(service: Service) -> None:
    """It cannot answer; the gateway does not ask it."""
    error = await failed(service.tests.ListTests(tests_pb2.ListTestsRequest(classification="flaky")))
    assert isinstance(error, InvalidArgument)
    assert [violation.field for violation in error.violations] == ["classification"]
    assert "mobiletest.reporting.v1.Reports.ListClassifiedTests" in error.message
    unknown = await failed(service.tests.ListTests(tests_pb2.ListTestsRequest(classification="shaky")))
    assert isinstance(unknown, InvalidArgument)


async def test_an_end_of_quarantine_that_no_calendar_has_is_refused(service: Service) -> None:
    request = tests_pb2.QuarantineTestRequest(
        test_id=(await written(service)).id, reason="x", until=Timestamp(seconds=1 << 60)
    )
    error = await failed(service.tests.QuarantineTest(request))
    assert isinstance(error, InvalidArgument)
    assert [violation.field for violation in error.violations] == ["until"]
