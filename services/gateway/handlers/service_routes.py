"""The endpoints of the gateway itself: open to everyone, in nobody's proto."""

import orjson
from aiohttp.web import StreamResponse

from services.chassis.health import Health, HealthReport
from services.gateway.http.request_context import Endpoint, RequestContext
from services.gateway.http.responses import json_response

DOCUMENT_PATH = "/api/v1/openapi.json"


def service_endpoints(health: Health, document: bytes) -> list[Endpoint]:
    """/healthz, /readyz and the OpenAPI document."""

    async def healthz(exchange: RequestContext) -> StreamResponse:
        return _report(await health.liveness(), exchange)

    async def readyz(exchange: RequestContext) -> StreamResponse:
        return _report(await health.readiness(), exchange)

    async def openapi(exchange: RequestContext) -> StreamResponse:
        return json_response(200, document, {**exchange.headers, "Cache-Control": "max-age=300"})

    return [
        Endpoint("GET", "/healthz", healthz),
        Endpoint("GET", "/readyz", readyz),
        Endpoint("GET", DOCUMENT_PATH, openapi),
    ]


def _report(report: HealthReport, exchange: RequestContext) -> StreamResponse:
    """Names what fails, but not why: the admin port says that."""
    body = {"status": "ok" if report.ok else "failing", "failing": sorted(report.failures)}
    return json_response(200 if report.ok else 503, orjson.dumps(body), exchange.headers)
