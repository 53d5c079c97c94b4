"""The stack with the real services: data and API key survive a restart."""

from pathlib import Path
from typing import Any

import aiohttp

from deploy.local.stack import Stack, run_stack


async def call(stack: Stack, method: str, path: str, body: dict[str, str] | None = None) -> tuple[int, Any]:
    """Status and body of a request with the stack's own key."""
    headers = {"Authorization": f"Bearer {stack.api_key}"}
    async with aiohttp.request(method, stack.url + path, json=body, headers=headers) as answer:
        return answer.status, await answer.json()


async def test_an_app_outlives_a_restart_of_everything(tmp_path: Path) -> None:
    async with run_stack(tmp_path) as first:
        status, app = await call(first, "POST", "/api/v1/apps", {"name": "Shop", "platform": "iOS"})
        assert status == 200, app
    async with run_stack(tmp_path) as second:
        assert second.api_key == first.api_key
        status, found = await call(second, "GET", f"/api/v1/apps/{app['id']}")
        assert (status, found["name"]) == (200, "Shop")
        second.check()
