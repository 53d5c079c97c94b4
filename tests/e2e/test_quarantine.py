"""Quarantine of tests, and lists of tests by how they behave: over REST, on the whole stack."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import FAILING, PASSING, World
from tests.eventually import eventually

ONCE = {"execution_mode": {"retries": 0}}
CLASSES = ("insufficient_data", "broken", "flaky", "regressed", "recovered", "stable")


def path(test: Any) -> str:
    return f"/tests/{test['id']}/quarantine"


class Broken:
    """An app whose one test failed on both of its builds, and where that test shows."""

    def __init__(self, world: World) -> None:
        self.api, self.world = world.api, world

    async def made(self) -> "Broken":
        self.app = await self.world.app()
        self.test = await self.world.test(FAILING, app=self.app)
        workflow = await self.world.workflow(self.test, run_config=ONCE)
        self.builds = []
        for version in ("1.0.0", "2.0.0"):
            self.builds.append(await self.world.build(self.app, version))
            self.execution = await self.world.run(workflow)
            await self.world.reported(self.builds[-1], 1)
        return self

    async def quarantines(self) -> list[Any]:
        """The quarantine of the test in each answer that shows the test."""
        app, test, (base, build) = self.app["id"], self.test["id"], self.builds
        rows = [
            await self._read(f"/tests/{test}"),
            (await self._read("/tests"))["items"][0],
            (await self._read(f"/apps/{app}/tests"))["items"][0],
            (await self._read(f"/apps/{app}/test_matrix"))["tests"][0],
            (await self._read(f"/apps/{app}/coverage"))["items"][0],
            (await self._read(f"/apps/builds/{base['id']}/runs"))["items"][0],
            (await self._read(f"/tests/{test}/runs"))["items"][1],
            (await self._read(f"/apps/builds/{build['id']}/compare?base={base['id']}"))["still_failing"][0],
            (await self._read(f"/executions/{self.execution['id']}/gate"))["reasons"][0],
        ]
        return [row["quarantine"] for row in rows]

    async def _read(self, path: str) -> Any:
        return created(await self.api.get(path))


async def test_it_shows_in_every_view_and_ends_by_itself(api: Api, world: World) -> None:
    """Runs from before show it too; after its end nothing shows it, without a call that ends it."""
    broken = await Broken(world).made()
    assert await broken.quarantines() == [None] * 9
    answer = await api.put(path(broken.test), {"reason": " Waits for SHOP-1 "})
    quarantine = created(answer)["quarantine"]
    assert (answer.status, quarantine["reason"], quarantine["by"]) == (200, "Waits for SHOP-1", "bootstrap")

    async def all_show(expected: Any) -> bool:
        return await broken.quarantines() == [expected] * 9

    await eventually(lambda: all_show(quarantine))

    async def soon_over() -> bool:
        until = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
        return (await api.put(path(broken.test), {"reason": "Soon over", "until": until})).status == 200

    await eventually(soon_over)
    await eventually(lambda: all_show(None))


async def test_the_lists_agree_with_the_matrix(api: Api, world: World) -> None:
    """Each test of the app is in the list of the class that its row shows, and in no other, newest first."""
    app, build = await _app_with_all_sorts(world)

    async def agree() -> Any:
        matrix = created(await api.get(f"/apps/{app['id']}/test_matrix"))
        rows = {row["test_id"]: row["classification"] for row in matrix["tests"]}
        lists = {name: await _list(api, name, app_id=app["id"]) for name in CLASSES}
        assert {test["id"]: name for name, tests in lists.items() for test in tests["items"]} == rows
        assert sum(tests["total"] for tests in lists.values()) == len(rows) == 5
        return lists

    await world.reported(build, 10)
    lists = await eventually(agree)
    assert {name: lists[name]["total"] for name in ("stable", "broken", "insufficient_data")} == {
        "stable": 1,
        "broken": 2,
        "insufficient_data": 2,
    }
    for tests in lists.values():
        times = [test["created_at"] for test in tests["items"]]
        assert times == sorted(times, reverse=True)


async def _app_with_all_sorts(world: World) -> tuple[Any, Any]:
    """An app with a stable test, two broken ones, one with a single run and one without runs."""
    app = await world.app()
    build = await world.build(app, "1.0.0")
    sorts = (PASSING, FAILING, FAILING, PASSING, PASSING)
    stable, broken, other, once, _ = [await world.test(steps, app=app) for steps in sorts]
    workflow = await world.workflow(stable, broken, other, run_config=ONCE)
    for _ in range(3):
        await world.run(workflow)
    await world.run(await world.workflow(once, run_config=ONCE))
    return app, build


async def _list(api: Api, classification: str, **params: Any) -> Any:
    return created(await api.get("/tests", params={"classification": classification, **params}))
