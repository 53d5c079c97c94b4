"""Collections and indexes of the executor's database."""

from pymongo import ASCENDING, DESCENDING, IndexModel, UpdateOne

from mobiletest_automation.model.states import Status
from mobiletest_automation.stored_screens.past_bindings import DAYS_KEPT
from services.chassis.mongo import Mongo

EXECUTIONS = "executions"
RUNS = "runs"
# The index of the runs of an execution.
RUNS_OF_EXECUTION = "of_execution"
PLANS = "plans"
STEPS = "steps"
DURATIONS = "durations"
STEP_CACHE = "step_cache"
UNCLEAN_DEVICES = "unclean_devices"
MODEL_USAGE = "model_usage"
BASELINES = "baselines"
VARIANTS = "variants"
EVIDENCE = "evidence"
RUN_COUNTS = "run_counts"
SCREENS = "screens"
PAST_BINDINGS = "past_bindings"
# The index of an organisation's screens, from which their bytes are added up.
SCREENS_OF_ORGANISATION = "of_organisation"
# The index of an organisation's runs whose artifacts are kept, by their ends.
EVIDENCE_OF_ORGANISATION = "evidence_of_organisation"
WORKERS = "workers"
LIST_MARKS = "list_marks"
RUN_COMMENTS = "run_comments"
ORG_LOCKS = "org_locks"
ORG_LOCKS_COUNT = 256
# MongoDB's code of an error.
DUPLICATE_KEY = 11000
DURATIONS_KEPT_SECONDS = 90 * 24 * 3600
VARIANTS_KEPT_SECONDS = 365 * 24 * 3600
PAST_BINDINGS_KEPT_SECONDS = DAYS_KEPT * 24 * 3600
LOST_WORKERS_KEPT_SECONDS = 24 * 3600

# Set to a run's end as long as the run's artifacts are kept: retention finds runs by it.
ARTIFACTS_KEPT_SINCE = "artifacts_kept_since"

# Set to a run's end if its last attempt has kept screens: what screens answer is read from these runs.
SCREENS_KEPT_SINCE = "screens_kept_since"


def _index(name: str, *keys: tuple[str, int], only_with: str | None = None) -> IndexModel:
    """`only_with`: documents without that field are left out."""
    if only_with is None:
        return IndexModel(list(keys), name=name)
    return IndexModel(list(keys), name=name, partialFilterExpression={only_with: {"$exists": True}})


def _newest_by(*names: str) -> list[tuple[str, int]]:
    """Keys for one organisation's executions that have these fields in common, newest first."""
    fields = [("org_id", ASCENDING), *((name, ASCENDING) for name in names)]
    return [*fields, ("created_at", DESCENDING), ("_id", DESCENDING)]


_FAILED_BY = {"failed_by_workflow": "workflow_id", "failed_by_app": "app_ids"}

_EXECUTION_INDEXES = [
    _index("newest", *_newest_by()),
    _index("by_status", *_newest_by("status")),
    _index("by_workflow", *_newest_by("workflow_id"), only_with="workflow_id"),
    _index("by_app", *_newest_by("app_ids")),
    _index("by_source", *_newest_by("source")),
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
    # supersession among executions of several tests
    _index("by_name_and_status", ("org_id", ASCENDING), ("name", ASCENDING), ("status", ASCENDING), only_with="name"),
    _index("by_name", *_newest_by("name"), only_with="name"),
    # so that lists of failed executions do not read all the others
    *(
        IndexModel(_newest_by(field, "status"), name=name, partialFilterExpression={"status": Status.FAILED.value})
        for name, field in _FAILED_BY.items()
    ),
]

_RUN_INDEXES = [
    _index(RUNS_OF_EXECUTION, ("execution_id", ASCENDING), ("position", ASCENDING)),
    _index("due", ("due_at", ASCENDING), only_with="due_at"),
    _index("orphans", ("orphans.id", ASCENDING), only_with="orphans.id"),
    _index("with_artifacts", (ARTIFACTS_KEPT_SINCE, ASCENDING), only_with=ARTIFACTS_KEPT_SINCE),
    _index("leased", ("leased_platform", ASCENDING), ("org_id", ASCENDING), only_with="leased_platform"),
    IndexModel(
        [("queue", ASCENDING), ("claimable_at", ASCENDING), ("claim_order", ASCENDING)],
        name="queues",
        partialFilterExpression={"queue": {"$gt": ""}},  # with $exists a search would fetch what it skips
    ),
]


def _expiry(field: str, seconds: int = 0) -> IndexModel:
    """Documents are deleted so many seconds after the time in this field."""
    return IndexModel([(field, ASCENDING)], name="expiry", expireAfterSeconds=seconds)


_INDEXES = {
    EXECUTIONS: _EXECUTION_INDEXES,
    RUNS: _RUN_INDEXES,
    STEPS: [_index("of_run", ("run_id", ASCENDING))],
    DURATIONS: [_expiry("updated_at", DURATIONS_KEPT_SECONDS)],
    STEP_CACHE: [_expiry("expires_at")],
    MODEL_USAGE: [_expiry("expires_at")],
    BASELINES: [_index("of_test", ("org_id", ASCENDING), ("test_id", ASCENDING), ("size_bytes", ASCENDING))],
    WORKERS: [_expiry("alive_until", LOST_WORKERS_KEPT_SECONDS)],
    LIST_MARKS: [_index("of_list", ("org_id", ASCENDING), ("list", ASCENDING), ("older", ASCENDING))],
}


async def make_collections(mongo: Mongo) -> None:
    for name, indexes in _INDEXES.items():
        await mongo.collection(name).create_indexes(indexes)
    locks = [UpdateOne({"_id": n}, {"$setOnInsert": {"acquisitions": 0}}, upsert=True) for n in range(ORG_LOCKS_COUNT)]
    await mongo.collection(ORG_LOCKS).bulk_write(locks)


async def make_variants(mongo: Mongo) -> None:
    await mongo.collection(VARIANTS).create_indexes([_expiry("updated_at", VARIANTS_KEPT_SECONDS)])


async def index_step_cache(mongo: Mongo) -> None:
    await mongo.collection(STEP_CACHE).create_indexes([_index("of_organisation", ("org_id", ASCENDING))])


async def index_live_steps(mongo: Mongo) -> None:
    by_write = [("execution_id", ASCENDING), ("updated_at", ASCENDING), ("run_id", ASCENDING)]
    live = IndexModel(by_write, name="live", partialFilterExpression={"live": True})
    await mongo.collection(STEPS).create_indexes([live])


async def index_questions(mongo: Mongo) -> None:
    by_time = [("org_id", ASCENDING), ("question.asked_at", ASCENDING), ("_id", ASCENDING)]
    asking = IndexModel(by_time, name="asking", partialFilterExpression={"question.open": True})
    await mongo.collection(RUNS).create_indexes([asking])


async def make_evidence(mongo: Mongo) -> None:
    of_organisation = _index(
        EVIDENCE_OF_ORGANISATION,
        ("org_id", ASCENDING),
        (ARTIFACTS_KEPT_SINCE, ASCENDING),
        only_with=ARTIFACTS_KEPT_SINCE,
    )
    await mongo.collection(RUNS).create_indexes([of_organisation])
    indexes = [_index("by_day", ("day", ASCENDING)), _index("by_organisation", ("org_id", ASCENDING))]
    await mongo.collection(EVIDENCE).create_indexes(indexes)


async def make_screens(mongo: Mongo) -> None:
    # of those of one day the largest first: the fewest are deleted
    of_organisation = _index(
        SCREENS_OF_ORGANISATION, ("org_id", ASCENDING), ("used_on", ASCENDING), ("size_bytes", DESCENDING)
    )
    await mongo.collection(SCREENS).create_indexes([of_organisation, _index("unused", ("used_on", ASCENDING))])


async def make_past_bindings(mongo: Mongo) -> None:
    await mongo.collection(PAST_BINDINGS).create_indexes([_expiry("used_on", PAST_BINDINGS_KEPT_SECONDS)])


async def index_runs_with_screens(mongo: Mongo) -> None:
    # with `success`, so that passing runs are found without reading the others
    by_end = ((SCREENS_KEPT_SINCE, DESCENDING), ("_id", DESCENDING), ("success", ASCENDING))
    indexes = [
        _index(name, ("org_id", ASCENDING), (field, ASCENDING), *by_end, only_with=SCREENS_KEPT_SINCE)
        for name, field in (("screens_of_test", "target.test_id"), ("screens_of_build", "target.build_id"))
    ]
    await mongo.collection(RUNS).create_indexes(indexes)


async def index_passes_with_screens(mongo: Mongo) -> None:
    keys = ("org_id", "target.test_id", "target.app_id", "target.platform", "variant.id")
    by_end = [(SCREENS_KEPT_SINCE, DESCENDING), ("_id", DESCENDING)]
    index = IndexModel(
        [*((key, ASCENDING) for key in keys), *by_end],
        name="passes_of_variant",
        partialFilterExpression={SCREENS_KEPT_SINCE: {"$exists": True}, "success": True},
    )
    await mongo.collection(RUNS).create_indexes([index])


async def index_lists(mongo: Mongo) -> None:
    """Of texts, results and repetitions, by which lists of executions are filtered."""
    of_texts = {
        f"by_{name}_text": f"search.{field}"
        for name, field in {
            "commit": "commit",
            "ci_run": "ci_run",
            "name": "name",
            "branch": "branch",
            "starter": "started_by",
        }.items()
    }
    partial = {**of_texts, "by_flaky": "flaky", "by_rerun": "rerun_of"}
    indexes = [_index(name, *_newest_by(field), only_with=field) for name, field in partial.items()]
    await mongo.collection(EXECUTIONS).create_indexes([*indexes, _index("by_result", *_newest_by("result"))])


async def index_superseded(mongo: Mongo) -> None:
    """Of executions that a newer one has cancelled."""
    index = _index("by_superseding", *_newest_by("superseded_by"), only_with="superseded_by")
    await mongo.collection(EXECUTIONS).create_indexes([index])


async def index_screens_of_app(mongo: Mongo) -> None:
    index = _index(
        "screens_of_app",
        ("org_id", ASCENDING),
        ("target.app_id", ASCENDING),
        (SCREENS_KEPT_SINCE, DESCENDING),
        ("_id", DESCENDING),
        only_with=SCREENS_KEPT_SINCE,
    )
    await mongo.collection(RUNS).create_indexes([index])


async def make_comments(mongo: Mongo) -> None:
    in_order = ("org_id", "execution_id", "run_id", "created_at", "_id")
    index = _index("of_run", *((key, ASCENDING) for key in in_order))
    await mongo.collection(RUN_COMMENTS).create_indexes([index])
