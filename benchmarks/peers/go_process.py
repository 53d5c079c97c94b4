"""Builds the Go peer in build/ and starts its two processes: grpc-gateway, and a gRPC service on MongoDB."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import google.api

from benchmarks.comparison import Side
from benchmarks.load import Target
from benchmarks.peers.documents import DATABASE
from benchmarks.peers.process import answers
from deploy.local.child import Child, ChildSpec
from deploy.local.ports import LOOPBACK, Ports, accepts
from deploy.local.stack import Stack

GO = "Go"
SOURCES = Path(__file__).with_name("go")
BUILD = Path(__file__).resolve().parents[2] / "build" / "go-peer"
_USUAL_FOLDER = "/usr/local/go/bin"
_START_SECONDS = 30.0


class GoMissing(Exception):
    """There is no Go on this machine."""


class BuildFailed(Exception):
    """A step of the build failed; the message has its output."""


@asynccontextmanager
async def go_peer(running: Stack) -> AsyncIterator[Side]:
    """The peer on the MongoDB of a stack, with the documents of the FastAPI peer.

    Raises:
        GoMissing: Go is not installed.
        BuildFailed: the sources do not compile.
    """
    binaries = await build()
    with Ports() as ports, tempfile.TemporaryDirectory() as folder:
        http, grpc = ports.take(), ports.take()
        service_env = {"PEER_MONGO_URI": running.mongo_uri, "PEER_DATABASE": DATABASE}
        target = Target(f"http://{LOOPBACK}:{http}", running.api_key)
        async with AsyncExitStack() as closing:
            service = _start("service", binaries, folder, service_env | _listen(grpc), closing)
            await service.ready(lambda: accepts(grpc), within=_START_SECONDS)
            gateway_env = {"PEER_SERVICE": f"{LOOPBACK}:{grpc}"}
            gateway = _start("gateway", binaries, folder, gateway_env | _listen(http), closing)
            await gateway.ready(lambda: answers(target), within=_START_SECONDS)
            processes = {"gateway": gateway.pid, "service": service.pid, "mongod": running.pid_of("mongod")}
            yield Side(GO, target, processes)


def _listen(port: int) -> dict[str, str]:
    return {"PEER_LISTEN": f"{LOOPBACK}:{port}"}


def _start(name: str, binaries: Path, folder: str, env: Mapping[str, str], closing: AsyncExitStack) -> Child:
    child = Child(ChildSpec(f"go {name}", [str(binaries / name)], Path(folder) / f"{name}.log", env))
    child.start()
    closing.push_async_callback(child.stop)
    return child


async def build() -> Path:
    """The folder of the two binaries, generated and compiled if the sources are newer.

    Raises:
        GoMissing: Go is not installed.
        BuildFailed: the sources do not compile.
    """
    go = shutil.which("go") or shutil.which("go", path=_USUAL_FOLDER)
    if go is None:
        raise GoMissing
    shutil.copytree(SOURCES, BUILD, dirs_exist_ok=True)
    binaries = BUILD / "bin"
    await _run(go, "install", "tool", GOBIN=str(binaries))
    await _generate(binaries)
    await _run(go, "build", "-o", f"{binaries}/", "./gateway", "./service")
    return binaries


async def _generate(plugins: Path) -> None:
    """Write apps/*.pb.go, with protoc from grpcio-tools and the plugins that go.mod pins."""
    googleapis = Path(next(iter(google.api.__path__))).parent.parent
    outputs = [f"--{kind}_out=module=mobiletest/peer:{BUILD}" for kind in ("go", "go-grpc", "grpc-gateway")]
    path = f"{plugins}{os.pathsep}{os.environ['PATH']}"
    includes = (f"-I{BUILD}", f"-I{googleapis}")
    await _run(sys.executable, "-m", "grpc_tools.protoc", *includes, *outputs, "apps.proto", PATH=path)


async def _run(*argv: str, **env: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=BUILD,
        env={**os.environ, **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise BuildFailed(f"{' '.join(argv)}\n{output.decode(errors='replace')}")
