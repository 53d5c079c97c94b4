"""Collections and indexes of the executor's database."""

from pymongo import ASCENDING, DESCENDING, IndexModel, UpdateOne

from services.chassis import idempotency, outbox
from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo
from services.executor.model.states import Status

EXECUTIONS = "executions"
RUNS = "runs"
PLANS = "plans"
STEPS = "steps"
DURATIONS = "durations"
STEP_MEMORIES = "step_memories"
UNCLEAN_DEVICES = "unclean_devices"
MODEL_USAGE = "model_usage"
BASELINES = "baselines"
WORKERS = "workers"
LIST_MARKS = "list_marks"
ORG_LOCKS = "turnstiles"
ORG_LOCKS_COUNT = 256
DURATIONS_KEPT_SECONDS = 90 * 24 * 3600
LOST_WORKERS_KEPT_SECONDS = 24 * 3600

KEPT_SINCE = "kept_since"
"""Set to a run's end as long as the run's artifacts are kept: retention finds runs by it."""


def _index(name: str, *keys: tuple[str, int], only_with: str | None = None) -> IndexModel:
    """`only_with`: documents without that field are left out."""
    if only_with is None:
        return IndexModel(list(keys), name=name)
    return IndexModel(list(keys), name=name, partialFilterExpression={only_with: {"$exists": True}})


def _newest_by(*names: str) -> list[tuple[str, int]]:
    """Keys for one organisation's executions that have these fields in common, newest first."""
    fields = [("org_id", ASCENDING), *((name, ASCENDING) for name in names)]
    return [*fields, ("created_at", DESCENDING), ("_id", DESCENDING)]


_EXECUTION_INDEXES = [
    _index("newest", *_newest_by()),
    _index("by_status", *_newest_by("status")),
    _index("by_workflow", *_newest_by("workflow_id"), only_with="workflow_id"),
    _index("by_app", *_newest_by("app_ids")),
    _index("by_source", *_newest_by("source")),
    _index("by_branch", *_newest_by("ci.branch"), only_with="ci.branch"),
    _index("by_commit", *_newest_by("ci.commit_sha"), only_with="ci.commit_sha"),
    _index("by_pull_request", *_newest_by("ci.pr_number"), only_with="ci.pr_number"),
    # supersession: unfinished executions, those with cancel_previous, and those that have not cancelled yet
    _index(
        "by_workflow_and_status",
        ("org_id", ASCENDING),
        ("workflow_id", ASCENDING),
        ("status", ASCENDING),
        only_with="workflow_id",
    ),
    _index("cancelling_previous", *_newest_by("workflow_id"), only_with="cancel_previous"),
    IndexModel([("created_at", ASCENDING)], name="superseding", partialFilterExpression={"cancel_previous": "pending"}),
]

_RUN_INDEXES = [
    _index("of_execution", ("execution_id", ASCENDING), ("position", ASCENDING)),
    _index("due", ("due_at", ASCENDING), only_with="due_at"),
    _index("orphans", ("orphans.id", ASCENDING), only_with="orphans.id"),
    _index("kept", (KEPT_SINCE, ASCENDING), only_with=KEPT_SINCE),
    _index("leased", ("leased", ASCENDING), ("org_id", ASCENDING), only_with="leased"),
    IndexModel(
        [("queue", ASCENDING), ("claimable_at", ASCENDING), ("turn", ASCENDING)],
        name="queues",
        partialFilterExpression={"queue": {"$gt": ""}},  # with $exists a search would fetch what it skips
    ),
]


async def _make_collections(mongo: Mongo) -> None:
    await mongo.collection(EXECUTIONS).create_indexes(_EXECUTION_INDEXES)
    await mongo.collection(RUNS).create_indexes(_RUN_INDEXES)
    await mongo.collection(STEPS).create_indexes([_index("of_run", ("run_id", ASCENDING))])
    durations = IndexModel([("told_at", ASCENDING)], name="expiry", expireAfterSeconds=DURATIONS_KEPT_SECONDS)
    await mongo.collection(DURATIONS).create_indexes([durations])
    locks = [UpdateOne({"_id": n}, {"$setOnInsert": {"claims": 0}}, upsert=True) for n in range(ORG_LOCKS_COUNT)]
    await mongo.collection(ORG_LOCKS).bulk_write(locks)


async def _make_step_memories(mongo: Mongo) -> None:
    expiry = IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0)
    await mongo.collection(STEP_MEMORIES).create_indexes([expiry])


async def _make_model_usage(mongo: Mongo) -> None:
    expiry = IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0)
    await mongo.collection(MODEL_USAGE).create_indexes([expiry])


async def _make_baselines(mongo: Mongo) -> None:
    of_test = _index("of_test", ("org_id", ASCENDING), ("test_id", ASCENDING), ("size_bytes", ASCENDING))
    await mongo.collection(BASELINES).create_indexes([of_test])


async def _make_named_executions(mongo: Mongo) -> None:
    """For supersession among executions of several tests, as for those of workflows."""
    keys = [("org_id", ASCENDING), ("name", ASCENDING), ("status", ASCENDING)]
    by_status = _index("by_name_and_status", *keys, only_with="name")
    await mongo.collection(EXECUTIONS).create_indexes(
        [by_status, _index("by_name", *_newest_by("name"), only_with="name")]
    )


async def _make_workers(mongo: Mongo) -> None:
    expiry = IndexModel([("alive_until", ASCENDING)], name="expiry", expireAfterSeconds=LOST_WORKERS_KEPT_SECONDS)
    await mongo.collection(WORKERS).create_indexes([expiry])


async def _make_failed_executions(mongo: Mongo) -> None:
    """Indexes of failed executions by branch, workflow and app, so that lists of them do not read all the others."""
    fields = {"failed_by_branch": "ci.branch", "failed_by_workflow": "workflow_id", "failed_by_app": "app_ids"}
    failed = {"status": Status.FAILED.value}
    await mongo.collection(EXECUTIONS).create_indexes(
        [
            IndexModel(_newest_by(field, "status"), name=name, partialFilterExpression=failed)
            for name, field in fields.items()
        ]
    )


async def _make_list_marks(mongo: Mongo) -> None:
    of_list = _index("of_list", ("org_id", ASCENDING), ("list", ASCENDING), ("older", ASCENDING))
    await mongo.collection(LIST_MARKS).create_indexes([of_list])


MIGRATIONS = (
    idempotency.MIGRATION,
    outbox.MIGRATION,
    Migration("0001_collections", _make_collections),
    Migration("0006_step_memories", _make_step_memories),
    Migration("0007_model_usage", _make_model_usage),
    Migration("0008_baselines", _make_baselines),
    Migration("0009_named_executions", _make_named_executions),
    Migration("0010_workers", _make_workers),
    Migration("0011_list_marks", _make_list_marks),
    Migration("0012_failed_executions", _make_failed_executions),
)
