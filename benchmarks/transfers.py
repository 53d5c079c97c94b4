"""Large uploads and downloads through the gateway: `python -m benchmarks.transfers [rounds]`.

The peer is one aiohttp process that copies the body to a file and the file to a body, in turns with ours in the same
run. Ours also parses a form, checks the key and the limits, hashes, inspects and stores.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Protocol

import uvloop

from benchmarks import limits
from benchmarks.file_transfer import Content, get, post_form, put
from benchmarks.goals import Goal, show
from benchmarks.peers import file_server
from benchmarks.process_memory import MEBIBYTE, PeakMemory
from deploy.local import stack
from deploy.local.stack import Stack
from examples.client import Client

SIZE = 500 * MEBIBYTE
ROUNDS = 3
AT_ONCE, SIZE_AT_ONCE = 8, 128 * MEBIBYTE
SHARE = 0.6
MEMORY_MIB = 64
MEASURED = ("gateway", "catalog")
UNLIMITED_RATE = {"MOBILETEST_ORGANISATION_UPLOAD_BYTES_PER_SECOND": str(10**12)}


class Side(Protocol):
    """A server that takes files and gives them back."""

    def send(self, content: Content) -> str:
        """Upload; returns the URL to download from."""

    def receive(self, url: str, size: int, *, hashed: bool = False) -> str:
        """Download; returns the SHA-256, of nothing unless `hashed`."""


class Peer:
    """The aiohttp process."""

    def __init__(self, url: str) -> None:
        self._url = url

    def send(self, content: Content) -> str:
        url = f"{self._url}/{content.name}"
        put(url, content)
        return url

    def receive(self, url: str, size: int, *, hashed: bool = False) -> str:
        return get(url, size=size, hashed=hashed)


class Ours:
    """The gateway."""

    def __init__(self, url: str, api_key: str, app_id: str) -> None:
        self._builds = f"{url}/api/v1/apps/{app_id}/builds"
        self._url = url
        self._api_key = api_key

    def send(self, content: Content) -> str:
        build = post_form(self._builds, self._api_key, {"version": content.name}, content)
        return f"{self._url}{build['download_url']}"

    def receive(self, url: str, size: int, *, hashed: bool = False) -> str:
        return get(url, self._api_key, size=size, hashed=hashed)


@dataclass(slots=True)
class Rates:
    """MiB/s of each round, and by how many MiB the gateway or the catalog rose at most in one of ours."""

    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    risen: list[float] = field(default_factory=list)

    def goals(self, name: str) -> list[Goal]:
        ours, peer = median(self.ours), median(self.peer)
        behind = f"{ours:,.0f} and {peer:,.0f} MiB/s, median of {len(self.ours)}"
        memory = f"the most by which the peak of {' or '.join(MEASURED)} exceeded what it had before"
        return [
            Goal(f"{name}: share of the peer's rate", ours / peer, SHARE, figures=behind),
            Goal(f"{name}: memory", max(self.risen), MEMORY_MIB, "MiB", at_most=True, figures=memory),
        ]


@dataclass(slots=True)
class Comparison:
    """Uploads and downloads of one size, of so many files at once."""

    size: int
    count: int
    uploads: Rates = field(default_factory=Rates)
    downloads: Rates = field(default_factory=Rates)

    async def round(self, running: Stack, ours: Side, peer: Side) -> None:
        contents = await asyncio.to_thread(lambda: [Content(self.size) for _ in range(self.count)])
        their_urls = await self._timed(self.uploads.peer, [partial(peer.send, c) for c in contents])
        peak = PeakMemory(running.pid_of(name) for name in MEASURED)
        our_urls = await self._timed(self.uploads.ours, [partial(ours.send, c) for c in contents])
        self.uploads.risen.append(peak.risen())
        await self._timed(self.downloads.peer, [partial(peer.receive, url, self.size) for url in their_urls])
        peak = PeakMemory(running.pid_of(name) for name in MEASURED)
        await self._timed(self.downloads.ours, [partial(ours.receive, url, self.size) for url in our_urls])
        self.downloads.risen.append(peak.risen())
        received = await asyncio.to_thread(ours.receive, our_urls[0], self.size, hashed=True)
        if received != await asyncio.to_thread(contents[0].sha256):
            raise AssertionError("a download differs from what was uploaded")

    async def _timed(self, rates: list[float], transfers: Sequence[Callable[[], str]]) -> list[str]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(self.count) as threads:
            began = time.perf_counter()
            results = await asyncio.gather(*(loop.run_in_executor(threads, transfer) for transfer in transfers))
            rates.append(self.size * self.count / MEBIBYTE / (time.perf_counter() - began))
        return results


async def measure(rounds: int) -> tuple[Comparison, Comparison]:
    """One file at a time, and eight at once."""
    single, several = Comparison(SIZE, 1), Comparison(SIZE_AT_ONCE, AT_ONCE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = folder / "peer"
        theirs.mkdir()
        env = {**limits.ENVIRONMENT, **UNLIMITED_RATE, "MOBILETEST_SPOOL_FOLDER": str(folder / "spool")}
        async with stack.run_stack(folder / "stack", workers=0, extra_env=env) as running:
            ours = Ours(running.url, running.api_key, await _new_app(running))
            async with file_server.running(theirs) as url:
                await Comparison(MEBIBYTE, AT_ONCE).round(running, ours, Peer(url))  # imports, connections
                for comparison, times in ((single, rounds), (several, 1)):
                    for _ in range(times):
                        await comparison.round(running, ours, Peer(url))
                        await asyncio.to_thread(_empty, theirs, folder / "stack" / "objects")
    return single, several


async def _new_app(running: Stack) -> str:
    async with Client(running.url, running.api_key) as client:
        app = await client.call("POST", "apps", json={"name": "Large", "platform": "Android"})
    return str(app["id"])


def _empty(*folders: Path) -> None:
    """So that the disk is not written to during the next round."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                path.unlink()


async def goals(rounds: int = ROUNDS) -> list[Goal]:
    """500 MiB up and down, and eight at once."""
    single, several = await measure(rounds)
    names = f"{SIZE // MEBIBYTE} MiB", f"{AT_ONCE} x {SIZE_AT_ONCE // MEBIBYTE} MiB at once"
    return [
        goal
        for name, comparison in zip(names, (single, several), strict=True)
        for way, rates in (("up", comparison.uploads), ("down", comparison.downloads))
        for goal in rates.goals(f"{name} {way}")
    ]


if __name__ == "__main__":
    show("Uploads and downloads", uvloop.run(goals(*map(int, sys.argv[1:]))))
