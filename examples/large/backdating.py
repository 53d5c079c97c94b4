"""Moves the history of one organisation of an embedded stack into the past, in its MongoDB.

No service accepts a time from a client, so a history of months cannot be made through one. When all executions have
ended and reporting has read their events, nothing writes to their documents any more: then times are moved there, each
execution by its own span with its runs and steps, and reporting folds its read models anew from these facts.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pymongo import ReplaceOne

from examples.large.embedded import EmbeddedStack, Unusable
from examples.large.shifted_times import shifted, shifted_run
from services.chassis.mongo import Mongo

# Apps, tests and workflows are older than their first build.
_CATALOG_AGE = timedelta(days=63)
_CATALOG = ("apps", "tests", "test_versions", "attachments", "workflows")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Ages:
    """How many days ago the builds and executions of an organisation (by id) are to have been."""

    org_id: str
    builds: Mapping[str, float]
    executions: Mapping[str, float]


async def backdate(stack: EmbeddedStack, ages: Ages) -> None:
    """Move the times of the organisation, and rebuild the read models.

    Raises:
        Unusable: the organisation was not made here, or has its data already, or executions have not ended.
    """
    made = {each.org_id for each in stack.organisations().values() if not each.complete}
    if ages.org_id not in made:
        raise Unusable(f"organisation {ages.org_id} is not one that is being filled: its times are not changed")
    now = datetime.now(UTC)
    uploads = {build: now - timedelta(days=days) for build, days in ages.builds.items()}
    catalog, executor = await _databases(stack)
    try:
        if await executor.collection("executions").find_one({"org_id": ages.org_id, "completed_at": None}):
            raise Unusable("there are executions that have not ended: nothing is changed")
        await _backdate_catalog(catalog, ages.org_id, uploads)
        await _backdate_executions(executor, ages, uploads, now)
        await _correct_sums(executor, ages.org_id, now)
    finally:
        await catalog.close()
        await executor.close()
    await stack.command("reporting", "rebuild")


async def _databases(stack: EmbeddedStack) -> tuple[Mongo, Mongo]:
    """Those of catalog and executor."""
    uri = stack.mongo_uri
    return await Mongo.connect(uri, "catalog", "pymongo"), await Mongo.connect(uri, "executor", "pymongo")


async def _backdate_catalog(catalog: Mongo, org_id: str, uploads: Mapping[str, datetime]) -> None:
    of_organisation = {"org_id": org_id}
    for name in _CATALOG:
        documents = await catalog.collection(name).find(of_organisation).to_list(None)
        await _replace(catalog, name, (shifted(document, _CATALOG_AGE) for document in documents))
    builds = await catalog.collection("builds").find(of_organisation).to_list(None)
    moved = (shifted(build, build["uploaded_at"] - uploads[build["_id"]]) for build in builds)
    await _replace(catalog, "builds", moved)


async def _backdate_executions(executor: Mongo, ages: Ages, uploads: Mapping[str, datetime], now: datetime) -> None:
    """Executions, runs and steps; their events leave the outbox, as those do that are older than it retains."""
    executions = await executor.collection("executions").find({"org_id": ages.org_id}).to_list(None)
    spans = {
        each["_id"]: each["created_at"] - (now - timedelta(days=ages.executions[each["_id"]])) for each in executions
    }
    await _replace(executor, "executions", (shifted(each, spans[each["_id"]]) for each in executions))
    for execution_id, span in spans.items():
        runs = await executor.collection("runs").find({"execution_id": execution_id}).to_list(None)
        await _replace(executor, "runs", (shifted_run(run, span, uploads) for run in runs))
        of_runs = {"run_id": {"$in": [run["_id"] for run in runs]}}
        steps = await executor.collection("steps").find(of_runs).to_list(None)
        await _replace(executor, "steps", (shifted(each, span) for each in steps))
    await executor.collection("_outbox").delete_many({"subject": {"$in": list(spans)}})


async def _correct_sums(executor: Mongo, org_id: str, now: datetime) -> None:
    """Sums by day: evidence is counted again by the executor itself; few of the runs were started today."""
    await executor.collection("evidence").delete_many({})
    await executor.collection("list_marks").delete_many({"org_id": org_id})
    counts = executor.collection("run_counts")
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    today = await executor.collection("runs").count_documents({"org_id": org_id, "created_at": {"$gte": midnight}})
    await counts.update_many({"org_id": org_id}, {"$set": {"today": 0}})
    await counts.update_one({"org_id": org_id}, {"$set": {"today": today}})


async def _replace(mongo: Mongo, collection: str, documents: Iterable[dict[str, Any]]) -> None:
    async for batch in _batches(documents):
        await mongo.collection(collection).bulk_write(batch, ordered=False)


async def _batches(documents: Iterable[dict[str, Any]]) -> AsyncIterator[list[ReplaceOne[dict[str, Any]]]]:
    batch: list[ReplaceOne[dict[str, Any]]] = []
    for document in documents:
        batch.append(ReplaceOne({"_id": document["_id"]}, document))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
