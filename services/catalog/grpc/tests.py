"""The gRPC service Tests."""

from collections.abc import AsyncIterator, Iterable

# ruff: noqa: N802 (gRPC names the methods)
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Value
from mobiletest.catalog.v1 import tests_pb2, tests_pb2_grpc

from mobiletest_automation.flows.environment import mask_environment
from mobiletest_automation.flows.positions import digest_positions
from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_automation.flows.workspace_media import MediaFile
from services.catalog.grpc.arriving_files import ArrivingFile, StoreChunks
from services.catalog.grpc.conversions import (
    env_message,
    named_fields,
    page_of,
    platform,
    platform_number,
    quarantine_message,
)
from services.catalog.model.tests import ImportReport, Step, Test, TestVersion
from services.catalog.usecases.attachments import AttachedTest, AttachmentUseCases, TargetedAttachment
from services.catalog.usecases.imports import ImportUseCases, NewImport
from services.catalog.usecases.quarantine import QuarantineUseCases
from services.catalog.usecases.tests import NewTest, TestUseCases
from services.catalog.usecases.workspace_files import WorkspaceFileStore
from services.chassis.errors import InvalidArgument, Violation
from services.chassis.proto_values import (
    json_to_value,
    page_fields,
    read_datetime,
    read_optional,
    struct_to_json,
    to_enum_number,
    to_timestamp,
    value_to_json,
)

_CHANGEABLE = ("name", "description", "platform", "tags", "steps", "timeout_seconds", "flow", "flow_files", "env")


class TestsServicer(tests_pb2_grpc.TestsServicer):
    """See the proto."""

    __test__ = False

    def __init__(
        self,
        usecases: TestUseCases,
        attachments: AttachmentUseCases,
        quarantine: QuarantineUseCases,
        imports: ImportUseCases,
        files: WorkspaceFileStore,
        store: StoreChunks,
    ) -> None:
        self._usecases = usecases
        self._files = files
        self._store = store
        self._imports = imports
        self._attachments = attachments
        self._quarantine = quarantine

    async def CreateTest(self, request: tests_pb2.CreateTestRequest, context: Any) -> tests_pb2.Test:
        fields = {field: _field_value(request, field) for field in _CHANGEABLE if field != "name"}
        return test_message(await self._usecases.create(NewTest(request.name, **fields)))

    async def ListTests(self, request: tests_pb2.ListTestsRequest, context: Any) -> tests_pb2.ListTestsResponse:
        if request.HasField("classification"):
            method = "mobiletest.reporting.v1.Reports.ListClassifiedTests"
            message = f"the catalog has no classifications of tests; use {method}"
            violation = Violation("classification", message, "value_error")
            raise InvalidArgument(f"classification: {message}", violations=[violation])
        listed = await self._usecases.list(
            page_of(request),
            search=request.search or None,
            app_id=read_optional(request, "app_id"),
            platform=platform(request.platform),
            tag=request.tag or None,
            ids=request.test_ids,
            quarantined=request.quarantined,
            with_steps=request.include_steps,
        )
        return tests_pb2.ListTestsResponse(items=map(test_message, listed.items), **page_fields(request, listed.total))

    async def ImportTests(
        self, requests: AsyncIterator[tests_pb2.ImportTestsRequest], context: Any
    ) -> tests_pb2.ImportTestsResponse:
        new = await read_import(requests)
        return report_message(await self._imports.run(new, ArrivingFile(context, requests, self._store).arrive))

    async def GetTest(self, request: tests_pb2.GetTestRequest, context: Any) -> tests_pb2.Test:
        return test_message(await self._usecases.get(request.test_id))

    async def BatchGetTests(
        self, request: tests_pb2.BatchGetTestsRequest, context: Any
    ) -> tests_pb2.BatchGetTestsResponse:
        tests = await self._usecases.many(request.test_ids)
        return tests_pb2.BatchGetTestsResponse(tests=map(test_message, tests))

    async def UpdateTest(self, request: tests_pb2.UpdateTestRequest, context: Any) -> tests_pb2.Test:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: _field_value(request, field) for field in fields}
        return test_message(await self._usecases.update(request.test_id, changes, request.expected_revisions))

    async def DeleteTest(self, request: tests_pb2.DeleteTestRequest, context: Any) -> Empty:
        await self._usecases.delete(request.test_id, request.expected_revisions)
        return Empty()

    async def DownloadTestFile(
        self, request: tests_pb2.DownloadTestFileRequest, context: Any
    ) -> AsyncIterator[tests_pb2.DownloadTestFileResponse]:
        async for chunk in self._files.read(request.sha256):
            yield tests_pb2.DownloadTestFileResponse(chunk=chunk)

    async def ListTestVersions(
        self, request: tests_pb2.ListTestVersionsRequest, context: Any
    ) -> tests_pb2.ListTestVersionsResponse:
        page = page_of(request)
        listed = await self._usecases.versions(request.test_id, page, with_steps=request.include_steps)
        items = map(version_message, listed.items)
        return tests_pb2.ListTestVersionsResponse(items=items, **page_fields(request, listed.total))

    async def AttachTest(self, request: tests_pb2.AttachTestRequest, context: Any) -> tests_pb2.Attachment:
        pin = read_optional(request, "pinned_version")
        return attachment_message(await self._attachments.attach(request.app_id, request.test_id, pin))

    async def DetachTest(self, request: tests_pb2.DetachTestRequest, context: Any) -> Empty:
        await self._attachments.detach(request.app_id, request.test_id)
        return Empty()

    async def QuarantineTest(self, request: tests_pb2.QuarantineTestRequest, context: Any) -> tests_pb2.Test:
        until = read_datetime(request, "until")
        expected = request.expected_revisions
        return test_message(await self._quarantine.begin(request.test_id, request.reason, until, expected))

    async def UnquarantineTest(self, request: tests_pb2.UnquarantineTestRequest, context: Any) -> Empty:
        await self._quarantine.end(request.test_id, request.expected_revisions)
        return Empty()

    async def ListAttachments(
        self, request: tests_pb2.ListAttachmentsRequest, context: Any
    ) -> tests_pb2.ListAttachmentsResponse:
        page = page_of(request)
        listed = await self._attachments.list(request.app_id, page)
        items = map(attachment_message, listed.items)
        return tests_pb2.ListAttachmentsResponse(items=items, **page_fields(request, listed.total))


def _field_value(request: tests_pb2.CreateTestRequest | tests_pb2.UpdateTestRequest, field: str) -> Any:
    if field == "steps":
        return tuple(value_to_json(step) for step in request.steps)  # validated by `flows.loader`
    if field == "flow_files":
        return {file.path: file.text for file in request.flow_files}
    if field == "env":
        return struct_to_json(request.env)
    if field == "tags":
        return tuple(request.tags)
    if field == "platform":
        return platform(request.platform)
    return read_optional(request, field)


def test_message(attached: AttachedTest) -> tests_pb2.Test:
    """The test with its attachments."""
    test = attached.test
    return tests_pb2.Test(
        id=test.id,
        org_id=test.org_id,
        name=test.name,
        description=test.description,
        platform=platform_number(test.platform),
        tags=test.tags,
        steps=step_messages(test.steps),
        env=env_message(mask_environment(test.env)),
        timeout_seconds=test.timeout_seconds,
        version_number=test.version_number,
        attachments=[
            tests_pb2.TestAttachment(app_id=a.app_id, app_name=app_name, pinned_version=a.pinned_version)
            for a, app_name in attached.attachments
        ],
        created_at=to_timestamp(test.created_at),
        updated_at=to_timestamp(test.updated_at),
        revision=test.revision,
        quarantine=quarantine_message(attached.quarantine),
        notices=attached.notices,
        workspace=test.workspace,
        source_path=test.source_path,
        files=file_messages(test.files),
    )


def version_message(version: TestVersion) -> tests_pb2.TestVersion:
    """A version of a test's steps."""
    return tests_pb2.TestVersion(
        version_number=version.version_number,
        steps=step_messages(version.steps),
        created_at=to_timestamp(version.created_at),
        files=file_messages(version.files),
    )


def file_messages(files: Iterable[MediaFile]) -> list[tests_pb2.TestFile]:
    """The files that a test needs."""
    return [tests_pb2.TestFile(path=file.path, sha256=file.sha256, size_bytes=file.size) for file in files]


def attachment_message(targeted: TargetedAttachment) -> tests_pb2.Attachment:
    """An attachment, seen from the app."""
    attachment = targeted.attachment
    return tests_pb2.Attachment(
        app_id=attachment.app_id,
        test_id=attachment.test_id,
        test_name=attachment.test_name,
        relationship=to_enum_number(tests_pb2.Relationship, attachment.relationship),
        pinned_version=attachment.pinned_version,
        target_build_version=targeted.target_version,
        target_build_id=targeted.target_build_id,
        quarantine=quarantine_message(targeted.quarantine),
    )


def step_messages(steps: Iterable[Step]) -> list[Value]:
    """The steps as they were sent."""
    return [json_to_value(step) for step in steps]


async def read_import(requests: AsyncIterator[tests_pb2.ImportTestsRequest]) -> NewImport:
    """The parameters of an import, from its first message."""
    first = await anext(requests, None)
    if first is None or first.chunk or first.HasField("end"):
        message = "The first message of an import must have its parameters, and no chunk"
        raise InvalidArgument(message, reason="METADATA_MISSING")
    return NewImport(first.workspace, read_optional(first, "app_id"), first.dry_run, first.expected_bytes)


def report_message(report: ImportReport) -> tests_pb2.ImportTestsResponse:
    """The report of an import as a message."""
    return tests_pb2.ImportTestsResponse(
        workspace=report.workspace,
        dry_run=report.dry_run,
        created_count=len(report.created),
        changed_count=len(report.changed),
        unchanged_count=len(report.unchanged),
        refused_count=len(report.refused),
        missing_count=len(report.missing),
        created=[_test_message(test, is_stored=not report.dry_run) for test in report.created],
        changed=map(_test_message, report.changed),
        unchanged=map(_test_message, report.unchanged),
        refused=[
            tests_pb2.RefusedFlow(path=path, problems=_remark_messages(problems)) for path, problems in report.refused
        ],
        missing=map(_test_message, report.missing),
        notices=_remark_messages(report.notices),
        unparsed=_remark_messages(report.contents.unparsed),
        flows_order=report.contents.order,
        continue_on_failure=report.contents.continue_on_failure,
    )


def _test_message(test: Test, *, is_stored: bool = True) -> tests_pb2.ImportedTest:
    return tests_pb2.ImportedTest(
        path=test.source_path or "",
        test_id=test.id if is_stored else None,
        name=test.name,
        tags=test.tags,
        version_number=test.version_number,
        positions_digest=digest_positions(test.positions),
    )


def _remark_messages(remarks: Iterable[Remark]) -> list[tests_pb2.FileRemark]:
    return [
        tests_pb2.FileRemark(file=each.file, line=each.line, column=each.column, message=each.message)
        for each in remarks
    ]
