"""The gRPC service ExecutionFacts."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from mobiletest.executor.v1 import facts_pb2, facts_pb2_grpc

from services.chassis.proto_values import take_page
from services.executor.events import execution_changed_message, run_changed_message
from services.executor.ports.executions import Facts


class ExecutionFactsServicer(facts_pb2_grpc.ExecutionFactsServicer):
    """See the proto."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def ListRunFacts(
        self, request: facts_pb2.ListRunFactsRequest, context: Any
    ) -> facts_pb2.ListRunFactsResponse:
        page = await self._facts.runs(request.page_token, request.page_size)
        facts = take_page(run_changed_message(execution, run) for execution, run in page.runs)
        more = len(facts) < len(page.runs) or len(facts) == request.page_size
        token = facts[-1].run.id if more else ""
        return facts_pb2.ListRunFactsResponse(facts=facts, next_page_token=token, estimated_total=page.total)

    async def ListExecutionFacts(
        self, request: facts_pb2.ListExecutionFactsRequest, context: Any
    ) -> facts_pb2.ListExecutionFactsResponse:
        page = await self._facts.executions(request.page_token, request.page_size)
        facts = take_page(map(execution_changed_message, page.executions))
        more = len(facts) < len(page.executions) or len(facts) == request.page_size
        token = facts[-1].execution.id if more else ""
        return facts_pb2.ListExecutionFactsResponse(facts=facts, next_page_token=token, estimated_total=page.total)
