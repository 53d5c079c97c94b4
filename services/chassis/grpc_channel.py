"""gRPC channels: every outgoing call carries the caller's identity and a deadline, is load-balanced and retried."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from services.chassis import context, metrics
from services.chassis.errors import DeadlineExceeded, Unavailable
from services.chassis.method_options import Method, describe_methods
from services.chassis.tls import Reloaded, TlsFiles, channel_credentials

# How often calls look for new certificates, at most.
LOOK_SECONDS = 5.0
# How long the streams of former connections may go on.
STREAM_SECONDS = 3600.0

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
# Trailers carry the details of an error: a long list of violations exceeds gRPC's default of 8 KiB.
MAX_METADATA_BYTES = 128 * 1024
MARGIN_SECONDS = 0.05
# Of servers and channels. What a stream may send ahead of its reader stays at 1 MiB; gRPC would let it grow with the
# speed of the network, for each of many uploads, and is no faster for it.
FLOW_OPTIONS: list[tuple[str, Any]] = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024 * 1024)]
# The trailing metadata of a response that is that of an earlier call with the same Idempotency-Key.
REPLAYED = ("x-idempotent-replayed", "true")

_handled = metrics.counter("grpc_client_handled_total", "Finished calls", ["grpc_service", "grpc_method", "grpc_code"])
_seconds = metrics.histogram("grpc_client_handling_seconds", "Duration of calls", ["grpc_service", "grpc_method"])

Metadata = tuple[tuple[str, str], ...]


class Connection:
    """grpc.aio's own channel to an address, dialled again when the certificates of this process change."""

    def __init__(
        self,
        address: str,
        options: Sequence[tuple[str, Any]],
        tls: TlsFiles | None,
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """Read the certificates, if the connection is to be encrypted.

        Raises:
            OSError: the certificates cannot be used.
            ssl.SSLError: the certificates cannot be used.
        """
        self._certified: Reloaded[grpc.aio.Channel] | None = None
        self._look_seconds = look_seconds
        self._look_at = 0.0
        self._closing: dict[asyncio.Task[None], grpc.aio.Channel] = {}
        if tls is None:
            self._channel = grpc.aio.insecure_channel(address, options=options)
        else:
            self._certified = Reloaded(
                tls, lambda files: grpc.aio.secure_channel(address, channel_credentials(files), options=options)
            )
            self._channel = self._certified.current

    def channel(self, now: float) -> grpc.aio.Channel:
        """The channel for new calls; `now` in seconds."""
        if self._certified is not None and now >= self._look_at:
            self._look_at = now + self._look_seconds
            if self._certified.reload():
                self._replace(self._certified.current)
        return self._channel

    async def close(self) -> None:
        """End all calls."""
        for task in self._closing:
            task.cancel()
        for channel in (*self._closing.values(), self._channel):
            await channel.close()

    def _replace(self, channel: grpc.aio.Channel) -> None:
        former, self._channel = self._channel, channel
        task = asyncio.create_task(former.close(STREAM_SECONDS))
        self._closing[task] = former
        task.add_done_callback(self._closing.pop)


def open_channel(
    target: str,
    token: str,
    *,
    services: Iterable[ServiceDescriptor] = (),
    timeout: float = 10.0,
    tls: TlsFiles | None = None,
) -> "Channel":
    """A channel to "host:port" or "dns:///name:port", for the stubs of `services`.

    Calls carry `token` and the identity of `context.current()`. They time out after `timeout` seconds, or when the
    current request does. Idempotent methods of `services` are tried up to three times while UNAVAILABLE.
    With `tls` the server needs a certificate for the name in `target`.
    """
    address = target if "://" in target else f"dns:///{target}"
    options = _options(describe_methods(services).values())
    return Channel(Connection(address, options, tls), token, timeout=timeout)


class Channel:
    """The part of a channel that generated stubs use. It wraps the calls itself, because an aio interceptor costs
    a task per call and may swallow a cancellation.
    """

    def __init__(self, connection: Connection, token: str, *, timeout: float) -> None:
        self._connection = connection
        self._fixed: Metadata = (("authorization", f"Bearer {token}"),)
        self._timeout = timeout

    async def __aenter__(self) -> "Channel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    async def check(self) -> None:
        """The readiness check: raises, and starts connecting, when there is no connection."""
        if not self.is_ready():
            raise Unavailable(f"the connection is {self._state().name.lower()}")

    def is_ready(self) -> bool:
        """Whether there is a connection; starts connecting when there is none."""
        return self._state() is grpc.ChannelConnectivity.READY

    def _state(self) -> grpc.ChannelConnectivity:
        return self._connection.channel(perf_counter()).get_state(try_to_connect=True)

    def unary_unary(self, path: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
        return self._wrap(path, lambda channel: channel.unary_unary(path, *arguments, **options), self._timeout)

    def unary_stream(self, path: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
        return self._wrap(path, lambda channel: channel.unary_stream(path, *arguments, **options), None)

    def stream_unary(self, path: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
        return self._wrap(path, lambda channel: channel.stream_unary(path, *arguments, **options), None)

    def _wrap(
        self, path: str, make: Callable[[grpc.aio.Channel], Callable[..., Any]], default_timeout: float | None
    ) -> Callable[..., Any]:
        _, service, name = path.split("/")
        seconds = _seconds.labels(service, name)
        channel = self._connection.channel(perf_counter())
        inner = make(channel)

        def call(
            request: Any, *, timeout: float | None = None, metadata: Sequence[tuple[str, str]] = (), **more: Any
        ) -> Any:
            nonlocal channel, inner
            since = perf_counter()
            if (newest := self._connection.channel(since)) is not channel:
                channel, inner = newest, make(newest)
            started = inner(
                request, timeout=_limit(timeout or default_timeout), metadata=(*self._metadata(), *metadata), **more
            )

            def ended(finished: Any) -> None:
                seconds.observe(perf_counter() - since)
                _handled.labels(service, name, _code(finished)).inc()

            started.add_done_callback(ended)
            return started

        return call

    def _metadata(self) -> Metadata:
        caller = context.current_or_none()
        return self._fixed if caller is None else self._fixed + identity(caller)


def identity(caller: context.Caller) -> Metadata:
    """What the metadata of a call says of its caller."""
    values = {
        "x-org-id": caller.org_id,
        "x-subject": caller.subject,
        "x-subject-name": quote(caller.subject_name or ""),
        "x-request-id": caller.request_id,
        "traceparent": caller.traceparent,
        "idempotency-key": caller.idempotency_key,
    }
    named = tuple((key, value) for key, value in values.items() if value)
    return (*named, ("x-scopes", ",".join(sorted(caller.scopes))))


def _limit(timeout: float | None) -> float | None:
    """The timeout, limited to what the current request has left, less a margin for its own response."""
    left = context.time_remaining()
    if left is None:
        return timeout
    left -= MARGIN_SECONDS
    if left <= 0:
        raise DeadlineExceeded("The deadline leaves no time for another call")
    return left if timeout is None else min(timeout, left)


def _code(finished: Any) -> str:
    """The status of a finished call, whose coroutine `code()` has nothing to wait for."""
    try:
        finished.code().send(None)
    except StopIteration as done:
        return str(done.value.name)
    return "UNKNOWN"


def _options(known: Iterable[Method]) -> list[tuple[str, Any]]:
    return [
        *FLOW_OPTIONS,
        ("grpc.service_config", json.dumps(service_config(known))),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.keepalive_time_ms", 30 * 1000),
        ("grpc.keepalive_timeout_ms", 10 * 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 2000),  # the limit of one attempt, not a pause
        ("grpc.max_reconnect_backoff_ms", 2000),
        ("grpc.dns_min_time_between_resolutions_ms", 1000),
    ]


def service_config(known: Iterable[Method]) -> dict[str, Any]:
    """round_robin, and retries of UNAVAILABLE for idempotent methods."""
    names = [{"service": method.service, "method": method.name} for method in known if method.idempotent]
    retry = {
        "maxAttempts": 3,
        "initialBackoff": "0.05s",
        "maxBackoff": "0.5s",
        "backoffMultiplier": 3,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    return {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [{"name": names, "retryPolicy": retry}] if names else [],
        "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
    }
