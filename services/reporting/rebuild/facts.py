"""The history of executor and catalog over gRPC, as batches that can be folded."""

from datetime import UTC, datetime

from google.protobuf.message import Message
from mobiletest.catalog.v1 import facts_pb2 as catalog
from mobiletest.catalog.v1 import facts_pb2_grpc as catalog_grpc
from mobiletest.executor.v1 import facts_pb2 as executor
from mobiletest.executor.v1 import facts_pb2_grpc as executor_grpc

from services.chassis import logs
from services.chassis.events import Event, InvalidMessage
from services.chassis.grpc_server import Channel
from services.reporting.events import parse_event
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.rebuild.ports import FactsPage
from services.reporting.rebuild.state import ReplaySource

PAGE_SIZE = 1000
PAGE_SECONDS = 60.0
NO_EVENT_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Facts have no time of telling. Nothing that is folded depends on it: they say when what they tell of happened."""

CATALOG_SERVICES = (catalog.DESCRIPTOR.services_by_name["CatalogFacts"],)
EXECUTOR_SERVICES = (executor.DESCRIPTOR.services_by_name["ExecutionFacts"],)

log = logs.get(__name__)


class RemoteFactHistory:
    """The port `History`. Facts go through the same door as events do, so that both are folded the same."""

    def __init__(self, to_catalog: Channel, to_executor: Channel, page_size: int = PAGE_SIZE) -> None:
        self._catalog = catalog_grpc.CatalogFactsStub(to_catalog)  # type: ignore[no-untyped-call]
        self._executor = executor_grpc.ExecutionFactsStub(to_executor)  # type: ignore[no-untyped-call]
        self._page_size = page_size

    async def page(self, source: ReplaySource, token: str) -> FactsPage:
        match source:
            case ReplaySource.CATALOG:
                asked = catalog.ListCatalogFactsRequest(page_token=token, page_size=self._page_size)
                page = await self._catalog.ListCatalogFacts(asked, timeout=PAGE_SECONDS)
                facts = [getattr(fact, fact.WhichOneof("fact")) for fact in page.facts]
            case ReplaySource.EXECUTIONS:
                wanted = executor.ListExecutionFactsRequest(page_token=token, page_size=self._page_size)
                page = await self._executor.ListExecutionFacts(wanted, timeout=PAGE_SECONDS)
                facts = list(page.facts)
            case _:
                those = executor.ListRunFactsRequest(page_token=token, page_size=self._page_size)
                page = await self._executor.ListRunFacts(those, timeout=PAGE_SECONDS)
                facts = list(page.facts)
        told = [snapshot for fact in facts if (snapshot := _snapshot(fact)) is not None]
        return FactsPage(
            batch=Batch.of(told),
            facts=len(facts),
            token=page.next_page_token,
            total=page.estimated_total,
            unreadable=len(facts) - len(told),
        )


def _snapshot(fact: Message) -> Snapshot | None:
    """What the fact tells; None when no event with it could be folded either."""
    try:
        return parse_event(_event(fact))
    except InvalidMessage as error:
        log.warning("unreadable_fact", kind=fact.DESCRIPTOR.full_name, error=str(error)[:500])
        return None


def _event(fact: Message) -> Event:
    return Event(
        topic="",
        key="",
        type=fact.DESCRIPTOR.full_name,
        source="",
        id="",
        time=NO_EVENT_TIME,
        payload=fact.SerializeToString(),
    )
