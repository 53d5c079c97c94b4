"""The gateway's own routes, open to everyone: health, readiness and the OpenAPI document."""

import orjson
from aiohttp import web

from services.chassis.health import Health, HealthReport
from services.gateway.http.application import Route
from services.gateway.http.json_responses import json_response

DOCUMENT_PATH = "/api/v1/openapi.json"


def service_routes(health: Health, document: bytes) -> list[Route]:
    """/healthz, /readyz and the OpenAPI document."""

    async def healthz(_: web.Request) -> web.StreamResponse:
        return _report_response(await health.liveness())

    async def readyz(_: web.Request) -> web.StreamResponse:
        return _report_response(await health.readiness())

    async def openapi(_: web.Request) -> web.StreamResponse:
        response = json_response(document)
        response.headers["Cache-Control"] = "max-age=300"
        return response

    return [Route("GET", "/healthz", healthz), Route("GET", "/readyz", readyz), Route("GET", DOCUMENT_PATH, openapi)]


def _report_response(report: HealthReport) -> web.Response:
    """Names what fails, but not why: the admin port says that."""
    body = {"status": "ok" if report.ok else "failing", "failing": sorted(report.failures)}
    return json_response(orjson.dumps(body), 200 if report.ok else 503)
