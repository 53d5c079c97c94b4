"""Every endpoint of the REST interface: generic by the shape of its RPC, some with a named invocation."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from mobiletest.catalog.v1 import builds_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.clock import Clock
from services.gateway.contract.operations import HTTP_BODY, Operation, named
from services.gateway.encoding.responses import ResponseEncoders
from services.gateway.handlers import gates, lookups, reports, tests
from services.gateway.handlers.apps import AppInvocations
from services.gateway.handlers.downloads import DownloadHandler
from services.gateway.handlers.events import EventsHandler
from services.gateway.handlers.forms import FormLimits
from services.gateway.handlers.invocation import Invocation, Limits
from services.gateway.handlers.shared import SharedHandler
from services.gateway.handlers.unary import Invoke, UnaryHandler, direct, renderer
from services.gateway.handlers.uploads import UploadHandler
from services.gateway.serving.exchange import Endpoint, Handler
from services.gateway.upstream.app_stats import AppStats
from services.gateway.upstream.calls import Rpc, Upstreams
from services.gateway.upstream.reads import Reads, batch_method


@dataclass(frozen=True, slots=True)
class Options:
    """Limits and times of the handlers, in bytes and seconds."""

    limits: Limits
    form: FormLimits
    stats_seconds: float
    idle_seconds: float
    heartbeat_seconds: float


class Endpoints:
    """Builds the endpoints of all operations once."""

    def __init__(
        self,
        operations: Iterable[Operation],
        upstreams: Upstreams,
        options: Options,
        *,
        clock: Clock,
        closing: asyncio.Event,
    ) -> None:
        self._operations = tuple(operations)
        self._upstreams = upstreams
        self._options = options
        self._closing = closing
        self._encoders = ResponseEncoders()
        self._reads = {op.name: reads for op in self._operations if (reads := self._reads_of(op)) is not None}
        self._invocations = self._named(AppStats(upstreams, options.stats_seconds, clock))

    def all(self) -> list[Endpoint]:
        """One endpoint per operation, in the order of the protos."""
        return [self._endpoint(operation) for operation in self._operations]

    def _endpoint(self, operation: Operation) -> Endpoint:
        return Endpoint(
            operation.verb,
            operation.template,
            self._handler(operation),
            scope=operation.rpc.required_scope,
            takes_idempotency_key=operation.rpc.takes_idempotency_key,
        )

    def _handler(self, operation: Operation) -> Handler:
        if operation.streams:
            return self._stream(operation)
        if operation.name == "CreateBuild":
            return self._upload(operation)
        return self._unary(operation)

    def _unary(self, operation: Operation) -> Handler:
        if operation.verb == "GET" and operation.name not in self._reads and operation.output.full_name != HTTP_BODY:
            return self._shared(operation)
        invoke = self._invocations.get(operation.name) or self._direct(operation.name)
        encode = self._encoders.remembered if operation.name in self._reads else self._encoders.whole
        return UnaryHandler(self._invocation(operation), invoke, renderer(operation, lambda: encode(operation.output)))

    def _shared(self, operation: Operation) -> SharedHandler:
        invoke = self._invocations.get(operation.name) or self._direct(operation.name)
        encode = self._encoders.whole(operation.output)
        return SharedHandler(self._invocation(operation), invoke, encode, self._options.limits.most_seconds)

    def _stream(self, operation: Operation) -> Handler:
        invocation, rpc = self._invocation(operation), self._upstreams.rpc(operation.descriptor)
        if operation.output.full_name == HTTP_BODY:
            return DownloadHandler(invocation, rpc, self._options.idle_seconds)
        return EventsHandler(
            invocation,
            rpc,
            operation.output,
            heartbeat_seconds=self._options.heartbeat_seconds,
            closing=self._closing,
        )

    def _upload(self, operation: Operation) -> UploadHandler:
        upload = builds_pb2.DESCRIPTOR.services_by_name["Builds"].methods_by_name["UploadBuild"]
        return UploadHandler(
            self._invocation(operation),
            self._upstreams.rpc(upload),
            otherwise=self._unary(operation),
            render=renderer(operation, lambda: self._encoders.whole(operation.output)),
            limits=self._options.form,
        )

    def _invocation(self, operation: Operation) -> Invocation:
        return Invocation(operation, self._options.limits)

    def _direct(self, name: str) -> Invoke:
        return direct(self._upstreams.rpc(named(self._operations, name).descriptor))

    def _reads_of(self, operation: Operation) -> Reads | None:
        batch = batch_method(operation)
        return Reads(self._upstreams, batch, operation.output.name) if batch is not None else None

    def _named(self, stats: AppStats) -> dict[str, Invoke]:
        """The invocations that are more than the RPC itself."""
        apps = AppInvocations(self._reads["GetApp"], stats)
        by_id = {name: lookups.by_id(reads, self._id_field(name)) for name, reads in self._reads.items()}
        return {
            **by_id,
            "GetApp": apps.get,
            "CreateApp": apps.created(self._direct("CreateApp")),
            "UpdateApp": apps.updated(self._direct("UpdateApp")),
            "ListApps": apps.listed(self._direct("ListApps")),
            "GetExecution": lookups.unless_waiting(by_id["GetExecution"], self._direct("GetExecution")),
            "GetAppWorkspace": reports.workspace(self._reads["GetApp"], self._direct("GetAppWorkspace")),
            "GetTestMatrix": reports.of_app(self._reads["GetApp"], self._direct("GetTestMatrix")),
            "GetAppCoverage": reports.of_app(self._reads["GetApp"], self._direct("GetAppCoverage")),
            "ListTests": tests.listed(self._direct("ListTests"), direct(self._classified()), self._reads["GetTest"]),
            "ListBuildRuns": reports.runs_of(self._reads["GetBuild"], "version_id", self._direct("ListBuildRuns")),
            "CompareBuilds": gates.of_build(
                self._reads["GetBuild"], self._reads["GetApp"], self._direct("CompareBuilds")
            ),
            "GetGate": gates.of_execution(self._reads["GetExecution"], self._direct("GetGate")),
            "ListTestRuns": reports.runs_of(self._reads["GetTest"], "test_id", self._direct("ListTestRuns")),
        }

    def _classified(self) -> Rpc:
        reporting = reports_pb2.DESCRIPTOR.services_by_name["Reports"]
        return self._upstreams.rpc(reporting.methods_by_name["ListClassifiedTests"])

    def _id_field(self, name: str) -> str:
        return named(self._operations, name).path_fields[0]
