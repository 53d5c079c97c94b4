"""From a request to a decoded message, and from a service's refusal back to places in the request."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import grpc
from google.protobuf.message import Message

from services.chassis import context, error_status
from services.chassis.errors import InvalidArgument
from services.gateway.contract.fields import Field, request_fields
from services.gateway.contract.operations import Operation
from services.gateway.decoding.requests import Decoded, RequestDecoder, Source
from services.gateway.decoding.validation_errors import InvalidRequest
from services.gateway.http.request_body import BodyLimits, read_json
from services.gateway.http.request_context import RequestContext


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request: its JSON body, seconds for calls (usually, and at most) and for streams."""

    body: BodyLimits
    seconds: float
    max_seconds: float
    stream_seconds: float


class Invocation:
    """Reads the requests of one operation and surrounds its calls."""

    def __init__(self, operation: Operation, limits: Limits) -> None:
        self._decoder = RequestDecoder.of(operation)
        self._request = operation.request
        self._takes_body = operation.takes_body
        self._waits = "wait" in operation.input.fields_by_name
        self._limits = limits
        self._body = _body_limits(operation, limits.body)

    async def decode(self, exchange: RequestContext) -> Decoded:
        """The request message; what was ignored is named in the answer's headers."""
        http = exchange.http
        body = await read_json(http, self._body) if self._takes_body else None
        source = Source(exchange.path, http.rel_url.raw_query_string, http.headers, body)
        decoded = self._decoder.decode(source, strict=exchange.strict)
        if decoded.ignored:
            exchange.note_ignored(decoded.ignored)
        return decoded

    def message(self, raw: bytes) -> Message:
        """The request message with these bytes."""
        return self._request.FromString(raw)

    def seconds(self, decoded: Decoded, exchange: RequestContext) -> float:
        """How long the call may take: what the client asks for, else the default; a long poll gets its wait on top."""
        seconds = exchange.seconds or self._limits.seconds
        if self._waits:
            seconds = max(seconds, decoded.message.wait + 5)  # type: ignore[attr-defined]
        return seconds

    def stream_seconds(self, exchange: RequestContext) -> float:
        """How long a stream may take."""
        return exchange.seconds or self._limits.stream_seconds

    @contextmanager
    def calling(self, decoded: Decoded, exchange: RequestContext, seconds: float) -> Iterator[None]:
        """Inside the block, calls go out as the caller's and within the time; violations get the client's places."""
        try:
            with context.bind(exchange.caller), context.limit_time(seconds):
                yield
        except grpc.aio.AioRpcError as error:
            known = error_status.to_domain_error(error)
            if isinstance(known, InvalidArgument) and known.violations:
                raise InvalidRequest(self._decoder.explain(known.violations, decoded)) from None
            raise


def _body_limits(operation: Operation, usual: BodyLimits) -> BodyLimits:
    """The usual limits, and room for the longest text that the request may have, written with escapes."""
    longest = max((_longest(field) for field in request_fields(operation.input)), default=0)
    return usual if longest < usual.max_bytes else replace(usual, max_bytes=usual.max_bytes + 2 * longest)


def _longest(field: Field) -> int:
    text = field.descriptor.type == field.descriptor.TYPE_STRING
    return field.rules.max_length or 0 if text and not field.repeated else 0
