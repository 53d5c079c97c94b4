"""The few REST calls that the example loader needs."""

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp


class Refused(Exception):
    """The service refused a call; the message has the call, the status and the reason."""


class Client:
    """Calls the service and raises Refused for every answer that is not a success."""

    def __init__(self, url: str, api_key: str) -> None:
        headers = {"Authorization": f"Bearer {api_key}", "X-Service-Client": "examples"}
        self._session = aiohttp.ClientSession(f"{url}/api/v1/", headers=headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def call(self, method: str, path: str, **options: Any) -> Any:
        """Call `path` (below /api/v1/) and return the JSON of the answer."""
        async with self._session.request(method, path, **options) as response:
            if not response.ok:
                raise Refused(f"{method} {path}: {response.status} {await response.text()}")
            return await response.json()

    async def upload(self, app_id: str, build: Mapping[str, Any], artifact: bytes) -> Any:
        """Upload a build with the version, file name and commit that `build` names."""
        form = aiohttp.FormData()
        form.add_field("version", str(build["version"]))
        form.add_field("file", artifact, filename=build["file"], content_type="application/yaml")
        form.add_field("metadata", json.dumps({"branch": "main", "commit_sha": build["commit"]}))
        return await self.call("POST", f"apps/{app_id}/builds", data=form)

    async def every(self, path: str) -> list[Any]:
        """All items of a paged list."""
        items: list[Any] = []
        page = 1
        while True:
            answer = await self.call("GET", path, params={"page": page, "page_size": 100})
            items += answer["items"]
            if not answer["has_next"]:
                return items
            page += 1
