"""The routes: every operation of the REST interface, handled by the shape of its RPC, and the gateway's own."""

import asyncio
from collections.abc import Callable, Iterable

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler
from google.protobuf.descriptor import MethodDescriptor
from mobiletest.catalog.v1 import builds_pb2
from mobiletest.executor.v1 import limits_pb2 as executor_limits_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.clock import Clock
from services.chassis.health import Health, HealthReport
from services.chassis.object_store import ObjectStore
from services.chassis.upload_rate import UploadRate
from services.gateway.contract.operations import HTTP_BODY, Operation, find_operation
from services.gateway.encoders import item_encoder, response_encoder
from services.gateway.handlers import reports
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.imports import read_archive
from services.gateway.handlers.invocations import (
    AppInvocations,
    Invocation,
    call_in_batch,
    call_rpc,
    limits_in_use,
    long_poll_or_batch,
    read_by_id,
    unless_searching,
)
from services.gateway.handlers.multipart_form import FORM_TYPE
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.server_sent_events import ServerSentEventsHandler
from services.gateway.handlers.streams import DownloadHandler
from services.gateway.handlers.unary import UnaryHandler, renderer
from services.gateway.handlers.uploads import (
    BodyUploads,
    FileUploadHandler,
    FormUploads,
    ReadFile,
    ReadUpload,
    read_body,
)
from services.gateway.http.application import Route
from services.gateway.http.authentication import AccessRule
from services.gateway.http.json_responses import json_response
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.representations import FixedDocument
from services.gateway.http.request_body import BodyMemory
from services.gateway.page_turns import PageTurns
from services.gateway.settings import Settings
from services.gateway.upstream.app_stats import AppStatsClient
from services.gateway.upstream.call_batcher import CallBatcher
from services.gateway.upstream.downloads import DownloadCalls
from services.gateway.upstream.rpcs import BatchReader, Upstreams, batch_method, service_of
from services.gateway.upstream.upload_calls import UploadCalls

DOCUMENT_PATH = "/api/v1/openapi.json"
DESCRIPTORS_PATH = "/api/v1/descriptors.binpb"
# Of all organisations at once: each takes 5 to 8 MiB of memory where the store is no folder (24 with moto: 127).
MOST_UPLOADS = 24


class OperationRoutes:
    """Builds the routes of all operations, once at start."""

    def __init__(
        self,
        operations: Iterable[Operation],
        upstreams: Upstreams,
        settings: Settings,
        *,
        clock: Clock,
        closing: asyncio.Event,
        open_streams: OpenStreams,
        objects: ObjectStore,
    ) -> None:
        """`closing` ends event streams; `objects` is the store of the services."""
        # The operations with a single response, by name, once their routes have been built.
        self.unary: dict[str, UnaryHandler] = {}
        self._operations = tuple(operations)
        self._upstreams = upstreams
        self._settings = settings
        self._closing = closing
        self._open_streams = open_streams
        self._objects = objects
        self._uploads, self._streams = ConcurrencyLimit("uploads", of_all=MOST_UPLOADS), ConcurrencyLimit("streams")
        self._upload_rate = UploadRate(settings.organisation_upload_bytes_per_second, clock)
        self._bodies = BodyMemory()
        self._page_turns = {name: PageTurns() for name in ("catalog", "executor")}
        self._readers = {op.name: reader for op in self._operations if (reader := self._batch_reader(op)) is not None}
        self._invocations = self._special_invocations(AppStatsClient(upstreams, settings.stats_timeout_seconds, clock))

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
            return self._build_handler(operation)
        if operation.name == "ImportTests":
            return self._body_handler(operation, read_archive)
        if operation.name == "PutUploadPart":
            return self._body_handler(operation, read_body)
        return self._unary_handler(operation)

    def _unary_handler(self, operation: Operation) -> Handler:
        reader = RequestReader(operation, self._settings, self._bodies)
        invoke = self._invocations.get(operation.name) or self._call_rpc(operation.name)
        encoder = item_encoder if operation.name in self._readers else response_encoder
        handler = UnaryHandler(
            reader,
            invoke,
            renderer(operation, encoder),
            scope=operation.rpc.required_scope,
            turns=self._turns_of(operation),
        )
        self.unary[operation.name] = handler
        return handler.handle

    def _turns_of(self, operation: Operation) -> PageTurns | None:
        """Those at pages of the service; reporting has turns of its own, and its pages wait for events."""
        return self._page_turns.get(service_of(operation.descriptor)) if operation.rpc.is_paged else None

    def _stream_handler(self, operation: Operation) -> Handler:
        reader = RequestReader(operation, self._settings, self._bodies)
        rpc = self._upstreams.rpc(operation.descriptor)
        if operation.output.full_name == HTTP_BODY:
            calls = DownloadCalls(rpc, self._objects)
            return DownloadHandler(
                reader, calls, self._open_streams, idle_seconds=self._settings.idle_timeout_seconds
            ).handle
        return ServerSentEventsHandler(
            reader,
            rpc,
            operation.output,
            self._open_streams,
            limit=self._streams,
            heartbeat_seconds=self._settings.heartbeat_seconds,
            stream_seconds=self._settings.stream_timeout_seconds,
            closing=self._closing,
        ).handle

    def _build_handler(self, operation: Operation) -> Handler:
        """A form is an upload, everything else JSON."""
        method = builds_pb2.DESCRIPTOR.services_by_name["Builds"].methods_by_name["UploadBuild"]
        upload = self._upload_handler(operation, method, FormUploads(self._settings).read)
        create = self._unary_handler(operation)

        async def handle(request: web.Request) -> web.StreamResponse:
            return await (upload if request.content_type == FORM_TYPE else create)(request)

        return handle

    def _body_handler(self, operation: Operation, read: ReadFile) -> Handler:
        reader = RequestReader(operation, self._settings, self._bodies)
        return self._upload_handler(operation, operation.descriptor, BodyUploads(reader, self._settings, read).read)

    def _upload_handler(self, operation: Operation, method: MethodDescriptor, read: ReadUpload) -> Handler:
        return FileUploadHandler(
            RequestReader(operation, self._settings, self._bodies),
            UploadCalls(self._upstreams.rpc(method), self._objects, self._upload_rate),
            self._open_streams,
            read=read,
            limit=self._uploads,
            render=renderer(operation, response_encoder),
        ).handle

    def _call_rpc(self, name: str) -> Invocation:
        return call_rpc(self._upstreams.rpc(find_operation(self._operations, name).descriptor))

    def _call_in_batch(self, name: str, *, reads: bool = False) -> Invocation:
        method, seconds = find_operation(self._operations, name).descriptor, self._settings.max_request_timeout_seconds
        return call_in_batch(CallBatcher(self._upstreams, method, seconds, reads=reads))

    def _batch_reader(self, operation: Operation) -> BatchReader | None:
        batch = batch_method(operation)
        return BatchReader(self._upstreams, batch, operation.output.name) if batch is not None else None

    def _special_invocations(self, stats: AppStatsClient) -> dict[str, Invocation]:
        """The operations that are more than their RPC."""
        readers, rpc = self._readers, self._call_rpc
        by_id = {name: read_by_id(reader, self._id_field(name)) for name, reader in readers.items()}
        apps = AppInvocations(readers["GetApp"], stats)
        run_limits = executor_limits_pb2.DESCRIPTOR.services_by_name["RunLimits"].methods_by_name["ListRunLimits"]
        unrouted = reports_pb2.DESCRIPTOR.services_by_name["Reports"].methods_by_name
        classified, base = (unrouted[name] for name in ("ListClassifiedTests", "FindBaseBuild"))
        return {
            **by_id,
            "GetApp": apps.get,
            "CreateApp": apps.create(rpc("CreateApp")),
            "UpdateApp": apps.update(rpc("UpdateApp")),
            "ListApps": apps.list(unless_searching(self._call_in_batch("ListApps", reads=True), rpc("ListApps"))),
            "GetExecution": long_poll_or_batch(
                by_id["GetExecution"], rpc("GetExecution"), self._open_streams, self._streams
            ),
            "GetAppWorkspace": reports.app_workspace(readers["GetApp"], rpc("GetAppWorkspace")),
            "GetTestMatrix": reports.app_report(readers["GetApp"], rpc("GetTestMatrix")),
            "GetAppCoverage": reports.app_report(readers["GetApp"], rpc("GetAppCoverage")),
            "ListAppHealth": reports.app_health(rpc("ListApps"), rpc("ListAppHealth")),
            "ListAppBranches": reports.app_report(readers["GetApp"], rpc("ListAppBranches")),
            "GetFailure": reports.app_report(readers["GetApp"], rpc("GetFailure")),
            "ListTestDurations": reports.app_report(readers["GetApp"], rpc("ListTestDurations")),
            "ListFlakyTests": reports.report_on_apps(readers["GetApp"], rpc("ListFlakyTests")),
            "GetTestReport": reports.app_report(readers["GetApp"], rpc("GetTestReport")),
            "ListTests": reports.list_tests_by_classification(
                rpc("ListTests"), call_rpc(self._upstreams.rpc(classified))
            ),
            "ListBuildRuns": reports.run_history(readers["GetBuild"], "version_id", rpc("ListBuildRuns")),
            "ListTestRuns": reports.run_history(readers["GetTest"], "test_id", rpc("ListTestRuns")),
            "CompareBuilds": reports.build_comparison(readers["GetBuild"], readers["GetApp"], rpc("CompareBuilds")),
            "ListScreens": reports.app_screens(readers["GetApp"], readers["GetBuild"], rpc("ListScreens")),
            "CompareScreens": reports.screen_comparison(
                readers["GetBuild"], readers["GetApp"], rpc("CompareScreens"), call_rpc(self._upstreams.rpc(base))
            ),
            "GetBuildGate": reports.build_report(readers["GetBuild"], readers["GetApp"], rpc("GetBuildGate")),
            **{name: self._call_in_batch(name) for name in ("StartWorkflow", "StartTest", "StartTests")},
            "GetLimits": limits_in_use(
                rpc("GetLimits"), call_rpc(self._upstreams.rpc(run_limits)), (self._uploads, self._streams)
            ),
            "GetGate": reports.execution_gate(readers["GetExecution"], rpc("GetGate")),
        }

    def _id_field(self, name: str) -> str:
        return find_operation(self._operations, name).path_fields[0]


def service_routes(health: Health, document: Callable[[], bytes], descriptors: Callable[[], bytes]) -> list[Route]:
    """/healthz, /readyz, the OpenAPI document and the descriptors of the protos."""

    async def healthz(_: web.Request) -> web.StreamResponse:
        return _report_response(await health.liveness())

    async def readyz(_: web.Request) -> web.StreamResponse:
        return _report_response(await health.readiness())

    return [
        Route("GET", "/healthz", healthz),
        Route("GET", "/readyz", readyz),
        Route("GET", DOCUMENT_PATH, _contract(document, "application/json")),
        Route("GET", DESCRIPTORS_PATH, _contract(descriptors, "application/octet-stream")),
    ]


def _contract(read: Callable[[], bytes], content_type: str) -> Handler:
    """Serves a description of the interface, which is made when it is first requested."""
    headers = {"Content-Type": content_type, "Cache-Control": "max-age=300"}
    return FixedDocument(lambda _: (read(), headers)).show


def _report_response(report: HealthReport) -> web.Response:
    """Names what fails, but not why: the admin port says that."""
    body = {"status": "ok" if report.ok else "failing", "failing": sorted(report.failures)}
    return json_response(orjson.dumps(body), 200 if report.ok else 503)
