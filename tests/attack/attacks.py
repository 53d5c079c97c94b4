"""What one organisation does to hurt others. Each attack repeats one kind of call; its answers do not matter."""

import asyncio
import io
import struct
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World

Attack = Callable[[World], Awaitable[None]]


@asynccontextmanager
async def attacking(attack: Attack, world: World, at_once: int) -> AsyncIterator[None]:
    """Repeat an attack inside the block, so many at the same time; it is under way when the block begins."""
    done = asyncio.Event()

    async def repeat() -> None:
        while True:
            await attack(world)
            done.set()

    tasks: list[asyncio.Task[None]] = [asyncio.create_task(repeat()) for _ in range(at_once)]
    with suppress(TimeoutError):
        async with asyncio.timeout(5):
            await done.wait()
    try:
        yield
        for task in tasks:
            assert not task.done(), task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def resolve_references(world: World) -> None:
    """A page whose field names itself by 3,000 references to a long text."""
    references = "a " * 3000
    await _resolve(world.api, f'<p id="a">{"x" * 250_000}</p><input aria-labelledby="{references}">')


async def resolve_fieldsets(world: World) -> None:
    """A page with many nested disabled groups, and many fields in the innermost."""
    depth = 200
    await _resolve(world.api, "<fieldset disabled>" * depth + "<input>" * 20_000 + "</fieldset>" * depth)


async def _resolve(api: Api, source: str) -> None:
    await api.post("/tests/resolve", {"step": 'Tap "Log in"', "source": source})


async def numbers(world: World) -> None:
    """A body of as many values as a body may have."""
    metadata = {"n": [0] * 520_000}
    await world.api.patch("/apps/builds/00000000-0000-4000-8000-000000000000", {"metadata": metadata})


async def empty_chunks(world: World) -> None:
    """An APK of six kilobytes whose manifest has 500,000 empty chunks."""
    app = await _app(world)
    await world.api.upload(app["id"], _APK, "app.apk", version=fresh("1"))


def _apk(chunks: int) -> bytes:
    body = struct.pack("<HHI", 0, 8, 8) * chunks
    manifest = struct.pack("<HHI", 3, 8, 8 + len(body)) + body
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("AndroidManifest.xml", manifest)
        archive.writestr("classes.dex", b"dex")
    return file.getvalue()


_APK = _apk(500_000)
_apps: dict[str, Any] = {}
_versions = count()


async def _app(world: World) -> Any:
    """One app for all attacks of an organisation."""
    key = world.api.key or ""
    if key not in _apps:
        _apps[key] = await world.app()
    return _apps[key]


async def large_uploads(world: World) -> None:
    """A build of 64 MB."""
    app = await _app(world)
    await world.api.upload(app["id"], next(_versions).to_bytes(8, "big") * 8 * 1024**2, "app.bin", version=fresh("1"))


async def flood(world: World) -> None:
    """Reads without a pause."""
    await world.api.get("/apps?page_size=500")


async def heavy_model(world: World, elements: int) -> Any:
    """A workflow of a test on a simulated app with so many elements; None if the service refuses the model."""
    app, test = await world.app(), await world.test(["launchApp", *[{"assertVisible": "Log in"}] * 40])
    rows = "\n".join(f"      - {{type: text, text: Row {number} of many}}" for number in range(elements))
    model = f"app_model: 1\napp: {{id: com.example.heavy}}\nstart: home\nscreens:\n  home:\n    elements:\n{rows}\n"
    answer = await world.api.upload(app["id"], model.encode(), version="1.0.0")
    if answer.status >= 400:
        return None
    await world.attach(app, test)
    return await world.workflow(test)


async def urgent_runs(world: World, workflow: Any, runs: int) -> list[Any]:
    """The executions of so many starts with the highest priority."""
    path = "/execution/api/execute_workflow_id_async"
    body = {"workflow_id": workflow["id"], "priority": 10}
    answers = await asyncio.gather(*(world.api.post(path, body) for _ in range(runs)))
    return [created(answer) for answer in answers if answer.status != 429]
