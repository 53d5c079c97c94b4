"""The command line, as the server hands it to clients that have no key yet."""

import asyncio
import io
import os
import re
import sys
import zipfile
from asyncio.subprocess import PIPE
from hashlib import sha256
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, make_mocked_request
from yarl import URL

from services.chassis.version import VERSION
from services.gateway.app import RunningGateway
from services.gateway.cli_wheel import CliWheel
from services.gateway.http.json_responses import HttpError

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[3]
WHEEL = f"/cli/mobiletest_cli-{VERSION}-py3-none-any.whl"


@pytest.mark.parametrize("path", ["/cli", "/cli/"])
async def test_anyone_gets_the_wheel_of_the_version_of_the_server(gateway: RunningGateway, path: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(gateway.url + path, allow_redirects=False) as leads:
            assert (leads.status, leads.headers["Cache-Control"]) == (302, "no-cache")
            assert not leads.headers["Location"].startswith("/")  # a proxy may serve all of this below a path
            location = URL(gateway.url + path).join(URL(leads.headers["Location"]))
        async with session.get(gateway.url + path) as wheel:
            content = await wheel.read()
            assert (wheel.status, wheel.url.path, wheel.headers["Cache-Control"]) == (200, WHEEL, "public, max-age=300")
            assert wheel.headers["Content-Disposition"] == f'attachment; filename="{WHEEL[5:]}"'
        known = {"If-None-Match": wheel.headers["ETag"]}
        async with session.get(gateway.url + WHEEL, headers=known) as unchanged:
            assert unchanged.status == 304
    assert (location.path, location.fragment) == (WHEEL, f"sha256={sha256(content).hexdigest()}")
    files = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {"mobiletest_cli/app.py", "mobiletest_automation/flows/parser.py", "mobiletest_automation/attempt.py"} <= {
        *files
    }


def lookups() -> set[str]:
    """The programs by which the page and the files for CI systems find the wheel."""
    files = [ROOT / "docs/command-line.md", *(ROOT / "examples/ci").rglob("*")]
    texts = [file.read_text() for file in files if file.is_file()]
    return {program for text in texts for program in re.findall(r"python3 -c '(import os, urllib[^']*)'", text)}


@pytest.mark.parametrize("path", ["", "/", "/api/v1", "/api/v1/"])
@pytest.mark.parametrize("below", ["", "/tests"])
async def test_the_wheel_is_found_by_every_address_that_the_command_takes(path: str, below: str) -> None:
    [program] = lookups()
    application = web.Application()
    for route in CliWheel().routes:
        for ending in ("", "/"):
            application.router.add_route(route.method, f"{below}{route.path}{ending}", route.handler)
    async with TestServer(application) as server:
        url = str(server.make_url(below)).rstrip("/")
        environ = {**os.environ, "MOBILETEST_URL": url + path}
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, env=environ, stdout=PIPE)
        output, _ = await process.communicate()
    assert output.decode().partition("#")[0] == url + WHEEL


async def test_another_version_is_not_there_and_the_answer_names_the_one_that_is(gateway: RunningGateway) -> None:
    async with aiohttp.request("GET", f"{gateway.url}/cli/mobiletest_cli-0.0.1-py3-none-any.whl") as other:
        assert (other.status, WHEEL in (await other.json())["detail"]) == (404, True)


async def test_a_server_without_the_wheel_says_so(tmp_path: Path) -> None:
    (tmp_path / "mobiletest_cli-0.0.1-py3-none-any.whl").write_bytes(b"of another version")
    for answer in (route.handler for route in CliWheel(tmp_path).routes):
        with pytest.raises(HttpError, match="without the wheel of the command line") as raised:
            await answer(make_mocked_request("GET", WHEEL))
        assert raised.value.status == 404
