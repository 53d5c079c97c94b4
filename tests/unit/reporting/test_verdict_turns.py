"""Searches of verdicts take turns, so that one organisation with thousands of failing tests leaves some to others."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from services.chassis.context import Caller, bind
from services.reporting.model.reports.breakage import FAILED, SearchSide, VerdictQuery
from services.reporting.storage.verdicts import PIPELINES_OF_ORG, MongoVerdicts
from tests.eventually import eventually

AT = datetime(2026, 11, 28, tzinfo=UTC)


class SlowMongo:
    """A database whose pipelines do not end; `running` are their organisations."""

    def __init__(self) -> None:
        self.running: list[str] = []

    def collection(self, _: str) -> "SlowMongo":
        return self

    async def find_one(self, *_: Any, **__: Any) -> None:
        """No generation is recorded."""

    async def aggregate(self, _: str, pipeline: Any, **__: Any) -> list[Any]:
        self.running.append(pipeline[0]["$match"]["org_id"])
        await asyncio.Event().wait()
        return []


@pytest.mark.parametrize("fewest_scanned", [1, 1_000_000], ids=["scans", "lookups"])
async def test_one_organisation_leaves_searches_to_others(fewest_scanned: int) -> None:
    mongo: Any = SlowMongo()
    verdicts = MongoVerdicts(mongo, fewest_scanned=fewest_scanned)

    def search(org: str, tests: int) -> asyncio.Task[Any]:
        keys = {("app", f"test-{number}", "build"): AT for number in range(tests)}
        with bind(Caller(org)):
            return asyncio.create_task(verdicts.find(keys, VerdictQuery(SearchSide.FIRST, FAILED, ("main",)), keys))

    searches = [search("crowd", 10_000)]
    await eventually(lambda: mongo.running == ["crowd"] * PIPELINES_OF_ORG)
    searches.append(search("another", 1))
    await eventually(lambda: "another" in mongo.running, within=5)
    assert mongo.running == [*["crowd"] * PIPELINES_OF_ORG, "another"]
    for each in searches:
        each.cancel()
    await asyncio.wait(searches)


async def test_the_uploads_of_many_builds_leave_turns_to_others() -> None:
    mongo: Any = SlowMongo()
    verdicts = MongoVerdicts(mongo)

    def look_up(org: str, builds: int) -> asyncio.Task[Any]:
        with bind(Caller(org)):
            return asyncio.create_task(verdicts.uploads([("app", "test", f"build-{n}") for n in range(builds)]))

    lookups = [look_up("crowd", 100)]
    await eventually(lambda: mongo.running == ["crowd"] * PIPELINES_OF_ORG)
    lookups.append(look_up("another", 1))
    await eventually(lambda: "another" in mongo.running, within=5)
    for each in lookups:
        each.cancel()
    await asyncio.wait(lookups)
