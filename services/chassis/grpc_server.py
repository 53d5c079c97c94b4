"""gRPC servers (grpc.aio) whose methods run inside the request interceptor."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from services.chassis import logs
from services.chassis.fair_turns import FairTurns
from services.chassis.grpc_channel import FLOW_OPTIONS, MAX_MESSAGE_BYTES, Channel, open_channel
from services.chassis.health import Health
from services.chassis.idempotency import Idempotency
from services.chassis.method_options import describe_methods
from services.chassis.request_interceptor import KnownOrganisations, RequestInterceptor
from services.chassis.settings import ProcessSettings
from services.chassis.tls import server_credentials

__all__ = ["Channel", "Servicer", "open_channel", "serve"]

# (add_XServicer_to_server, servicer, full name of the service)
Servicer = tuple[Callable[[Any, Any], None], object, str]

OPTIONS: list[tuple[str, Any]] = [
    *FLOW_OPTIONS,
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_metadata_size", 32 * 1024),
    # Clients ping every 30 s, also without calls; without this the server answers with GOAWAY too_many_pings.
    ("grpc.http2.min_ping_interval_without_data_ms", 10 * 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", 60 * 1000),
    ("grpc.keepalive_timeout_ms", 10 * 1000),
    ("grpc.so_reuseport", 0),
]

log = logs.get(__name__)


def make_page_turns() -> FairTurns:
    """Turns for a service whose pages may be as large as messages."""
    return FairTurns(24, per_org=8, waiting_per_org=1_000, waiting=10_000)


@asynccontextmanager
async def serve(
    settings: ProcessSettings,
    servicers: Sequence[Servicer],
    *,
    health: Health,
    organisations: KnownOrganisations,
    page_turns: FairTurns | None,
    idempotency: Idempotency | None = None,
    interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
) -> AsyncIterator[str]:
    """Serve inside the block; yields the bound address ("127.0.0.1:50051"). At its end running calls may finish.

    `page_turns` limits the pages of an organisation that are made at the same time, None: the service does so itself;
    see `make_page_turns`. `idempotency` is required by services with methods that take an Idempotency-Key.
    """
    callers = settings.accepted_callers
    if not callers:
        raise ValueError("MOBILETEST_CALLERS is empty, so no caller could use this service")
    names = [name for _, _, name in servicers]
    interceptor = RequestInterceptor(
        describe_methods(map(descriptor_pool.Default().FindServiceByName, names)),
        callers,
        organisations=organisations,
        page_turns=page_turns,
        idempotency=idempotency,
        unavailable=lambda: health.unavailable,
    )
    health.on_unavailable = interceptor.interrupt_stuck
    serving = grpc.aio.server(interceptors=[*interceptors, interceptor], options=[*OPTIONS, _connection_age(settings)])
    for add, servicer, _ in servicers:
        add(servicer, serving)
    _add_service_methods(serving, names, health, reflect=settings.reflection)
    address = _bind(serving, settings)
    await serving.start()
    log.info("grpc_listening", address=address)
    try:
        yield address
    finally:
        await serving.stop(settings.shutdown_grace_seconds)


def _add_service_methods(serving: grpc.aio.Server, names: list[str], health: Health, *, reflect: bool) -> None:
    health.serve(names)
    health_pb2_grpc.add_HealthServicer_to_server(health.servicer, serving)
    if reflect:
        health_name = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
        reflection.enable_server_reflection([*names, health_name, reflection.SERVICE_NAME], serving)


def _connection_age(settings: ProcessSettings) -> tuple[str, int]:
    """Clients find new pods only when they connect again (grpc/grpc#12295), so a connection takes calls for so long.
    Its streams live on, until their own deadlines: grpc.max_connection_age_grace_ms has no limit by default.
    """
    return "grpc.max_connection_age_ms", int(settings.grpc_connection_age_seconds * 1000)


def _bind(serving: grpc.aio.Server, settings: ProcessSettings) -> str:
    listen, tls = settings.grpc_listen, settings.tls
    if tls is None:
        port = serving.add_insecure_port(listen)
    elif tls.certificate is None:
        raise ValueError("MOBILETEST_TLS_CERTIFICATE_FILE is missing, without which there is no TLS server")
    else:
        port = serving.add_secure_port(listen, server_credentials(tls, verify_clients=settings.tls_verify_clients))
    return f"{listen.rpartition(':')[0]}:{port}"
