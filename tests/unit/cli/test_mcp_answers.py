"""What the tools for agents ask the server for, and what of its texts they hand on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from mobiletest_cli.api import Api
from mobiletest_cli.configuration import Server
from mobiletest_cli.mcp_server.failure_tools import MOST_IMAGE_BYTES
from mobiletest_cli.mcp_server.server import build_server
from tests.hostile_texts import ANYTHING, commands, controls
from tests.unit.cli.report_samples import EXECUTION, run_id

RUN: dict[str, Any] = {
    "id": run_id("run"),
    "execution_id": EXECUTION,
    "test_id": run_id("test"),
    "test_name": ANYTHING,
    "source_path": ANYTHING,
    "platform": "Android",
    "status": "completed",
    "success": False,
    "resolved_build_version": ANYTHING,
    "attempt_number": 1,
    "failure": {"message": ANYTHING, "category": "assertion_failed", "reason": ANYTHING, "step_index": 0},
    "attempts": [
        {
            "number": 1,
            "device": ANYTHING,
            "simulated": False,
            "failure": None,
            "artifacts": [
                {"name": "log.txt", "kind": "log", "url": "x", "size_bytes": 1, "content_type": "text/plain"}
            ],
            "steps": [
                {"index": 0, "text": ANYTHING, "message": ANYTHING, "status": "failed", "element": "", "tree": "t.xml"}
                | {"screenshot": ""}
            ],
        }
    ],
}
EXECUTION_DOCUMENT = {"id": EXECUTION, "status": "completed", "success": False, "created_at": "2026-11-28T09:00:00Z"}
EXECUTION_DOCUMENT |= {"workflow_name": ANYTHING, "name": None, "counts": {"total": 1}, "ci": {"branch": ANYTHING}}
EXECUTION_DOCUMENT |= {"execution_time_seconds": 1.0}


def respond(request: httpx.Request) -> httpx.Response:
    """As a server that has nothing but hostile texts."""
    path = request.url.path.removeprefix("/api/v1/")
    if "/artifacts/" in path:
        return httpx.Response(200, content=ANYTHING.encode(errors="replace"))
    if path.endswith("/runs"):
        return document({"items": [RUN], "has_next": False})
    return document(EXECUTION_DOCUMENT if path == f"executions/{EXECUTION}" else RUN)


def document(value: Any) -> httpx.Response:
    """With halves of characters, which JSON can escape."""
    return httpx.Response(200, content=json.dumps(value).encode())


def client_of(asked: list[str], folder: Path) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return respond(request)

    api = Api(Server("http://10.0.0.7", "mt_key"), patience=0, transport=httpx.MockTransport(answer))
    return Client(build_server(api, folder, allow_run=True))


def texts(value: Any) -> list[str]:
    """All texts of a JSON value."""
    if isinstance(value, dict):
        return [each for pair in value.items() for part in pair for each in texts(part)]
    return [each for part in value for each in texts(part)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize("tool", ["get_execution", "wait_for_execution", "read_failure", "cancel_execution"])
async def test_texts_of_the_server_act_on_no_terminal(tmp_path: Path, tool: str) -> None:
    async with client_of([], tmp_path) as client:
        answer = await client.call_tool(tool, {"execution": EXECUTION})
    [content] = answer.content
    shown: Any = json.loads(content.text) if not answer.is_error else content.text  # type: ignore[union-attr]
    assert "PATH" in str(shown)
    for text in (content.text, *texts(shown), *texts(answer.structured_content or {})):  # type: ignore[union-attr]
        assert (list(commands(text)), controls(text)) == ([], set())


@pytest.mark.parametrize(
    "wrong", ["../settings/api-keys", "..", "5d1c0a52", f"{EXECUTION}/runs", f"{EXECUTION}?a=b", ""]
)
async def test_only_ids_become_part_of_an_address(tmp_path: Path, wrong: str) -> None:
    asked: list[str] = []
    needed = {"step": "launchApp", "build": None, "run": EXECUTION, "test": "Pay", "text": "x"}
    async with client_of(asked, tmp_path) as client:
        tools = [tool for tool in (await client.list_tools()).tools if "execution" in tool.input_schema["properties"]]
        for tool in tools:
            more = {name: needed[name] for name in tool.input_schema.get("required", ()) if name != "execution"}
            answer = await client.call_tool(tool.name, {"execution": wrong, **more})
            assert answer.is_error, tool.name
            assert "not the id of an execution" in answer.content[0].text  # type: ignore[union-attr]
    assert len(tools) >= 8
    assert asked == []


@pytest.mark.parametrize(("size", "shown"), [(MOST_IMAGE_BYTES, True), (MOST_IMAGE_BYTES + 1, False)])
async def test_a_picture_is_as_large_as_its_bytes(tmp_path: Path, size: int, shown: bool) -> None:
    """Whatever the server says of its size; what is too large is not read to its end."""
    named = {"name": "s.png", "kind": "screenshot", "url": "x", "size_bytes": 1, "content_type": "image/png"}
    [attempt] = RUN["attempts"]
    [step] = attempt["steps"]
    run = {**RUN, "attempts": [{**attempt, "artifacts": [named], "steps": [{**step, "screenshot": "s.png"}]}]}
    read = 0

    def picture() -> Iterator[bytes]:
        nonlocal read
        for part in (size, 1, 1) if not shown else (size,):
            read += part
            yield bytes(part)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/artifacts/s.png"):
            return httpx.Response(200, content=picture())
        return respond(request) if request.url.path.endswith(("/runs", "/artifacts/t.xml")) else document(run)

    api = Api(Server("http://10.0.0.7", "mt_key"), patience=0, transport=httpx.MockTransport(answer))
    async with Client(build_server(api, tmp_path, allow_run=True)) as client:
        content = (await client.call_tool("read_failure", {"execution": EXECUTION})).content
    assert [each.type for each in content] == ["text", "image" if shown else "text"]
    assert read == size
    if not shown:
        assert content[1].text == "The screenshot is too large to be shown here."  # type: ignore[union-attr]
