"""RPCs of the services, made from their descriptors; reads of single resources go through batch methods (AIP-231)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from services.chassis.batcher import Batcher
from services.chassis.context import Caller
from services.chassis.error_status import is_too_large
from services.chassis.errors import NotFound
from services.chassis.grpc_channel import Channel
from services.gateway.contract.operations import Operation

# Of reads by id; see Batcher.
GATHERING_TURNS = 20

# `call = rpc(request, timeout=seconds)`, then `await call` or `async for message in call`.
Rpc = Callable[..., Any]


class Upstreams:
    """The channels to the services, by the name of the service ("catalog")."""

    def __init__(self, channels: Mapping[str, Channel]) -> None:
        self._channels = channels

    def rpc(self, method: MethodDescriptor) -> Rpc:
        """The method as a function."""
        channel = self.channel(method)
        make = channel.unary_unary
        if method.server_streaming:
            make = channel.unary_stream
        elif method.client_streaming:
            make = channel.stream_unary
        return make(
            f"/{method.containing_service.full_name}/{method.name}",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )

    def channel(self, method: MethodDescriptor) -> Channel:
        """The channel to the service that has the method."""
        return self._channels[service_of(method)]


def service_of(method: MethodDescriptor) -> str:
    """The name of the service that has the method, such as "catalog"."""
    return method.containing_service.file.package.split(".")[1]


class BatchReader:
    """Reads one type of resource by id: GetApp is answered by BatchGetApps."""

    def __init__(self, upstreams: Upstreams, batch: MethodDescriptor, resource: str) -> None:
        self._rpc = upstreams.rpc(batch)
        self._request = GetMessageClass(batch.input_type)
        self._ids_field = batch.input_type.fields[0].name
        self._items_field = batch.output_type.fields[0].name
        self._not_found = f"{resource} not found"
        self._batcher: Batcher[str, Any] = Batcher(self._fetch, turns=GATHERING_TURNS, splits=is_too_large)

    async def get(self, caller: Caller, id_: str, timeout: float) -> Any:
        """The message.

        Raises:
            NotFound: the caller's organisation has no resource with this id.
        """
        message = await self._batcher.get(caller, id_, timeout)
        if message is None:
            raise NotFound(self._not_found)
        return message

    async def _fetch(self, ids: Sequence[str]) -> Mapping[str, Message | None]:
        answer = await self._rpc(self._request(**{self._ids_field: ids}))
        return dict.fromkeys(ids) | {item.id: item for item in getattr(answer, self._items_field)}


def batch_method(operation: Operation) -> MethodDescriptor | None:
    """The batch method of a Get by one id: BatchGetApps for GetApp."""
    if not operation.name.startswith("Get") or len(operation.path_fields) != 1:
        return None
    method_descriptor = operation.descriptor.containing_service.methods_by_name.get(f"Batch{operation.name}s")
    if method_descriptor is None or method_descriptor.output_type.fields[0].message_type is not operation.output:
        return None
    return method_descriptor
