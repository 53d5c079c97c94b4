"""What comparison and gate read does not grow with how many builds there were."""

from datetime import UTC, datetime
from typing import Any

import pytest

from services.chassis.context import Caller, bind
from services.chassis.mongo import Mongo
from services.reporting.model.attempts import BuildRef
from services.reporting.model.batch import Batch
from services.reporting.storage.failures import MongoFailures
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoCatalogTests, MongoReadModels
from services.reporting.storage.verdict_scans import FEWEST_TESTS
from services.reporting.storage.verdicts import MongoVerdicts
from services.reporting.usecases.compare import Comparisons
from services.reporting.usecases.gate import GateRequest, Gates
from services.reporting.usecases.projector import Projector
from services.reporting.usecases.report_sources import ReportSources
from tests.fakes.chassis import FakeClock
from tests.fakes.reporting_ci_story import CiStory
from tests.fakes.reporting_story import ORG


def told(story: CiStory, tests: int, builds: int, passing: int = 0) -> tuple[BuildRef, str]:
    """So many tests pass, then fail on so many builds of main, with as many of a feature branch between them; gives the
    newest build and its execution. Five tests or more that fail together are a storm each time, unless others pass.
    """
    passed, failed = (
        {f"test{number}": ending if number < tests else "passed" for number in range(tests + passing)}
        for ending in ("passed", "failed")
    )
    story.main("0", **passed)
    for number in range(builds):
        story.on("feature", f"f{number}", **(passed if number % 2 else failed))
        story.main(f"m{number}", **failed)
    newest = story.build("newest")
    return newest, story.ci(newest, "main", "c", total=len(failed), **failed)


async def read(mongo: Mongo, tests: int, builds: int, passing: int, fewest_scanned: int) -> int:
    """Keys and documents that a comparison and a gate examine after so many builds."""
    story = CiStory()
    newest, execution = told(story, tests, builds, passing)
    folding = Projector(MongoProjections(mongo))
    for start in range(0, len(story.told), 500):
        await folding.apply_events(Batch.of(story.told[start : start + 500]))
    verdicts, clock = MongoVerdicts(mongo, fewest_scanned=fewest_scanned), FakeClock(datetime.now(UTC))
    sources = ReportSources(MongoReadModels(mongo), MongoCatalogTests(mongo), verdicts, MongoFailures(mongo), clock)
    await mongo.database.command("profile", 2)
    with bind(Caller(ORG)):
        comparison = await Comparisons(sources).compare(newest.id)
        gate = await Gates(sources).of(GateRequest(execution, "main"))
    await mongo.database.command("profile", 0)
    assert (len(comparison.still_failing), len(gate.reasons)) == (tests, tests)
    return sum(plan["keysExamined"] + plan["docsExamined"] for plan in await plans(mongo))


async def plans(mongo: Mongo) -> list[dict[str, Any]]:
    query = {
        "op": {"$in": ["query", "getmore", "command"]},
        "planSummary": {"$exists": True},
        "ns": {"$not": {"$regex": "system"}},
    }
    operations: list[dict[str, Any]] = await mongo.collection("system.profile").find(query).to_list(None)
    assert len(operations) > 15
    assert not [plan["command"] for plan in operations if "COLLSCAN" in plan["planSummary"] or plan.get("hasSortStage")]
    return operations


@pytest.mark.parametrize(
    ("tests", "passing", "fewest_scanned"),
    [(4, 0, FEWEST_TESTS), (5, 0, FEWEST_TESTS), (4, 4, 1)],
    ids=["calm", "storms", "scans"],
)
async def test_verdict_searches_read_no_more_with_more_builds(
    mongo: Mongo, tests: int, passing: int, fewest_scanned: int
) -> None:
    few = await read(mongo, tests, 12, passing, fewest_scanned)
    await mongo.collection("system.profile").drop()
    for name in await mongo.database.list_collection_names():
        if not name.startswith(("system", "_")):
            await mongo.collection(name).delete_many({})
    many = await read(mongo, tests, 30, passing, fewest_scanned)
    assert many <= few * 1.1
