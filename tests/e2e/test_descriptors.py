"""The descriptors that the gateway serves are enough to call the services, without anything of the repository."""

import aiohttp
import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from services.gateway.contract.operations import all_services
from services.gateway.routes import DESCRIPTORS_PATH
from tests.e2e.conftest import new_organisation_key
from tests.shared_infrastructure import SharedStack


async def test_a_service_is_called_by_the_descriptors_that_are_served(stack: SharedStack) -> None:
    pool = DescriptorPool()
    async with aiohttp.ClientSession(stack.url) as anonymous, anonymous.get(DESCRIPTORS_PATH) as response:
        for file in FileDescriptorSet.FromString(await response.read()).file:
            pool.Add(file)
    for service in all_services():
        assert pool.FindServiceByName(service.full_name).methods_by_name.keys() == service.methods_by_name.keys()
    issued = await new_organisation_key(stack, "Descriptors")
    method = pool.FindMethodByName("mobiletest.catalog.v1.Apps.ListApps")
    metadata = (
        ("authorization", f"Bearer {stack.grpc_token}"),
        ("x-org-id", issued.key.org_id),
        ("x-scopes", "read"),
    )
    async with grpc.aio.insecure_channel(stack.grpc["catalog"]) as channel:
        call = channel.unary_unary(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        answer = await call(GetMessageClass(method.input_type)(), metadata=metadata, timeout=10)
    assert answer.page == 1
