"""Uploads: what the service is sent, where the bytes go, and whose status counts when it ends the call early."""

import asyncio
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from typing import Any

import grpc
import pytest
from mobiletest.catalog.v1.builds_pb2 import PutUploadPartRequest

from services.chassis.clock import SystemClock
from services.chassis.context import Caller, bind
from services.chassis.errors import NotFound, Unavailable
from services.chassis.object_store import ObjectStore
from services.chassis.stored_transfers import WRITES_OBJECTS, key_metadata
from services.chassis.upload_rate import UploadRate
from services.gateway.upstream.upload_calls import REPORT_BYTES, FileUpload, UploadCalls
from tests.fakes.chassis import FakeClock

EXISTS, INTERNAL = grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.INTERNAL
KEY = "org/uploads/1/file"
CHUNK = b"x" * (REPORT_BYTES // 2)
UNLIMITED = UploadRate(1 << 40, SystemClock())


class FakeCall:
    """A call whose write number `end_at` finds it ended, with the statuses that gRPC sets one after the other."""

    def __init__(self, *statuses: grpc.StatusCode, key: str | None = None, end_at: int = 2) -> None:
        self._statuses = list(statuses)
        self._end_at = end_at
        self._key = key
        self._status: grpc.StatusCode | None = None
        self._callbacks: list[Callable[[Any], None]] = []
        self.metadata: tuple[tuple[str, str], ...] = ()
        self.written: list[PutUploadPartRequest] = []

    def __call__(self, request: None, *, timeout: float, metadata: tuple[tuple[str, str], ...]) -> "FakeCall":
        self.metadata = metadata
        return self

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)

    def done(self) -> bool:
        return self._status is not None

    def cancel(self) -> None:
        self._set(grpc.StatusCode.CANCELLED)

    async def write(self, message: PutUploadPartRequest) -> None:
        self.written.append(message)
        if len(self.written) == self._end_at and self._statuses:
            for status in self._statuses:
                self._set(status)
            raise grpc.aio.AioRpcError(INTERNAL, grpc.aio.Metadata(), grpc.aio.Metadata())

    async def done_writing(self) -> None:
        self._set(grpc.StatusCode.OK)

    async def _respond(self) -> object:
        assert self._status is not None
        if self._status is grpc.StatusCode.OK:
            return "kept"
        raise grpc.aio.AioRpcError(self._status, grpc.aio.Metadata(), grpc.aio.Metadata(), str(self._status))

    def __await__(self) -> Any:
        return self._respond().__await__()

    async def code(self) -> grpc.StatusCode | None:
        return self._status

    async def details(self) -> str:
        return str(self._status)

    async def initial_metadata(self) -> grpc.aio.Metadata:
        if self._key is None and self._status is None:
            await asyncio.Event().wait()
        return grpc.aio.Metadata(*(key_metadata(self._key) if self._key else ()))

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata(("reason", str(self._status)))

    def _set(self, status: grpc.StatusCode) -> None:
        first, self._status = self._status is None, status
        for callback in self._callbacks if first else ():
            callback(self)


async def content(*chunks: bytes | Exception) -> AsyncIterator[bytes]:
    for chunk in chunks:
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk


async def last() -> PutUploadPartRequest:
    return PutUploadPartRequest(number=9)


async def send(call: FakeCall, objects: ObjectStore, *chunks: bytes | Exception, rate: UploadRate = UNLIMITED) -> Any:
    upload = FileUpload(PutUploadPartRequest(number=1), content(*chunks), last)
    with bind(Caller("org")):
        return (await UploadCalls(call, objects, rate, key_seconds=0.01).send(upload, 10)).response


@pytest.fixture
def objects() -> ObjectStore:
    return ObjectStore.open("memory:///")


async def stored(objects: ObjectStore) -> bytes:
    return b"".join([chunk async for chunk in objects.get_stream(KEY)])


async def test_the_bytes_go_to_the_object_store_and_the_service_learns_how_many(objects: ObjectStore) -> None:
    call, chunks = FakeCall(key=KEY), [CHUNK] * 5
    assert await send(call, objects, *chunks) == "kept"
    assert await stored(objects) == CHUNK * 5
    assert [(message.number, message.stored_bytes) for message in call.written] == [
        (1, 0),
        (0, REPORT_BYTES),
        (0, 2 * REPORT_BYTES),
        (9, 0),
    ]
    end = call.written[-1].end
    assert (end.size, end.sha256) == (len(CHUNK) * 5, sha256(CHUNK * 5).hexdigest())
    assert call.metadata == (WRITES_OBJECTS,)


async def test_what_is_stored_counts_towards_the_rate(objects: ObjectStore) -> None:
    clock = FakeClock()
    clock.advance(100)
    rate = UploadRate(100, clock)
    await send(FakeCall(key=KEY), objects, b"x" * 100, rate=rate)
    assert rate.delay("org", 150) == pytest.approx(0.5)


async def test_a_service_that_names_no_key_is_unavailable(objects: ObjectStore) -> None:
    call = FakeCall()
    with pytest.raises(Unavailable):
        await send(call, objects, b"abc")
    assert await call.code() is grpc.StatusCode.CANCELLED


async def test_nothing_is_stored_for_an_upload_that_is_refused(objects: ObjectStore) -> None:
    """Not even if the service refuses the whole file, such as one that has another store."""
    for call in (FakeCall(EXISTS, end_at=1), *(FakeCall(EXISTS, key=KEY, end_at=end) for end in (2, 3, 4))):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send(call, objects, *[CHUNK] * 5)
        assert caught.value.code() is EXISTS
        with pytest.raises(NotFound):
            await stored(objects)


@pytest.mark.parametrize("statuses", [(EXISTS,), (EXISTS, INTERNAL), (INTERNAL, EXISTS)])
async def test_status_of_the_service_counts(objects: ObjectStore, statuses: tuple[grpc.StatusCode, ...]) -> None:
    call = FakeCall(*statuses, key=KEY)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send(call, objects, b"a", b"b")
    assert (caught.value.code(), caught.value.details(), len(call.written)) == (EXISTS, str(EXISTS), 2)


async def test_internal_error_of_the_service_stays_one(objects: ObjectStore) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send(FakeCall(INTERNAL, key=KEY), objects, b"a")
    assert caught.value.code() is INTERNAL


async def test_an_error_of_the_client_is_passed_on_and_ends_the_call(objects: ObjectStore) -> None:
    call = FakeCall(key=KEY)
    with pytest.raises(ValueError, match="nonsense"):
        await send(call, objects, b"a", ValueError("the client sent nonsense"))
    assert await call.code() is grpc.StatusCode.CANCELLED
    with pytest.raises(NotFound):
        await stored(objects)
