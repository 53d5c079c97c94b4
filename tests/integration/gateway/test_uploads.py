"""Uploads of builds: the file at any position of its form."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from mobiletest.catalog.v1 import builds_pb2

from services.chassis.errors import (
    InvalidArgument,
    Violation,
)
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Answer, Client
from tests.integration.gateway.upload_forms import MEBIBYTE, form, keep_upload

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"max_upload_bytes": 8 * MEBIBYTE, "idle_timeout_seconds": 1}


@pytest.mark.parametrize("file_at", [0, 2, None])
async def test_an_upload_has_its_file_at_any_position(
    client: Client, backends: FakeBackends, store: Path, file_at: int | None
) -> None:
    keep_upload(backends)
    app_id, content = str(uuid4()), bytes(range(256)) * 12_000
    fields = (("version", "1.2"), ("metadata", '{"branch": "main", "n": 1}'), ("package_name", "com.shop"), ("x", "y"))
    data = form(*fields, file=content, file_at=file_at)
    answer = await client("POST", f"/api/v1/apps/{app_id}/builds", data=data)
    assert answer.status == 201, answer.json
    assert answer.headers["Location"] == "/api/v1/apps/builds/b1"
    assert answer.headers["X-Ignored-Fields"] == "x"
    first, *_, last = backends.requests("UploadBuild")[0]
    assert (first.metadata.app_id, first.metadata.version) == (app_id, "" if file_at == 0 else "1.2")
    assert last.metadata.app_id == app_id
    assert dict(last.metadata.metadata) == {"branch": "main", "n": 1}
    assert (last.metadata.version, last.metadata.package_name) == ("1.2", "com.shop")
    assert (last.metadata.file_name, last.end.size) == ("shop.apk", len(content))
    assert last.end.sha256 == hashlib.sha256(content).hexdigest()
    assert (store / backends.object_key).read_bytes() == content


async def test_a_file_is_stored_before_the_fields_after_it_arrive(
    client: Client, backends: FakeBackends, store: Path
) -> None:
    keep_upload(backends)
    arrived = asyncio.Event()

    async def content() -> AsyncIterator[bytes]:
        yield b"x" * MEBIBYTE
        await arrived.wait()
        yield b"y"

    def stored_bytes() -> int:
        return sum(path.stat().st_size for path in store.glob(f"{backends.object_key}*"))

    with aiohttp.MultipartWriter("form-data") as data:
        data.append(content()).set_content_disposition("form-data", name="file", filename="shop.apk")
        data.append("1.2").set_content_disposition("form-data", name="version")
        upload = asyncio.create_task(client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data))
        await eventually(lambda: stored_bytes() > MEBIBYTE / 2)
        arrived.set()
        answer = await upload
    assert (answer.status, answer.json["version"]) == (201, "1.2")


async def test_an_idempotency_key_is_passed_on_and_a_replay_is_marked(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    backends.trailing_metadata = (("x-idempotent-replayed", "true"),)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(), headers={"Idempotency-Key": "night-7"})
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert backends.of("UploadBuild")[0].caller.idempotency_key == "night-7"


async def test_a_file_alone_is_enough(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form())
    assert answer.status == 201
    assert not backends.requests("UploadBuild")[0][-1].metadata.HasField("version")


async def test_a_wrong_field_after_the_file_is_a_422_and_cuts_the_upload(
    client: Client, backends: FakeBackends
) -> None:
    keep_upload(backends)
    data = form(("version", "1"), ("metadata", "{"), file_at=1)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "metadata"])
    uploads = backends.requests("UploadBuild")
    assert not any(message.HasField("end") for messages in uploads for message in messages)


async def test_violations_found_by_the_catalog_name_fields_after_the_file(
    client: Client, backends: FakeBackends
) -> None:
    violation = Violation("version", "no version can be read", "missing")
    backends.fail("UploadBuild", InvalidArgument("invalid", reason="INVALID", violations=[violation]))
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(("version", "1"), file_at=0))
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "version"])


async def post_raw(client: Client, disposition: bytes, content: bytes = b"x") -> Answer:
    """A form with this field before the file, from a client that wants to know of every mistake."""
    file = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.apk"\r\n\r\nbytes\r\n--b--\r\n'
    body = b"--b\r\nContent-Disposition: form-data; " + disposition + b"\r\n\r\n" + content + b"\r\n" + file
    headers = {"Content-Type": "multipart/form-data; boundary=b", "Prefer": "handling=strict"}
    return await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=body, headers=headers)


@pytest.mark.parametrize(
    ("disposition", "content", "field", "type_"),
    [
        (b'name="\xff"', b"x", "?", "extra_forbidden"),
        (b'name="\xff"', b"\xff", "?", "string_unicode"),
        (b'name="version"', b"", "version", "string_too_short"),
        (b'name="version"', b"\xff", "version", "string_unicode"),
        (b'name="metadata"', b"{", "metadata", "json_invalid"),
        (b'name="metadata"', b"[]", "metadata", "dict_type"),
        (b'name="metadata"', b'{"n": 1' + b"0" * 400 + b"}", "metadata", "integer_too_large"),
        (b'name="metadata"', b'{"n": 1e999}', "metadata", "finite_number"),
        (b'filename="a.apk"', b"x", "", "wrong_file_field"),
    ],
)
async def test_an_invalid_field_before_the_file_is_a_422_without_an_upload(
    client: Client, backends: FakeBackends, disposition: bytes, content: bytes, field: str, type_: str
) -> None:
    answer = await post_raw(client, disposition, content)
    (issue,) = answer.json["detail"]
    assert (answer.status, issue["loc"], issue["type"]) == (422, ["body", field], type_)
    assert backends.of("UploadBuild") == []


@pytest.mark.parametrize("disposition", [b"name*0=a'b", b"name=file; filename*0=a'b"])
async def test_a_part_whose_name_is_broken_is_a_400(client: Client, disposition: bytes) -> None:
    answer = await post_raw(client, disposition)
    assert (answer.status, answer.json["code"]) == (400, "BODY_BROKEN")


async def test_a_field_that_is_sent_as_a_file_is_a_field(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    answer = await post_raw(client, b'name="metadata"; filename="build.json"', b'{"branch": "main"}')
    assert answer.status == 201
    assert dict(backends.requests("UploadBuild")[0][-1].metadata.metadata) == {"branch": "main"}


async def test_a_form_without_a_file_is_a_422(client: Client) -> None:
    data = aiohttp.FormData()
    data.add_field("version", "1", content_type="text/plain")
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "file"])


async def test_a_file_in_a_field_of_another_name_is_a_422_that_says_so(client: Client) -> None:
    data = aiohttp.FormData({"version": "1"})
    data.add_field("apk", b"content", filename="shop.apk")
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "apk"])
    assert answer.json["detail"][0]["msg"] == "Send the artifact in the field 'file', not 'apk'"


async def test_a_malformed_form_is_a_400(client: Client) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=b"nothing like it", headers=headers)
    assert answer.status in (400, 422)
    headers = {"Content-Type": "multipart/form-data"}
    assert (await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=b"x", headers=headers)).status == 400


async def test_a_build_stored_elsewhere_is_created_with_json(client: Client, backends: FakeBackends) -> None:
    backends.on("CreateBuild", lambda request: builds_pb2.Build(id="b2", artifact_url=request.artifact_url))
    body = {"version": "1", "artifact_url": "https://store/shop.apk"}
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", json=body)
    assert (answer.status, answer.json["artifact_url"]) == (201, "https://store/shop.apk")


@pytest.mark.parametrize("name", ["x{}", "x"])
async def test_a_form_with_too_many_fields_is_a_413(client: Client, name: str) -> None:
    fields = tuple((name.format(number), "") for number in range(200))
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(*fields))
    assert (answer.status, answer.json["code"]) == (413, "BODY_TOO_LARGE")


async def test_ignored_fields_are_named_before_and_after_the_file(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    path = f"/api/v1/apps/{uuid4()}/builds?dry_run=1"
    answer = await client("POST", path, data=form(("version", "1"), ("x", "y"), ("late", "z"), file_at=2))
    assert (answer.status, answer.headers["X-Ignored-Fields"]) == (201, "dry_run, x, late")


async def test_strict_handling_rejects_an_unknown_field_after_the_file(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    data, headers = form(("version", "1"), ("late", "z"), file_at=1), {"Prefer": "handling=strict"}
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data, headers=headers)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "late"])


async def test_an_upload_with_expect_gets_100_continue(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    async with asyncio.timeout(30):
        answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(), expect100=True)
    assert answer.status == 201
