"""A JSON value and any bytes after it in one message, as child processes get and answer them."""

import struct
from collections.abc import Iterable
from typing import Any

import orjson

_LENGTH = struct.Struct("!I")


def pack(head: Any, parts: Iterable[bytes]) -> bytes:
    """The head, whatever orjson makes JSON of, and the parts."""
    contents = list(parts)
    encoded = orjson.dumps((head, list(map(len, contents))))
    return b"".join((_LENGTH.pack(len(encoded)), encoded, *contents))


def unpack(packed: bytes) -> tuple[Any, list[bytes]]:
    """The head as JSON has it, and the parts."""
    (size,) = _LENGTH.unpack_from(packed)
    begin = _LENGTH.size + size
    head, sizes = orjson.loads(packed[_LENGTH.size : begin])
    parts: list[bytes] = []
    for length in sizes:
        parts.append(packed[begin : begin + length])
        begin += length
    return head, parts
