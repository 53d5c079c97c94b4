"""Uploads that the service ends early: its own status counts, whatever gRPC makes of the write under way."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest

from services.gateway.upstream.upload_call import upload

EXISTS, INTERNAL = grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.INTERNAL


class FakeCall:
    """A call whose second write finds it ended, with the statuses that gRPC sets one after the other."""

    def __init__(self, *statuses: grpc.StatusCode, response: object = None) -> None:
        self._statuses = list(statuses)
        self._response = response
        self._status: grpc.StatusCode | None = None
        self._callbacks: list[Callable[[Any], None]] = []
        self.written: list[object] = []

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)

    async def write(self, message: object) -> None:
        self.written.append(message)
        if len(self.written) == 2 and self._statuses:
            for status in self._statuses:
                self._set(status)
            raise grpc.aio.AioRpcError(INTERNAL, grpc.aio.Metadata(), grpc.aio.Metadata())

    async def done_writing(self) -> None:
        self._set(grpc.StatusCode.OK)

    async def _respond(self) -> object:
        assert self._status is not None
        if self._status is grpc.StatusCode.OK:
            return self._response
        raise grpc.aio.AioRpcError(self._status, grpc.aio.Metadata(), grpc.aio.Metadata(), str(self._status))

    def __await__(self) -> Any:
        return self._respond().__await__()

    async def code(self) -> grpc.StatusCode | None:
        return self._status

    async def details(self) -> str:
        return str(self._status)

    async def initial_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata()

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata(("reason", str(self._status)))

    def _set(self, status: grpc.StatusCode) -> None:
        first, self._status = self._status is None, status
        for callback in self._callbacks if first else ():
            callback(self)


async def numbers() -> AsyncIterator[Any]:
    for number in range(5):
        yield number


async def test_response_after_all_messages() -> None:
    call = FakeCall(response="kept")
    assert await upload(call, numbers()) == "kept"
    assert call.written == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("statuses", [(EXISTS,), (EXISTS, INTERNAL), (INTERNAL, EXISTS)])
async def test_status_of_the_service_counts(statuses: tuple[grpc.StatusCode, ...]) -> None:
    call = FakeCall(*statuses)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await upload(call, numbers())
    assert (caught.value.code(), caught.value.details(), call.written) == (EXISTS, str(EXISTS), [0, 1])


async def test_internal_error_of_the_service_stays_one() -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await upload(FakeCall(INTERNAL), numbers())
    assert caught.value.code() is INTERNAL


async def test_error_of_the_messages_is_passed_on() -> None:
    async def broken() -> AsyncIterator[Any]:
        yield 1
        raise ValueError("the client sent nonsense")

    with pytest.raises(ValueError, match="nonsense"):
        await upload(FakeCall(), broken())
