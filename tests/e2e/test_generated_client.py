"""A client that is generated from the served OpenAPI document: it runs every operation, each with success."""

import asyncio
import pkgutil
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Api, fresh
from tests.e2e.test_human_in_the_loop import ASKING, SECOND, TWO_BUTTONS
from tests.e2e.world import ENDED, PASSING, World
from tests.eventually import eventually
from tests.fakes.workspaces import zip_files

PACKAGE = "mobiletest_client"
CONFIG = f"""
package_name_override: {PACKAGE}
content_type_overrides: {{application/xml: text/xml, application/zip: application/octet-stream}}
post_hooks: []
"""


class GeneratedClient:
    """Calls operations by their operationId, and remembers those that have succeeded."""

    def __init__(self, api: Api) -> None:
        self.models = import_module(f"{PACKAGE}.models")
        self.types = import_module(f"{PACKAGE}.types")
        self.succeeded: set[str] = set()
        client = import_module(f"{PACKAGE}.client")
        self._client = client.AuthenticatedClient(
            base_url=api.url, token=api.key, raise_on_unexpected_status=True, timeout=60
        )
        modules = pkgutil.walk_packages(import_module(f"{PACKAGE}.api").__path__, f"{PACKAGE}.api.")
        self._modules = {_key(module.name.rpartition(".")[2]): module.name for module in modules if not module.ispkg}

    async def call(self, operation: str, *ids: Any, status: int = 200, **arguments: Any) -> Any:
        """What the operation answers, as the client parsed it. A `body` of JSON becomes the model that it takes."""
        module = import_module(self._modules[_key(operation)])
        if isinstance(body := arguments.get("body"), dict):
            arguments["body"] = getattr(self.models, f"{operation}Request").from_dict(body)
        response = await module.asyncio_detailed(*ids, client=self._client, **arguments)
        assert response.status_code == status, (operation, response.content[:1000])
        self.succeeded.add(operation)
        return response.parsed

    def file(self, content: bytes, **fields: Any) -> Any:
        """The form of an upload."""
        return self.models.CreateBuildFilesBody(file=self.bytes(content), **fields)

    def bytes(self, content: bytes) -> Any:
        return self.types.File(payload=BytesIO(content), file_name="file", mime_type="application/octet-stream")

    async def ended(self, execution: Any) -> Any:
        """Wait until an execution has ended."""

        async def probe() -> Any:
            found = await self.call("GetExecution", execution.id, wait=10)
            return found if found.status in ENDED else None

        return await eventually(probe)


def _key(name: str) -> str:
    """Generators write names in snake case, and do not agree about abbreviations."""
    return name.replace("_", "").lower()


@pytest.fixture
async def generated(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The client, generated in a folder of its own."""
    document, config = tmp_path / "openapi.json", tmp_path / "config.yaml"
    document.write_text((await api.get("/openapi.json")).text)
    config.write_text(CONFIG)
    program = str(Path(sys.executable).with_name("openapi-python-client"))
    arguments = ["--path", document, "--config", config, "--meta", "none", "--output-path", tmp_path / PACKAGE]
    process = await asyncio.create_subprocess_exec(
        program, "generate", "--fail-on-warning", *map(str, arguments), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    monkeypatch.syspath_prepend(tmp_path)
    yield GeneratedClient(api)
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


async def test_a_generated_client_runs_every_operation(generated: GeneratedClient, api: Api) -> None:
    await run_service(generated)
    app, tests = await run_catalog(generated)
    await run_executions(generated, app, tests)
    await cancel_an_execution(generated, World(api))
    await run_question(generated)
    await delete_all(generated, app, tests)
    assert generated.succeeded == set(operations_of((await api.get("/openapi.json")).body))


def operations_of(document: Any) -> Iterator[str]:
    for path in document["paths"].values():
        for operation in path.values():
            yield operation["operationId"]


async def run_service(client: GeneratedClient) -> None:
    for operation in ("Healthz", "Readyz", "OpenApi", "GetLimits"):
        await client.call(operation)
    assert (await client.call("ListQueuedRuns")).total == 0
    assert "active" in [worker.state for worker in (await client.call("ListWorkers")).items]
    page = "<input aria-label='Name'>"
    resolved = await client.call("ResolveStep", body={"step": 'Type "x" into Name', "source": page})
    assert resolved.action == "type"
    key = await client.call("CreateApiKey", status=201, body={"name": fresh("Key")})
    assert key.id in [item.id for item in (await client.call("ListApiKeys")).items]
    assert (await client.call("GetCurrentApiKey")).name == "bootstrap"
    await client.call("DeleteApiKey", key.id, status=204)
    assert (await client.call("PutSecret", "staging", body={"value": "long enough"})).name == "staging"
    assert [item.name for item in (await client.call("ListSecrets")).items] == ["staging"]
    await client.call("DeleteSecret", "staging", status=204)


async def run_catalog(client: GeneratedClient) -> tuple[Any, list[Any]]:
    """An app with two builds and two attached tests, of which the second one fails."""
    app = await client.call("CreateApp", body={"name": fresh("App"), "platform": "Android"})
    assert (await client.call("UpdateApp", app.id, body={"description": "new"})).description == "new"
    assert (await client.call("GetApp", app.id)).name == app.name
    assert (await client.call("ListApps", search=app.name)).total == 1
    await run_builds(client, app)
    tests = []
    for steps in (PASSING, ["launchApp", {"assertScreenshot": "home"}]):
        tests.append(await client.call("CreateTest", status=201, body={"name": fresh("Test"), "steps": steps}))
        await client.call("AttachTest", app.id, tests[-1].id, body={})
    assert (await client.call("UpdateTest", tests[0].id, body={"tags": ["smoke"]})).tags == ["smoke"]
    changed = await client.call("UpdateTest", tests[0].id, body={"env": {"PASSWORD": {"secret": "staging"}, "X": "y"}})
    assert changed.to_dict()["env"] == {"PASSWORD": {"secret": "staging"}, "X": "y"}
    await client.call("UpdateTest", tests[0].id, body={"env": None})
    assert (await client.call("GetTest", tests[0].id)).steps == PASSING
    assert [item.id for item in (await client.call("ListTests", tag="smoke")).items] == [tests[0].id]
    folder = client.models.ImportTestsFilesBody(file=client.bytes(zip_files({"a.yaml": "- launchApp"})))
    imported = (await client.call("ImportTests", body=folder, workspace=fresh("w"))).created
    await client.call("DeleteTest", imported[0].test_id, status=204)
    assert (await client.call("ListTestVersions", tests[0].id)).total >= 1
    assert (await client.call("ListAttachments", app.id)).total == 2
    await client.call("QuarantineTest", tests[1].id, body={"reason": "It fails"})
    assert [item.id for item in (await client.call("ListTests", quarantined=True)).items] == [tests[1].id]
    await client.call("UnquarantineTest", tests[1].id, status=204)
    return app, tests


async def run_builds(client: GeneratedClient, app: Any) -> None:
    """What the client uploads is what it downloads: bytes, not the name of an object in Python."""
    artifact = fresh("artifact").encode() + bytes(range(256))
    build = await client.call("CreateBuild", app.id, status=201, body=client.file(artifact, version="1.0.0"))
    assert (await client.call("DownloadBuild", build.id)).payload.read() == artifact
    part = await client.call("DownloadBuild", build.id, status=206, range_="bytes=0-7")
    assert part.payload.read() == artifact[:8]
    body = client.models.CreateBuildRequest(version="2.0.0", artifact_url="https://example.com/app.apk")
    other = await client.call("CreateBuild", app.id, status=201, body=body)
    assert (await client.call("UpdateBuild", other.id, body={"version": "2.0.1"})).version == "2.0.1"
    assert (await client.call("GetBuild", other.id)).artifact_url == "https://example.com/app.apk"
    assert (await client.call("ListBuilds", app.id)).total == 2
    await client.call("CompareBuilds", other.id, base=build.id)
    await client.call("DeleteBuild", other.id, status=204)


async def run_executions(client: GeneratedClient, app: Any, tests: list[Any]) -> None:
    body = {"name": fresh("Workflow"), "test_ids": [str(test.id) for test in tests]}
    workflow = await client.call("CreateWorkflow", status=201, body=body)
    assert (await client.call("UpdateWorkflow", workflow.id, body={"tags": ["nightly"]})).tags == ["nightly"]
    assert (await client.call("GetWorkflow", workflow.id)).test_ids == [str(test.id) for test in tests]
    assert (await client.call("ListWorkflows", search=workflow.name)).total == 1
    start = {"workflow_id": str(workflow.id)}
    execution = await client.ended(await client.call("StartWorkflow", body=start))
    assert "event: " in await client.call("WatchExecution", execution.id)
    assert (await client.call("ListExecutions", workflow_id=workflow.id)).total == 1
    runs = (await client.call("ListRuns", execution.id)).items
    failed = await client.call("GetRun", execution.id, next(run.id for run in runs if not run.success))
    await read_artifact(client, failed)
    assert "<testsuites" in await client.call("GetJUnit", execution.id)
    await read_reports(client, app, tests[0], execution)
    await client.call("RerunExecution", execution.id, status=202, body={})
    await client.call("StartTest", body={"test_id": str(tests[0].id), "app_id": str(app.id)})
    await client.call("StartTests", status=202, body={"tests": [{"test_id": str(tests[0].id), "version_number": 1}]})
    await client.call("DeleteWorkflow", workflow.id, status=204)


async def cancel_an_execution(client: GeneratedClient, world: World) -> None:
    """One that takes minutes, so that it cannot end before."""
    workflow = await world.slow_workflow(minutes=5)
    execution = await client.call("StartWorkflow", body={"workflow_id": workflow["id"]})
    await client.call("CancelExecution", execution.id, status=202, body={})


async def read_artifact(client: GeneratedClient, run: Any) -> None:
    """The screen that a failed assertScreenshot has kept becomes its baseline."""
    actual = next(each.name for each in run.attempts[0].artifacts if each.name.endswith("-actual.png"))
    assert (await client.call("DownloadArtifact", run.execution_id, run.id, actual)).payload.read()
    accepted = await client.call("AcceptBaseline", run.execution_id, run.id, actual, body={})
    (listed,) = (await client.call("ListBaselines", accepted.test_id)).items
    assert (listed.key, listed.sha256) == (accepted.key, accepted.sha256)
    picture = (await client.call("DownloadBaseline", listed.test_id, listed.key)).payload.read()
    assert sha256(picture).hexdigest() == listed.sha256
    await client.call("DeleteBaseline", listed.test_id, listed.key, status=204)


async def read_reports(client: GeneratedClient, app: Any, test: Any, execution: Any) -> None:
    """Reporting follows the end of an execution; until then its gate is a 503."""

    async def is_reported() -> bool:
        return bool((await client.call("ListTestRuns", test.id)).total)

    await eventually(is_reported)
    await client.call("GetGate", execution.id)
    build = (await client.call("ListBuilds", app.id)).items[0]
    assert (await client.call("ListBuildRuns", build.id)).total == 2
    assert len((await client.call("GetTestMatrix", app.id)).tests) == 2
    await client.call("GetAppWorkspace", app.id, trend_days=7)
    await client.call("GetAppCoverage", app.id)


async def run_question(client: GeneratedClient) -> None:
    """A run that asks which of two buttons is meant is told."""
    app = await client.call("CreateApp", body={"name": fresh("App"), "platform": "Android"})
    await client.call("CreateBuild", app.id, status=201, body=client.file(TWO_BUTTONS, version="1.0.0"))
    body = {"name": fresh("Test"), "steps": ["Tap Add", 'I see "Count 2"']}
    test = await client.call("CreateTest", status=201, body=body)
    await client.call("AttachTest", app.id, test.id)
    start = {"test_id": str(test.id), "app_id": str(app.id), "run_config": ASKING}
    execution = await client.call("StartTest", body=start)

    async def asking() -> Any:
        (run,) = (await client.call("ListRuns", execution.id)).items
        return run if run.question else None

    run = await eventually(asking)
    await client.call("AnswerRun", execution.id, run.id, status=202, body={"answer": SECOND})
    assert (await client.ended(execution)).success is True


async def delete_all(client: GeneratedClient, app: Any, tests: list[Any]) -> None:
    for test in tests:
        await client.call("DetachTest", app.id, test.id, status=204)
        await client.call("DeleteTest", test.id, status=204)
    await client.call("DeleteApp", app.id, status=204)
