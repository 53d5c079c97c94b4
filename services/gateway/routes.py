"""Every endpoint of the REST interface: generic by the shape of its RPC, some with a named invocation."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from mobiletest.catalog.v1 import builds_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.clock import Clock
from services.gateway.contract.operations import HTTP_BODY, Operation, find_operation
from services.gateway.encoding.responses import ResponseEncoders
from services.gateway.handlers import classified_tests, reports, unary
from services.gateway.handlers.apps import AppInvocations
from services.gateway.handlers.invocation import Invocation, Limits
from services.gateway.handlers.multipart_form import FormLimits
from services.gateway.handlers.server_sent_events import ServerSentEventsHandler
from services.gateway.handlers.streams import DownloadHandler
from services.gateway.handlers.unary import CoalescedReadHandler, Invoke, UnaryHandler, call_rpc, renderer
from services.gateway.handlers.uploads import UploadHandler
from services.gateway.http.request_context import Endpoint, Handler
from services.gateway.upstream.app_stats import AppStatsClient
from services.gateway.upstream.batch_reader import BatchReader, batch_method
from services.gateway.upstream.channels import Rpc, Upstreams


@dataclass(frozen=True, slots=True)
class HandlerOptions:
    """Limits and times of the handlers, in bytes and seconds."""

    limits: Limits
    form: FormLimits
    stats_seconds: float
    idle_seconds: float
    heartbeat_seconds: float


class Routes:
    """Builds the endpoints of all operations once."""

    def __init__(
        self,
        operations: Iterable[Operation],
        upstreams: Upstreams,
        options: HandlerOptions,
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
        self._invocations = self._named(AppStatsClient(upstreams, options.stats_seconds, clock))

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
        encode = self._encoders.item_encoder if operation.name in self._reads else self._encoders.response_encoder
        return UnaryHandler(self._invocation(operation), invoke, renderer(operation, lambda: encode(operation.output)))

    def _shared(self, operation: Operation) -> CoalescedReadHandler:
        invoke = self._invocations.get(operation.name) or self._direct(operation.name)
        encode = self._encoders.response_encoder(operation.output)
        return CoalescedReadHandler(self._invocation(operation), invoke, encode, self._options.limits.max_seconds)

    def _stream(self, operation: Operation) -> Handler:
        invocation, rpc = self._invocation(operation), self._upstreams.rpc(operation.descriptor)
        if operation.output.full_name == HTTP_BODY:
            return DownloadHandler(invocation, rpc, self._options.idle_seconds)
        return ServerSentEventsHandler(
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
            render=renderer(operation, lambda: self._encoders.response_encoder(operation.output)),
            limits=self._options.form,
        )

    def _invocation(self, operation: Operation) -> Invocation:
        return Invocation(operation, self._options.limits)

    def _direct(self, name: str) -> Invoke:
        return call_rpc(self._upstreams.rpc(find_operation(self._operations, name).descriptor))

    def _reads_of(self, operation: Operation) -> BatchReader | None:
        batch = batch_method(operation)
        return BatchReader(self._upstreams, batch, operation.output.name) if batch is not None else None

    def _named(self, stats: AppStatsClient) -> dict[str, Invoke]:
        """The invocations that are more than the RPC itself."""
        apps = AppInvocations(self._reads["GetApp"], stats)
        by_id = {name: unary.by_id(reads, self._id_field(name)) for name, reads in self._reads.items()}
        return {
            **by_id,
            "GetApp": apps.get,
            "CreateApp": apps.created(self._direct("CreateApp")),
            "UpdateApp": apps.updated(self._direct("UpdateApp")),
            "ListApps": apps.listed(self._direct("ListApps")),
            "GetExecution": unary.long_poll_or_batch(by_id["GetExecution"], self._direct("GetExecution")),
            "GetAppWorkspace": reports.workspace_of_app(self._reads["GetApp"], self._direct("GetAppWorkspace")),
            "GetTestMatrix": reports.report_of_app(self._reads["GetApp"], self._direct("GetTestMatrix")),
            "GetAppCoverage": reports.report_of_app(self._reads["GetApp"], self._direct("GetAppCoverage")),
            "ListTests": classified_tests.list_tests_by_classification(
                self._direct("ListTests"), call_rpc(self._classified()), self._reads["GetTest"]
            ),
            "ListBuildRuns": reports.runs_of(self._reads["GetBuild"], "version_id", self._direct("ListBuildRuns")),
            "CompareBuilds": reports.comparison_of_build(
                self._reads["GetBuild"], self._reads["GetApp"], self._direct("CompareBuilds")
            ),
            "GetGate": reports.gate_of_execution(self._reads["GetExecution"], self._direct("GetGate")),
            "ListTestRuns": reports.runs_of(self._reads["GetTest"], "test_id", self._direct("ListTestRuns")),
        }

    def _classified(self) -> Rpc:
        reporting = reports_pb2.DESCRIPTOR.services_by_name["Reports"]
        return self._upstreams.rpc(reporting.methods_by_name["ListClassifiedTests"])

    def _id_field(self, name: str) -> str:
        return find_operation(self._operations, name).path_fields[0]
