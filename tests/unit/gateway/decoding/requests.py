"""Decodes requests of all operations."""

from typing import Any

import orjson
import pytest

from services.gateway.contract.operations import all_operations
from services.gateway.decoding.requests import RequestDecoder, Source
from services.gateway.decoding.validation_errors import InvalidRequest

OPERATIONS = {operation.name: operation for operation in all_operations()}
DECODERS = {name: RequestDecoder.of(operation) for name, operation in OPERATIONS.items()}
ID = "7d444840-9dc0-41d1-b245-5ffdce74fad2"


def decode(name: str, *, body: object = None, query: str = "", strict: bool = False, **parts: Any) -> Any:
    text = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
    path = dict.fromkeys(OPERATIONS[name].path_fields, ID) | parts.get("path", {})
    return DECODERS[name].decode(Source(path, query, parts.get("headers", {}), text), strict=strict)


def errors_of(name: str, **source: Any) -> list[tuple[tuple[str | int, ...], str, str]]:
    with pytest.raises(InvalidRequest) as caught:
        decode(name, **source)
    return [(error.loc, error.type, error.msg) for error in caught.value.field_errors]
