"""Requests that no page sends: they are refused, and never a failure of the service."""

import asyncio
import re
from collections.abc import Iterable
from unittest.mock import Mock
from urllib.parse import urlsplit
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio
from yarl import URL

from services.gateway.dashboard.routes import dashboard_routes
from tests.e2e.client import Api
from tests.e2e.world import World
from tests.shared_infrastructure import SharedStack

# The pages with the parameters that they read.
PAGES = {
    "/": ("page", "platform", "search"),
    "/apps/{app}": ("attach", "branch", "days", "page", "platform"),
    "/apps/{app}/matrix": ("builds", "class", "order", "page", "search"),
    "/apps/{app}/coverage": ("page", "state"),
    "/apps/{app}/branches": ("kind", "page", "search"),
    "/apps/{app}/branches/{branch}": ("base_branch",),
    "/apps/{app}/pull-requests/{number}": ("base_branch", "repository"),
    "/apps/{app}/durations": ("builds", "page"),
    "/apps/{app}/failures/{fingerprint}": (),
    "/apps/{app}/builds/{build}": ("base", "base_branch", "page"),
    "/apps/{app}/builds/{build}/screens": ("base", "base_branch"),
    "/executions": (
        *(
            "app_id",
            "branch",
            "ci_run_id",
            "commit_sha",
            "created_after",
            "created_before",
            "name",
            "page",
            "pr_number",
        ),
        *("rerun_of", "result", "sort", "source", "started_by", "status", "superseded_by", "workflow_id"),
    ),
    "/executions/{execution}": ("page",),
    "/executions/{execution}/tests/{test}": ("app",),
    "/executions/{execution}/runs/{run}": ("comments",),
    "/failures": ("app_id", "page", "search", "state"),
    "/queue": ("page", "workers"),
    "/settings": ("page",),
    "/settings/limits": (),
    "/settings/quarantine": ("page",),
    "/settings/secrets": ("page",),
    "/tests": ("app_id", "classification", "page", "platform", "search", "tag"),
    "/tests/flaky": ("app_id", "page"),
    "/tests/new": ("app_id",),
    "/tests/{test}": (),
    "/tests/{test}/versions": ("from", "page", "to"),
    "/tests/{test}/history": ("page",),
    "/tests/{test}/run": (),
    "/tests/{test}/try": (),
    "/workflows": ("page", "search"),
    "/workflows/new": (),
    "/workflows/{workflow}": ("app", "page", "tests", "version"),
    "/workflows/{workflow}/edit": (),
    "/docs": ("q",),
    "/sign-in": ("next",),
}
VALUES = (
    "",
    "abc",
    "-1",
    "0",
    "9" * 30,
    "1e9",
    "NaN",
    "%00",
    "%ff%fe",
    "%F0%9F%A7%AA",
    "..%2f..",
    "%3Cscript%3E",
    "x" * 3000,
)
AT_ONCE = 8
NAME = re.compile(r"{\w+}")
IDS = ("0", "..", "%2e%2e", "x" * 400, "%00", "%ff", "a%2Fb", "%E2%80%AE", "{id}", str(uuid4()))


@pytest_asyncio.fixture(loop_scope="session")
async def addresses(world: World, api: Api) -> dict[str, tuple[str, ...]]:
    """The pages of what has run, with their parameters."""
    app, build, test, workflow = await world.passing_app()
    execution = (await world.run(workflow))["id"]
    run = (await api.get(f"/executions/{execution}/runs")).body["items"][0]["id"]
    ids = {
        "app": app["id"],
        "build": build["id"],
        "test": test["id"],
        "workflow": workflow["id"],
        "execution": execution,
        "run": run,
        "branch": "main",
        "number": "7",
        "fingerprint": "0" * 16,
    }
    return {page.format(**ids): parameters for page, parameters in PAGES.items()}


async def failures(api: Api, addresses: Iterable[str]) -> dict[str, int]:
    """The answers of the pages that the service is to blame for."""
    connector = aiohttp.TCPConnector(limit=AT_ONCE)
    async with aiohttp.ClientSession(connector=connector, headers={"Authorization": f"Bearer {api.key}"}) as browser:

        async def visit(address: str) -> tuple[str, int]:
            url = URL(f"{api.url}{address}", encoded=True)
            async with browser.get(url, allow_redirects=False) as response:
                await response.read()  # a list that breaks off is an error, too
                return address, response.status

        answers = await asyncio.gather(*map(visit, addresses))
    assert {status for _, status in answers} - {404, 422, 500}, "only refusals: the pages were not reached"
    return {address: status for address, status in answers if status >= 500}


def test_all_pages_are_asked() -> None:
    routes = dashboard_routes(*(Mock() for _ in range(4)))
    pages = {
        route.path for route in routes if route.method == "GET" and not route.path.startswith(("/static", "/session"))
    }
    assert {NAME.sub("{}", page) for page in PAGES} == {NAME.sub("{}", page) for page in pages}


async def test_any_value_of_a_parameter_is_accepted_or_refused(addresses: dict[str, tuple[str, ...]], api: Api) -> None:
    assert await failures(api, addresses) == {}
    for value in VALUES:
        every = "&".join(f"{name}={value}" for name in sorted({name for names in PAGES.values() for name in names}))
        queries = (every, f"{every}&format=csv", f"page_size={value}&page={value}&page=1", f"{value}&=&&{value}=")
        asked = [f"{page}?{query}" for page in addresses for query in queries]
        single = [f"{page}?{name}={value}" for page, names in addresses.items() for name in names]
        assert await failures(api, [*addresses, *asked, *single]) == {}


async def test_any_id_is_accepted_or_refused(api: Api) -> None:
    names = ("app", "branch", "build", "test", "workflow", "execution", "fingerprint", "number", "run")
    paths = {page.format(**dict.fromkeys(names, each.replace("{", "%7B"))) for page in PAGES for each in IDS}
    assert await failures(api, sorted(paths)) == {}


@pytest.mark.parametrize(
    "header",
    [
        b"Cookie: mobiletest-session=\xff\xfe",
        b"Cookie: mobiletest-session=x\r\nX-CSRF-Token: \xff",
        b"Cookie: \xff=;;=",
        b"Authorization: Bearer \xff",
    ],
)
@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1", b"GET /sign-in HTTP/1.1", b"DELETE /session HTTP/1.1"])
async def test_headers_that_are_not_text_are_refused(stack: SharedStack, header: bytes, request_line: bytes) -> None:
    where = urlsplit(stack.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(request_line + b"\r\nHost: localhost\r\nConnection: close\r\n" + header + b"\r\n\r\n")
    status = int((await reader.readline()).split()[1])
    writer.close()
    assert status < 500
