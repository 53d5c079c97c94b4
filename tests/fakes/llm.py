"""A model's endpoint that speaks the real protocol over HTTP: scripted, in every bad mood, or with a mind."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from aiohttp import web

Json = dict[str, Any]
Reaction = Callable[[web.Request, Json], Awaitable[web.StreamResponse]]
# Makes a message (content, tool_calls) of a request's body.
Mind = Callable[[Json], Json]

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def call(name: str, /, **arguments: object) -> Json:
    """A message that calls a tool."""
    return calls((name, json.dumps(arguments)))


def calls(*called: tuple[str, str]) -> Json:
    """A message with several calls, their arguments as they are."""
    made = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(called)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def says(text: str) -> Json:
    return {"role": "assistant", "content": text}


def completion(message: Json, usage: object = USAGE) -> Json:
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def answers(message: Json, usage: object = USAGE) -> Reaction:
    return body(json.dumps(completion(message, usage)).encode())


def body(content: bytes, status: int = 200, **headers: str) -> Reaction:
    async def react(request: web.Request, asked: Json) -> web.StreamResponse:
        sent = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return web.Response(body=content, status=status, headers=sent)

    return react


def refuses(status: int, message: str = "no", **headers: str) -> Reaction:
    return body(json.dumps({"error": {"message": message}}).encode(), status, **headers)


def never() -> Reaction:
    """Takes the question and does not answer."""

    async def react(request: web.Request, asked: Json) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    return react


def resets() -> Reaction:
    """Breaks the connection in the middle of the answer."""

    async def react(request: web.Request, asked: Json) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices"')
        if request.transport is not None:
            request.transport.abort()
        return response

    return react


def floods(size: int) -> Reaction:
    """An answer of so many bytes."""
    return body(b'{"x": "' + b"x" * size + b'"}')


class FakeEndpoint:
    """Reacts as scripted, in turn, and then by its mind; keeps what it was asked."""

    def __init__(self, script: Iterable[Reaction | Json] = (), mind: Mind | None = None) -> None:
        self.script: deque[Reaction] = deque(answers(each) if isinstance(each, dict) else each for each in script)
        self.mind = mind
        self.asked: list[Json] = []
        self.keys: list[str] = []
        self.url = ""

    def add(self, *script: Reaction | Json) -> None:
        self.script.extend(answers(each) if isinstance(each, dict) else each for each in script)

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator["FakeEndpoint"]:
        """On this machine, at `url`, while the context lasts."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._react)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", port)
            await site.start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            yield self
        finally:
            await runner.cleanup()

    async def _react(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.asked.append(asked)
        self.keys.append(request.headers.get("Authorization", ""))
        if self.script:
            return await self.script.popleft()(request, asked)
        if self.mind is None:
            return web.json_response({"error": {"message": "the script has ended"}}, status=400)
        return web.json_response(completion(self.mind(asked)))


def tool_names(asked: Json) -> set[str]:
    return {tool["function"]["name"] for tool in asked["tools"]}


def text_of(message: Json) -> str:
    """All text of a message."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def last_screen(asked: Json) -> Json:
    """The newest screen of a conversation, read out of its marks."""
    for message in reversed(asked["messages"]):
        lines = text_of(message).splitlines() if message["role"] == "user" else []
        for above, line in pairwise(lines):
            if above.startswith(("<screen ", "<after ")):
                screen: Json = json.loads(line)
                return screen
    return {"size": [0, 0], "elements": []}
