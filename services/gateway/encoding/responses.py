"""Whole responses as JSON text. Items of lists are remembered by their bytes, which determine their JSON."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from services.gateway.encoding.messages import Encode, compile_encoder, encoder

ToJson = Callable[[Any], bytes]

MEMO_ITEMS = 4096
MEMO_MOST_BYTES = 4096
"""Larger items are encoded each time: the memo of a type stays below about 50 MB."""


class Memo:
    """The JSON of messages of one type, by their bytes; bounded, the least used go first."""

    def __init__(self, message: Descriptor) -> None:
        self._encode = encoder(message)
        make = GetMessageClass(message)

        @lru_cache(MEMO_ITEMS)
        def item_encoder(raw: bytes) -> orjson.Fragment:
            return orjson.Fragment(orjson.dumps(self._encode(make.FromString(raw))))

        self._remembered = item_encoder

    def fragment(self, message: Message) -> Any:
        """Something that orjson writes as the message's JSON."""
        raw = message.SerializeToString()
        return self._remembered(raw) if len(raw) <= MEMO_MOST_BYTES else self._encode(message)


class ResponseEncoders:
    """The encoders of one process: they share the memos of item types."""

    def __init__(self) -> None:
        self._memos: dict[Descriptor, Memo] = {}

    def response_encoder(self, message: Descriptor) -> ToJson:
        """An encoder for responses of this type, whose repeated messages are remembered."""
        encode = compile_encoder(message, self._repeated)
        return lambda response: orjson.dumps(encode(response))

    def item_encoder(self, message: Descriptor) -> ToJson:
        """An encoder for single messages of a type that lists show as well."""
        memo = self._memo(message)
        return lambda response: orjson.dumps(memo.fragment(response))

    def _repeated(self, one: Encode, message: Descriptor) -> Encode:
        if message.full_name.startswith("google.protobuf."):
            return lambda items: [one(item) for item in items]
        fragment = self._memo(message).fragment
        return lambda items: [fragment(item) for item in items]

    def _memo(self, message: Descriptor) -> Memo:
        return self._memos.setdefault(message, Memo(message))
