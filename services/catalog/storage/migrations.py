"""Collections, their validators and indexes, as ordered migrations."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel

from services.catalog.model.text import SUFFIX_LIMIT
from services.catalog.storage.apps import APPS, COUNTERS
from services.catalog.storage.artifact_bytes import RESERVATIONS
from services.catalog.storage.artifacts import ARTIFACTS
from services.catalog.storage.attachments import ATTACHMENTS
from services.catalog.storage.builds import BUILDS, LIST_OF_APP
from services.catalog.storage.documents import LIST, LIST_OF_PLATFORM, SUFFIXES
from services.catalog.storage.keys import KEYS, ORGANISATIONS, SESSIONS
from services.catalog.storage.secrets import SECRETS
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
        "state": {"enum": ["expected", "stored", "leaving"]},
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
    TEST_VERSIONS: {"org_id": TEXT, "test_id": TEXT, "version_number": NUMBER | {"minimum": 1}, "steps": TEXT},
    ATTACHMENTS: {
        "org_id": TEXT,
        "app_id": TEXT,
        "test_id": TEXT,
        "pinned_version": MAYBE_TEXT,
        "attached": FLAG,
        "revision": NUMBER | {"minimum": 1},
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


_LIST = [("org_id", UP), ("live", UP), ("created_at", DOWN), ("_id", DOWN)]

INDEXES: Mapping[str, Sequence[IndexModel]] = {
    KEYS: [_index("lookup", [("lookup", UP)], unique=True), _index("list", _LIST)],
    SESSIONS: [
        _index("lookup", [("lookup", UP)], unique=True),
        _index("of_key", [("org_id", UP), ("api_key_id", UP), ("live", UP)]),
        _index("expiry", [("expires_at", UP)], expireAfterSeconds=0),
    ],
    APPS: [
        _index("list", _LIST),
        _index(
            "list_of_platform", [("org_id", UP), ("live", UP), ("platform", UP), ("created_at", DOWN), ("_id", DOWN)]
        ),
    ],
    COUNTERS: [_index("own", [("org_id", UP)])],
    BUILDS: [
        _index("version", [("org_id", UP), ("app_id", UP), ("version", UP)], unique=True, **ONLY_LIVE),
        _index("list", [("org_id", UP), ("app_id", UP), ("uploaded_at", DOWN), ("_id", DOWN)], **ONLY_LIVE),
    ],
    ARTIFACTS: [_index("unused", [("touched_at", UP)], partialFilterExpression={"uses": 0})],
    TESTS: [
        _index("list", _LIST),
        _index("tagged", [("org_id", UP), ("live", UP), ("tags", UP), ("name_folded", UP), ("_id", UP)]),
    ],
    TEST_VERSIONS: [_index("list", [("org_id", UP), ("test_id", UP), ("version_number", DOWN)], unique=True)],
    ATTACHMENTS: [
        _index("of_app", [("org_id", UP), ("app_id", UP), ("attached", UP), ("name_folded", UP), ("test_id", UP)]),
        _index("of_test", [("org_id", UP), ("test_id", UP), ("created_at", UP), ("_id", UP)]),
    ],
    WORKFLOWS: [
        _index("list", _LIST),
        _index("with_test", [("org_id", UP), ("test_ids", UP)], **ONLY_LIVE),
    ],
}


async def _make_reservations(mongo: Mongo) -> None:
    indexes = [_index("own", [("org_id", UP)]), _index("expiry", [("expires_at", UP)], expireAfterSeconds=0)]
    await mongo.collection(RESERVATIONS).create_indexes(indexes)


async def _make_secrets(mongo: Mongo) -> None:
    await mongo.collection(SECRETS).create_indexes([_index("list", [("org_id", UP), ("name", UP)], unique=True)])


async def _make_collections(mongo: Mongo, names: Iterable[str] = RULES) -> None:
    existing = set(await mongo.database.list_collection_names())
    for name in names:
        fields = RULES[name]
        schema = {"bsonType": "object", "required": sorted(fields), "properties": dict(fields)}
        command = "collMod" if name in existing else "create"
        await mongo.database.command({command: name, "validator": {"$jsonSchema": schema}})
        if indexes := INDEXES.get(name):
            await mongo.collection(name).create_indexes(list(indexes))


async def _make_test_sources(mongo: Mongo) -> None:
    """Tests know the flow that they were imported from, which no other live test has."""
    tests = mongo.collection(TESTS)
    await tests.update_many({"workspace": {"$exists": False}}, {"$set": {"workspace": None, "source_path": None}})
    imported = {"partialFilterExpression": {"live": True, "source_path": {"$type": "string"}}}
    keys = [("org_id", UP), ("workspace", UP), ("source_path", UP)]
    await tests.create_indexes([_index("source", keys, unique=True, **imported)])


async def _make_build_contents(mongo: Mongo) -> None:
    """Builds are found by their content, so that a client uploads a file only once."""
    keys = [("org_id", UP), ("app_id", UP), ("sha256", UP)]
    await mongo.collection(BUILDS).create_indexes([_index("content", keys, **ONLY_LIVE)])


async def _make_sessions(mongo: Mongo) -> None:
    await _make_collections(mongo, [SESSIONS])


async def _make_quarantined(mongo: Mongo) -> None:
    keys = [("org_id", UP), ("live", UP), ("quarantine.until", UP)]
    ever = {"partialFilterExpression": {"quarantine.until": {"$gt": datetime(1970, 1, 1, tzinfo=UTC)}}}
    await mongo.collection(TESTS).create_indexes([_index("quarantined", keys, **ever)])


async def _make_name_suffixes(mongo: Mongo) -> None:
    """Names of apps and tests are found by the index of their suffixes (see `text.name_suffixes`)."""
    starts = {"$range": [0, {"$strLenCP": "$name_folded"}]}
    suffixes = {"$map": {"input": starts, "in": {"$substrCP": ["$name_folded", "$$this", SUFFIX_LIMIT]}}}
    keys = [("org_id", UP), ("live", UP), (SUFFIXES, UP), ("platform", UP)]
    for name in (APPS, TESTS):
        rows = mongo.collection(name)
        await rows.update_many({SUFFIXES: {"$exists": False}}, [{"$set": {SUFFIXES: {"$setUnion": [suffixes]}}}])
        await rows.create_indexes([_index("suffixes", keys)])


async def _make_list_indexes(mongo: Mongo) -> None:
    """So that no page far down reads the documents before it, nor tries other indexes (their names are hints)."""
    of_platform = [("org_id", UP), ("live", UP), ("platform", UP), ("created_at", DOWN), ("_id", DOWN)]
    await mongo.collection(TESTS).create_indexes([_index(LIST_OF_PLATFORM, of_platform)])
    of_app = [("org_id", UP), ("app_id", UP), ("live", UP), ("uploaded_at", DOWN), ("_id", DOWN)]
    builds = mongo.collection(BUILDS)
    await builds.create_indexes([_index(LIST_OF_APP, of_app)])
    if LIST in await builds.index_information():
        await builds.drop_index(LIST)


MIGRATIONS = [
    idempotency.MIGRATION,
    outbox.MIGRATION,
    Migration("0001_collections", _make_collections),
    Migration("0002_upload_reservations", _make_reservations),
    Migration("0003_secrets", _make_secrets),
    Migration("0004_test_sources", _make_test_sources),
    Migration("0005_build_contents", _make_build_contents),
    Migration("0006_sessions", _make_sessions),
    Migration("0007_quarantined", _make_quarantined),
    Migration("0008_name_suffixes", _make_name_suffixes),
    Migration("0009_list_indexes", _make_list_indexes),
]
