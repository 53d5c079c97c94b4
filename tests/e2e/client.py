"""A REST client as a CI system would write it: it knows the address, a key and JSON, nothing of our code."""

import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import aiohttp

# A server-sent event: id, name, body.
Event = tuple[int, str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status, headers, and the body as text and as JSON (None when it is not JSON)."""

    status: int
    headers: dict[str, str]
    text: str
    body: Any

    @property
    def detail(self) -> Any:
        """The `detail` of an error."""
        return self.body["detail"]

    def locations(self) -> list[list[Any]]:
        """The `loc` of each violation of a 422."""
        return [violation["loc"] for violation in self.detail]


class Api:
    """Calls the service under /api/v1 with one API key."""

    def __init__(self, url: str, key: str | None) -> None:
        self.url = url
        self.key = key
        self._session = aiohttp.ClientSession(url)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        data: Any = None,
    ) -> Answer:
        """Call `method` on /api/v1 + path (a path beginning with /api or a probe's path is taken as it is)."""
        whole = path if path.startswith(("/api", "/healthz", "/readyz")) else f"/api/v1{path}"
        async with self._session.request(
            method, whole, json=json, params=params, data=data, headers=self._authorization() | (headers or {})
        ) as response:
            text = await response.text()
            return Answer(response.status, dict(response.headers), text, _parsed(response, text))

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.call("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> Answer:
        return await self.call("POST", path, json=json, **options)

    async def patch(self, path: str, json: Any = None, **options: Any) -> Answer:
        return await self.call("PATCH", path, json=json, **options)

    async def put(self, path: str, json: Any = None, **options: Any) -> Answer:
        return await self.call("PUT", path, json=json, **options)

    async def delete(self, path: str, **options: Any) -> Answer:
        return await self.call("DELETE", path, **options)

    async def upload(self, app_id: str, artifact: bytes, filename: str = "app.yaml", **fields: str) -> Answer:
        """Upload a build as multipart/form-data: the fields first, then the file."""
        form = aiohttp.FormData()
        for name, value in fields.items():
            form.add_field(name, value)
        form.add_field("file", artifact, filename=filename, content_type="application/octet-stream")
        return await self.call("POST", f"/apps/{app_id}/builds", data=form)

    async def download(self, path: str) -> bytes:
        """The bytes behind a path that an answer gave."""
        async with self._session.get(path, headers=self._authorization()) as response:
            assert response.status == 200, await response.text()
            return await response.read()

    async def events(self, execution_id: str, last_event_id: int | None = None, *, steps: bool = False) -> list[Event]:
        """All server-sent events of an execution until the stream ends; the number of a notice is 0."""
        resume = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
        path = f"/api/v1/executions/{execution_id}/events"
        query = {"steps": "true"} if steps else {}
        async with self._session.get(path, params=query, headers=self._authorization() | resume) as response:
            assert response.content_type == "text/event-stream", await response.text()
            text = await response.text()
        return [_event(block) for block in text.split("\n\n") if "data: " in block]

    def _authorization(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key}"}


def _event(block: str) -> Event:
    fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
    return int(fields.get("id", 0)), fields["event"], json.loads(fields["data"])


def _parsed(response: aiohttp.ClientResponse, text: str) -> Any:
    return json.loads(text) if response.content_type == "application/json" and text else None


def fresh(name: str) -> str:
    """A name that no other test uses."""
    return f"{name} {uuid4().hex[:8]}"


def created(answer: Answer) -> Any:
    """The body of an answer that must be a success."""
    assert answer.status in (200, 201), (answer.status, answer.text)
    return answer.body
