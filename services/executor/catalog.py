"""The catalog over gRPC: resolves starts to runs, and delivers the files of builds and tests."""

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

import grpc
from mobiletest.catalog.v1 import (
    builds_pb2,
    builds_pb2_grpc,
    limits_pb2,
    limits_pb2_grpc,
    resolution_pb2,
    secrets_pb2,
    secrets_pb2_grpc,
    tests_pb2,
    tests_pb2_grpc,
)
from mobiletest.types.v1 import limits_pb2 as types_pb2

from services.chassis import grpc_server, logs
from services.chassis.context import Caller, bind, current
from services.chassis.errors import NotFound, Unavailable
from services.chassis.grpc_server import Channel
from services.chassis.proto_values import value_to_json
from services.chassis.request_interceptor import KnownOrganisations
from services.chassis.tls import TlsFiles
from services.executor.model.executions import BuildConfig, StartSubject
from services.executor.model.organisation_limits import UNLIMITED, OrganisationLimits
from services.executor.model.runs import ResolvedRuns
from services.executor.organisation_limits import OrganisationLimitsCache
from services.executor.plan_reader import PlanReader, resolve_request
from services.executor.ports.rechecks import StepsOfTest

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
        self._builds = builds_pb2_grpc.BuildsStub(to)  # type: ignore[no-untyped-call]
        self._tests = tests_pb2_grpc.TestsStub(to)  # type: ignore[no-untyped-call]
        self._limits = limits_pb2_grpc.LimitsStub(to)  # type: ignore[no-untyped-call]
        self._secrets = secrets_pb2_grpc.SecretsStub(to)  # type: ignore[no-untyped-call]
        self.limits = OrganisationLimitsCache(self._load_limits, default_limits)
        self.organisations = KnownOrganisations(self._load_limits)
        self._plans = PlanReader(to, self.limits)

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
        request = resolve_request(subject, build_config, override_build_config)
        return await (self._plans.in_parts(request) if large else self._plans.read(request))

    async def organisation_limits(self) -> OrganisationLimits:
        return await self.limits.get(current().org_id)

    async def confirmed_limits(self, org_id: str) -> OrganisationLimits:
        """The port `ConfirmedLimits`."""
        with bind(Caller(org_id=org_id)):
            try:
                return self.limits.put(org_id, await self._load_limits())
            except grpc.aio.AioRpcError as error:
                raise Unavailable("The catalog does not provide limits", retry_after=1.0) from error

    async def _load_limits(self) -> types_pb2.OrganisationLimits:
        request = limits_pb2.GetOrganisationLimitsRequest()
        organisation_limits: types_pb2.OrganisationLimits = await self._limits.GetOrganisationLimits(
            request, timeout=LIMITS_SECONDS
        )
        return organisation_limits

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

    async def steps_of(self, test_id: str) -> StepsOfTest:
        request = tests_pb2.ListTestsRequest(test_ids=[test_id], page=1, page_size=1, include_steps=True)
        try:
            answer = await self._tests.ListTests(request, timeout=TESTS_SECONDS)
        except grpc.aio.AioRpcError as error:
            raise Unavailable("The catalog does not list tests", retry_after=1.0) from error
        if not answer.items:
            raise NotFound("Test not found")
        (test,) = answer.items
        return StepsOfTest([value_to_json(step) for step in test.steps], test.version_number)

    def _download(self, org_id: str, build_id: str, seconds: float) -> Any:
        with bind(_reader(org_id)):
            request = builds_pb2.DownloadBuildRequest(version_id=build_id)
            return self._builds.DownloadBuild(request, timeout=seconds)


def _reader(org_id: str) -> Caller:
    return Caller(org_id=org_id, scopes=frozenset({"read"}))


def open_catalog_channel(address: str, token: str, tls: TlsFiles | None = None) -> Channel:
    """A channel for `RemoteCatalog`."""
    return grpc_server.open_channel(address, token, services=_SERVICES, tls=tls)
