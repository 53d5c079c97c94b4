"""Collections and indexes, in ordered migrations. Indexes lead with the organisation, as every lookup does."""

from pymongo import ASCENDING, DESCENDING, IndexModel

from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo
from services.reporting.storage.documents import COUNTERS, KINDS
from services.reporting.storage.generations import GENERATIONS, named

_INDEXES = {
    "runs": [
        [("org_id", ASCENDING), ("build_id", ASCENDING), ("listed_at", DESCENDING), ("_id", DESCENDING)],
        [("org_id", ASCENDING), ("test_id", ASCENDING), ("listed_at", DESCENDING), ("_id", DESCENDING)],
    ],
    "builds": [
        [
            ("org_id", ASCENDING),
            ("app_id", ASCENDING),
            ("deleted", ASCENDING),
            ("uploaded_at", DESCENDING),
            ("_id", DESCENDING),
        ],
        [("org_id", ASCENDING), ("app_id", ASCENDING), ("version", ASCENDING)],
    ],
    "attachments": [[("org_id", ASCENDING), ("app_id", ASCENDING), ("attached", ASCENDING)]],
    "cells": [
        [
            ("org_id", ASCENDING),
            ("app_id", ASCENDING),
            ("build_id", ASCENDING),
            ("test_id", ASCENDING),
            ("verdict.outcome", ASCENDING),
        ]
    ],
}


async def create_generation(mongo: Mongo, generation: int) -> None:
    """Collections exist before the first transaction, so that none has to create one."""
    existing = set(await mongo.database.list_collection_names())
    for name in (*(named(kind.collection, generation) for kind in KINDS), named(COUNTERS, generation), GENERATIONS):
        if name not in existing:
            await mongo.database.create_collection(name)
    for name, indexes in _INDEXES.items():
        await mongo.collection(named(name, generation)).create_indexes([IndexModel(keys) for keys in indexes])


async def _read_models(mongo: Mongo) -> None:
    await create_generation(mongo, 0)


MIGRATIONS = [Migration("0001_read_models", _read_models)]
