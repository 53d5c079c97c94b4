"""The operations that tests of requests call: listing apps, and starting a workflow."""

from uuid import uuid4

from mobiletest.executor.v1 import executions_pb2

APPS = "/api/v1/apps"
START = "/api/v1/execution/api/execute_workflow_id_async"


def started(request: executions_pb2.StartWorkflowRequest) -> executions_pb2.ExecutionStart:
    """The answer of the executor to a start."""
    id_ = str(uuid4())
    return executions_pb2.ExecutionStart(status="EXECUTION_STATUS_QUEUED", message="Queued", id=id_, task_id=id_)
