"""What happens to every incoming gRPC call around its servicer.

In this order: metrics, log and error mapping; token, organisation and scope; deadline; whether the organisation exists;
validation and defaults; idempotency, or a turn at making a page; the servicer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, contextmanager, nullcontext
from time import perf_counter
from typing import Any

import grpc
from google.protobuf.message import Message

from services.chassis import call_together, error_status, logs, metrics
from services.chassis import context as calling
from services.chassis.context import Caller
from services.chassis.errors import Unavailable
from services.chassis.fair_turns import FairTurns
from services.chassis.grpc_channel import REPLAYED
from services.chassis.idempotency import Idempotency
from services.chassis.ids import derive_ids
from services.chassis.method_options import Method
from services.chassis.service_token import Callers, authorize, read_metadata
from services.chassis.validation import validate_and_default

DEFAULT_DEADLINE_SECONDS = 30.0
# An election of MongoDB takes less: calls that wait for it go on.
STUCK_SECONDS = 2.0

Context = Any  # grpc.aio.ServicerContext; generic only in the stubs

log = logs.get(__name__)

_handled = metrics.counter("grpc_server_handled_total", "Finished RPCs", ["grpc_service", "grpc_method", "grpc_code"])
_seconds = metrics.histogram("grpc_server_handling_seconds", "Duration of RPCs", ["grpc_service", "grpc_method"])
_no_deadline = metrics.counter("mobiletest_rpc_without_deadline_total", "RPCs without a deadline", ["grpc_method"])
MAX_KNOWN = 10_000


class KnownOrganisations:
    """Refuses calls for organisations that do not exist. Remembers which do: none is ever deleted."""

    def __init__(self, find: Callable[[], Awaitable[object]]) -> None:
        """`find()` looks for the organisation of the current caller, and raises NotFound if it does not exist."""
        self._find = find
        self._known: set[str] = set()

    async def check(self, caller: Caller) -> None:
        """Check that the organisation exists. Calls of the gateway pass: it has verified a key, which has one.

        Raises:
            NotFound: it does not exist.
        """
        if caller.via_gateway or not caller.org_id or caller.org_id in self._known:
            return
        await self._find()
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.add(caller.org_id)


class RequestInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc, unused-ignore]
    """Wraps the handlers of the given methods, once each; others (health, reflection) are left alone."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        callers: Callers,
        *,
        organisations: KnownOrganisations,
        page_turns: FairTurns | None,
        idempotency: Idempotency | None,
        unavailable: Callable[[], Unavailable | None],
    ) -> None:
        """`page_turns` are those of the methods that give pages. `unavailable()`: the error to answer every call with,
        while the service's database is away.
        """
        self._methods = methods
        self._callers = callers
        self._organisations = organisations
        self._page_turns = page_turns
        self._idempotency = idempotency
        self._unavailable = unavailable
        self._wrapped: dict[str, Any] = {}
        self._running: dict[asyncio.Timeout, float] = {}

    def interrupt_stuck(self) -> None:
        """The database is away: end the unary calls that have waited for STUCK_SECONDS with `unavailable()`."""
        before = perf_counter() - STUCK_SECONDS
        for limit in [limit for limit, since in self._running.items() if since <= before]:
            del self._running[limit]
            limit.reschedule(0)

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        """The wrapped handler of the called method."""
        path = handler_call_details.method
        if path in self._wrapped:
            return self._wrapped[path]
        if path == call_together.PATH:
            make = type(handler_call_details)  # gRPC takes only its own
            metadata = handler_call_details.invocation_metadata
            return call_together.calls_handler(
                lambda method: self.intercept_service(continuation, make(method, metadata)), self._callers
            )
        handler = await continuation(handler_call_details)
        method = self._methods.get(path)
        if method is None or handler is None:
            return handler
        self._wrapped[path] = self._wrap(method, handler)
        return self._wrapped[path]

    def _wrap(self, method: Method, handler: Any) -> Any:
        coding = (handler.request_deserializer, handler.response_serializer)
        if handler.unary_unary:
            return grpc.unary_unary_rpc_method_handler(self._unary(method, handler.unary_unary), *coding)
        if handler.unary_stream:
            return grpc.unary_stream_rpc_method_handler(self._download(method, handler.unary_stream), *coding)
        if handler.stream_unary:
            return grpc.stream_unary_rpc_method_handler(self._upload(method, handler.stream_unary), *coding)
        raise NotImplementedError(f"{method.path}: bidirectional streams are not supported")

    def _unary(self, method: Method, servicer: Callable[[Message, Context], Awaitable[Message]]) -> Any:
        async def handle(request: Message, context: Context) -> Message:
            async with ErrorMapper(method, context), self._limited(method, context):
                with self._admitted(method, context) as caller:
                    await self._organisations.check(caller)
                    validate_and_default(request)
                    if self._page_turns is None or not method.is_paged:
                        return await self._run_idempotently(method, request, context, servicer)
                    async with self._page_turns.take(caller.org_id):
                        return await servicer(request, context)

        return handle

    @asynccontextmanager
    async def _limited(self, method: Method, context: Context) -> AsyncIterator[None]:
        """The default deadline, and what `interrupt_stuck` ends."""
        limit = asyncio.timeout(_default_deadline(method, context))
        try:
            async with limit:
                self._running[limit] = perf_counter()
                try:
                    yield
                finally:
                    self._running.pop(limit, None)
        except TimeoutError as error:
            raise self._unavailable() or error from None

    def _download(self, method: Method, servicer: Callable[[Message, Context], AsyncIterator[Message]]) -> Any:
        async def handle(request: Message, context: Context) -> None:
            async with ErrorMapper(method, context):
                with self._admitted(method, context) as caller:
                    await self._organisations.check(caller)
                    validate_and_default(request)
                    async with aclosing(servicer(request, context)) as responses:  # type: ignore[type-var]
                        async for response in responses:
                            await context.write(response)

        return handle

    def _upload(self, method: Method, servicer: Callable[[AsyncIterator[Message], Context], Awaitable[Message]]) -> Any:
        async def handle(requests: AsyncIterator[Message], context: Context) -> Message:
            async with ErrorMapper(method, context):
                with self._admitted(method, context) as caller:
                    await self._organisations.check(caller)
                    with _ids_of(method, caller):
                        return await servicer(_validate_each(requests), context)

        return handle

    @contextmanager
    def _admitted(self, method: Method, context: Context) -> Iterator[Caller]:
        caller = authorize(method, read_metadata(context.invocation_metadata()), self._callers)
        if (unavailable := self._unavailable()) is not None:
            raise unavailable
        with calling.bind(caller), calling.limit_time(context.time_remaining()):
            yield caller

    async def _run_idempotently(
        self,
        method: Method,
        request: Message,
        context: Context,
        servicer: Callable[[Message, Context], Awaitable[Message]],
    ) -> Message:
        caller = calling.current()
        if self._idempotency is None or not (method.takes_idempotency_key and caller.idempotency_key):
            return await servicer(request, context)

        async def work() -> bytes:
            return (await servicer(request, context)).SerializeToString()

        answer = await self._idempotency.run_once(
            caller, method.path, request.SerializeToString(deterministic=True), work
        )
        if answer.replayed:
            context.set_trailing_metadata((REPLAYED,))
        return method.response.FromString(answer.response)


def _ids_of(method: Method, caller: Caller) -> AbstractContextManager[None]:
    """The response to an upload is not stored: with its key it gives its ids again, by which its servicer knows it."""
    if not (method.takes_idempotency_key and caller.idempotency_key):
        return nullcontext()
    return derive_ids(caller.org_id, method.path, caller.idempotency_key)


async def _validate_each(requests: AsyncIterator[Message]) -> AsyncIterator[Message]:
    async for request in requests:
        validate_and_default(request)
        yield request


def _default_deadline(method: Method, context: Context) -> float | None:
    """Seconds for a call without a deadline; gRPC itself enforces the deadline of a caller."""
    if context.time_remaining() is not None:
        return None
    _no_deadline.labels(method.name).inc()
    return DEFAULT_DEADLINE_SECONDS


class ErrorMapper:
    """Counts and logs a call, and maps the error that ends it to a status."""

    def __init__(self, method: Method, context: Context) -> None:
        self._method = method
        self._context = context
        self._since = perf_counter()

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        answer = self._answer(error) if isinstance(error, Exception) else None
        code = answer.code.name if answer else "OK" if error is None else "CANCELLED"
        seconds = perf_counter() - self._since
        _handled.labels(self._method.service, self._method.name, code).inc()
        _seconds.labels(self._method.service, self._method.name).observe(seconds)
        log.debug("rpc", method=self._method.path, code=code, seconds=round(seconds, 6))
        if answer is not None:
            await self._context.abort_with_status(answer)

    def _answer(self, error: Exception) -> grpc.Status:
        known = error_status.to_domain_error(error)
        if known is not None:
            return error_status.to_grpc(known)
        request_id = read_metadata(self._context.invocation_metadata()).get("x-request-id", "")
        log.error("rpc_failed", method=self._method.path, request_id=request_id, exc_info=error)
        return error_status.internal_error(request_id)
