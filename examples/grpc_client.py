"""An internal service's view of mobiletest: starts a workflow over gRPC and follows it to its end.

Usage: python -m examples.grpc_client EXECUTOR_ADDRESS ORG_ID WORKFLOW_ID, with MOBILETEST_SERVICE_TOKEN set.
"""

import asyncio
import os
import sys

import grpc
from mobiletest.executor.v1 import executions_pb2, executions_pb2_grpc
from mobiletest.types.v1 import execution_pb2

START_SECONDS, FOLLOW_SECONDS = 10, 600


async def follow(address: str, org_id: str, workflow_id: str, token: str) -> bool:
    """Start a workflow, print each of its events; whether every run passed.

    Raises:
        grpc.aio.AioRpcError: the call fails.
    """
    metadata = (("authorization", f"Bearer {token}"), ("x-org-id", org_id), ("x-scopes", "read,execute"))
    async with grpc.aio.insecure_channel(address) as channel:
        executions = executions_pb2_grpc.ExecutionsStub(channel)  # type: ignore[no-untyped-call]
        request = executions_pb2.StartWorkflowRequest(workflow_id=workflow_id, service_client="grpc-example")
        started = await executions.StartWorkflow(request, metadata=metadata, timeout=START_SECONDS)
        watch = executions_pb2.WatchExecutionRequest(execution_id=started.id)
        last = executions_pb2.Execution()
        async for event in executions.WatchExecution(watch, metadata=metadata, timeout=FOLLOW_SECONDS):
            print(event.sequence, _describe(event))
            if event.WhichOneof("event") == "execution":
                last = event.execution
        return bool(last.success)


def _describe(event: executions_pb2.ExecutionEvent) -> str:
    """One event in words."""
    name = event.WhichOneof("event")
    changed = event.execution if name == "execution" else event.run
    subject = "execution" if name == "execution" else event.run.test_name
    return f"{subject}: {execution_pb2.ExecutionStatus.Name(changed.status).removeprefix('EXECUTION_STATUS_').lower()}"


if __name__ == "__main__":
    if len(sys.argv) != 4 or "MOBILETEST_SERVICE_TOKEN" not in os.environ:
        sys.exit(__doc__)
    try:
        passed = asyncio.run(follow(sys.argv[1], sys.argv[2], sys.argv[3], os.environ["MOBILETEST_SERVICE_TOKEN"]))
    except grpc.aio.AioRpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")
    sys.exit(0 if passed else 1)
