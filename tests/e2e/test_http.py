"""HTTP's own means, end to end: conditional requests, refused uploads."""

import asyncio

from tests.e2e.client import Answer, Api, fresh
from tests.e2e.world import World


def etag(answer: Answer) -> str:
    """The entity tag, however the client spells the name of the header."""
    return next(value for name, value in answer.headers.items() if name.lower() == "etag")


async def test_concurrent_edits_of_an_app_conflict(api: Api, world: World) -> None:
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


async def test_a_refused_upload_always_says_why(api: Api, world: World) -> None:
    """The catalog answers while the gateway is still sending the file."""
    app = await world.app()
    await world.build(app, "1")
    answers = [await api.upload(app["id"], b"x" * 1_000_000, "a.bin", version="1") for _ in range(20)]
    assert {answer.status for answer in answers} == {409}
