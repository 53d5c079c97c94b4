"""What one organisation does to hurt others. Each attack repeats one kind of call; its answers do not matter."""

import asyncio
import socket
import struct
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

from tests.attack.victim import SECONDS
from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World
from tests.eventually import eventually
from tests.fakes.workspaces import FLOW, zip_files

Attack = Callable[[World], Awaitable[None]]
BEGUN = "begun"
FLOWS_AT_ONCE = 1_000


async def repeat(attack: Attack, world: World, at_once: int) -> None:
    """Repeat an attack until this process is killed, so many at the same time; say when the first call has ended."""
    begun = False

    async def again() -> None:
        nonlocal begun
        while True:
            await attack(world)
            if not begun:
                begun = True
                print(BEGUN, flush=True)

    await asyncio.gather(*(again() for _ in range(at_once)))


@asynccontextmanager
async def attacking(attack: str, world: World, at_once: int, *arguments: str) -> AsyncIterator[None]:
    """The attack goes on inside the block, in a process of its own, which gives way to the victim's measurements."""
    command = ["nice", "-n", "19", sys.executable, "-m", __name__, world.api.url, world.api.key or "", attack]
    child = await asyncio.create_subprocess_exec(*command, str(at_once), *arguments, stdout=PIPE)
    assert child.stdout is not None
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await child.stdout.readline()
        yield
        assert child.returncode is None, "the attack has ended"
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


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
    return zip_files({"AndroidManifest.xml": manifest, "classes.dex": b"dex"})


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


async def unread_documents(world: World) -> None:
    """Requests without a key for the longest document, in one connection, of which no answer is read."""
    await _not_read(world, b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 50)


async def large_apps(world: World) -> None:
    """Two hundred apps, which are a list of two megabytes."""
    for _ in range(10):
        await asyncio.gather(*(world.app(description="x" * 10_000) for _ in range(20)))


async def unread_lists(world: World) -> None:
    """Requests for such a list, in one connection, of which no answer is read."""
    request = f"GET /api/v1/apps?page_size=500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {world.api.key}\r\n\r\n"
    await _not_read(world, request.encode() * 50)


async def half_sign_ins(world: World) -> None:
    """A form of the sign-in without its end, again and again."""
    head = b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    await _not_read(world, head + b"Content-Length: 99\r\n\r\nkey=")


async def _not_read(world: World, requests: bytes) -> None:
    """Hold a connection for as long as a measurement takes, with buffers as small as they can be."""
    host, _, port = world.api.url.removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    with socket.socket() as held, suppress(ConnectionError):
        held.setblocking(False)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await loop.sock_connect(held, (host, int(port)))
        await loop.sock_sendall(held, requests)
        await asyncio.sleep(SECONDS)


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


async def run_workflow(world: World, workflow_id: str) -> None:
    """Start a workflow and wait for its end."""
    await world.run({"id": workflow_id})


async def large_app(world: World, tests: int) -> tuple[Any, Any]:
    """An app with so many attached tests, which reporting knows, and its build."""
    app = await world.app()
    build = await world.build(app, "1.0.0")
    for number in range(0, tests, FLOWS_AT_ONCE):
        names = range(number, min(tests, number + FLOWS_AT_ONCE))
        archive = zip_files({f"{name:05}.yaml": FLOW for name in names})
        params, headers = {"workspace": f"part-{number}", "app_id": app["id"]}, {"Content-Type": "application/zip"}
        created(await world.api.post("/tests/import", data=archive, headers=headers, params=params))

    async def reported() -> bool:
        return bool(created(await world.api.get(f"/apps/{app['id']}/coverage"))["total"] == tests)

    await eventually(reported)
    return app, build


async def reports(world: World, app_id: str, build_id: str) -> None:
    """Reports on an app, the gate of its build, and the page of its coverage."""
    for path in ("coverage", "workspace", "test_matrix"):
        await world.api.get(f"/apps/{app_id}/{path}")
    await world.api.get(f"/apps/builds/{build_id}/gate")
    with suppress(AssertionError):  # refused
        await world.api.download(f"/apps/{app_id}/coverage")


async def main(url: str, key: str, name: str, at_once: str, *arguments: str) -> None:
    async with Api(url, key) as api:
        await repeat(lambda world: globals()[name](world, *arguments), World(api), int(at_once))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
