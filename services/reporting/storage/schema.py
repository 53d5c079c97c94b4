"""The collections and indexes of a generation. Indexes lead with the organisation, as every lookup does."""

import asyncio
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel

from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo
from services.reporting.model.flaky import Classification
from services.reporting.storage.documents import COUNTERS, RESULTS_OF_BUILD, RESULTS_OF_TEST, TABLE_CODECS
from services.reporting.storage.failure_migration import sum_up_failures
from services.reporting.storage.generations import GENERATIONS, collection_name, read_generations
from services.reporting.storage.result_migration import name_results

# Expired runs are in no list, so they are in no index of one.
_IS_LISTED = {"listed_at": {"$exists": True}}
# Expired runs have no result either, and runs that have not ended are found by none.
_HAS_RESULT = {"result": {"$exists": True}}
_HAS_VERDICT = {"named_verdict.outcome": {"$exists": True}}


def _index(name: str, *fields: str, **options: Any) -> IndexModel:
    """An index over these fields after the organisation; a field with a minus before it is descending."""
    keys = [(field.lstrip("-"), DESCENDING if field.startswith("-") else ASCENDING) for field in ("org_id", *fields)]
    return IndexModel(keys, name=name, **options)


INDEXES = {
    "runs": [
        _index("list_of_build", "build_id", "-listed_at", "-_id", partialFilterExpression=_IS_LISTED),
        _index("list_of_test", "test_id", "-listed_at", "-_id", partialFilterExpression=_IS_LISTED),
        _index(RESULTS_OF_BUILD, "build_id", "result", "-listed_at", "-_id", partialFilterExpression=_HAS_RESULT),
        _index(RESULTS_OF_TEST, "test_id", "result", "-listed_at", "-_id", partialFilterExpression=_HAS_RESULT),
        _index("of_execution", "execution_id"),
    ],
    "builds": [
        _index("list_of_app", "app_id", "deleted", "-uploaded_at", "-_id"),
        _index("version_of_app", "app_id", "version", "deleted"),
    ],
    "attachments": [_index("of_app", "app_id", "attached")],
    "apps": [_index("existing", "deleted")],
    "failure_groups": [_index("of_failure", "app_id", "fingerprint", "-last_seen_at")],
    "failures": [_index("list", "-last_seen_at", "-_id"), _index("list_of_app", "app_id", "-last_seen_at", "-_id")],
    "triages": [_index("of_state", "state")],
    "tests": [_index("list", "deleted", "-created_at", "-_id")],
    "histories": [
        _index("tests_of_class", "classification", "test_id"),
        IndexModel(
            [("org_id", ASCENDING), ("flaky_score", DESCENDING), ("_id", ASCENDING), ("app_id", ASCENDING)],
            name="flakiest",
            partialFilterExpression={"classification": Classification.FLAKY.value},
        ),
        _index("variants", "app_id", "variant_of", partialFilterExpression={"variant_of": {"$exists": True}}),
    ],
    "cells": [
        _index("verdicts_of_build", "app_id", "build_id", "test_id", "verdict.outcome"),
        _index(
            "named_verdicts",
            *("app_id", "test_id", "named_verdict.branch", "named_verdict.outcome", "-uploaded_at", "-build_id"),
            partialFilterExpression=_HAS_VERDICT,
        ),
    ],
    "branches": [_index("newest_of_app", "app_id", "kind", "-last_run_at", "-_id", "name_folded")],
}


async def create_generation(mongo: Mongo, generation: int) -> None:
    """Create its collections before the first transaction, so that no transaction has to.

    All at once, because MongoDB waits for the disk after each one.
    """
    existing = set(await mongo.database.list_collection_names())
    indexed = {collection_name(collection, generation): indexes for collection, indexes in INDEXES.items()}
    collections = [*(codec.collection for codec in TABLE_CODECS), COUNTERS]
    names = [*(collection_name(collection, generation) for collection in collections), GENERATIONS]
    missing = [name for name in names if name not in existing and name not in indexed]
    await asyncio.gather(
        *(mongo.collection(name).create_indexes(indexes) for name, indexes in indexed.items()),
        *(mongo.database.create_collection(name) for name in missing),
    )


async def _create_read_models(mongo: Mongo) -> None:
    await create_generation(mongo, 0)


async def _name_verdicts(mongo: Mongo) -> None:
    """Take over the verdicts whose run named its branch; of the others only a rebuild knows the earlier ones."""
    generations = await read_generations(mongo)
    for generation in generations.written:
        await create_generation(mongo, generation)
        revision = "$source_revision"
        named = {"branch": f"{revision}.branch", "commit_sha": f"{revision}.commit_sha"}
        own = {
            "verdict.outcome": {"$exists": True},
            "source_revision.branch": {"$gte": ""},
            "named_verdict": {"$exists": False},
            "$expr": {"$eq": ["$verdict.run_id", f"{revision}.run_id"]},
        }
        cells = mongo.collection(collection_name("cells", generation))
        await cells.update_many(own, [{"$set": {"named_verdict": {"$mergeObjects": ["$verdict", named]}}}])


async def _create_missing(mongo: Mongo) -> None:
    """Collections and indexes that a version has added, in the generations that there are; a rebuild fills them."""
    for generation in (await read_generations(mongo)).written:
        await create_generation(mongo, generation)


async def _create_failures(mongo: Mongo) -> None:
    """The failures of each app, summed up from its groups. Only a rebuild knows their days and branches."""
    await _create_missing(mongo)
    for generation in (await read_generations(mongo)).written:
        await sum_up_failures(mongo, generation)


async def _create_results(mongo: Mongo) -> None:
    """The results of the runs in lists. The indexes come last: each is built once."""
    for generation in (await read_generations(mongo)).written:
        await name_results(mongo, generation)
    await _create_missing(mongo)


MIGRATIONS = [
    Migration("0001_read_models", _create_read_models),
    Migration("0002_named_verdicts", _name_verdicts),
    Migration("0003_variants", _create_missing),
    Migration("0004_branches", _create_missing),
    Migration("0005_failures", _create_failures),
    Migration("0006_flakiest", _create_missing),
    Migration("0007_run_results", _create_results),
]
