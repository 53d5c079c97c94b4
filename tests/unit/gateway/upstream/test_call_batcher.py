"""Calls of one method that are made at the same time."""

import asyncio
from collections.abc import Callable
from typing import Any, cast
from uuid import uuid4

import grpc
import pytest
from google.rpc import code_pb2
from mobiletest.calls.v1 import calls_pb2
from mobiletest.executor.v1 import executions_pb2 as pb

from services.chassis.call_together import PATH
from services.chassis.context import Caller
from services.chassis.error_status import to_domain_error, to_proto
from services.chassis.errors import NotFound
from services.gateway.upstream.call_batcher import MAX_BYTES, MAX_CALLS, CallBatcher
from services.gateway.upstream.rpcs import Upstreams

START = pb.DESCRIPTOR.services_by_name["Executions"].methods_by_name["StartWorkflow"]
CALLER = Caller("org", scopes=frozenset({"execute"}))


class FakeCall:
    """A call that ends when it is let go."""

    def __init__(self, answer: Callable[[], Any], go_on: asyncio.Event) -> None:
        self._answer = answer
        self._go_on = go_on

    def __await__(self) -> Any:
        yield from self._go_on.wait().__await__()
        return self._answer()

    async def trailing_metadata(self) -> tuple[tuple[str, str], ...]:
        return ()


class FakeExecutor:
    """The channel to an executor; `alone` and `together` are the calls that came, in this order."""

    def __init__(self, *, knows_several: bool = True, refusal: grpc.aio.AioRpcError | None = None) -> None:
        self.alone: list[str] = []
        self.together: list[int] = []
        self.go_on = asyncio.Event()
        self.unknown: set[str] = set()
        self.too_large: set[str] = set()
        self._knows_several = knows_several
        self._refusal = refusal

    def unary_unary(self, path: str, **_: Any) -> Callable[..., FakeCall]:
        return self._start_several if path == PATH else self._start

    def _start(self, request: pb.StartWorkflowRequest, **_: Any) -> FakeCall:
        self.alone.append(request.workflow_id)
        return FakeCall(lambda: pb.ExecutionStart(id=request.workflow_id), self.go_on)

    def _start_several(self, request: calls_pb2.CallTogetherRequest, **_: Any) -> FakeCall:
        self.together.append(len(request.calls))
        return FakeCall(lambda: self._answers(request), self.go_on)

    def _answers(self, request: calls_pb2.CallTogetherRequest) -> calls_pb2.CallTogetherResponse:
        if not self._knows_several:
            empty = grpc.aio.Metadata()
            raise grpc.aio.AioRpcError(grpc.StatusCode.UNIMPLEMENTED, empty, empty)
        if self._refusal is not None:
            raise self._refusal
        return calls_pb2.CallTogetherResponse(answers=[self._answer(call) for call in request.calls])

    def _answer(self, call: calls_pb2.Call) -> calls_pb2.Answer:
        workflow_id = pb.StartWorkflowRequest.FromString(call.request).workflow_id
        if workflow_id in self.unknown:
            status = to_proto(NotFound("Workflow not found", reason="WORKFLOW_NOT_FOUND"))
            return calls_pb2.Answer(code=status.code, message=status.message, details=status.SerializeToString())
        if workflow_id in self.too_large:
            return calls_pb2.Answer(code=code_pb2.RESOURCE_EXHAUSTED)
        return calls_pb2.Answer(response=pb.ExecutionStart(id=workflow_id).SerializeToString())


def batcher(executor: FakeExecutor, *, reads: bool = False) -> CallBatcher:
    return CallBatcher(cast(Upstreams, Upstreams({"executor": cast(Any, executor)})), START, 5.0, reads=reads)


def too_large() -> grpc.aio.AioRpcError:
    empty = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, empty, empty, "Sent message larger than max")


async def start(calls: CallBatcher, workflow_id: str, **fields: Any) -> Any:
    request = pb.StartWorkflowRequest(workflow_id=workflow_id, **fields)
    return (await calls.call(request, CALLER, 5.0)).response.id


async def test_a_call_without_others_has_a_message_of_its_own() -> None:
    executor = FakeExecutor()
    executor.go_on.set()
    calls = batcher(executor)
    ids = [str(uuid4()), str(uuid4())]
    assert [await start(calls, id_) for id_ in ids] == ids
    assert (executor.alone, executor.together) == (ids, [])


async def test_calls_at_the_same_time_share_messages_of_a_limited_size() -> None:
    executor = FakeExecutor()
    calls, ids = batcher(executor), [str(uuid4()) for _ in range(MAX_CALLS + 10)]
    tasks = [asyncio.create_task(start(calls, id_)) for id_ in ids]
    await asyncio.sleep(0)
    executor.go_on.set()
    assert await asyncio.gather(*tasks) == ids
    assert (executor.alone, executor.together) == (ids[:1], [MAX_CALLS, 9])


async def test_equal_requests_are_calls_of_their_own() -> None:
    executor = FakeExecutor()
    calls, id_ = batcher(executor), str(uuid4())
    tasks = [asyncio.create_task(start(calls, id_)) for _ in range(3)]
    await asyncio.sleep(0)
    executor.go_on.set()
    await asyncio.gather(*tasks)
    assert (executor.alone, executor.together) == ([id_], [2])


async def test_an_error_is_that_of_its_call_alone() -> None:
    executor = FakeExecutor()
    executor.go_on.set()
    calls, ids = batcher(executor), [str(uuid4()) for _ in range(3)]
    executor.unknown.add(ids[2])
    *started, error = await asyncio.gather(*(start(calls, id_) for id_ in ids), return_exceptions=True)
    assert started == ids[:2]
    known = to_domain_error(error)
    assert isinstance(known, NotFound)
    assert (known.message, known.reason) == ("Workflow not found", "WORKFLOW_NOT_FOUND")


async def test_an_older_service_gets_the_calls_one_by_one() -> None:
    executor = FakeExecutor(knows_several=False)
    executor.go_on.set()
    calls, ids = batcher(executor), [str(uuid4()) for _ in range(4)]
    assert await asyncio.gather(*(start(calls, id_) for id_ in ids)) == ids
    assert (executor.alone, executor.together) == (ids, [3])


async def test_reads_whose_answers_are_too_large_for_one_message_are_made_alone() -> None:
    executor = FakeExecutor(refusal=too_large())
    executor.go_on.set()
    calls, ids = batcher(executor, reads=True), [str(uuid4()) for _ in range(3)]
    assert await asyncio.gather(*(start(calls, id_) for id_ in ids)) == ids
    assert (executor.alone, executor.together) == (ids, [2])


async def test_only_the_reads_that_no_longer_fit_into_one_message_are_made_alone() -> None:
    executor = FakeExecutor()
    executor.go_on.set()
    calls, ids = batcher(executor, reads=True), [str(uuid4()) for _ in range(4)]
    executor.too_large = {ids[3]}
    assert await asyncio.gather(*(start(calls, id_) for id_ in ids)) == ids
    assert (executor.alone, executor.together) == ([ids[0], ids[3]], [3])


async def test_what_is_more_than_a_read_is_never_made_again() -> None:
    executor = FakeExecutor(refusal=too_large())
    executor.go_on.set()
    calls, ids = batcher(executor), [str(uuid4()) for _ in range(3)]
    first, *refused = await asyncio.gather(*(start(calls, id_) for id_ in ids), return_exceptions=True)
    assert (first, executor.alone) == (ids[0], ids[:1])
    assert all(isinstance(error, grpc.aio.AioRpcError) for error in refused)


async def test_a_large_request_waits_for_no_other() -> None:
    executor = FakeExecutor()
    calls, id_ = batcher(executor), str(uuid4())
    waiting = asyncio.create_task(start(calls, str(uuid4())))
    large = asyncio.create_task(start(calls, id_, service_client="x" * MAX_BYTES))
    await asyncio.sleep(0)
    assert executor.alone[-1] == id_
    executor.go_on.set()
    await asyncio.gather(waiting, large)


async def test_a_call_stops_waiting_after_its_own_timeout() -> None:
    calls = batcher(FakeExecutor())
    with pytest.raises(TimeoutError):
        await calls.call(pb.StartWorkflowRequest(workflow_id=str(uuid4())), CALLER, 0.01)
