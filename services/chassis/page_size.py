"""Limits the size of a page of messages to what fits into one response."""

from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message

PAGE_BYTES = 4 * 1024 * 1024
"""A quarter of grpc_channel.MAX_MESSAGE_BYTES, because a single message may be large."""

M = TypeVar("M", bound=Message)


def take_page(messages: Iterable[M], most: int = PAGE_BYTES) -> list[M]:
    """The first messages, up to `most` bytes, but at least one if there are any."""
    found: list[M] = []
    size = 0
    for message in messages:
        size += message.ByteSize()
        if found and size > most:
            break
        found.append(message)
    return found
