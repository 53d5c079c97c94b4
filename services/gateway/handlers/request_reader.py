"""From an HTTP request to an RPC's message, and from a service's violations back to fields of the request."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import grpc
from aiohttp import hdrs, web

from services.chassis import context, error_status
from services.chassis.errors import InvalidArgument
from services.gateway.contract.fields import Field, request_fields
from services.gateway.contract.operations import Operation
from services.gateway.decoding.requests import Decoded, RequestDecoder, Source
from services.gateway.decoding.validation_errors import InvalidRequest
from services.gateway.http.json_responses import HttpError
from services.gateway.http.public_address import base_url
from services.gateway.http.representations import expected_revisions
from services.gateway.http.request_body import BodyMemory, read_json
from services.gateway.http.request_context import REQUEST_CONTEXT, RequestContext
from services.gateway.settings import Settings

# How much longer than its `wait` a long poll may take.
WAIT_MARGIN_SECONDS = 5


class RequestReader:
    """Reads the requests of one operation."""

    def __init__(self, operation: Operation, settings: Settings, memory: BodyMemory) -> None:
        """`memory` is that of all bodies of the process."""
        self._memory = memory
        self._decoder = RequestDecoder.of(operation)
        self._path_fields = operation.path_fields
        self._takes_body = operation.takes_body
        self._can_expect = operation.can_expect_revisions
        self._is_read = operation.verb == "GET"
        self._is_long = operation.handles_files
        self._can_wait = "wait" in operation.input.fields_by_name
        self._makes_links = "base_url" in operation.input.fields_by_name
        self._settings = settings
        self._max_body_bytes = _max_body_bytes(operation, settings.max_body_bytes)

    async def read(self, request: web.Request) -> Decoded:
        """The request message; the names of ignored fields go into a response header."""
        request_context = request[REQUEST_CONTEXT]
        body = None
        if self._takes_body:
            body = await read_json(
                request,
                self._max_body_bytes,
                self._settings.body_timeout_seconds,
                memory=self._memory,
                org_id=request_context.caller.org_id,
            )
        source = Source(request.match_info, request.rel_url.raw_query_string, request.headers, body)
        decoded = self._decoder.decode(source, strict=request_context.strict)
        if decoded.ignored:
            request_context.report_ignored(decoded.ignored)
        if not self._is_read and (if_match := request.headers.getall(hdrs.IF_MATCH, ())):
            self._expect(decoded.message, ",".join(if_match))
        if self._can_wait and request.method == hdrs.METH_HEAD:
            decoded.message.wait = 0  # type: ignore[attr-defined] # status and headers are known at once
        if self._makes_links:
            decoded.message.base_url = base_url(request, self._settings.public_url)  # type: ignore[attr-defined]
        return decoded

    def read_parameters(self, parameters: Mapping[str, str], address: Mapping[str, str]) -> Decoded:
        """The request message of parameters of the path and the query.

        `address` has those of the path that are missing.

        Raises:
            InvalidRequest: one of them is unknown.
        """
        path = {name: parameters.get(name) or address[name] for name in self._path_fields}
        query = {name: text for name, text in parameters.items() if name not in path}
        return self._decoder.decode(Source(path, query), strict=True)

    def _expect(self, message: Any, if_match: str) -> None:
        """The service compares the revision together with its write."""
        if not self._can_expect:
            reason = "If-Match is not supported here: this resource has no ETag"
            raise HttpError(412, reason, "PRECONDITION_UNSUPPORTED")
        message.expected_revisions.extend(expected_revisions(if_match))

    def timeout(self, decoded: Decoded, request_context: RequestContext) -> float:
        """Seconds for the call: what the client asks for, else the default; a long poll gets its wait and a margin."""
        if self._is_long:
            return self.stream_timeout(request_context)
        seconds = request_context.timeout or self._settings.request_timeout_seconds
        if self._can_wait:
            seconds = max(seconds, decoded.message.wait + WAIT_MARGIN_SECONDS)  # type: ignore[attr-defined]
        return seconds

    def stream_timeout(self, request_context: RequestContext) -> float:
        """Seconds for a stream."""
        return request_context.timeout or self._settings.stream_timeout_seconds

    @contextmanager
    def call_scope(self, request_context: RequestContext, timeout: float) -> Iterator[None]:
        """Inside the block, calls are made as the caller and within the timeout.

        Violations that the service reports become errors of the client's fields.
        """
        try:
            with context.bind(request_context.caller), context.limit_time(timeout):
                yield
        except grpc.aio.AioRpcError as error:
            known = error_status.to_domain_error(error)
            if isinstance(known, InvalidArgument) and known.violations:
                raise InvalidRequest(self._decoder.explain(known.violations)) from None
            raise


def _max_body_bytes(operation: Operation, default: int) -> int:
    """The default limit, with room for the longest text that the request may have, written with escapes."""
    longest = max((_max_length(field) for field in request_fields(operation.input)), default=0)
    return default if longest < default else default + 2 * longest


def _max_length(field: Field) -> int:
    is_text = field.descriptor.type == field.descriptor.TYPE_STRING and not field.repeated
    return field.rules.max_length or 0 if is_text else 0
