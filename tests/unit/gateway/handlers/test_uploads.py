"""What an upload sends, held against the contract of the previous version: both are there during a rollout."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import protovalidate
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from mobiletest.catalog.v1 import builds_pb2

from services.gateway.decoding.requests import Decoded
from services.gateway.handlers.uploads import _write

BASELINE = Path(__file__).resolve().parents[4] / "protos" / "baseline.binpb"


class Call:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[builds_pb2.UploadBuildRequest] = []

    async def write(self, message: builds_pb2.UploadBuildRequest) -> None:
        self.written.append(message)

    async def done_writing(self) -> None:
        """Nothing to do."""


def previous_class() -> type[Message]:
    pool = descriptor_pool.DescriptorPool()
    for file in FileDescriptorSet.FromString(BASELINE.read_bytes()).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("mobiletest.catalog.v1.UploadBuildRequest"))


async def sent(*chunks: bytes) -> list[builds_pb2.UploadBuildRequest]:
    async def given() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    metadata = builds_pb2.UploadBuildMetadata(app_id="0f7a2b9e-6d1c-4f1e-9a55-0d7f4b1f4f11", has_end=True)
    call = Call()
    await _write(call, Decoded(metadata, ()), given())
    return call.written


async def test_the_end_says_how_much_there_was() -> None:
    messages = await sent(b"123", b"45")
    assert [message.HasField("end") for message in messages] == [False, False, False, True]
    assert messages[-1].end.size == 5


async def test_a_catalog_of_the_previous_version_takes_every_message_of_it() -> None:
    """It checks each, and adds up the chunks."""
    previous, validator = previous_class(), protovalidate.Validator()  # it remembers rules by the name of the message
    messages = [cast(Any, previous).FromString(message.SerializeToString()) for message in await sent(b"123", b"45")]
    assert [validator.collect_violations(message) for message in messages] == [[]] * 4
    assert b"".join(message.chunk for message in messages) == b"12345"
