"""The collections with their validators and indexes, which a migration creates."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel

from services.catalog.storage.apps import APPS, COUNTERS
from services.catalog.storage.artifacts import ARTIFACTS, RESERVATIONS
from services.catalog.storage.attachments import ATTACHMENTS
from services.catalog.storage.builds import BUILDS, LIST_OF_APP
from services.catalog.storage.documents import LIST, LIST_OF_PLATFORM, LIST_OF_TAG, SUFFIXES
from services.catalog.storage.failures import FAILURE_TRIAGES
from services.catalog.storage.inline_steps import FIRST, HAS_STEPS, INLINE, SHARED
from services.catalog.storage.keys import KEYS, ORGANISATIONS, SESSIONS
from services.catalog.storage.part_uploads import ARRIVING_FILES, PART_UPLOADS
from services.catalog.storage.recount import recount_all
from services.catalog.storage.secrets import SECRETS
from services.catalog.storage.test_steps import TEST_STEPS
from services.catalog.storage.tests import TEST_VERSIONS, TESTS
from services.catalog.storage.workflows import WORKFLOWS
from services.chassis import idempotency, outbox
from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo

UP, DOWN = ASCENDING, DESCENDING
ONLY_LIVE: dict[str, Any] = {"partialFilterExpression": {"live": True}}
TEXT, MAYBE_TEXT = {"bsonType": "string"}, {"bsonType": ["string", "null"]}
NUMBER, WHEN, FLAG = {"bsonType": ["int", "long"]}, {"bsonType": "date"}, {"bsonType": "bool"}
TEXTS = {"bsonType": "array", "items": TEXT}
LOOKUP = {"bsonType": "string", "pattern": "^[0-9A-Za-z]{12}$"}
SHA256 = {"bsonType": "string", "pattern": "^[0-9a-f]{64}$"}

# Required fields of each collection's documents. Further fields are allowed.
RULES: Mapping[str, Mapping[str, Any]] = {
    ORGANISATIONS: {"name": TEXT, "created_at": WHEN},
    KEYS: {
        "org_id": TEXT,
        "lookup": LOOKUP,
        "secret_sha256": SHA256,
        "name": TEXT,
        "scopes": {"bsonType": "array", "items": {"enum": ["read", "write", "execute", "admin"]}},
        "live": FLAG,
        "revision": NUMBER,
    },
    SESSIONS: {
        "org_id": TEXT,
        "api_key_id": TEXT,
        "lookup": LOOKUP,
        "secret_sha256": SHA256,
        "expires_at": WHEN,
        "live": FLAG,
    },
    APPS: {
        "org_id": TEXT,
        "name": TEXT,
        "name_folded": TEXT,
        "platform": {"enum": ["iOS", "Android"]},
        "current_version": MAYBE_TEXT,
        "created_at": WHEN,
        "versions_count": NUMBER | {"minimum": 0},
        "attached_tests": NUMBER | {"minimum": 0},
        "pinned_tests": NUMBER | {"minimum": 0},
        "revision": NUMBER | {"minimum": 1},
        "live": FLAG,
    },
    COUNTERS: {"org_id": TEXT},
    BUILDS: {
        "org_id": TEXT,
        "app_id": TEXT,
        "version": {"bsonType": "string", "minLength": 1},
        "uploaded_at": WHEN,
        "metadata": TEXT,
        "sha256": {"bsonType": ["string", "null"], "pattern": "^[0-9a-f]{64}$"},
        "revision": NUMBER | {"minimum": 1},
        "live": FLAG,
    },
    ARTIFACTS: {
        "org_id": TEXT,
        "sha256": TEXT,
        "size": NUMBER,
        "uses": NUMBER | {"minimum": 0},
        "state": {"enum": ["expected", "stored", "deleting"]},
        "touched_at": WHEN,
    },
    TESTS: {
        "org_id": TEXT,
        "name": TEXT,
        "name_folded": TEXT,
        "platform": {"enum": ["iOS", "Android", None]},
        "tags": TEXTS,
        "steps": TEXT,
        "version_number": NUMBER | {"minimum": 1},
        "revision": NUMBER | {"minimum": 1},
        "live": FLAG,
    },
    RESERVATIONS: {"org_id": TEXT, "bytes": NUMBER, "expires_at": WHEN},
    PART_UPLOADS: {
        "org_id": TEXT,
        "app_id": TEXT,
        "sha256": SHA256,
        "size": NUMBER | {"minimum": 1},
        "part_bytes": NUMBER | {"minimum": 1},
        "parts": {"bsonType": "array", "items": NUMBER},
        "expires_at": WHEN,
        "live": FLAG,
    },
    ARRIVING_FILES: {"org_id": TEXT, "expires_at": WHEN},
    SECRETS: {"org_id": TEXT, "name": TEXT, "value": {"bsonType": "object"}, "updated_at": WHEN},
    TEST_STEPS: {"org_id": TEXT, "steps": TEXT, "bytes": NUMBER, "uses": NUMBER | {"minimum": 1}},
    TEST_VERSIONS: {"org_id": TEXT, "test_id": TEXT, "version_number": NUMBER | {"minimum": 1}, "steps": TEXT},
    ATTACHMENTS: {
        "org_id": TEXT,
        "app_id": TEXT,
        "test_id": TEXT,
        "pinned_version": MAYBE_TEXT,
        "attached": FLAG,
        "revision": NUMBER | {"minimum": 1},
    },
    FAILURE_TRIAGES: {
        "org_id": TEXT,
        "app_id": TEXT,
        "fingerprint": {"bsonType": "string", "pattern": "^[0-9a-f]{16}$"},
        "state": {"enum": ["open", "known", "fixed"]},
        "revision": NUMBER | {"minimum": 1},
        "live": FLAG,
    },
    WORKFLOWS: {
        "org_id": TEXT,
        "name": TEXT,
        "test_ids": TEXTS,
        "tags": TEXTS,
        "build_config": {"bsonType": "object"},
        "revision": NUMBER | {"minimum": 1},
        "live": FLAG,
    },
}


def _index(name: str, keys: Sequence[tuple[str, int]], **options: Any) -> IndexModel:
    return IndexModel(keys, name=name, **options)


_LIST = _index(LIST, [("org_id", UP), ("live", UP), ("created_at", DOWN), ("_id", DOWN)])
_LIST_OF_PLATFORM = _index(
    LIST_OF_PLATFORM, [("org_id", UP), ("live", UP), ("platform", UP), ("created_at", DOWN), ("_id", DOWN)]
)
_SUFFIXES = _index("suffixes", [("org_id", UP), ("live", UP), (SUFFIXES, UP), ("platform", UP)])
_LOOKUP = _index("lookup", [("lookup", UP)], unique=True)
_EXPIRY = _index("expiry", [("expires_at", UP)], expireAfterSeconds=0)
_ENDED = _index("expiry", [("expires_at", UP)])
_ORGANISATION = _index("organisation", [("org_id", UP)])

INDEXES: Mapping[str, Sequence[IndexModel]] = {
    KEYS: [_LOOKUP, _LIST],
    SESSIONS: [_LOOKUP, _EXPIRY, _index("of_key", [("org_id", UP), ("api_key_id", UP), ("live", UP)])],
    APPS: [_LIST, _LIST_OF_PLATFORM, _SUFFIXES],
    COUNTERS: [_ORGANISATION, _EXPIRY],
    BUILDS: [
        _index("version", [("org_id", UP), ("app_id", UP), ("version", UP)], unique=True, **ONLY_LIVE),
        _index("content", [("org_id", UP), ("app_id", UP), ("sha256", UP)], **ONLY_LIVE),
        _index(LIST_OF_APP, [("org_id", UP), ("app_id", UP), ("live", UP), ("uploaded_at", DOWN), ("_id", DOWN)]),
        _index("of_package", [("org_id", UP), ("package_name", UP), ("app_id", UP)], **ONLY_LIVE),
    ],
    ARTIFACTS: [_index("unused", [("touched_at", UP)], partialFilterExpression={"uses": 0})],
    RESERVATIONS: [_ORGANISATION, _EXPIRY],
    PART_UPLOADS: [
        _index("of_file", [("org_id", UP), ("app_id", UP), ("sha256", UP), ("size", UP)], unique=True, **ONLY_LIVE),
        _ENDED,
    ],
    ARRIVING_FILES: [_ENDED],
    SECRETS: [_index("list", [("org_id", UP), ("name", UP)], unique=True)],
    TESTS: [
        _LIST,
        _LIST_OF_PLATFORM,
        _SUFFIXES,
        _index(LIST_OF_TAG, [("org_id", UP), ("live", UP), ("tags", UP), ("created_at", DOWN), ("_id", DOWN)]),
        _index("tagged", [("org_id", UP), ("live", UP), ("tags", UP), ("name_folded", UP), ("_id", UP)]),
        _index(
            "source",
            [("org_id", UP), ("workspace", UP), ("source_path", UP)],
            unique=True,
            partialFilterExpression={"live": True, "source_path": {"$type": "string"}},
        ),
        _index(
            INLINE,
            [("org_id", UP)],
            partialFilterExpression={"live": True, **HAS_STEPS},
        ),
        _index(
            "deleted",
            [("swept_at", UP), ("deleted_at", UP)],
            partialFilterExpression={"live": False},
        ),
        _index(
            "quarantined",
            [("org_id", UP), ("live", UP), ("quarantine.until", UP)],
            partialFilterExpression={"quarantine.until": {"$gt": datetime(1970, 1, 1, tzinfo=UTC)}},
        ),
    ],
    TEST_STEPS: [_ORGANISATION],
    TEST_VERSIONS: [
        _index("list", [("org_id", UP), ("test_id", UP), ("version_number", DOWN)], unique=True),
        _index(INLINE, [("org_id", UP)], partialFilterExpression=HAS_STEPS),
    ],
    ATTACHMENTS: [
        _index("of_app", [("org_id", UP), ("app_id", UP), ("attached", UP), ("name_folded", UP), ("test_id", UP)]),
        _index("of_test", [("org_id", UP), ("test_id", UP), ("created_at", UP), ("_id", UP)]),
    ],
    FAILURE_TRIAGES: [_index("of_app", [("org_id", UP), ("live", UP), ("app_id", UP)])],
    WORKFLOWS: [_LIST, _index("with_test", [("org_id", UP), ("test_ids", UP)], **ONLY_LIVE)],
}


async def _make_collections(mongo: Mongo) -> None:
    existing = await mongo.database.list_collection_names()
    await asyncio.gather(*(_make_collection(mongo, name, exists=name in existing) for name in RULES))


async def _make_collection(mongo: Mongo, name: str, *, exists: bool) -> None:
    if not exists:
        fields = RULES[name]
        schema = {"bsonType": "object", "required": sorted(fields), "properties": dict(fields)}
        await mongo.database.command({"create": name, "validator": {"$jsonSchema": schema}})
    if indexes := INDEXES.get(name):
        await mongo.collection(name).create_indexes(list(indexes))


async def _count_storage(mongo: Mongo) -> None:
    await _make_collections(mongo)
    await recount_all(mongo)


MIGRATIONS = [
    idempotency.MIGRATION,
    outbox.MIGRATION,
    Migration(FIRST, _make_collections),
    Migration("0002_builds_of_package", _make_collections),
    Migration("0003_part_uploads", _make_collections),
    Migration("0004_records_of_organisation", idempotency.make_quota_index),
    Migration("0004_storage_counts", _count_storage),
    Migration(SHARED, _make_collections),
    Migration("0006_arriving_files", _make_collections),
    Migration("0007_failure_triages", _make_collections),
]
