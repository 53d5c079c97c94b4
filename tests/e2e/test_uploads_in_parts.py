"""Files that are uploaded in parts, so that a broken connection costs one part."""

import asyncio
from datetime import datetime
from hashlib import sha256
from typing import Any

import pytest

from tests.e2e.client import Answer, Api, created, fresh
from tests.e2e.world import World

PART = 8 * 1024 * 1024


class Upload:
    """A file of three parts, the last of which is a small one."""

    def __init__(self, api: Api, app: Any) -> None:
        self.api = api
        self.app = app
        self.content = fresh("large").encode() + bytes(2 * PART)
        self.id = ""

    @property
    def sha256(self) -> str:
        return sha256(self.content).hexdigest()

    async def start(self, **changes: Any) -> Any:
        body = {"sha256": self.sha256, "size_bytes": len(self.content), **changes}
        upload = created(await self.api.call("POST", f"/apps/{self.app['id']}/uploads", json=body))
        self.id = upload["id"]
        return upload

    async def put(self, number: int, content: bytes | None = None, digest: str | None = None) -> Answer:
        part = self.content[(number - 1) * PART : number * PART] if content is None else content
        query = {"sha256": digest or sha256(part).hexdigest()}
        return await self.api.call("PUT", f"/uploads/{self.id}/parts/{number}", params=query, data=part)

    async def complete(self, **body: Any) -> Answer:
        return await self.api.call("POST", f"/uploads/{self.id}/build", json=body)


@pytest.fixture
async def upload(api: Api, world: World) -> Upload:
    return Upload(api, await world.app())


async def test_an_upload_resumes_with_the_missing_parts(upload: Upload) -> None:
    started = await upload.start()
    assert (started["part_bytes"], started["part_count"], started["missing_parts"]) == (PART, 3, [1, 2, 3])
    assert (await upload.put(2)).status == 200
    assert (await upload.put(2)).status == 200
    again = await upload.start()
    assert (again["id"], again["missing_parts"]) == (started["id"], [1, 3])
    expiries = [datetime.fromisoformat(upload["expires_at"]) for upload in (started, again)]
    assert expiries == sorted(expiries)
    early = await upload.complete(version="1")
    assert (early.status, early.body["code"], early.body["detail"]) == (409, "PARTS_MISSING", "Parts are missing: 1, 3")
    for number in (3, 1):
        assert (await upload.put(number)).status == 200
    build = created(await upload.complete(version="1", file_name="app.bin"))
    assert (build["id"], build["version"], build["app_id"]) == (upload.id, "1", upload.app["id"])
    assert await upload.api.download(f"/api/v1/apps/builds/{build['id']}/download") == upload.content


async def test_an_upload_is_completed_once_however_often_that_is_tried(upload: Upload) -> None:
    await upload.start()
    for number in (1, 2, 3):
        assert (await upload.put(number)).status == 200
    answers = await asyncio.gather(*(upload.complete(version="1") for _ in range(3)))
    answers.append(await upload.complete(version="1"))
    assert {answer.status for answer in answers} == {201}
    assert {answer.body["id"] for answer in answers} == {upload.id}
    assert created(await upload.api.get(f"/apps/{upload.app['id']}/builds"))["total"] == 1
    assert (await upload.api.get(f"/uploads/{upload.id}")).status == 404


async def test_a_part_that_arrives_changed_or_cut_is_refused(upload: Upload) -> None:
    await upload.start()
    wrong = await upload.put(1, digest="0" * 64)
    assert (wrong.status, "part 1 arrived with another SHA-256" in str(wrong.body)) == (422, True)
    short = await upload.put(1, b"short")
    assert (short.status, f"expected {PART} bytes of part 1, and only 5 arrived" in str(short.body)) == (422, True)
    for number in (0, 4):
        unknown = await upload.put(number, b"x")
        assert (unknown.status, "the number of a part, from 1 to 3" in str(unknown.body)) == (422, True)
    digest = await upload.put(1, digest="abc")
    assert (digest.status, "expected 64 hexadecimal digits" in str(digest.body)) == (422, True)
    assert created(await upload.api.get(f"/uploads/{upload.id}"))["missing_parts"] == [1, 2, 3]


async def test_parts_of_another_file_than_the_announced_one_make_no_build(upload: Upload) -> None:
    await upload.start(sha256="0" * 64)
    for number in (1, 2, 3):
        assert (await upload.put(number)).status == 200
    refused = await upload.complete(version="1")
    assert (refused.status, [each["type"] for each in refused.body["detail"]]) == (422, ["content_differs"])
    assert (await upload.api.get(f"/uploads/{upload.id}")).status == 404


async def test_an_upload_that_was_deleted_takes_nothing_more(upload: Upload) -> None:
    await upload.start()
    assert (await upload.put(1)).status == 200
    assert (await upload.api.call("DELETE", f"/uploads/{upload.id}")).status == 204
    await is_unknown(upload)


async def test_uploads_of_others_do_not_exist(upload: Upload, foreign: Api) -> None:
    started = await upload.start()
    thief = Upload(foreign, upload.app)
    thief.content, thief.id = upload.content, upload.id
    await is_unknown(thief)
    body = {"sha256": upload.sha256, "size_bytes": len(upload.content)}
    assert (await foreign.call("POST", f"/apps/{upload.app['id']}/uploads", json=body)).status == 404
    assert created(await upload.api.get(f"/uploads/{upload.id}")) == started


async def is_unknown(upload: Upload) -> None:
    """No operation finds the upload."""
    for answer in (
        await upload.put(1),
        await upload.complete(version="1"),
        await upload.api.get(f"/uploads/{upload.id}"),
        await upload.api.call("DELETE", f"/uploads/{upload.id}"),
    ):
        assert (answer.status, answer.body["detail"]) == (404, "Upload not found")
