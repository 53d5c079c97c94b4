"""Tests by how they behave: reporting says which, in which order and how many; the catalog what they are."""

from typing import Any

from mobiletest.catalog.v1 import tests_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.validation import apply_defaults
from services.gateway.contract.fields import enum_spellings
from services.gateway.handlers.unary import CallContext, Invoke
from services.gateway.upstream.batch_reader import BatchReader

_SAME = ("search", "app_id", "platform", "tag")
_CLASSIFICATIONS = enum_spellings(reports_pb2.Classification.DESCRIPTOR)


def list_tests_by_classification(list_tests: Invoke, classified: Invoke, tests: BatchReader) -> Invoke:
    """ListTests: with a classification a page of reporting's list, else the catalog's answer as it is."""

    async def invoke(request: tests_pb2.ListTestsRequest, asking: CallContext, seconds: float) -> Any:
        if not request.HasField("classification"):
            return await list_tests(request, asking, seconds)
        apply_defaults(request)
        found = await classified(_question(request), asking, seconds)
        items = await tests.many(asking.caller, found.test_ids, seconds)
        return _page(request, found.total, items)

    return invoke


def _question(request: tests_pb2.ListTestsRequest) -> reports_pb2.ListClassifiedTestsRequest:
    """The same question as reporting takes it; the decoder has let known classifications pass only."""
    question = reports_pb2.ListClassifiedTestsRequest(page=request.page, page_size=request.page_size)
    question.classification = _CLASSIFICATIONS.by_text[request.classification]  # type: ignore[assignment]
    for name in _SAME:
        if request.HasField(name):
            setattr(question, name, getattr(request, name))
    return question


def _page(request: tests_pb2.ListTestsRequest, total: int, items: list[tests_pb2.Test]) -> tests_pb2.ListTestsResponse:
    return tests_pb2.ListTestsResponse(
        total=total,
        page=request.page,
        page_size=request.page_size,
        total_pages=-(-total // request.page_size),
        has_next=request.page * request.page_size < total,
        has_previous=request.page > 1,
        items=items,
    )
