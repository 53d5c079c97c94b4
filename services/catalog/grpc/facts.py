"""The gRPC service CatalogFacts."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from google.protobuf.message import Message
from mobiletest.catalog.v1 import events_pb2, facts_pb2, facts_pb2_grpc

from services.catalog.ports import Facts
from services.catalog.publisher import event_message
from services.chassis.page_size import take_page


class CatalogFactsServicer(facts_pb2_grpc.CatalogFactsServicer):
    """See the proto."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def ListCatalogFacts(
        self, request: facts_pb2.ListCatalogFactsRequest, context: Any
    ) -> facts_pb2.ListCatalogFactsResponse:
        page = await self._facts.page(request.page_token, request.page_size)
        facts = take_page(_fact_message(event_message(fact)) for _, fact in page.facts)
        token = page.token if len(facts) == len(page.facts) else page.facts[len(facts) - 1][0]
        return facts_pb2.ListCatalogFactsResponse(facts=facts, next_page_token=token, estimated_total=page.total)


def _fact_message(changed: Message) -> facts_pb2.CatalogFact:
    match changed:
        case events_pb2.AppChanged():
            return facts_pb2.CatalogFact(app=changed)
        case events_pb2.BuildChanged():
            return facts_pb2.CatalogFact(build=changed)
        case events_pb2.TestChanged():
            return facts_pb2.CatalogFact(test=changed)
        case events_pb2.AttachmentChanged():
            return facts_pb2.CatalogFact(attachment=changed)
    raise TypeError(f"no fact of the catalog is a {changed.DESCRIPTOR.name}")
