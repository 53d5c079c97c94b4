"""The history of executor and catalog over gRPC, as batches that can be folded."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message
from mobiletest.catalog.v1 import facts_pb2 as catalog
from mobiletest.catalog.v1 import facts_pb2_grpc as catalog_grpc
from mobiletest.executor.v1 import facts_pb2 as executor
from mobiletest.executor.v1 import facts_pb2_grpc as executor_grpc

from services.chassis import logs
from services.chassis.events import Event, InvalidMessage
from services.chassis.grpc_channel import Channel
from services.reporting.events import parse_event
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.tables import EPOCH
from services.reporting.rebuild.ports import FactsPage
from services.reporting.rebuild.state import ReplaySource

PAGE_SIZE = 1000
PAGE_SECONDS = 60.0
# Facts have no time of publication. Nothing that is folded depends on it: they say when things happened.
NO_EVENT_TIME = EPOCH

CATALOG_SERVICES = (catalog.DESCRIPTOR.services_by_name["CatalogFacts"],)
EXECUTOR_SERVICES = (executor.DESCRIPTOR.services_by_name["ExecutionFacts"],)

log = logs.get(__name__)


class RemoteFactHistory:
    """See ports.FactHistory. Facts are parsed as events are, so that both are folded alike."""

    def __init__(self, to_catalog: Channel, to_executor: Channel) -> None:
        catalog_stub: Any = catalog_grpc.CatalogFactsStub(to_catalog)  # type: ignore[no-untyped-call]
        executor_stub: Any = executor_grpc.ExecutionFactsStub(to_executor)  # type: ignore[no-untyped-call]
        self._calls: Mapping[ReplaySource, tuple[Any, Any]] = {
            ReplaySource.CATALOG: (catalog_stub.ListCatalogFacts, catalog.ListCatalogFactsRequest),
            ReplaySource.EXECUTIONS: (executor_stub.ListExecutionFacts, executor.ListExecutionFactsRequest),
            ReplaySource.RUNS: (executor_stub.ListRunFacts, executor.ListRunFactsRequest),
        }

    async def page(self, source: ReplaySource, token: str) -> FactsPage:
        call, request = self._calls[source]
        page = await call(request(page_token=token, page_size=PAGE_SIZE), timeout=PAGE_SECONDS)
        snapshots = [snapshot for fact in page.facts if (snapshot := _parse(_event_message(fact))) is not None]
        return FactsPage(
            batch=Batch.of(snapshots),
            facts=len(page.facts),
            token=page.next_page_token,
            total=page.estimated_total,
            unreadable=len(page.facts) - len(snapshots),
        )


def _event_message(fact: Message) -> Message:
    """The message of an event; the catalog wraps its several kinds in one."""
    if not isinstance(fact, catalog.CatalogFact):
        return fact
    message: Message = getattr(fact, fact.WhichOneof("fact") or "")
    return message


def _parse(message: Message) -> Snapshot | None:
    """The snapshot; None when an event with this message could not be folded either."""
    name = message.DESCRIPTOR.full_name
    event = Event(
        topic="", key="", type=name, source="", id="", time=NO_EVENT_TIME, payload=message.SerializeToString()
    )
    try:
        return parse_event(event)
    except InvalidMessage as error:
        log.warning("unreadable_fact", kind=name, error=str(error)[:500])
        return None
