"""Collections and indexes of the executor's database, as migrations."""

from pymongo import ASCENDING, DESCENDING, IndexModel, UpdateOne

from services.chassis import idempotency, outbox
from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo
from services.executor.storage import step_cache

EXECUTIONS = "executions"
RUNS = "runs"
PLANS = "plans"
DURATIONS = "durations"
ORG_LOCKS = "turnstiles"
ORG_LOCKS_COUNT = 256
STEPS = "steps"
DURATIONS_KEPT_SECONDS = 90 * 24 * 3600

KEPT_SINCE = "kept_since"
"""The field by which retention finds runs: when they ended, as long as their artifacts are kept."""


def _index(name: str, *keys: tuple[str, int], only_with: str | None = None) -> IndexModel:
    """`only_with`: documents without that field are left out."""
    if only_with is None:
        return IndexModel(list(keys), name=name)
    return IndexModel(list(keys), name=name, partialFilterExpression={only_with: {"$exists": True}})


def _by(*names: str) -> list[tuple[str, int]]:
    """An index for one organisation's executions of a kind, newest first."""
    kept = [("org_id", ASCENDING), *((name, ASCENDING) for name in names)]
    return [*kept, ("created_at", DESCENDING), ("_id", DESCENDING)]


async def _make_indexes(mongo: Mongo) -> None:
    await mongo.collection(EXECUTIONS).create_indexes(
        [
            _index("newest", *_by()),
            _index("by_status", *_by("status")),
            _index("by_workflow", *_by("workflow_id"), only_with="workflow_id"),
            _index("by_app", *_by("app_ids")),
            _index("by_source", *_by("source")),
            _index("by_branch", *_by("ci.branch"), only_with="ci.branch"),
            _index("by_commit", *_by("ci.commit_sha"), only_with="ci.commit_sha"),
            _index("by_pull_request", *_by("ci.pr_number"), only_with="ci.pr_number"),
        ]
    )
    await mongo.collection(RUNS).create_indexes(
        [
            _index("of_execution", ("execution_id", ASCENDING), ("position", ASCENDING)),
            _index(
                "claimable",
                ("target.platform", ASCENDING),
                ("rank", ASCENDING),
                ("claimable_at", ASCENDING),
                only_with="claimable_at",
            ),
            _index("due", ("due_at", ASCENDING), only_with="due_at"),
        ]
    )
    await mongo.collection(STEPS).create_indexes([_index("of_run", ("run_id", ASCENDING))])


async def _index_orphans(mongo: Mongo) -> None:
    """Runs that a session was left behind of; an empty list has no `orphans.id`."""
    await mongo.collection(RUNS).create_indexes([_index("orphans", ("orphans.id", ASCENDING), only_with="orphans.id")])


async def _find_kept_artifacts(mongo: Mongo) -> None:
    """Runs whose artifacts are kept, by their end."""
    await mongo.collection(RUNS).create_indexes([_index("kept", (KEPT_SINCE, ASCENDING), only_with=KEPT_SINCE)])
    await mongo.collection(RUNS).update_many(
        {"completed_at": {"$exists": True}, "attempts.0": {"$exists": True}, KEPT_SINCE: {"$exists": False}},
        [{"$set": {KEPT_SINCE: "$completed_at"}}],
    )


_QUEUES = IndexModel(
    [("queue", ASCENDING), ("claimable_at", ASCENDING), ("turn", ASCENDING)],
    name="queues",
    partialFilterExpression={"queue": {"$gt": ""}},  # $exists would make a search fetch what it skips
)
_BEGUN = {"$gt": [{"$size": {"$ifNull": ["$attempts", []]}}, 0]}
QUEUED = {"$set": {"queue": {"$concat": ["$target.platform", {"$cond": [_BEGUN, "/00/", "/11/"]}, "$org_id"]}}}


async def _index_queues(mongo: Mongo) -> None:
    """What waits, to be claimed in a fair order, and what is leased; with what waits and is leased already."""
    runs = mongo.collection(RUNS)
    leased = _index("leased", ("leased", ASCENDING), ("org_id", ASCENDING), only_with="leased")
    await runs.create_indexes([_QUEUES, leased])
    await runs.update_many({"claimable_at": {"$exists": True}, "target.platform": {"$exists": True}}, [QUEUED])
    await runs.update_many({"lease": {"$exists": True}}, [{"$set": {"leased": "$target.platform"}}])
    if "claimable" in await runs.index_information():
        await runs.drop_index("claimable")
    await mongo.collection(ORG_LOCKS).bulk_write(
        [UpdateOne({"_id": n}, {"$setOnInsert": {"claims": 0}}, upsert=True) for n in range(ORG_LOCKS_COUNT)]
    )
    expiry = IndexModel([("told_at", ASCENDING)], name="expiry", expireAfterSeconds=DURATIONS_KEPT_SECONDS)
    await mongo.collection(DURATIONS).create_indexes([expiry])


async def _index_superseding(mongo: Mongo) -> None:
    """Executions that others take the place of: those that are open, those that want it, those that are not done."""
    open_ones = [("org_id", ASCENDING), ("workflow_id", ASCENDING), ("status", ASCENDING)]
    pending = IndexModel(
        [("created_at", ASCENDING)], name="superseding", partialFilterExpression={"cancel_previous": "pending"}
    )
    wanting = _index("cancelling_previous", *_by("workflow_id"), only_with="cancel_previous")
    by_status = _index("by_workflow_and_status", *open_ones, only_with="workflow_id")
    await mongo.collection(EXECUTIONS).create_indexes([by_status, wanting, pending])


MIGRATIONS = (
    idempotency.MIGRATION,
    outbox.MIGRATION,
    Migration("0001_executions_and_runs", _make_indexes),
    Migration("0002_orphans", _index_orphans),
    Migration("0003_queues", _index_queues),
    Migration("0004_superseding", _index_superseding),
    step_cache.MIGRATION,
    Migration("0009_kept_artifacts", _find_kept_artifacts),
)
