"""Imports: an archive or a form of files becomes one archive in the object store."""

import io
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mobiletest.catalog.v1 import tests_pb2

from services.chassis.errors import InvalidArgument, Violation
from tests.fakes.gateway import FakeBackends
from tests.fakes.workspaces import FLOW, zip_files
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/api/v1/tests/import"
ZIP = {"Content-Type": "application/zip"}
APP_ID = "7d444840-9dc0-41d1-b245-5ffdce74fad2"


@pytest.fixture
def received(backends: FakeBackends) -> FakeBackends:
    def answer(messages: Any) -> object:
        refused = tests_pb2.FileRemark(file="b.yaml", line=3, column=1, message="wrong")
        return tests_pb2.ImportTestsResponse(
            workspace=messages[0].workspace,
            refused=[tests_pb2.RefusedFlow(path="b.yaml", problems=[refused])],
            missing=[tests_pb2.ImportedTest(path="c.yaml")],
        )

    backends.on("ImportTests", answer)
    return backends


def form(files: Mapping[str, str], name: str = "files") -> aiohttp.FormData:
    data = aiohttp.FormData(quote_fields=False)
    for path, content in files.items():
        data.add_field(name, content.encode(), filename=path, content_type="application/octet-stream")
    return data


def content_of(backends: FakeBackends, store: Path) -> bytes:
    content, last = (store / backends.object_key).read_bytes(), backends.requests("ImportTests")[-1][-1]
    assert (last.end.size, last.end.sha256) == (len(content), sha256(content).hexdigest())
    return content


async def test_archive_is_stored_as_it_is(client: Client, received: FakeBackends, store: Path) -> None:
    content = zip_files({"a.yaml": FLOW})
    query = f"?workspace=shop&app_id={APP_ID}&dry_run=true"
    answer = await client("POST", PATH + query, data=content, headers=ZIP)
    assert answer.status == 200, answer.json
    assert (answer.json["workspace"], answer.json["created"], answer.json["refused_count"]) == ("shop", [], 0)
    assert answer.json["refused"][0]["problems"] == [{"file": "b.yaml", "line": 3, "column": 1, "message": "wrong"}]
    assert answer.json["missing"][0]["test_id"] is None
    first = received.requests("ImportTests")[-1][0]
    assert (first.workspace, first.app_id, first.dry_run, first.expected_bytes) == ("shop", APP_ID, True, len(content))
    assert content_of(received, store) == content


async def test_archive_in_a_form(client: Client, received: FakeBackends, store: Path) -> None:
    data, content = aiohttp.FormData(), zip_files({"a.yaml": FLOW})
    data.add_field("file", content, filename="w.zip")
    assert (await client("POST", PATH, data=data)).status == 200
    assert content_of(received, store) == content


async def test_files_of_a_form_become_an_archive(client: Client, received: FakeBackends, store: Path) -> None:
    files = {"config.yaml": "flows: '**'", "tests/a.yaml": FLOW * 20_000, "č.js": ""}
    answer = await client("POST", PATH, data=form(files))
    assert (answer.status, answer.json["workspace"]) == (200, "default")
    with zipfile.ZipFile(io.BytesIO(content_of(received, store))) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == files


async def test_folder_of_too_many_files_is_refused(client: Client, received: FakeBackends) -> None:
    answer = await client("POST", PATH, data=form(dict.fromkeys(map(str, range(2_001)), "x")))
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "files"])
    assert answer.json["detail"][0]["msg"].startswith("The folder has more than 2000 files")


@pytest.mark.parametrize("field", ["file.yaml", "folder"])
async def test_other_fields_are_refused(client: Client, received: FakeBackends, field: str) -> None:
    answer = await client("POST", PATH, data=form({"a.yaml": FLOW}, field))
    assert (answer.status, answer.json["detail"][0]["type"]) == (422, "wrong_file_field")


@pytest.mark.parametrize(
    ("content_type", "status"),
    [("application/json", 415), ("text/yaml", 415), ("multipart/form-data; boundary=b", 400)],
)
async def test_other_bodies_are_refused(client: Client, received: FakeBackends, content_type: str, status: int) -> None:
    answer = await client("POST", PATH, data=b"{}", headers={"Content-Type": content_type})
    assert answer.status == status, answer.json


async def test_violations_name_query_and_body(client: Client, backends: FakeBackends) -> None:
    backends.fail(
        "ImportTests", InvalidArgument("invalid", violations=[Violation("file", "a link", "hostile_archive")])
    )
    answer = await client("POST", PATH, data=b"x", headers=ZIP)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "file"])
    answer = await client("POST", f"{PATH}?app_id=no", data=b"x", headers=ZIP)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["query", "app_id"])
