"""A program on the client that openapi-generator makes for Python: python example.py URL KEY FILE."""

import json
import sys
import time
from pathlib import Path

from mobiletest_client import (
    ApiClient,
    AppsApi,
    BuildsApi,
    Configuration,
    CreateAppRequest,
    CreateTestRequest,
    CreateWorkflowRequest,
    ExecutionsApi,
    StartWorkflowRequest,
    TestsApi,
    WorkflowsApi,
)

STEPS = ["launchApp", {"assertVisible": "Log in"}]


def main(url: str, key: str, file: str) -> None:
    with ApiClient(Configuration(host=url, access_token=key)) as client:
        app = AppsApi(client).create_app(CreateAppRequest(name="Python", platform="Android"))
        artifact = (Path(file).name, Path(file).read_bytes())
        fields = {"version": "1.0", "metadata": '{"branch": "main"}'}
        # The type has to be said, because the client prefers JSON where an operation has it.
        build = BuildsApi(client).create_build(app.id, file=artifact, _content_type="multipart/form-data", **fields)
        test = TestsApi(client).create_test(create_test_request=CreateTestRequest(name="Log in", steps=STEPS))
        TestsApi(client).attach_test(app.id, test.id)
        workflow = WorkflowsApi(client).create_workflow(CreateWorkflowRequest(name="Python", test_ids=[test.id]))
        executions = ExecutionsApi(client)
        started = executions.start_workflow(StartWorkflowRequest(workflow_id=workflow.id), idempotency_key="python")
        execution, deadline = executions.get_execution(started.id, wait=10), time.monotonic() + 60
        while execution.completed_at is None and time.monotonic() < deadline:
            execution = executions.get_execution(started.id, wait=10)
    passed = execution.counts.passed if execution.counts else None
    print(json.dumps({"build": str(build.id), "execution": str(execution.id), "passed": passed}))


main(*sys.argv[1:])
