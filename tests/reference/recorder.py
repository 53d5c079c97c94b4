"""Calls operations by their operationId, and keeps request and response as the documentation shows them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import aiohttp
from aiohttp import hdrs

from services.gateway.openapi.examples import JSON, Example, ExampleRequest

TEXTS = ("application/xml", "text/event-stream")
# How much is shown: characters of texts, and the longest JSON in bytes.
MAX_TEXT, MAX_JSON = 2400, 64 * 1024
_PARAMETER = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class File:
    """A file to upload, as it would lie in the folder of the caller."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """The body and the headers of a request: at most one of `json`, `form` and `file`."""

    json: object = None
    form: Mapping[str, str | File] | None = None
    file: File | None = None
    headers: Mapping[str, str] | None = None

    def shown(self) -> dict[str, Any]:
        """The body as an example has it."""
        if self.json is not None:
            return {"json": self.json}
        if self.form is not None:
            return {"form": {name: _shown_field(value) for name, value in self.form.items()}}
        return {} if self.file is None else {"file": self.file.name}

    def shown_headers(self) -> dict[str, str]:
        """Those that a caller has to write: multipart forms get theirs from the program that sends them."""
        given = dict(self.headers or {})
        if self.json is not None:
            return {"Content-Type": "application/json"} | given
        return given if self.file is None else {"Content-Type": "application/zip"} | given

    def content(self) -> Any:
        """The body as aiohttp sends it."""
        if self.json is not None:
            return json.dumps(self.json).encode()
        if self.form is None:
            return self.file and self.file.content
        form = aiohttp.FormData()
        for name, value in self.form.items():
            if isinstance(value, File):
                form.add_field(name, value.content, filename=value.name, content_type="application/octet-stream")
            else:
                form.add_field(name, value)
        return form


NOTHING = Sent()


class Recorder:
    """A client with one API key. `examples` are in the order of the calls."""

    def __init__(self, url: str, key: str, document: Mapping[str, Any]) -> None:
        """`document` is the OpenAPI document."""
        self.examples: dict[str, Example] = {}
        self._operations = {
            operation["operationId"]: (verb.upper(), path)
            for path, item in document["paths"].items()
            for verb, operation in item.items()
        }
        headers = {"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"}
        self._session = aiohttp.ClientSession(url, headers=headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def record(self, name: str, *ids: str, sent: Sent = NOTHING, **query: object) -> Any:
        """Call an operation that must succeed, as its example; its JSON, or its bytes.

        `ids` are the parameters of the path.
        """
        example, content = await self._call(name, ids, sent, query)
        self.examples[name] = example
        response = example["response"]
        if response["media_type"] == JSON and len(content) <= MAX_JSON:
            response["json"] = json.loads(content)
        elif response["media_type"] in TEXTS:
            response["text"] = _beginning(content.decode())
        return _parsed(example, content)

    async def call(self, name: str, *ids: str, sent: Sent = NOTHING, **query: object) -> Any:
        """The same without an example."""
        return _parsed(*await self._call(name, ids, sent, query))

    async def _call(
        self, name: str, ids: tuple[str, ...], sent: Sent, query: Mapping[str, object]
    ) -> tuple[Example, bytes]:
        method, template = self._operations[name]
        values = iter(ids)
        path = _PARAMETER.sub(lambda _: quote(next(values), safe=""), template)
        path += f"?{urlencode(query)}" if query else ""
        headers = sent.shown_headers()
        async with self._session.request(method, path, data=sent.content(), headers=headers) as response:
            content = await response.read()
            assert response.status < 300, (name, response.status, content[:2000])
            request: ExampleRequest = {"method": method, "path": path, "headers": headers}
            request.update(sent.shown())  # type: ignore[typeddict-item]
            media_type = response.content_type if hdrs.CONTENT_TYPE in response.headers else ""
            return {"request": request, "response": {"status": response.status, "media_type": media_type}}, content


def _shown_field(value: str | File) -> str:
    return f"@{value.name}" if isinstance(value, File) else value


def _parsed(example: Example, content: bytes) -> Any:
    return json.loads(content) if example["response"]["media_type"] == JSON else content


def _beginning(text: str) -> str:
    """The whole paragraphs or lines that fit, and "..." for the others."""
    if len(text) <= MAX_TEXT:
        return text
    end = text.rfind("\n\n" if "\n\n" in text[:MAX_TEXT] else "\n", 0, MAX_TEXT)
    return f"{text[:end]}\n..."
