"""The gRPC service Tests."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import tests_pb2, tests_pb2_grpc

from services.catalog.messages.platforms import platform
from services.catalog.messages.tests import (
    attachment_message,
    flow_files,
    new_test,
    steps,
    test_message,
    test_query,
    version_message,
)
from services.catalog.messages.values import envelope, moment, named_fields, optional, page_of
from services.catalog.usecases.attachments import AttachmentUseCases
from services.catalog.usecases.quarantine import QuarantineUseCases
from services.catalog.usecases.tests import TestUseCases

_CHANGEABLE = ("name", "description", "platform", "tags", "steps", "timeout_seconds", "flow", "flow_files")


class TestsServicer(tests_pb2_grpc.TestsServicer):
    """See the proto."""

    __test__ = False

    def __init__(self, usecases: TestUseCases, attachments: AttachmentUseCases, quarantine: QuarantineUseCases) -> None:
        self._usecases = usecases
        self._attachments = attachments
        self._quarantine = quarantine

    async def CreateTest(self, request: tests_pb2.CreateTestRequest, context: Any) -> tests_pb2.Test:
        return test_message(await self._usecases.create(new_test(request)))

    async def ListTests(self, request: tests_pb2.ListTestsRequest, context: Any) -> tests_pb2.ListTestsResponse:
        page = page_of(request)
        listed = await self._usecases.list(test_query(request), page)
        return tests_pb2.ListTestsResponse(items=map(test_message, listed.items), **envelope(page, listed.total))

    async def GetTest(self, request: tests_pb2.GetTestRequest, context: Any) -> tests_pb2.Test:
        return test_message(await self._usecases.get(request.test_id))

    async def BatchGetTests(
        self, request: tests_pb2.BatchGetTestsRequest, context: Any
    ) -> tests_pb2.BatchGetTestsResponse:
        tests = await self._usecases.many(request.test_ids)
        return tests_pb2.BatchGetTestsResponse(tests=map(test_message, tests))

    async def UpdateTest(self, request: tests_pb2.UpdateTestRequest, context: Any) -> tests_pb2.Test:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        return test_message(await self._usecases.update(request.test_id, {f: _changed(request, f) for f in fields}))

    async def DeleteTest(self, request: tests_pb2.DeleteTestRequest, context: Any) -> Empty:
        await self._usecases.delete(request.test_id)
        return Empty()

    async def ListTestVersions(
        self, request: tests_pb2.ListTestVersionsRequest, context: Any
    ) -> tests_pb2.ListTestVersionsResponse:
        page = page_of(request)
        listed = await self._usecases.versions(request.test_id, page)
        items = map(version_message, listed.items)
        return tests_pb2.ListTestVersionsResponse(items=items, **envelope(page, listed.total))

    async def AttachTest(self, request: tests_pb2.AttachTestRequest, context: Any) -> tests_pb2.Attachment:
        pin = optional(request, "pinned_version")
        return attachment_message(await self._attachments.attach(request.app_id, request.test_id, pin))

    async def DetachTest(self, request: tests_pb2.DetachTestRequest, context: Any) -> Empty:
        await self._attachments.detach(request.app_id, request.test_id)
        return Empty()

    async def QuarantineTest(self, request: tests_pb2.QuarantineTestRequest, context: Any) -> tests_pb2.Test:
        until = moment(request, "until")
        return test_message(await self._quarantine.begin(request.test_id, request.reason, until))

    async def UnquarantineTest(self, request: tests_pb2.UnquarantineTestRequest, context: Any) -> Empty:
        await self._quarantine.end(request.test_id)
        return Empty()

    async def ListAttachments(
        self, request: tests_pb2.ListAttachmentsRequest, context: Any
    ) -> tests_pb2.ListAttachmentsResponse:
        page = page_of(request)
        listed = await self._attachments.list(request.app_id, page)
        items = map(attachment_message, listed.items)
        return tests_pb2.ListAttachmentsResponse(items=items, **envelope(page, listed.total))


def _changed(request: tests_pb2.UpdateTestRequest, field: str) -> Any:
    if field == "steps":
        return steps(request.steps)
    if field == "flow_files":
        return flow_files(request.flow_files)
    if field == "tags":
        return tuple(request.tags)
    if field == "platform":
        return platform(request.platform)
    return optional(request, field)
