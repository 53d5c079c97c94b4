"""A gRPC catalog for executors under test, with canned answers."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import uuid4

from google.api.httpbody_pb2 import HttpBody
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from mobiletest.catalog.v1 import (
    builds_pb2_grpc,
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
from pydantic import SecretStr

from services.chassis import grpc_server
from services.chassis.error_status import TOO_LARGE
from services.chassis.errors import InvalidArgument, NotFound
from services.chassis.health import Health
from services.chassis.proto_values import json_to_struct
from services.chassis.settings import ProcessSettings
from tests.callers import any_organisation, callers

TOKEN = "t" * 20
TOKEN_OF_GATEWAY = "g" * 20
CHUNK = 64 * 1024


@dataclass
class Shelf:
    """The content of the catalog: answers by workflow or test id, files by build id or (of tests) by SHA-256."""

    answers: dict[str, resolution_pb2.ResolveRunsResponse] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    address: str = ""
    # The parts of plans that are too large for one answer, by workflow id.
    parts: dict[str, list[resolution_pb2.ResolveRunsResponse]] = field(default_factory=dict)
    # How many plans were asked for in each call for several.
    batches: list[int] = field(default_factory=list)
    # Whether several plans are too large for one answer.
    too_large_together: bool = False

    def build(self, content: bytes) -> str:
        """The id of a new build with this file."""
        build_id = str(uuid4())
        self.files[build_id] = content
        return build_id

    def _sha256(self, build_id: str) -> str:
        """The SHA-256 of the file; of an empty one for a file that the catalog announces but does not have."""
        return sha256(self.files.get(build_id, b"")).hexdigest()

    def workflow(self, *runs: resolution_pb2.PlannedRun, max_parallel: int | None = None) -> str:
        """The id of a new workflow with these runs."""
        workflow_id = str(uuid4())
        self.answers[workflow_id] = resolution_pb2.ResolveRunsResponse(
            workflow_id=workflow_id, workflow_name="Nightly", max_parallel=max_parallel, runs=runs
        )
        return workflow_id

    def test(self, run: resolution_pb2.PlannedRun) -> str:
        """The id of a new test with this run."""
        self.answers[run.test_id] = resolution_pb2.ResolveRunsResponse(runs=[run])
        return run.test_id

    def planned(
        self,
        *steps: Any,
        build_id: str | None = None,
        name: str = "Log in",
        platform: int = platform_pb2.PLATFORM_ANDROID,
        file_name: str = "",
        env: Mapping[str, Any] | None = None,
    ) -> resolution_pb2.PlannedRun:
        """A run with these steps; of the build if one is named, else of one without a file."""
        build = resolution_pb2.PlannedBuild(id=build_id or str(uuid4()), version="1.0", file_name=file_name)
        build.sha256 = self._sha256(build_id) if build_id else ""
        build.uploaded_at.GetCurrentTime()
        return resolution_pb2.PlannedRun(
            test_id=str(uuid4()),
            test_name=name,
            test_version_number=1,
            steps=[ParseDict(json.loads(json.dumps(step)), Value()) for step in steps],
            platform=platform,  # type: ignore[arg-type]
            app=resolution_pb2.PlannedApp(id=str(uuid4()), name="Shop"),
            build=build,
            env=json_to_struct(env or {}),
        )


class _Resolution(resolution_pb2_grpc.ResolutionServicer):
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def ResolveRuns(self, request: Any, context: Any) -> resolution_pb2.ResolveRunsResponse:  # noqa: N802
        if request.workflow_id in self._shelf.parts:
            raise InvalidArgument("too large", reason=TOO_LARGE)
        kind = "Workflow" if request.workflow_id else "Test"
        answer = self._shelf.answers.get(request.workflow_id or request.test_id)
        if answer is None:
            raise NotFound(f"{kind} not found")
        return answer

    async def BatchResolveRuns(  # noqa: N802
        self, request: Any, context: Any
    ) -> resolution_pb2.BatchResolveRunsResponse:
        self._shelf.batches.append(len(request.starts))
        if self._shelf.too_large_together:
            raise InvalidArgument("too large", reason=TOO_LARGE)
        answer = resolution_pb2.BatchResolveRunsResponse()
        for position, start in enumerate(request.starts):
            if start.workflow_id in self._shelf.answers:
                answer.plans.add(position=position, runs=self._shelf.answers[start.workflow_id])
        return answer

    async def StreamRuns(  # noqa: N802
        self, request: Any, context: Any
    ) -> AsyncIterator[resolution_pb2.StreamRunsResponse]:
        for part in self._shelf.parts[request.start.workflow_id]:
            yield resolution_pb2.StreamRunsResponse(part=part)


class _Builds(builds_pb2_grpc.BuildsServicer):
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def DownloadBuild(self, request: Any, context: Any) -> AsyncIterator[HttpBody]:  # noqa: N802
        content = self._shelf.files.get(request.version_id)
        if content is None:
            raise NotFound("Build not found")
        for start in range(0, len(content), CHUNK):
            yield HttpBody(content_type="application/octet-stream", data=content[start : start + CHUNK])


class _Tests(tests_pb2_grpc.TestsServicer):
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def DownloadTestFile(  # noqa: N802
        self, request: Any, context: Any
    ) -> AsyncIterator[tests_pb2.DownloadTestFileResponse]:
        content = self._shelf.files.get(request.sha256)
        if content is None:
            raise NotFound("File not found")
        yield tests_pb2.DownloadTestFileResponse(chunk=content)


class _Secrets(secrets_pb2_grpc.SecretsServicer):
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def GetSecretValues(self, request: Any, context: Any) -> secrets_pb2.GetSecretValuesResponse:  # noqa: N802
        known = {name: value for name, value in self._shelf.secrets.items() if name in request.names}
        make = secrets_pb2.GetSecretValuesResponse.SecretValue
        return secrets_pb2.GetSecretValuesResponse(secrets=[make(name=n, value=value) for n, value in known.items()])


class _Limits(limits_pb2_grpc.LimitsServicer):
    """Every organisation exists, with the default limits."""

    async def GetOrganisationLimits(self, request: Any, context: Any) -> types_pb2.OrganisationLimits:  # noqa: N802
        return types_pb2.OrganisationLimits()


@asynccontextmanager
async def serving(shelf: Shelf, listen: str = "127.0.0.1:0") -> AsyncIterator[Shelf]:
    """Serve the shelf inside the block; its address is set."""
    settings = ProcessSettings(
        service_token=SecretStr(TOKEN),
        callers=callers(TOKEN, "executor-api", "executor-worker"),
        grpc_listen=listen,
    )
    servicers = [
        (resolution_pb2_grpc.add_ResolutionServicer_to_server, _Resolution(shelf), "mobiletest.catalog.v1.Resolution"),
        (builds_pb2_grpc.add_BuildsServicer_to_server, _Builds(shelf), "mobiletest.catalog.v1.Builds"),
        (tests_pb2_grpc.add_TestsServicer_to_server, _Tests(shelf), "mobiletest.catalog.v1.Tests"),
        (secrets_pb2_grpc.add_SecretsServicer_to_server, _Secrets(shelf), "mobiletest.catalog.v1.Secrets"),
        (limits_pb2_grpc.add_LimitsServicer_to_server, _Limits(), "mobiletest.catalog.v1.Limits"),
    ]
    async with grpc_server.serve(
        settings, servicers, health=Health(), organisations=any_organisation(), page_turns=None
    ) as address:
        shelf.address = address
        yield shelf
