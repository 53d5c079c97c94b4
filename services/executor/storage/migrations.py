"""The migrations of the executor's database."""

from contextlib import suppress

from pymongo.errors import CollectionInvalid

from services.chassis import idempotency, outbox
from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo
from services.executor.storage.list_fields import fill_list_fields
from services.executor.storage.run_counts import MongoRunCounts
from services.executor.storage.schema import (
    RUN_COUNTS,
    index_lists,
    index_live_steps,
    index_passes_with_screens,
    index_questions,
    index_runs_with_screens,
    index_screens_of_app,
    index_step_cache,
    index_superseded,
    make_collections,
    make_comments,
    make_evidence,
    make_past_bindings,
    make_screens,
    make_variants,
)


async def _count_runs(mongo: Mongo) -> None:
    with suppress(CollectionInvalid):  # it exists
        await mongo.database.create_collection(RUN_COUNTS)
    counts = MongoRunCounts(mongo)
    await counts.recount()
    await counts.plan_recount()


async def _make_lists(mongo: Mongo) -> None:
    await fill_list_fields(mongo)
    await index_lists(mongo)
    await MongoRunCounts(mongo).plan_recount()


MIGRATIONS = (
    idempotency.MIGRATION,
    outbox.MIGRATION,
    Migration("0001_collections", make_collections),
    Migration("0002_variants", make_variants),
    Migration("0003_evidence", make_evidence),
    Migration("0004_records_of_organisation", idempotency.make_quota_index),
    Migration("0005_run_counts", _count_runs),
    Migration("0006_step_cache_of_organisation", index_step_cache),
    Migration("0007_live_steps", index_live_steps),
    Migration("0008_screens", make_screens),
    Migration("0009_runs_with_screens", index_runs_with_screens),
    Migration("0010_questions", index_questions),
    Migration("0011_past_bindings", make_past_bindings),
    Migration("0012_screens_of_app", index_screens_of_app),
    Migration("0013_passes_with_screens", index_passes_with_screens),
    Migration("0014_execution_lists", _make_lists),
    Migration("0015_run_comments", make_comments),
    Migration("0016_superseded", index_superseded),
)
