"""Downloads of a gateway that reads the object store itself: the service only says where the bytes are."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from google.api.httpbody_pb2 import HttpBody

from services.chassis.byte_ranges import find_part
from services.chassis.errors import NotFound
from services.chassis.stored_transfers import READS_OBJECTS, http_bodies
from services.gateway.app import RunningGateway
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

MIB = 1024 * 1024
CONTENT = os.urandom(3 * MIB + 17)
SENT_BY_THE_SERVICE = b"from the service"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects")
    (folder / "org").mkdir()
    (folder / "org" / "build").write_bytes(CONTENT)
    return folder


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"idle_timeout_seconds": 1}


class _Context:
    """The call as the service sees it."""

    def __init__(self, metadata: dict[str, str]) -> None:
        self._metadata = metadata

    def invocation_metadata(self) -> Any:
        return tuple(self._metadata.items())


def script_download(backends: FakeBackends, key: str, *, size: int = len(CONTENT)) -> None:
    """A build of this size with this key, as the services answer; its bytes from the service are few."""

    def part_of(request: Any) -> Any:
        return find_part(request.range if request.HasField("range") else None, size=size, etag="abc")

    async def chunks() -> AsyncIterator[bytes]:
        yield SENT_BY_THE_SERVICE

    def artifact(request: Any) -> AsyncIterator[HttpBody]:
        context = _Context(backends.of("DownloadBuild")[-1].metadata)
        return http_bodies(context, "image/png", chunks(), key=key, part=part_of(request))

    backends.initial_metadata = lambda request: part_of(request).headers("abc")
    backends.on("DownloadBuild", artifact)


def path() -> str:
    return f"/api/v1/apps/builds/{uuid4()}/download"


async def test_a_large_file_is_read_from_the_store(client: Client, backends: FakeBackends) -> None:
    script_download(backends, "org/build")
    answer = await client("GET", path())
    assert (answer.status, answer.body == CONTENT) == (200, True)
    named = ("Content-Type", "Content-Length", "ETag", "Accept-Ranges", "Cache-Control")
    expected = ["image/png", str(len(CONTENT)), '"abc"', "bytes", "private, no-cache"]
    assert [answer.headers[name] for name in named] == expected
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")


@pytest.mark.parametrize(("first", "last"), [(0, MIB), (7, 2 * MIB + 7), (MIB + 1, len(CONTENT) - 1)])
async def test_a_part_is_read_from_the_store(client: Client, backends: FakeBackends, first: int, last: int) -> None:
    script_download(backends, "org/build")
    answer = await client("GET", path(), headers={"Range": f"bytes={first}-{last}"})
    assert (answer.status, answer.body == CONTENT[first : last + 1]) == (206, True)
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/{len(CONTENT)}"


async def test_headers_and_conditions_are_as_without_the_store(client: Client, backends: FakeBackends) -> None:
    script_download(backends, "org/build")
    head = await client("HEAD", path())
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", str(len(CONTENT)))
    known = await client("GET", path(), headers={"If-None-Match": '"abc"'})
    assert (known.status, known.body, known.headers["ETag"]) == (304, b"", '"abc"')


@pytest.mark.parametrize("key", ["org/missing", "org", "other org/build"])
async def test_what_the_store_does_not_give_comes_from_the_service(
    client: Client, backends: FakeBackends, key: str
) -> None:
    """As when the folder is not shared: whole, or with the error of the service."""
    script_download(backends, key, size=2 * MIB)
    async with asyncio.timeout(20):  # less than an idle connection is kept
        with pytest.raises(aiohttp.ClientPayloadError):  # the scripted service sends too few bytes
            await client("GET", path())
    assert [READS_OBJECTS[0] in call.metadata for call in backends.of("DownloadBuild")] == [True, False]
    script_download(backends, key)
    scripted = backends.answers["DownloadBuild"]

    async def unless_sending(request: Any) -> AsyncIterator[HttpBody]:
        if READS_OBJECTS[0] not in backends.of("DownloadBuild")[-1].metadata:
            raise NotFound("Artifact not stored yet", reason="ARTIFACT_NOT_STORED")
        async for body in scripted(request):
            yield body

    backends.on("DownloadBuild", unless_sending)
    for method in ("GET", "HEAD"):
        assert (await client(method, path())).status == 404


async def test_an_object_that_is_too_short_is_a_broken_connection(client: Client, backends: FakeBackends) -> None:
    script_download(backends, "org/build", size=len(CONTENT) + 1)
    with pytest.raises(aiohttp.ClientPayloadError):
        await client("GET", path())


async def test_a_file_that_the_client_does_not_read_is_closed(
    client: Client, backends: FakeBackends, gateway: RunningGateway, store: Path
) -> None:
    large = store / "org" / "large"
    with large.open("wb") as file:
        file.truncate(64 * MIB)
    script_download(backends, "org/large", size=64 * MIB)
    async with client.session.get(gateway.url + path(), headers={"Authorization": f"Bearer {client.key}"}) as answer:
        assert answer.status == 200
        assert _is_open(large)
        await eventually(lambda: not _is_open(large))


def _is_open(path: Path) -> bool:
    opened = (os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))
    return str(path) in opened
