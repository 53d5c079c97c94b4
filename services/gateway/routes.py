"""A route for every operation of the REST interface; the shape of its RPC decides about the handler."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from aiohttp.typedefs import Handler
from mobiletest.catalog.v1 import builds_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.clock import Clock
from services.gateway.contract.operations import HTTP_BODY, Operation, find_operation
from services.gateway.encoding.response_encoders import ResponseEncoders
from services.gateway.handlers import reports
from services.gateway.handlers.apps import AppInvocations
from services.gateway.handlers.classified_tests import list_tests_by_classification
from services.gateway.handlers.invocations import Invocation, call_rpc, long_poll_or_batch, read_by_id
from services.gateway.handlers.multipart_form import FormLimits
from services.gateway.handlers.request_reader import RequestLimits, RequestReader
from services.gateway.handlers.server_sent_events import ServerSentEventsHandler
from services.gateway.handlers.streams import DownloadHandler
from services.gateway.handlers.unary import CoalescedReadHandler, UnaryHandler, renderer
from services.gateway.handlers.uploads import UploadHandler
from services.gateway.http.application import Route
from services.gateway.http.authentication import AccessRule
from services.gateway.upstream.app_stats import AppStatsClient
from services.gateway.upstream.batch_reader import BatchReader, batch_method
from services.gateway.upstream.channels import Upstreams


@dataclass(frozen=True, slots=True)
class HandlerOptions:
    """Limits of the handlers, in bytes and seconds."""

    limits: RequestLimits
    form: FormLimits
    stats_timeout: float
    idle_seconds: float
    heartbeat_seconds: float


class OperationRoutes:
    """Builds the routes of all operations, once at start."""

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
        self._readers = {op.name: reader for op in self._operations if (reader := self._batch_reader(op)) is not None}
        self._invocations = self._special_invocations(AppStatsClient(upstreams, options.stats_timeout, clock))

    def build(self) -> list[Route]:
        """One route per operation, in the order of the protos."""
        return [self._route(operation) for operation in self._operations]

    def _route(self, operation: Operation) -> Route:
        access = AccessRule(operation.rpc.required_scope, operation.rpc.takes_idempotency_key)
        return Route(operation.verb, operation.template, self._handler(operation), access)

    def _handler(self, operation: Operation) -> Handler:
        if operation.streams:
            return self._stream_handler(operation)
        if operation.name == "CreateBuild":
            return self._upload_handler(operation)
        return self._unary_handler(operation)

    def _unary_handler(self, operation: Operation) -> Handler:
        reader = RequestReader(operation, self._options.limits)
        invoke = self._invocations.get(operation.name) or self._call_rpc(operation.name)
        is_batched = operation.name in self._readers
        if operation.verb == "GET" and not is_batched and operation.output.full_name != HTTP_BODY:
            encode = self._encoders.response_encoder(operation.output)
            return CoalescedReadHandler(reader, invoke, encode, self._options.limits.max_timeout).handle
        encoder = self._encoders.item_encoder if is_batched else self._encoders.response_encoder
        return UnaryHandler(reader, invoke, renderer(operation, lambda: encoder(operation.output))).handle

    def _stream_handler(self, operation: Operation) -> Handler:
        reader = RequestReader(operation, self._options.limits)
        rpc = self._upstreams.rpc(operation.descriptor)
        if operation.output.full_name == HTTP_BODY:
            return DownloadHandler(reader, rpc, self._options.idle_seconds).handle
        return ServerSentEventsHandler(
            reader,
            rpc,
            operation.output,
            heartbeat_seconds=self._options.heartbeat_seconds,
            closing=self._closing,
        ).handle

    def _upload_handler(self, operation: Operation) -> Handler:
        upload = builds_pb2.DESCRIPTOR.services_by_name["Builds"].methods_by_name["UploadBuild"]
        return UploadHandler(
            RequestReader(operation, self._options.limits),
            self._upstreams.rpc(upload),
            json_handler=self._unary_handler(operation),
            render=renderer(operation, lambda: self._encoders.response_encoder(operation.output)),
            limits=self._options.form,
        ).handle

    def _call_rpc(self, name: str) -> Invocation:
        return call_rpc(self._upstreams.rpc(find_operation(self._operations, name).descriptor))

    def _batch_reader(self, operation: Operation) -> BatchReader | None:
        batch = batch_method(operation)
        return BatchReader(self._upstreams, batch, operation.output.name) if batch is not None else None

    def _special_invocations(self, stats: AppStatsClient) -> dict[str, Invocation]:
        """The operations that are more than their RPC."""
        readers, rpc = self._readers, self._call_rpc
        by_id = {name: read_by_id(reader, self._id_field(name)) for name, reader in readers.items()}
        apps = AppInvocations(readers["GetApp"], stats)
        classified = reports_pb2.DESCRIPTOR.services_by_name["Reports"].methods_by_name["ListClassifiedTests"]
        return {
            **by_id,
            "GetApp": apps.get,
            "CreateApp": apps.create(rpc("CreateApp")),
            "UpdateApp": apps.update(rpc("UpdateApp")),
            "ListApps": apps.list(rpc("ListApps")),
            "GetExecution": long_poll_or_batch(by_id["GetExecution"], rpc("GetExecution")),
            "GetAppWorkspace": reports.app_workspace(readers["GetApp"], rpc("GetAppWorkspace")),
            "GetTestMatrix": reports.app_report(readers["GetApp"], rpc("GetTestMatrix")),
            "GetAppCoverage": reports.app_report(readers["GetApp"], rpc("GetAppCoverage")),
            "ListTests": list_tests_by_classification(
                rpc("ListTests"), call_rpc(self._upstreams.rpc(classified)), readers["GetTest"]
            ),
            "ListBuildRuns": reports.run_history(readers["GetBuild"], "version_id", rpc("ListBuildRuns")),
            "ListTestRuns": reports.run_history(readers["GetTest"], "test_id", rpc("ListTestRuns")),
            "CompareBuilds": reports.build_comparison(readers["GetBuild"], readers["GetApp"], rpc("CompareBuilds")),
            "GetGate": reports.execution_gate(readers["GetExecution"], rpc("GetGate")),
        }

    def _id_field(self, name: str) -> str:
        return find_operation(self._operations, name).path_fields[0]
