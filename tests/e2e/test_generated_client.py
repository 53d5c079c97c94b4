"""A client that is generated from the OpenAPI document: every operation is called as its example shows.

What the examples show is what the service answers today: test_reference_examples.
"""

import asyncio
import json
import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest

from services.gateway.openapi.examples import JSON, load_examples
from tests.e2e.client import Api, fresh
from tests.openapi_document import DOCUMENT
from tests.reference.stable_values import json_shape

PACKAGE = "mobiletest_client"
CONFIG = f"""
package_name_override: {PACKAGE}
content_type_overrides: {{application/xml: text/xml, application/zip: application/octet-stream,
                         image/webp: application/octet-stream}}
post_hooks: []
"""
TEMPLATES = {operation["operationId"]: path for path, item in DOCUMENT["paths"].items() for operation in item.values()}


class GeneratedClient:
    """Calls operations by their operationId."""

    def __init__(self) -> None:
        self.models = import_module(f"{PACKAGE}.models")
        self.types = import_module(f"{PACKAGE}.types")
        self._new_client = import_module(f"{PACKAGE}.client").AuthenticatedClient
        modules = pkgutil.walk_packages(import_module(f"{PACKAGE}.api").__path__, f"{PACKAGE}.api.")
        self._modules = {_key(module.name.rpartition(".")[2]): module.name for module in modules if not module.ispkg}

    async def call(
        self, operation: str, *ids: Any, api: tuple[str, str], transport: Any = None, **arguments: Any
    ) -> Any:
        """The answer, as the client parsed it; `api` is the URL and the key."""
        client = self._new_client(
            base_url=api[0], token=api[1], raise_on_unexpected_status=True, httpx_args={"transport": transport}
        )
        module = import_module(self._modules[_key(operation)])
        return (await module.asyncio_detailed(*ids, client=client, **arguments)).parsed

    def file(self, content: bytes, name: str = "file") -> Any:
        return self.types.File(payload=BytesIO(content), file_name=name, mime_type="application/octet-stream")


def _key(name: str) -> str:
    """Generators write names in snake case, and do not agree about abbreviations."""
    return name.replace("_", "").lower()


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GeneratedClient]:
    """The client, generated in a folder of its own."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_text(json.dumps(DOCUMENT))
    (folder / "config.yaml").write_text(CONFIG)
    asyncio.run(_generate(folder))
    sys.path.insert(0, str(folder))
    try:
        yield GeneratedClient()
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


async def _generate(folder: Path) -> None:
    program = str(Path(sys.executable).with_name("openapi-python-client"))
    files = ["--path", "openapi.json", "--config", "config.yaml", "--output-path", PACKAGE]
    process = await asyncio.create_subprocess_exec(
        program, "generate", "--fail-on-warning", "--meta", "none", *files, cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


@pytest.mark.parametrize("operation", TEMPLATES)
async def test_an_operation_is_called_and_its_answer_read_as_the_example_shows(
    generated: GeneratedClient, operation: str
) -> None:
    sent, answer = (load_examples()[operation][part] for part in ("request", "response"))  # type: ignore[literal-required]
    path, _, query = sent["path"].partition("?")
    parts = zip(TEMPLATES[operation].split("/"), path.split("/"), strict=True)
    ids = [part for name, part in parts if name.startswith("{")]
    content = answer.get("json", DOCUMENT) if answer["media_type"] == JSON else None
    body = json.dumps(content) if content is not None else answer.get("text", "")
    headers = {name: text for name, text in sent["headers"].items() if name != "Content-Type"}
    arguments = {name.lower().replace("-", "_"): text for name, text in headers.items()}
    arguments |= dict(parse_qsl(query)) | _body(generated, operation, sent)
    kind = {"Content-Type": answer["media_type"]} if answer["media_type"] else {}
    asked: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(answer["status"], headers=kind, content=body.encode())

    api = ("http://mobiletest.invalid", "mt_key")
    parsed = await generated.call(operation, *ids, api=api, transport=httpx.MockTransport(respond), **arguments)
    (request,) = asked
    assert (request.method, request.url.raw_path.decode().partition("?")[0]) == (sent["method"], path)
    assert dict(request.url.params).items() >= dict(parse_qsl(query)).items()
    assert request.headers.items() >= {name.lower(): text for name, text in headers.items()}.items()
    if "json" in sent:
        assert set(json_shape(json.loads(request.content))) == set(json_shape(sent["json"]))
    if content is not None:
        assert set(json_shape(parsed.to_dict())) == set(json_shape(content))


def _body(generated: GeneratedClient, operation: str, sent: Any) -> dict[str, Any]:
    if "json" in sent:
        return {"body": getattr(generated.models, f"{operation}Request").from_dict(sent["json"])}
    if sent["headers"].get("Content-Type") == "application/octet-stream":
        return {"body": generated.types.File(payload=b"content")}  # httpx sends no file asynchronously
    if "form" in sent or "file" in sent:
        fields = sent.get("form", {}) | {"file": generated.file(b"content")}
        return {"body": getattr(generated.models, f"{operation}FilesBody")(**fields)}
    return {}


async def test_what_the_client_uploads_is_what_it_downloads(generated: GeneratedClient, api: Api) -> None:
    """Bytes, not the name of an object in Python."""
    server, artifact = (api.url, str(api.key)), fresh("artifact").encode() + bytes(range(256))
    new_app = generated.models.CreateAppRequest.from_dict({"name": fresh("App"), "platform": "Android"})
    app = await generated.call("CreateApp", body=new_app, api=server)
    form = generated.models.CreateBuildFilesBody(file=generated.file(artifact), version="1.0.0")
    build = await generated.call("CreateBuild", app.id, body=form, api=server)
    assert (await generated.call("DownloadBuild", build.id, api=server)).payload.read() == artifact
    part = await generated.call("DownloadBuild", build.id, range_="bytes=0-7", api=server)
    assert part.payload.read() == artifact[:8]
