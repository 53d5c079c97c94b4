"""Reads of single resources through batch methods."""

import asyncio
from typing import Any

import grpc
from mobiletest.catalog.v1 import tests_pb2

from services.chassis.context import Caller
from services.gateway.upstream.rpcs import BatchReader, Upstreams

BATCH = tests_pb2.DESCRIPTOR.services_by_name["Tests"].methods_by_name["BatchGetTests"]


class SmallChannel:
    """A catalog whose messages have room for `most` tests."""

    def __init__(self, most: int) -> None:
        self.calls: list[int] = []
        self._most = most

    def unary_unary(self, *_: Any, **__: Any) -> Any:
        async def call(request: tests_pb2.BatchGetTestsRequest) -> tests_pb2.BatchGetTestsResponse:
            self.calls.append(len(request.test_ids))
            if len(request.test_ids) > self._most:
                empty = grpc.aio.Metadata()
                raise grpc.aio.AioRpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, empty, empty, "Sent message larger")
            return tests_pb2.BatchGetTestsResponse(tests=[tests_pb2.Test(id=id_) for id_ in request.test_ids])

        return call


async def test_a_batch_that_is_too_large_for_a_message_is_read_in_parts() -> None:
    channel = SmallChannel(most=2)
    reader = BatchReader(Upstreams({"catalog": channel}), BATCH, "Test")  # type: ignore[dict-item]
    caller = Caller("org-1")
    tests = await asyncio.gather(*(reader.get(caller, id_, 1) for id_ in "abcdefg"))
    assert [test.id for test in tests] == list("abcdefg")
    assert max(channel.calls) > 2
