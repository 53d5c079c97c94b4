"""The gRPC servers of `make run` say which methods they have."""

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from tests.shared_infrastructure import SharedStack


@pytest.mark.parametrize(
    ("service", "name"),
    [
        ("catalog", "mobiletest.catalog.v1.Apps"),
        ("executor", "mobiletest.executor.v1.Executions"),
        ("reporting", "mobiletest.reporting.v1.Reports"),
    ],
)
async def test_a_service_lists_its_methods_by_reflection(service: str, name: str, stack: SharedStack) -> None:
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    metadata = (("authorization", f"Bearer {stack.grpc_token}"),)
    async with grpc.aio.insecure_channel(stack.grpc[service]) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        async for answer in stub.ServerReflectionInfo(iter([request]), metadata=metadata, timeout=10):
            assert name in {service.name for service in answer.list_services_response.service}
            return
    pytest.fail("no answer")
