"""Lists of tests by classification: reporting selects, sorts and counts them; the catalog has their fields."""

from typing import Any

from mobiletest.catalog.v1 import tests_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.proto_values import enum_spellings
from services.chassis.validation import apply_defaults
from services.gateway.handlers.invocations import Invocation
from services.gateway.http.request_context import RequestContext
from services.gateway.upstream.batch_reader import BatchReader

_COPIED_FIELDS = ("search", "app_id", "platform", "tag")
_CLASSIFICATIONS = {text: value for value, text in enum_spellings(reports_pb2.Classification.DESCRIPTOR).items()}


def list_tests_by_classification(list_tests: Invocation, list_classified: Invocation, tests: BatchReader) -> Invocation:
    """ListTests: with a classification a page of reporting's list, else the catalog's response."""

    async def invoke(message: tests_pb2.ListTestsRequest, context: RequestContext, timeout: float) -> Any:
        if not message.HasField("classification"):
            return await list_tests(message, context, timeout)
        apply_defaults(message)
        found = await list_classified(_classified_request(message), context, timeout)
        items = await tests.many(context.caller, found.test_ids, timeout)
        return _page(message, found.total, items)

    return invoke


def _classified_request(message: tests_pb2.ListTestsRequest) -> reports_pb2.ListClassifiedTestsRequest:
    """The same request for reporting; the decoder has checked the classification."""
    request = reports_pb2.ListClassifiedTestsRequest(page=message.page, page_size=message.page_size)
    request.classification = _CLASSIFICATIONS[message.classification]  # type: ignore[assignment]
    for name in _COPIED_FIELDS:
        if message.HasField(name):
            setattr(request, name, getattr(message, name))
    return request


def _page(message: tests_pb2.ListTestsRequest, total: int, items: list[tests_pb2.Test]) -> tests_pb2.ListTestsResponse:
    return tests_pb2.ListTestsResponse(
        total=total,
        page=message.page,
        page_size=message.page_size,
        total_pages=-(-total // message.page_size),
        has_next=message.page * message.page_size < total,
        has_previous=message.page > 1,
        items=items,
    )
