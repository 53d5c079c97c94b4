"""Quarantine of tests, and lists of tests by how they behave: over REST, on the whole stack."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.client import Api, created
from tests.e2e.world import FAILING, UNKNOWN, World
from tests.eventually import eventually

ONCE = {"execution_mode": {"retries": 0}}
CLASSES = ("insufficient_data", "broken", "flaky", "regressed", "recovered", "stable")


def path(test: Any) -> str:
    return f"/tests/{test['id']}/quarantine"


def ahead(**time: float) -> str:
    """A moment from now on, as JSON has it."""
    return (datetime.now(UTC) + timedelta(**time)).isoformat()


class Broken:
    """An app whose one test failed on both of its builds, and where that test shows."""

    def __init__(self, world: World) -> None:
        self.api, self.world = world.api, world

    async def made(self) -> "Broken":
        self.app, self.test = await self.world.app(), await self.world.test(FAILING)
        await self.world.attach(self.app, self.test)
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


class TestQuarantine:
    async def test_it_shows_in_every_view_and_ends_by_itself(self, api: Api, world: World) -> None:
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
            return (await api.put(path(broken.test), {"reason": "Soon over", "until": ahead(seconds=3)})).status == 200

        await eventually(soon_over)
        await eventually(lambda: all_show(None))

    async def test_it_can_be_ended(self, api: Api, world: World) -> None:
        """It can be ended; a change before its end keeps `since`."""
        test = await world.test()
        first = created(await api.put(path(test), {"reason": "Flaky"}))["quarantine"]
        until = ahead(days=365)
        second = created(await api.put(path(test), {"reason": "Still flaky", "until": until}))["quarantine"]
        assert (second["since"], second["reason"]) == (first["since"], "Still flaky")
        assert datetime.fromisoformat(second["until"]) - datetime.fromisoformat(until) < timedelta(milliseconds=1)
        assert [(await api.delete(path(test))).status for _ in range(2)] == [204, 204]
        assert created(await api.get(f"/tests/{test['id']}"))["quarantine"] is None

    @pytest.mark.parametrize(
        ("body", "loc"),
        [
            ({}, ["body", "reason"]),
            ({"reason": "x", "until": "2026-01-01T00:00:00Z"}, ["body", "until"]),
            ({"reason": "x", "until": "2126-01-01T00:00:00Z"}, ["body", "until"]),
            ({"reason": "x", "until": "soon"}, ["body", "until"]),
        ],
    )
    async def test_what_is_no_quarantine_is_refused(self, api: Api, world: World, body: Any, loc: list[str]) -> None:
        """With its place, and nothing is changed."""
        test = await world.test()
        answer = await api.put(path(test), body)
        assert (answer.status, answer.locations()) == (422, [loc])
        assert created(await api.get(f"/tests/{test['id']}")) == test

    async def test_an_unknown_a_foreign_and_a_deleted_test_look_the_same(
        self, api: Api, foreign: Api, world: World
    ) -> None:
        """To begin and to end."""
        test, gone = await world.test(), await world.test()
        await api.delete(f"/tests/{gone['id']}")
        for client, it in ((foreign, test), (api, gone), (api, {"id": UNKNOWN})):
            answers = [await client.put(path(it), {"reason": "x"}), await client.delete(path(it))]
            assert [(answer.status, answer.detail) for answer in answers] == [(404, "Test not found")] * 2

    async def test_it_is_a_write_and_unknown_fields_are_named(self, api: Api, world: World) -> None:
        """A key that may only read is refused; a strict client gets an error for a typo."""
        test = await world.test()
        key = created(await api.post("/settings/api-keys", {"name": "Reader", "scopes": ["read"]}))["key"]
        async with Api(api.url, key) as reader:
            assert (await reader.put(path(test), {"reason": "x"})).status == 403
            assert (await reader.delete(path(test))).status == 403
        strict = {"Prefer": "handling=strict"}
        typo = await api.put(path(test), {"reason": "x", "untill": ahead(days=1)}, headers=strict)
        assert (typo.status, typo.locations()) == (422, [["body", "untill"]])


class TestClassification:
    async def test_the_lists_agree_with_the_matrix(self, api: Api, world: World) -> None:
        """Each test of the app is in the list of the class that its row shows, and in no other, newest first."""
        app, build = await self._app_with_all_sorts(world)

        async def agree() -> Any:
            matrix = created(await api.get(f"/apps/{app['id']}/test_matrix"))
            rows = {row["test_id"]: row["classification"] for row in matrix["tests"]}
            lists = {name: await self._list(api, name, app_id=app["id"]) for name in CLASSES}
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

    async def _app_with_all_sorts(self, world: World) -> tuple[Any, Any]:
        """An app with a stable test, two broken ones, one with a single run and one without runs."""
        app = await world.app()
        build = await world.build(app, "1.0.0")
        stable, broken = await world.test(), await world.test(FAILING, tags=["smoke"])
        other, once, never = await world.test(FAILING), await world.test(), await world.test()
        for test in (stable, broken, other, once, never):
            await world.attach(app, test)
        workflow = await world.workflow(stable, broken, other, run_config=ONCE)
        for _ in range(3):
            await world.run(workflow)
        await world.run(await world.workflow(once, run_config=ONCE))
        return app, build

    async def _list(self, api: Api, classification: str, **params: Any) -> Any:
        return created(await api.get("/tests", params={"classification": classification, **params}))

    async def test_filters_and_pages_hold(self, api: Api, world: World) -> None:
        """As in the list of all tests."""
        made = [await world.test(name=f"Pay {number}", tags=["smoke"] * (number % 2)) for number in range(3)]
        await world.test(name="Log in")

        async def known() -> bool:
            return bool((await self._list(api, "insufficient_data"))["total"] == 4)

        await eventually(known)
        page = await self._list(api, "insufficient_data", search="PAY", page=2, page_size=2)
        assert ([test["id"] for test in page["items"]], page["total"]) == ([made[0]["id"]], 3)
        assert (page["total_pages"], page["has_next"], page["has_previous"]) == (2, False, True)
        tagged = await self._list(api, "insufficient_data", tag="smoke", platform="iOS")
        assert tagged["items"] == [{**made[1], "steps": None}]
        assert (await self._list(api, "flaky"))["items"] == []

    async def test_another_organisation_has_its_own_lists(self, api: Api, foreign: Api, world: World) -> None:
        """And sees none of these."""
        test = await world.test()

        async def known() -> bool:
            return [each["id"] for each in (await self._list(api, "insufficient_data"))["items"]] == [test["id"]]

        await eventually(known)
        assert (await self._list(foreign, "insufficient_data"))["total"] == 0

    async def test_tests_in_quarantine_are_listed_until_it_ends(self, api: Api, world: World) -> None:
        """Newest first, in pages, and together with a classification."""
        first, second, _ = [await world.test() for _ in range(3)]
        for test in (first, second):
            created(await api.put(path(test), {"reason": "Waits for SHOP-1"}))
        page = created(await api.get("/tests", params={"quarantined": "true", "page_size": 1}))
        assert (page["total"], [test["id"] for test in page["items"]]) == (2, [second["id"]])
        await api.delete(path(second))
        page = created(await api.get("/tests", params={"quarantined": "true"}))
        assert [test["quarantine"]["reason"] for test in page["items"]] == ["Waits for SHOP-1"]

        async def combined() -> bool:
            listed = await self._list(api, "insufficient_data", quarantined="true")
            return [test["id"] for test in listed["items"]] == [first["id"]]

        await eventually(combined)

    async def test_an_unknown_classification_is_refused_with_those_that_there_are(self, api: Api) -> None:
        """By name."""
        answer = await api.get("/tests", params={"classification": "shaky"})
        assert (answer.status, answer.locations()) == (422, [["query", "classification"]])
        assert all(f"'{name}'" in answer.detail[0]["msg"] for name in CLASSES)
