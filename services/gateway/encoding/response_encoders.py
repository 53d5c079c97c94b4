"""Responses as JSON text. The JSON of list items is cached by their bytes, which determine it."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from services.gateway.encoding.message_encoders import Encode, compile_encoder, encoder

ToJson = Callable[[Any], bytes]

CACHED_ITEMS = 4096
CACHED_ITEM_BYTES = 4096
"""Larger items are not cached: the cache of a message type stays below about 50 MB."""


class ItemCache:
    """The JSON of the most recently used messages of one type."""

    def __init__(self, message: Descriptor) -> None:
        self._encode = encoder(message)
        make = GetMessageClass(message)

        @lru_cache(CACHED_ITEMS)
        def to_fragment(raw: bytes) -> orjson.Fragment:
            return orjson.Fragment(orjson.dumps(self._encode(make.FromString(raw))))

        self._to_fragment = to_fragment

    def encode(self, message: Message) -> Any:
        """A value that orjson writes as the message's JSON."""
        raw = message.SerializeToString()
        return self._to_fragment(raw) if len(raw) <= CACHED_ITEM_BYTES else self._encode(message)


class ResponseEncoders:
    """The encoders of one process, which share the caches of items."""

    def __init__(self) -> None:
        self._caches: dict[Descriptor, ItemCache] = {}

    def response_encoder(self, message: Descriptor) -> ToJson:
        """An encoder for responses of this type; their repeated messages are cached."""
        encode = compile_encoder(message, self._list_encoder)
        return lambda response: orjson.dumps(encode(response))

    def item_encoder(self, message: Descriptor) -> ToJson:
        """An encoder for single messages of a type that lists hold too."""
        cache = self._cache(message)
        return lambda response: orjson.dumps(cache.encode(response))

    def _list_encoder(self, item: Encode, message: Descriptor) -> Encode:
        encode = item if message.full_name.startswith("google.protobuf.") else self._cache(message).encode
        return lambda items: [encode(one) for one in items]

    def _cache(self, message: Descriptor) -> ItemCache:
        return self._caches.setdefault(message, ItemCache(message))
