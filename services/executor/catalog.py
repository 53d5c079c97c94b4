"""The catalog over gRPC: resolves starts to runs, and delivers the files of builds."""

from collections.abc import AsyncIterator
from typing import Any

from mobiletest.catalog.v1 import builds_pb2, builds_pb2_grpc, resolution_pb2, resolution_pb2_grpc

from services.chassis import grpc_server
from services.chassis.context import Caller, bind
from services.chassis.grpc_server import Channel
from services.executor.messages.configs import build_config_proto
from services.executor.messages.plans import resolved_runs
from services.executor.model.executions import BuildConfig, ExecutionKind
from services.executor.model.plans import ResolvedRuns

RESOLVE_SECONDS = 5.0
BEGINNING_SECONDS = 60.0
DOWNLOAD_SECONDS = 900.0

_SERVICES = (
    resolution_pb2.DESCRIPTOR.services_by_name["Resolution"],
    builds_pb2.DESCRIPTOR.services_by_name["Builds"],
)


class RemoteCatalog:
    """The port `Catalog` on a gRPC channel. Errors of the catalog are raised unchanged."""

    def __init__(self, to: Channel) -> None:
        self._resolution = resolution_pb2_grpc.ResolutionStub(to)  # type: ignore[no-untyped-call]
        self._builds = builds_pb2_grpc.BuildsStub(to)  # type: ignore[no-untyped-call]

    async def resolve(
        self, kind: ExecutionKind, subject_id: str, build_config: BuildConfig, *, override_build_config: bool
    ) -> ResolvedRuns:
        request = resolution_pb2.ResolveRunsRequest(
            build_config=build_config_proto(build_config), override_build_config=override_build_config
        )
        setattr(request, f"{kind.value}_id", subject_id)
        return resolved_runs(await self._resolution.ResolveRuns(request, timeout=RESOLVE_SECONDS))

    async def artifact(self, org_id: str, build_id: str, limit: int) -> bytes:
        content = bytearray()
        call = self._download(org_id, build_id, BEGINNING_SECONDS)
        async for chunk in call:
            content += chunk.data
            if len(content) >= limit:
                call.cancel()
                break
        return bytes(content[:limit])

    async def download(self, org_id: str, build_id: str) -> AsyncIterator[bytes]:
        call = self._download(org_id, build_id, DOWNLOAD_SECONDS)
        try:
            async for chunk in call:
                yield chunk.data
        finally:
            call.cancel()

    def _download(self, org_id: str, build_id: str, seconds: float) -> Any:
        with bind(Caller(org_id=org_id)):
            request = builds_pb2.DownloadBuildRequest(version_id=build_id)
            return self._builds.DownloadBuild(request, timeout=seconds)


def open_catalog_channel(address: str, token: str) -> Channel:
    """A channel for `RemoteCatalog`."""
    return grpc_server.open_channel(address, token, services=_SERVICES)
