"""The variables of tests and workflows: stored, changed, shown and planned."""

from typing import Any, cast

import pytest
from mobiletest.catalog.v1 import resolution_pb2, tests_pb2, workflows_pb2

from services.catalog.grpc.resolution import ResolutionServicer
from services.catalog.grpc.tests import TestsServicer
from services.catalog.grpc.workflows import WorkflowsServicer
from services.chassis.proto_values import json_to_struct, struct_to_json
from tests.integration.catalog.usecases.conftest import Catalog, refused_fields

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWN = {"USER": "ada", "API_TOKEN": "***", "PASSWORD": {"secret": "pw"}}
SENT = {**SHOWN, "API_TOKEN": "t0ken"}


def servicer_of(catalog: Catalog) -> TestsServicer:
    return TestsServicer(
        catalog.tests, catalog.attachments, catalog.quarantine, catalog.imports, catalog.files, cast(Any, None)
    )


async def create_test(catalog: Catalog, **env: object) -> tests_pb2.Test:
    request = tests_pb2.CreateTestRequest(name="t", env=json_to_struct(env))
    request.steps.add().string_value = "Tap x"
    return await servicer_of(catalog).CreateTest(request, None)


async def test_variables_of_a_test_are_shown_with_secrets_masked(catalog: Catalog) -> None:
    created = await create_test(catalog, **SENT)
    test = await servicer_of(catalog).GetTest(tests_pb2.GetTestRequest(test_id=created.id), None)
    assert struct_to_json(test.env) == SHOWN
    assert (await catalog.tests.get(created.id)).test.env == SENT


async def test_variables_that_are_read_and_written_back_stay_as_they_are(catalog: Catalog) -> None:
    created = await create_test(catalog, **SENT)
    changed = {**struct_to_json(created.env), "USER": "bob"}
    request = tests_pb2.UpdateTestRequest(test_id=created.id, env=json_to_struct(changed))
    await servicer_of(catalog).UpdateTest(request, None)
    test = (await catalog.tests.get(created.id)).test
    assert (test.env, test.version_number) == ({**SENT, "USER": "bob"}, 1)


async def test_null_clears_the_variables_of_a_test(catalog: Catalog) -> None:
    created = await create_test(catalog, **SENT)
    request = tests_pb2.UpdateTestRequest(test_id=created.id)
    request.update_mask.paths.append("env")
    cleared = await servicer_of(catalog).UpdateTest(request, None)
    assert not cleared.HasField("env")


async def test_invalid_variables_are_refused_by_their_names(catalog: Catalog) -> None:
    assert await refused_fields(create_test(catalog, USER=1, API_TOKEN="***")) == ["env.API_TOKEN", "env.USER"]


async def test_a_plan_has_the_variables_of_workflow_and_test_unmasked(catalog: Catalog) -> None:
    test = await create_test(catalog, API_TOKEN="of the test")
    config = workflows_pb2.CreateWorkflowRequest().run_config
    config.env.CopyFrom(json_to_struct({"USER": "of the configuration", "B_TOKEN": "b"}))
    env = json_to_struct({"USER": "of the workflow", "CITY": "Paris"})
    create = workflows_pb2.CreateWorkflowRequest(name="w", test_ids=[test.id], env=env, run_config=config)
    workflow = await WorkflowsServicer(catalog.workflows).CreateWorkflow(create, None)
    assert struct_to_json(workflow.run_config.env) == {"USER": "of the configuration", "B_TOKEN": "***"}
    start = resolution_pb2.ResolveRunsRequest(workflow_id=workflow.id)
    plan = await ResolutionServicer(catalog.resolution, catalog.limits).ResolveRuns(start, None)
    assert struct_to_json(plan.run_config.env) == {"USER": "of the configuration", "CITY": "Paris", "B_TOKEN": "b"}
    assert struct_to_json(plan.runs[0].env) == {"API_TOKEN": "of the test"}


async def test_masked_values_of_a_workflow_are_kept_when_it_is_written_back(catalog: Catalog) -> None:
    servicer = WorkflowsServicer(catalog.workflows)
    create = workflows_pb2.CreateWorkflowRequest(name="w", env=json_to_struct(SENT))
    create.run_config.env.CopyFrom(json_to_struct({"B_TOKEN": "b"}))
    created = await servicer.CreateWorkflow(create, None)
    update = workflows_pb2.UpdateWorkflowRequest(workflow_id=created.id, env=created.env, run_config=created.run_config)
    await servicer.UpdateWorkflow(update, None)
    stored = await catalog.workflows.get(created.id)
    assert (stored.env, stored.run_config) == (SENT, {"env": {"B_TOKEN": "b"}})
    assert stored.revision == 1
