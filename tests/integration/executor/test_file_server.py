"""Files for hubs: under a secret URL, while they are offered."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
from yarl import URL

from services.executor.worker.file_server import FileServer


async def fetched(url: str, **fields: object) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as client, client.get(url, **fields) as answer:  # type: ignore[arg-type]
        return answer.status, await answer.read()


async def test_a_file_is_served_only_while_it_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "app.apk"
    path.write_bytes(b"0123456789" * 100_000)
    async with FileServer("127.0.0.1:0") as server:
        with server.offered(path) as url, server.offered(path) as other:
            assert url != other
            assert url.endswith("/app.apk")
            assert await fetched(url) == (200, path.read_bytes())
            assert await fetched(url, headers={"Range": "bytes=5-9"}) == (206, b"56789")
            async with aiohttp.ClientSession() as client, client.head(url) as head:
                assert (head.status, head.headers["Content-Length"]) == (200, "1000000")
        assert (await fetched(url))[0] == 404


async def test_other_urls_are_not_found(tmp_path: Path) -> None:
    path = tmp_path / "app.apk"
    path.write_bytes(b"app")
    (tmp_path / "secret").write_bytes(b"secret")
    async with FileServer("127.0.0.1:0") as server:
        with server.offered(path) as url:
            base, token, _ = url.rsplit("/", 2)
            for wrong in (
                base,
                f"{base}/{token}",
                f"{base}/{token}/secret",
                f"{base}/{token}/..%2Fsecret",
                f"{base}/x/app.apk",
            ):
                assert (await fetched(wrong))[0] == 404, wrong


async def test_a_stalled_download_does_not_delay_the_shutdown(tmp_path: Path) -> None:
    path = tmp_path / "app.apk"
    path.write_bytes(bytes(50_000_000))
    async with AsyncExitStack() as after, asyncio.timeout(20), FileServer("127.0.0.1:0") as server:
        with server.offered(path) as address:
            url = URL(address)
            reader, writer = await asyncio.open_connection(url.host, url.port, limit=1000)
            after.callback(writer.close)
            writer.write(f"GET {url.raw_path} HTTP/1.1\r\nHost: worker\r\n\r\n".encode())
            assert await reader.read(12) == b"HTTP/1.1 200"


async def test_urls_use_the_configured_address(tmp_path: Path) -> None:
    async with FileServer("127.0.0.1:0", "https://files.example/base/") as server:
        with server.offered(tmp_path / "Shop 2.apk") as url:
            assert url.startswith("https://files.example/base/")
            assert url.endswith("/Shop%202.apk")
