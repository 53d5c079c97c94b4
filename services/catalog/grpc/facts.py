"""The gRPC service CatalogFacts."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from mobiletest.catalog.v1 import facts_pb2, facts_pb2_grpc

from services.catalog.events import event_message
from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.failures import FailureTriage
from services.catalog.model.tests import Test
from services.catalog.ports import Fact
from services.catalog.storage.facts import MongoFacts
from services.chassis.proto_values import take_page

_FIELDS: dict[type[Fact], str] = {
    App: "app",
    Build: "build",
    Test: "test",
    Attachment: "attachment",
    FailureTriage: "failure_triage",
}


class CatalogFactsServicer(facts_pb2_grpc.CatalogFactsServicer):
    """See the proto."""

    def __init__(self, facts: MongoFacts) -> None:
        self._facts = facts

    async def ListCatalogFacts(
        self, request: facts_pb2.ListCatalogFactsRequest, context: Any
    ) -> facts_pb2.ListCatalogFactsResponse:
        page = await self._facts.page(request.page_token, request.page_size)
        facts = take_page(_fact_message(fact) for _, fact in page.facts)
        token = page.token if len(facts) == len(page.facts) else page.facts[len(facts) - 1][0]
        return facts_pb2.ListCatalogFactsResponse(facts=facts, next_page_token=token, estimated_total=page.total)


def _fact_message(fact: Fact) -> facts_pb2.CatalogFact:
    changed: Any = event_message(fact)
    return facts_pb2.CatalogFact(**{_FIELDS[type(fact)]: changed})
