"""Pages of messages that fit into one answer."""

from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message

PAGE_BYTES = 4 * 1024 * 1024
"""A quarter of what a channel takes (channel.MAX_MESSAGE_BYTES), for one message may be large."""

M = TypeVar("M", bound=Message)


def take_page(messages: Iterable[M], most: int = PAGE_BYTES) -> list[M]:
    """The first of the messages, as many as `most` bytes hold, and at least one if there is any."""
    found: list[M] = []
    size = 0
    for message in messages:
        size += message.ByteSize()
        if found and size > most:
            break
        found.append(message)
    return found
