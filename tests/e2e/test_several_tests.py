"""Several tests as one execution: versions, shards, names; and what a command line asks before it starts them."""

from hashlib import sha256
from typing import Any

from tests.e2e.client import Answer, Api, created, fresh
from tests.e2e.world import FAILING, UNKNOWN, World


async def start(api: Api, *tests: Any, **fields: Any) -> Answer:
    selections = [{"test_id": test["id"], "version_number": test["version_number"]} for test in tests]
    return await api.post("/executions", {"tests": selections, **fields})


async def attached_tests(world: World, count: int) -> list[Any]:
    app = await world.app()
    await world.build(app, "1.0.0")
    tests = [await world.test() for _ in range(count)]
    for test in tests:
        await world.attach(app, test)
    return tests


async def test_several_tests_run_in_one_execution(api: Api, world: World) -> None:
    tests, name = await attached_tests(world, 3), fresh("flows")
    answer = await start(api, *tests, name=name)
    assert answer.status == 202
    assert answer.headers["Location"] == f"/api/v1/executions/{answer.body['id']}"
    ended = await world.ended(answer.body["id"])
    assert (ended["kind"], ended["name"], ended["shard"], ended["success"]) == ("test", name, None, True)
    runs = created(await api.get(f"/executions/{ended['id']}/runs"))["items"]
    assert [run["test_id"] for run in runs] == [test["id"] for test in tests]
    junit = (await api.get(f"/executions/{ended['id']}/junit.xml")).text
    assert f'<testsuite name="{name}"' in junit


async def test_the_version_that_is_named_runs(api: Api, world: World) -> None:
    """A CI job runs what it has imported, although another one has changed the test since."""
    [test] = await attached_tests(world, 1)
    created(await api.patch(f"/tests/{test['id']}", {"steps": FAILING}))
    first = await world.ended((await start(api, test)).body["id"])
    assert first["success"] is True
    newest = await api.post("/executions", {"tests": [{"test_id": test["id"]}]})
    assert (await world.ended(newest.body["id"]))["success"] is False
    [run] = created(await api.get(f"/executions/{first['id']}/runs"))["items"]
    assert run["test_version_number"] == 1


async def test_what_cannot_be_started_is_named(api: Api, foreign: Api, world: World) -> None:
    [test] = await attached_tests(world, 1)
    unknown, later = {"id": UNKNOWN, "version_number": 1}, {**test, "version_number": 7}
    assert (await start(api, test, unknown)).locations() == [["body", "tests", 1, "test_id"]]
    assert (await start(api, later)).locations() == [["body", "tests", 0, "version_number"]]
    assert (await start(api, test, test)).locations() == [["body", "tests", 1, "test_id"]]
    assert (await start(foreign, test)).locations() == [["body", "tests", 0, "test_id"]]
    assert (await api.post("/executions", {"tests": []})).status == 422
    assert (await start(api, test, shard={"index": 3, "count": 2})).status == 422
    assert created(await api.get("/executions"))["total"] == 0


async def test_a_build_is_found_by_its_content(api: Api, world: World) -> None:
    app = await world.app()
    build = created(await api.upload(app["id"], b"content", version="1.0.0"))
    digest = sha256(b"content").hexdigest()
    for query in ({"sha256": digest}, {"sha256": digest.upper()}, {"version": "1.0.0"}):
        builds = created(await api.get(f"/apps/{app['id']}/builds", params=query))
        assert ([each["id"] for each in builds["items"]], builds["total"]) == ([build["id"]], 1)
    builds = created(await api.get(f"/apps/{app['id']}/builds", params={"sha256": digest, "version": "2"}))
    assert (builds["items"], builds["total"]) == ([], 0)
    assert (await api.get(f"/apps/{app['id']}/builds", params={"sha256": "a" * 65})).status == 422
