"""HTTP's own means, end to end: conditional requests, ranges, exact numbers, refused uploads."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.e2e.client import Answer, Api, created, fresh
from tests.e2e.world import UNKNOWN, World


def etag(answer: Answer) -> str:
    """The entity tag, however the client spells the name of the header."""
    return next(value for name, value in answer.headers.items() if name.lower() == "etag")


async def test_of_two_people_who_edit_an_app_one_has_to_read_it_again(api: Api, world: World) -> None:
    app = await world.app()
    path = f"/apps/{app['id']}"
    read = await api.get(path)
    headers = {"If-Match": etag(read)}
    answers = await asyncio.gather(*(api.patch(path, {"description": fresh("Text")}, headers=headers) for _ in "ab"))
    assert sorted(answer.status for answer in answers) == [200, 412]
    changed = await api.get(path, headers={"If-None-Match": etag(read)})
    assert changed.status == 200
    assert (await api.get(path, headers={"If-None-Match": etag(changed)})).status == 304
    assert (await api.delete(path, headers=headers)).status == 412
    assert (await api.delete(path, headers={"If-Match": etag(changed)})).status == 204


async def test_a_part_of_an_artifact_is_downloaded(api: Api, world: World) -> None:
    app = await world.app()
    build = created(await api.upload(app["id"], b"0123456789" * 1000, version="1"))
    part = await api.get(build["download_url"], headers={"Range": "bytes=9995-"})
    assert (part.status, part.text, part.headers["Content-Range"]) == (206, "56789", "bytes 9995-9999/10000")
    behind = await api.get(build["download_url"], headers={"Range": "bytes=10000-"})
    assert (behind.status, behind.headers["Content-Range"]) == (416, "bytes */10000")


async def test_numbers_in_metadata_come_back_as_they_were_or_are_refused(api: Api, world: World) -> None:
    app = await world.app()
    build = await world.build(app, "1")
    metadata = {"five": 5, "half": 0.5, "long": 9007199254740991, "text": "9007199254740993"}
    changed = created(await api.patch(f"/apps/builds/{build['id']}", {"metadata": metadata}))
    read = created(await api.get(f"/apps/builds/{build['id']}"))
    for found in (changed, read):
        assert found["metadata"] == metadata
        assert {type(value) for value in found["metadata"].values()} == {int, float, str}
    refused = await api.patch(f"/apps/builds/{build['id']}", {"metadata": {"long": 9007199254740993}})
    assert (refused.status, refused.locations()) == (422, [["body", "metadata"]])


async def test_a_number_that_a_flow_types_is_typed_as_it_was_written(api: Api, world: World) -> None:
    flow = "- inputText: 9007199254740993"
    test = created(await api.post("/tests", {"name": fresh("Test"), "flow": flow}))
    read: Any = created(await api.get(f"/tests/{test['id']}"))
    assert read["steps"] == [{"inputText": "9007199254740993"}]


@pytest.mark.parametrize(
    ("status", "app_id", "fields"), [(409, None, {"version": "1"}), (404, UNKNOWN, {"version": "1"}), (422, None, {})]
)
async def test_a_refused_upload_always_says_why(
    api: Api, world: World, status: int, app_id: str | None, fields: dict[str, str]
) -> None:
    """The catalog answers while the gateway is still sending the file."""
    app = await world.app()
    await world.build(app, "1")
    content = b"x" * 1_000_000
    answers = [await api.upload(app_id or app["id"], content, "a.bin", **fields) for _ in range(20)]
    assert Counter(answer.status for answer in answers) == {status: 20}
