"""Makes RPCs of the services from their descriptors."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

Rpc = Callable[..., Any]
"""`call = rpc(request, timeout=seconds)`, then `await call` or `async for message in call`."""


class RpcChannel(Protocol):
    """The part of a gRPC channel that makes calls."""

    def unary_unary(self, path: str, *arguments: Any, **options: Any) -> Rpc: ...

    def unary_stream(self, path: str, *arguments: Any, **options: Any) -> Rpc: ...

    def stream_unary(self, path: str, *arguments: Any, **options: Any) -> Rpc: ...


class Upstreams:
    """The channels to the services, by the name of the service ("catalog")."""

    def __init__(self, channels: Mapping[str, RpcChannel]) -> None:
        self._channels = channels

    def rpc(self, method: MethodDescriptor) -> Rpc:
        """The method as a function."""
        channel = self._channels[method.containing_service.file.package.split(".")[1]]
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
