"""Scripted services behind the gateway: real gRPC on real sockets, with answers from the test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from mobiletest.catalog.v1 import api_keys_pb2, apps_pb2
from mobiletest.reporting.v1 import reports_pb2
from pydantic import SecretStr

from services.chassis import grpc_server
from services.chassis.context import Caller, current
from services.chassis.errors import NotFound, Unauthenticated
from services.chassis.health import Health
from services.chassis.service_token import read_metadata
from services.chassis.settings import ProcessSettings
from services.chassis.stored_transfers import key_metadata
from services.gateway.auth.api_keys import KeyHolder, checksum, invalid_api_key
from services.gateway.contract.operations import all_services
from tests.callers import any_organisation, callers

TOKEN = "a service token for tests"

Answer = Callable[[Any], Any]
Metadata = tuple[tuple[str, str], ...]


def new_key(prefix: str = "mt_") -> str:
    """A well-formed API key, or session token ("ms_"), without a holder."""
    text = f"{prefix}{uuid4().hex[:12]}_{uuid4().hex}"
    return text + checksum(text)


class FakeApiKeys:
    """The port `ApiKeys` in memory."""

    def __init__(self) -> None:
        self.holders: dict[str, KeyHolder | Unauthenticated] = {}
        self.verified: list[str] = []
        self.hold: asyncio.Event | None = None
        self.reached = asyncio.Event()
        self.failure: Exception | None = None

    async def verify(self, key: str) -> KeyHolder:
        self.verified.append(key)
        if self.failure is not None:
            raise self.failure
        self.reached.set()
        if self.hold is not None:
            await self.hold.wait()
        holder = self.holders.get(key, invalid_api_key())
        if isinstance(holder, Unauthenticated):
            raise holder
        return holder


@dataclass(frozen=True, slots=True)
class Call:
    """One RPC that a service received."""

    method: str
    request: Any
    caller: Caller
    metadata: dict[str, str]


@dataclass(slots=True)
class FakeBackends:
    """All services behind a gateway.

    `on` scripts a method with a function of the request, sync or async, or an async generator; its exceptions become
    gRPC errors as in a real service. Calls of organisations without a scripted key come from an earlier test: they are
    not recorded.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    failures: dict[str, Exception | None] = field(default_factory=dict)
    receivers: dict[str, Answer] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)
    org_ids: set[str] = field(default_factory=set)
    initial_metadata: Metadata | Callable[[Any], Metadata] = ()
    object_key: str = "org/uploads/1/file"
    """Where the services want the file of an upload; empty: they do not say so."""
    trailing_metadata: Metadata = ()
    _stops: dict[str, AsyncExitStack] = field(default_factory=dict)

    def on(self, method: str, answer: Answer) -> None:
        self.answers[method] = answer
        self.failures.pop(method, None)

    def fail(self, method: str, error: Exception) -> None:
        """Script a method that ends with this error."""
        self.failures[method] = error

    def hang(self, *methods: str) -> None:
        """Script methods that never answer."""
        self.failures |= dict.fromkeys(methods)

    def on_messages(self, method: str, receiver: Answer) -> None:
        """Script an upload with an async function of its messages, which need not read them all."""
        self.receivers[method] = receiver

    def reset(self) -> None:
        """Forget all answers, keys and calls."""
        for kept in (self.answers, self.failures, self.receivers, self.calls, self.cancelled, self.org_ids):
            kept.clear()
        self.initial_metadata = self.trailing_metadata = ()
        self.object_key = f"org/uploads/{uuid4()}/file"

    def of(self, method: str) -> list[Call]:
        """The calls of one method."""
        return [call for call in self.calls if call.method == method]

    def requests(self, method: str) -> list[Any]:
        return [call.request for call in self.of(method)]

    async def start(self, name: str) -> None:
        """Start the service `name`, or restart it at the same address."""
        stack = self._stops[name] = AsyncExitStack()
        listen = self.addresses.get(name, "127.0.0.1:0")
        settings = ProcessSettings(
            service_token=SecretStr(TOKEN),
            callers=callers(TOKEN, "gateway"),
            grpc_listen=listen,
            shutdown_grace_seconds=0.1,
        )
        mine = [(self._adder(s), object(), s.full_name) for s in all_services() if s.file.package.split(".")[1] == name]
        serving = grpc_server.serve(settings, mine, health=Health(), organisations=any_organisation(), page_turns=None)
        self.addresses[name] = await stack.enter_async_context(serving)

    async def stop(self, name: str) -> None:
        await self._stops.pop(name).aclose()

    async def stop_all(self) -> None:
        for name in list(self._stops):
            await self.stop(name)

    def _adder(self, service: ServiceDescriptor) -> Callable[[object, Any], None]:
        def add(_: object, server: Any) -> None:
            handlers = {method.name: self._handler(method) for method in service.methods}
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))

        return add

    def _handler(self, method: MethodDescriptor) -> Any:
        coding: dict[str, Any] = {
            "request_deserializer": GetMessageClass(method.input_type).FromString,
            "response_serializer": GetMessageClass(method.output_type).SerializeToString,
        }
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(self._stream(method.name), **coding)
        if method.client_streaming:
            return grpc.stream_unary_rpc_method_handler(self._upload(method.name), **coding)
        return grpc.unary_unary_rpc_method_handler(self._unary(method.name), **coding)

    def _unary(self, name: str) -> Any:
        async def handle(request: Message, context: Any) -> Any:
            self._record(name, request, context)
            context.set_trailing_metadata(self.trailing_metadata)
            return await self._answer(name, request)

        return handle

    def _upload(self, name: str) -> Any:
        async def handle(requests: AsyncIterator[Message], context: Any) -> Any:
            context.set_trailing_metadata(self.trailing_metadata)
            received: list[Message] = []
            self._record(name, received, context)
            if self.object_key:
                await context.send_initial_metadata(key_metadata(self.object_key))
            if name in self.receivers:
                return await self.receivers[name](requests)
            try:
                async for request in requests:
                    received.append(request)  # noqa: PERF401 (after a cut upload, what was received stays)
            except asyncio.CancelledError:
                self.cancelled.append(name)
                raise
            return await self._answer(name, received)

        return handle

    def _stream(self, name: str) -> Any:
        async def handle(request: Message, context: Any) -> AsyncIterator[Message]:
            self._record(name, request, context)
            sent = self.initial_metadata
            await context.send_initial_metadata(sent(request) if callable(sent) else sent)
            try:
                await self._fail(name)
                async for answer in self.answers[name](request):
                    yield answer
            except (asyncio.CancelledError, GeneratorExit):
                self.cancelled.append(name)
                raise

        return handle

    def _record(self, name: str, request: Any, context: Any) -> None:
        caller = current()
        if caller.org_id and caller.org_id not in self.org_ids:
            raise NotFound(f"{caller.org_id} has no scripted key")
        self.calls.append(Call(name, request, caller, read_metadata(context.invocation_metadata())))

    async def _fail(self, name: str) -> None:
        if name in self.failures:
            if (error := self.failures[name]) is None:
                await asyncio.Event().wait()
            else:
                raise error

    async def _answer(self, name: str, request: Any) -> Any:
        if name not in self.answers and name not in self.failures:
            raise NotFound(f"{name} is not scripted")
        try:
            await self._fail(name)
            answer = self.answers[name](request)
            return await answer if isinstance(answer, Awaitable) else answer
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise


def script_apps(backends: FakeBackends, *apps: apps_pb2.App) -> None:
    """Script BatchGetApps for these, and BatchGetAppStats with fixed figures."""
    known = {app.id: app for app in apps}
    backends.on(
        "BatchGetApps",
        lambda request: apps_pb2.BatchGetAppsResponse(apps=[known[i] for i in request.app_ids if i in known]),
    )
    backends.on("BatchGetAppStats", fixed_stats)


def fixed_stats(request: reports_pb2.BatchGetAppStatsRequest) -> reports_pb2.BatchGetAppStatsResponse:
    """7 executions and a rate of 0.5 for every app."""
    stats = [
        reports_pb2.AppStats(app_id=id_, recent_executions=7, rolling_pass_rate=0.5, attribution_ready=True)
        for id_ in request.app_ids
    ]
    return reports_pb2.BatchGetAppStatsResponse(stats=stats)


def script_api_key(backends: FakeBackends, *scopes: str, org_id: str | None = None, **fields: Any) -> str:
    """Script VerifyApiKey for a new key with these scopes (all when none are named) and fields; gives the key."""
    key, org = new_key(), org_id or str(uuid4())
    backends.org_ids.add(org)
    names = [f"SCOPE_{scope.upper()}" for scope in scopes or ("read", "write", "execute", "admin")]
    answer = api_keys_pb2.VerifyApiKeyResponse(api_key_id=str(uuid4()), org_id=org, scopes=names, **fields)
    before = backends.answers.get("VerifyApiKey")

    def verify(request: api_keys_pb2.VerifyApiKeyRequest) -> api_keys_pb2.VerifyApiKeyResponse:
        if request.key == key:
            return answer
        if before is None:
            raise invalid_api_key()
        return before(request)  # type: ignore[no-any-return]

    backends.on("VerifyApiKey", verify)
    return key


@asynccontextmanager
async def run_fake_backends() -> AsyncIterator[FakeBackends]:
    """Catalog, executor and reporting, each on a port of its own."""
    backends = FakeBackends()
    for name in ("catalog", "executor", "reporting"):
        await backends.start(name)
    try:
        yield backends
    finally:
        await backends.stop_all()
