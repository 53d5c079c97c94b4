"""The catalog over gRPC: resolves starts to runs, and delivers the files of builds and tests."""

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from typing import Any

import grpc
from mobiletest.catalog.v1 import (
    builds_pb2,
    builds_pb2_grpc,
    limits_pb2,
    limits_pb2_grpc,
    resolution_pb2,
    resolution_pb2_grpc,
    secrets_pb2,
    secrets_pb2_grpc,
    tests_pb2,
    tests_pb2_grpc,
)
from mobiletest.types.v1 import limits_pb2 as types_pb2
from mobiletest.types.v1 import platform_pb2

from services.chassis import grpc_server, logs
from services.chassis.context import Caller, bind, current
from services.chassis.error_status import TOO_LARGE, to_domain_error
from services.chassis.errors import Unavailable
from services.chassis.grpc_server import Channel
from services.chassis.proto_values import read_optional, struct_to_json, to_datetime, to_enum_member, value_to_json
from services.chassis.tls import TlsFiles
from services.executor.limits import OrganisationLimitsCache
from services.executor.messages import build_config_proto, read_run_config
from services.executor.model.executions import BuildConfig, StartSubject
from services.executor.model.limits import UNLIMITED, OrganisationLimits
from services.executor.model.runs import BuildArtifact, Platform, ResolvedRuns, RunPlan, RunTarget, TestFile
from services.executor.ports.executions import PlanTooLarge

RESOLVE_SECONDS = 5.0
LIMITS_SECONDS = 2.0
SECRETS_SECONDS = 2.0
TESTS_SECONDS = 5.0
BEGINNING_SECONDS = 60.0
DOWNLOAD_SECONDS = 900.0

log = logs.get(__name__)

_SERVICES = (
    resolution_pb2.DESCRIPTOR.services_by_name["Resolution"],
    builds_pb2.DESCRIPTOR.services_by_name["Builds"],
    limits_pb2.DESCRIPTOR.services_by_name["Limits"],
    secrets_pb2.DESCRIPTOR.services_by_name["Secrets"],
    tests_pb2.DESCRIPTOR.services_by_name["Tests"],
)


class RemoteCatalog:
    """The port `Catalog` on a gRPC channel. Errors of the catalog are raised unchanged."""

    def __init__(self, to: Channel, default_limits: OrganisationLimits = UNLIMITED) -> None:
        self._channel = to
        self._was_reachable = True
        self._resolution = resolution_pb2_grpc.ResolutionStub(to)  # type: ignore[no-untyped-call]
        self._builds = builds_pb2_grpc.BuildsStub(to)  # type: ignore[no-untyped-call]
        self._tests = tests_pb2_grpc.TestsStub(to)  # type: ignore[no-untyped-call]
        self._limits = limits_pb2_grpc.LimitsStub(to)  # type: ignore[no-untyped-call]
        self._secrets = secrets_pb2_grpc.SecretsStub(to)  # type: ignore[no-untyped-call]
        self.limits = OrganisationLimitsCache(self._load_limits, default_limits)

    def is_reachable(self) -> bool:
        """Whether there is a connection; changes are logged."""
        reachable = self._channel.is_ready()
        if reachable != self._was_reachable:
            self._was_reachable = reachable
            log.warning("catalog_reachable" if reachable else "catalog_unreachable")
        return reachable

    async def resolve(
        self,
        subject: StartSubject,
        build_config: BuildConfig,
        *,
        override_build_config: bool,
        large: bool = False,
    ) -> ResolvedRuns:
        request = resolution_pb2.ResolveRunsRequest(
            build_config=build_config_proto(build_config), override_build_config=override_build_config
        )
        _set_subject(request, subject)
        if large:
            return await self._resolve_in_parts(request)
        try:
            return self._resolved(await self._resolution.ResolveRuns(request, timeout=RESOLVE_SECONDS))
        except grpc.aio.AioRpcError as error:
            known = to_domain_error(error)
            if known is not None and known.reason == TOO_LARGE:
                raise PlanTooLarge from error
            raise

    async def _resolve_in_parts(self, request: resolution_pb2.ResolveRunsRequest) -> ResolvedRuns:
        """Each part is released once it has been read."""
        stream = self._resolution.StreamRuns(resolution_pb2.StreamRunsRequest(start=request), timeout=RESOLVE_SECONDS)
        first: ResolvedRuns | None = None
        plans: list[RunPlan] = []
        async for answer in stream:
            resolved = self._resolved(answer.part) if first is None else resolved_runs(answer.part)
            first = first or replace(resolved, plans=())
            plans += resolved.plans
        if first is None:
            raise Unavailable("The catalog ended the plan before its first part: try again", retry_after=1.0)
        return replace(first, plans=tuple(plans))

    def _resolved(self, answer: resolution_pb2.ResolveRunsResponse) -> ResolvedRuns:
        return replace(resolved_runs(answer), limits=self.limits.put(current().org_id, answer.limits))

    async def organisation_limits(self) -> OrganisationLimits:
        return await self.limits.get(current().org_id)

    async def _load_limits(self) -> types_pb2.OrganisationLimits:
        request = limits_pb2.GetOrganisationLimitsRequest()
        found: types_pb2.OrganisationLimits = await self._limits.GetOrganisationLimits(request, timeout=LIMITS_SECONDS)
        return found

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

    async def download_test_file(self, org_id: str, sha256: str) -> AsyncIterator[bytes]:
        with bind(_reader(org_id)):
            request = tests_pb2.DownloadTestFileRequest(sha256=sha256)
            call = self._tests.DownloadTestFile(request, timeout=DOWNLOAD_SECONDS)
        try:
            async for part in call:
                yield part.chunk
        finally:
            call.cancel()

    async def secret_values(self, org_id: str, names: Collection[str]) -> Mapping[str, str]:
        with bind(Caller(org_id=org_id)):
            request = secrets_pb2.GetSecretValuesRequest(names=names)
            answer = await self._secrets.GetSecretValues(request, timeout=SECRETS_SECONDS)
        return {secret.name: secret.value for secret in answer.secrets}

    async def existing_tests(self, org_id: str, test_ids: Collection[str]) -> Collection[str]:
        request = tests_pb2.ListTestsRequest(test_ids=test_ids, page=1, page_size=len(test_ids))
        with bind(Caller(org_id=org_id, scopes=frozenset({"read"}))):
            try:
                answer = await self._tests.ListTests(request, timeout=TESTS_SECONDS)
            except grpc.aio.AioRpcError as error:
                raise Unavailable("The catalog does not list tests", retry_after=1.0) from error
        return {test.id for test in answer.items}

    def _download(self, org_id: str, build_id: str, seconds: float) -> Any:
        with bind(_reader(org_id)):
            request = builds_pb2.DownloadBuildRequest(version_id=build_id)
            return self._builds.DownloadBuild(request, timeout=seconds)


def _reader(org_id: str) -> Caller:
    return Caller(org_id=org_id, scopes=frozenset({"read"}))


def open_catalog_channel(address: str, token: str, tls: TlsFiles | None = None) -> Channel:
    """A channel for `RemoteCatalog`."""
    return grpc_server.open_channel(address, token, services=_SERVICES, tls=tls)


def _set_subject(request: resolution_pb2.ResolveRunsRequest, subject: StartSubject) -> None:
    if subject.shard is not None:
        request.shard.index, request.shard.count = subject.shard.index, subject.shard.count
    if not subject.tests:
        setattr(request, f"{subject.kind.value}_id", subject.id)
        return
    for test in subject.tests:
        request.tests.items.add(test_id=test.test_id, version_number=test.version_number)


def resolved_runs(proto: resolution_pb2.ResolveRunsResponse) -> ResolvedRuns:
    """The catalog's answer about what to run."""
    return ResolvedRuns(
        workflow_id=proto.workflow_id,
        workflow_name=proto.workflow_name,
        run_config=read_run_config(proto.run_config),
        max_parallel=read_optional(proto, "max_parallel"),
        plans=tuple(_plan(run) for run in proto.runs),
    )


def _plan(proto: resolution_pb2.PlannedRun) -> RunPlan:
    app = proto.app
    return RunPlan(
        target=_target(proto),
        steps=tuple(value_to_json(step) for step in proto.steps),
        timeout_seconds=read_optional(proto, "timeout_seconds"),
        static_url=read_optional(app, "static_url"),
        system_prompt=read_optional(app, "system_prompt"),
        artifact=_artifact(proto.build),
        config_error=proto.config_error,
        env=struct_to_json(proto.env),
        files=tuple(TestFile(file.path, file.sha256) for file in proto.files),
        source_path=proto.source_path,
    )


def _target(proto: resolution_pb2.PlannedRun) -> RunTarget:
    app = read_optional(proto, "app")
    build = read_optional(proto, "build")
    return RunTarget(
        test_id=proto.test_id,
        test_name=proto.test_name,
        test_version_number=proto.test_version_number,
        platform=to_enum_member(Platform, platform_pb2.Platform, proto.platform),
        app_id=app.id if app else None,
        app_name=app.name if app else None,
        build_id=build.id if build else None,
        resolved_build_version=build.version if build else None,
        build_uploaded_at=to_datetime(build.uploaded_at) if build else None,
    )


def _artifact(proto: resolution_pb2.PlannedBuild) -> BuildArtifact:
    return BuildArtifact(
        sha256=proto.sha256,
        file_name=proto.file_name,
        artifact_url=read_optional(proto, "artifact_url"),
        package_name=read_optional(proto, "package_name"),
    )
