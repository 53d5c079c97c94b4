"""An organisation that works as teams do, and measures how long each thing takes it."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from statistics import quantiles
from time import monotonic
from typing import Any

from tests.e2e.client import Answer, fresh
from tests.e2e.world import World

# Of a measurement: a hundred reads, and so a 99th percentile.
SECONDS = 5.0
READ_EVERY = 0.05
UPLOAD_EVERY = 0.2
SCREEN = (
    '<hierarchy><node class="android.widget.Button" text="Log in" bounds="[0,0][100,50]" clickable="true"/></hierarchy>'
)


@dataclass
class Measured:
    """Seconds by kind of work, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)

    def p99(self) -> Mapping[str, float]:
        """The 99th percentile by kind; the largest of fewer than a hundred."""
        return {
            kind: quantiles(times, n=100)[98] if len(times) >= 100 else max(times)
            for kind, times in self.seconds.items()
        }


class Victim:
    """Reads an app and its report, resolves a sentence, uploads a small build and runs a test, over and over."""

    def __init__(self, world: World, app: Any, workflow: Any) -> None:
        self._world = world
        self._app = app
        self._workflow = workflow

    @classmethod
    async def prepare(cls, world: World) -> "Victim":
        app, _, _, workflow = await world.passing_app()
        victim = cls(world, app, workflow)
        await victim.measure(1)  # connections, caches and children are warm
        return victim

    async def measure(self, seconds: float) -> Measured:
        """Work for so long."""
        measured, end = Measured(), monotonic() + seconds
        await asyncio.gather(
            self._repeat(measured, "read", self._read, READ_EVERY, end),
            self._repeat(measured, "report", self._report, READ_EVERY, end),
            self._repeat(measured, "resolve", self._resolve, READ_EVERY, end),
            self._repeat(measured, "upload", self._upload, UPLOAD_EVERY, end),
            self._repeat(measured, "run", self._run, 0, end),
        )
        return measured

    async def _repeat(
        self, measured: Measured, kind: str, work: Callable[[], Awaitable[str]], every: float, end: float
    ) -> None:
        while (began := monotonic()) < end:
            failure = await work()
            took = monotonic() - began
            measured.seconds[kind].append(took)
            if failure:
                measured.failures.append(f"{kind}: {failure}")
            await asyncio.sleep(max(0.0, every - took))  # the pace of the organisation

    async def _read(self) -> str:
        return _failure(await self._world.api.get(f"/apps/{self._app['id']}"))

    async def _report(self) -> str:
        return _failure(await self._world.api.get(f"/apps/{self._app['id']}/workspace"))

    async def _resolve(self) -> str:
        request = {"step": 'Tap "Log in"', "source": SCREEN, "platform": "Android"}
        return _failure(await self._world.api.post("/tests/resolve", request))

    async def _upload(self) -> str:
        content = fresh("build").encode() * 300
        return _failure(await self._world.api.upload(self._app["id"], content, "app.bin", version=fresh("1")))

    async def _run(self) -> str:
        execution = await self._world.run(self._workflow)
        return "" if execution["success"] else str(execution["failure"])


# What a victim measures on an idle stack, and the victim.
Bench = tuple[Measured, Victim]


def _failure(answer: Answer) -> str:
    return "" if answer.status < 300 else f"{answer.status} {answer.text[:200]}"
