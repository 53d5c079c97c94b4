"""Collections and indexes, in ordered migrations. Indexes lead with the organisation, as every lookup does."""

from pymongo import ASCENDING, DESCENDING, IndexModel

from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo
from services.reporting.storage.documents import COUNTERS, KINDS

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


async def _read_models(mongo: Mongo) -> None:
    """Collections exist before the first transaction, so that none has to create one."""
    existing = set(await mongo.database.list_collection_names())
    for name in (*(kind.collection for kind in KINDS), COUNTERS):
        if name not in existing:
            await mongo.database.create_collection(name)
    for name, indexes in _INDEXES.items():
        await mongo.collection(name).create_indexes([IndexModel(keys) for keys in indexes])


MIGRATIONS = [Migration("0001_read_models", _read_models)]
