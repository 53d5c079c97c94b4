"""Every lookup goes by an index: what it reads does not grow with history."""

from datetime import UTC, datetime

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.mongo import Mongo
from services.reporting.consumer import EventHandler
from services.reporting.ports import Page
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoReadModels
from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.projector import Projector
from services.reporting.usecases.run_lists import RunLists
from tests.fakes.reporting_event_log import EventLog
from tests.fakes.reporting_story import StillClock


async def ask_everything(mongo: Mongo, desk: EventLog, build: str, test: str) -> None:
    """Each report once."""
    read_models = MongoReadModels(mongo)
    apps, runs = AppReports(read_models, StillClock(datetime.now(UTC))), RunLists(read_models)
    with bind(Caller(desk.org_id, scopes=ALL_SCOPES)):
        await apps.stats([desk.app_id])
        await apps.workspace(desk.app_id, 60)
        await apps.matrix(desk.app_id, Page(0, 10))
        await apps.coverage(desk.app_id)
        await runs.of_build(build, Page(2, 3))
        await runs.of_test(test, Page(0, 5))


async def test_no_report_scans_a_collection(mongo: Mongo) -> None:
    desk = EventLog()
    build = ("build-1", "1.0")
    events = [desk.build(*build), desk.app(current="1.0")]
    for number in range(40):
        events += [desk.attachment(f"test-{number}", f"Test {number}"), *desk.life(build, f"test-{number}", "failed")]
    await EventHandler(Projector(MongoProjections(mongo))).handle(events)
    await mongo.database.command("profile", 2)
    await ask_everything(mongo, desk, *build)
    await mongo.database.command("profile", 0)
    query = {
        "op": {"$in": ["query", "getmore", "command"]},
        "planSummary": {"$exists": True},
        "ns": {"$not": {"$regex": "system"}},
    }
    plans = await mongo.collection("system.profile").find(query).to_list(None)
    assert len(plans) > 15
    assert not [plan["command"] for plan in plans if "COLLSCAN" in plan["planSummary"]]
    assert not [plan["command"] for plan in plans if plan.get("hasSortStage")]
    wasteful = [plan["command"] for plan in plans if plan["docsExamined"] > plan["nreturned"] + 2]
    assert not wasteful
    (verdicts,) = [plan for plan in plans if "verdict.outcome" in str(plan["command"].get("pipeline"))]
    assert (verdicts["nreturned"], verdicts["docsExamined"]) == (1, 0)
