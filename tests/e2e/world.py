"""Builds up what a test needs through the public API, with the simulated device's built-in app behind it."""

import asyncio
from pathlib import Path
from typing import Any

from tests.e2e.client import Api, created, fresh
from tests.eventually import eventually

ENDED = ("completed", "failed", "cancelled")
PASSING = ["launchApp", {"assertVisible": "Log in"}]
FAILING = ["launchApp", {"extendedWaitUntil": {"visible": "Nothing of this name", "timeout": 50}}]
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def paced_app_model(*, seconds: float) -> bytes:
    """An app model with one screen, on which each step takes this much real time."""
    return f"""app_model: 1
app: {{id: com.example.paced}}
pace: {{step: {round(seconds * 1000)}ms}}
start: home
screens:
  home:
    elements:
      - {{type: text, text: Log in}}
""".encode()


class World:
    """An organisation under construction."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def app(self, platform: str = "Android", **fields: Any) -> Any:
        return created(await self.api.post("/apps/", {"name": fresh("App"), "platform": platform, **fields}))

    async def build(self, app: Any, version: str, **fields: str) -> Any:
        """A build with an artifact that no other build has."""
        return created(
            await self.api.upload(app["id"], fresh("artifact").encode(), "app.bin", version=version, **fields)
        )

    async def upload(self, app: Any, file: Path, **fields: str) -> Any:
        """A build with this file."""
        content = await asyncio.to_thread(file.read_bytes)
        return created(await self.api.upload(app["id"], content, file.name, **fields))

    async def test(self, steps: list[Any] | None = None, *, app: Any = None, **fields: Any) -> Any:
        """A test, attached to the app if there is one."""
        steps_or_flow = {} if "flow" in fields else {"steps": PASSING if steps is None else steps}
        test = created(await self.api.post("/tests", {"name": fresh("Test"), **steps_or_flow, **fields}))
        if app is not None:
            await self.attach(app, test)
        return test

    async def attach(self, app: Any, test: Any, pinned_version: str | None = None) -> Any:
        body = {} if pinned_version is None else {"pinned_version": pinned_version}
        return created(await self.api.put(f"/apps/{app['id']}/tests/{test['id']}", body))

    async def workflow(self, *tests: Any, **fields: Any) -> Any:
        body = {"name": fresh("Workflow"), "test_ids": [test["id"] for test in tests], **fields}
        return created(await self.api.post("/workflows", body))

    async def start(self, workflow: Any, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        """Start a workflow; the start response."""
        path = "/execution/api/execute_workflow_id_async"
        return created(await self.api.post(path, {"workflow_id": workflow["id"], **fields}, headers=headers))

    async def ended(self, execution_id: str) -> Any:
        """Wait until an execution has ended; the execution."""

        async def probe() -> Any:
            execution = created(await self.api.get(f"/executions/{execution_id}", params={"wait": 10}))
            return execution if execution["status"] in ENDED else None

        return await eventually(probe)

    async def run(self, workflow: Any, **fields: Any) -> Any:
        """Start a workflow and wait for its end; the execution."""
        return await self.ended((await self.start(workflow, **fields))["id"])

    async def only_run(self, execution: Any) -> Any:
        """The only run of an execution, with its attempts."""
        (listed,) = created(await self.api.get(f"/executions/{execution['id']}/runs"))["items"]
        return created(await self.api.get(f"/executions/{execution['id']}/runs/{listed['id']}"))

    async def reported(self, build: Any, runs: int) -> Any:
        """Wait until reporting shows this many ended runs of a build, at most 100; the page of runs."""

        async def probe() -> Any:
            page = created(await self.api.get(f"/apps/builds/{build['id']}/runs", params={"page_size": 100}))
            ended = [item for item in page["items"] if item["status"] in ENDED]
            return page if len(ended) == runs else None

        return await eventually(probe)

    async def slow_workflow(self, *, minutes: float) -> Any:
        """A workflow of one test whose device takes this much real time."""
        app = await self.app()
        artifact = paced_app_model(seconds=minutes * 60 / 51)
        created(await self.api.upload(app["id"], artifact, version="1.0.0"))
        return await self.workflow(await self.test(["launchApp", *[{"assertVisible": "Log in"}] * 50], app=app))

    async def stands(self, execution_id: str, status: str) -> bool:
        """Whether an execution has this status."""
        return bool(created(await self.api.get(f"/executions/{execution_id}"))["status"] == status)

    async def passing_app(self, version: str = "1.0.0", **app: Any) -> tuple[Any, Any, Any, Any]:
        """An app with one build, one attached passing test, and a workflow over it: (app, build, test, workflow)."""
        made = await self.app(**app)
        build = await self.build(made, version)
        test = await self.test(app=made)
        return made, build, test, await self.workflow(test)
