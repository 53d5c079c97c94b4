"""The composition root of the gateway."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from uuid import uuid4

from aiohttp import web
from mobiletest.catalog.v1 import sessions_pb2

from services.chassis.clock import SystemClock
from services.chassis.consumer import Consumer
from services.chassis.grpc_channel import Channel, open_channel
from services.chassis.health import AdminServer, Health
from services.chassis.lifecycle import Background
from services.chassis.object_store import ObjectStore
from services.chassis.producer import Producer
from services.gateway.auth.api_keys import CatalogApiKeys
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.key_cache import KEY_EVENTS_TOPIC, KeyCache, revoke_ended
from services.gateway.auth.rate_limits import RateLimiter
from services.gateway.cli_wheel import CliWheel
from services.gateway.contract.operations import all_operations, all_services
from services.gateway.dashboard.assets import Assets
from services.gateway.dashboard.pages import AUTHENTICATION, set_up, show_unknown
from services.gateway.dashboard.resources import OPERATIONS
from services.gateway.dashboard.routes import dashboard_routes
from services.gateway.handlers.unary import UnaryHandler
from services.gateway.http.application import Route, build_application
from services.gateway.http.authentication import Authentication
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.public_address import PUBLIC_URL_HEADER
from services.gateway.http.server import serve
from services.gateway.routes import OperationRoutes, service_routes
from services.gateway.settings import Settings
from services.gateway.upstream.rpcs import Upstreams

KEY_EVENTS = {KEY_EVENTS_TOPIC: 1}
KEY_EVENTS_WAIT_MS = 500
# Revocations arrive if the broker answered a fetch in this time.
KEY_EVENTS_CURRENT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A running gateway: where it listens, and its background tasks."""

    http_address: str
    admin_address: str
    background: Background

    @property
    def url(self) -> str:
        """The base address of the REST interface."""
        return f"http://{self.http_address}"


@asynccontextmanager
async def start_app(settings: Settings) -> AsyncIterator[RunningGateway]:
    """Run a gateway inside the block."""
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(Background())
        health = Health()
        admin = await stack.enter_async_context(AdminServer(settings.admin_listen, health))
        channels = await _channels(stack, settings)
        health.register("catalog", channels["catalog"].check)
        key_cache = KeyCache()
        open_streams = OpenStreams(key_cache, SystemClock())

        def revoke(key_id: str) -> None:
            key_cache.revoke(key_id)
            open_streams.end(key_id)

        key_events = await _consume_key_events(stack, settings, revoke, background, health)
        authenticator = Authenticator(
            CatalogApiKeys(channels["catalog"], settings.request_limits),
            key_cache,
            SystemClock(),
            revocations_arrive=lambda: key_events.is_current(KEY_EVENTS_CURRENT_SECONDS),
        )
        app = _application(settings, authenticator, channels, health, open_streams)
        address = await stack.enter_async_context(serve(app, settings))
        await stack.enter_async_context(health.mark_ready(background))
        yield RunningGateway(address, admin.address, background)


async def _channels(stack: AsyncExitStack, settings: Settings) -> dict[str, Channel]:
    addresses = {
        "catalog": settings.catalog_address,
        "executor": settings.executor_address,
        "reporting": settings.reporting_address,
    }

    def open_to(address: str) -> Channel:
        timeout = settings.request_timeout_seconds
        services = [*all_services(), *sessions_pb2.DESCRIPTOR.services_by_name.values()]
        return open_channel(address, settings.token, services=services, timeout=timeout, tls=settings.tls)

    return {name: await stack.enter_async_context(open_to(address)) for name, address in addresses.items()}


async def _consume_key_events(
    stack: AsyncExitStack,
    settings: Settings,
    revoke: Callable[[str], None],
    background: Background,
    health: Health,
) -> Consumer:
    """Every replica has its own consumer group, so each one receives every revocation."""
    producer = await stack.enter_async_context(
        Producer(settings.kafka, KEY_EVENTS, idempotence=settings.kafka_idempotence)
    )
    consumer = Consumer(
        [KEY_EVENTS_TOPIC],
        f"gateway-{uuid4()}",
        partial(revoke_ended, revoke),
        kafka=settings.kafka,
        instance_id=None,
        dlq=producer,
        fetch_wait_ms=KEY_EVENTS_WAIT_MS,
        session_seconds=settings.kafka_session_seconds,
    )
    health.register("key events", consumer.check, affects="liveness")
    await stack.enter_async_context(background.run("key events", consumer.run(), stop=consumer.stop, grace=1.0))
    return consumer


def build_routes(
    settings: Settings, upstreams: Upstreams, health: Health, closing: asyncio.Event, open_streams: OpenStreams
) -> tuple[list[Route], Mapping[str, UnaryHandler]]:
    """The routes of the REST interface, and its operations as pages call them; `closing` ends event streams."""
    operations = OperationRoutes(
        all_operations(),
        upstreams,
        settings,
        clock=SystemClock(),
        closing=closing,
        open_streams=open_streams,
        objects=ObjectStore.open(settings.object_store, create=False),
    )
    routes = [*operations.build(), *service_routes(health, partial(_document, settings.version), _descriptors)]
    return routes, operations.unary


@cache
def _document(version: str) -> bytes:
    """Made when it is first read, with the modules for it: they take 6 MiB and a third of a second."""
    from services.gateway.openapi.document import document_json

    return document_json(all_operations(), version)


def _descriptors() -> bytes:
    """The descriptors of the protos; the module that reads them is as large as the document."""
    from services.gateway.openapi.document import descriptors

    return descriptors()


async def _add_public_url(url: str, _: web.Request, response: web.StreamResponse) -> None:
    response.headers[PUBLIC_URL_HEADER] = url


def _application(
    settings: Settings,
    authenticator: Authenticator,
    channels: Mapping[str, Channel],
    health: Health,
    open_streams: OpenStreams,
) -> web.Application:
    closing, assets = asyncio.Event(), Assets()
    limiter = RateLimiter(SystemClock())
    authentication = Authentication(authenticator, limiter, settings.max_request_timeout_seconds)
    rest, operations = build_routes(settings, Upstreams(channels), health, closing, open_streams)
    dashboard = dashboard_routes(channels["catalog"], authenticator, limiter, assets)
    app = build_application([*rest, *dashboard, *CliWheel().routes], authentication, show_unknown)
    app[AUTHENTICATION], app[OPERATIONS] = authentication, operations
    set_up(app, assets)
    if settings.public_url:
        app.on_response_prepare.append(partial(_add_public_url, settings.public_url))

    async def close_event_streams(_: web.Application) -> None:
        closing.set()

    app.on_shutdown.append(close_event_streams)
    return app
