"""Clients that generators make of the OpenAPI document compile, upload a build, start its test and wait for the end."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import skip_or_fail
from tests.e2e.client import Api, fresh
from tests.openapi_document import DOCUMENT
from tests.shared_infrastructure import SharedStack

PROGRAMS = Path(__file__).with_name("clients")
TOOLS = Path(__file__).parents[2] / "build" / "tools" / "clients"
JARS = TOOLS / "java" / "*"
MODELS_AND_CALLS = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"

Command = tuple[str | Path, ...]


async def make_python(folder: Path) -> Command:
    await _openapi_generator(folder, "python", "packageName=mobiletest_client")
    return (sys.executable, PROGRAMS / "python" / "example.py")


async def make_java(folder: Path) -> Command:
    await _openapi_generator(folder, "java", "library=native")
    sources = (folder / "src" / "main").rglob("*.java")
    program = PROGRAMS / "java" / "Example.java"
    await _run(folder, "javac", "-nowarn", "-proc:none", "-d", "classes", "-cp", JARS, *sources, program)
    return ("java", "-cp", f"classes:{JARS}", "Example")


async def make_go(folder: Path) -> Command:
    for file in (PROGRAMS / "go").iterdir():
        (folder / file.name).symlink_to(file)
    await _run(folder, TOOLS / "oapi-codegen", "-config", "oapi-codegen.yaml", "openapi.json")
    await _run(folder, "go", "build", "-o", "example", ".")
    return (folder / "example",)


async def make_typescript(folder: Path) -> Command:
    for name in ("package.json", "tsconfig.json", "example.ts"):
        (folder / name).symlink_to(PROGRAMS / "typescript" / name)
    (folder / "node_modules").symlink_to(TOOLS / "typescript" / "node_modules")
    programs = folder / "node_modules" / ".bin"
    options = ("--default-non-nullable=false", "--output", "api.d.ts")
    await _run(folder, programs / "openapi-typescript", "openapi.json", *options)
    await _run(folder, programs / "tsc", "--preserveSymlinks")
    return ("node", "example.js")


async def _openapi_generator(folder: Path, language: str, option: str) -> None:
    arguments = ("generate", "-g", language, "-i", "openapi.json", "-o", ".", f"--additional-properties={option}")
    jar = next((TOOLS / "java").glob("openapi-generator-cli-*.jar"))
    # Without optimising, which takes longer than it saves here.
    java = ("java", "-XX:TieredStopAtLevel=1", "-jar", jar)
    await _run(folder, *java, *arguments, "--global-property", MODELS_AND_CALLS)


async def _run(folder: Path, *command: str | Path) -> str:
    """What a program prints; AssertionError with its errors if it fails."""
    environment = os.environ | {"GOFLAGS": "-mod=mod", "PYTHONPATH": str(folder)}
    program, *arguments = map(str, command)
    process = await asyncio.create_subprocess_exec(
        program, *arguments, cwd=folder, stdout=PIPE, stderr=PIPE, env=environment
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, (output + errors).decode()[-5000:]
    return output.decode()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("make_client", [make_python, make_java, make_go, make_typescript])
async def test_a_generated_client_uploads_a_build_and_runs_a_test_on_it(
    make_client: Callable[[Path], Awaitable[Command]], tmp_path: Path, stack: SharedStack
) -> None:
    if not (TOOLS / ".ready").exists():
        skip_or_fail("the generators are not installed: make api")
    generated = tmp_path / "client"
    generated.mkdir()
    (generated / "openapi.json").write_text(json.dumps(DOCUMENT))
    artifact = tmp_path / "app.bin"
    artifact.write_text(fresh("artifact"))
    command = await make_client(generated)
    result: Any = json.loads(await _run(generated, *command, stack.url, stack.api_key, artifact))
    async with Api(stack.url, stack.api_key) as api:
        uploaded = await api.get(f"/apps/builds/{result['build']}/download")
        (run,) = (await api.get(f"/executions/{result['execution']}/runs")).body["items"]
    assert uploaded.text == artifact.read_text()
    assert (result["passed"], run["success"], run["build_id"]) == (1, True, result["build"])
