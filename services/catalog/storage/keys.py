"""API keys, sessions and organisations as documents."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from services.catalog.model.keys import ApiKey, KeySession, Organisation, Scope
from services.catalog.model.values import Page
from services.catalog.storage.documents import IS_LIVE, NEWEST_FIRST, MongoLiveEntities, dump, find, load
from services.chassis.mongo import Document, Mongo
from services.chassis.org_collection import OrgCollection

KEYS = "api_keys"
SESSIONS = "sessions"
ORGANISATIONS = "organisations"


class MongoKeys(MongoLiveEntities[ApiKey]):
    """The keys of the caller's organisation that are not deleted."""

    def __init__(self, rows: OrgCollection) -> None:
        super().__init__(rows, _to_document, _from_document)

    async def page(self, page: Page) -> Sequence[ApiKey]:
        return await self._find({}, NEWEST_FIRST, page)

    async def count(self) -> int:
        return await self._count({})


class MongoSessions(MongoLiveEntities[KeySession]):
    """The sessions of the caller's organisation that have not been ended; MongoDB deletes those that have expired."""

    def __init__(self, rows: OrgCollection) -> None:
        super().__init__(rows, _session_document, partial(load, KeySession))

    async def oldest_of_key(self, key_id: str, *, keep: int) -> Sequence[KeySession]:
        of_key = {"api_key_id": key_id}
        surplus = await self._rows.count_documents(of_key) - keep
        if surplus <= 0:
            return ()
        oldest = await find(self._rows, of_key, [("live", 1), ("created_at", 1), ("_id", 1)], Page(1, surplus))
        return [load(KeySession, document) for document in oldest]

    async def remove(self, session_id: str) -> None:
        await self._rows.delete_one({"_id": session_id})


class MongoKeyRing:
    """The port `KeyRing`, the only place that reads keys and sessions without a caller."""

    def __init__(self, mongo: Mongo) -> None:
        self._keys = mongo.collection(KEYS)
        self._sessions = mongo.collection(SESSIONS)
        self._organisations = mongo.collection(ORGANISATIONS)

    async def find(self, lookup: str) -> ApiKey | None:
        document: Document | None = await self._keys.find_one({"lookup": lookup, **IS_LIVE})
        return _from_document(document) if document else None

    async def get(self, key_id: str) -> ApiKey | None:
        document: Document | None = await self._keys.find_one({"_id": key_id, **IS_LIVE})
        return _from_document(document) if document else None

    async def find_session(self, lookup: str) -> KeySession | None:
        document: Document | None = await self._sessions.find_one({"lookup": lookup, **IS_LIVE})
        return load(KeySession, document) if document else None

    async def used(self, key: ApiKey, at: datetime) -> None:
        await self._keys.update_one({"_id": key.id}, {"$max": {"last_used_at": at}})

    async def add_organisation(self, organisation: Organisation) -> None:
        await self._organisations.insert_one(dump(organisation))

    async def organisation_name(self, org_id: str) -> str | None:
        document: Document | None = await self._organisations.find_one({"_id": org_id}, {"name": 1})
        return document.get("name") if document else None


def _to_document(key: ApiKey) -> Document:
    return dump(key, scopes=[scope.value for scope in key.scopes], live=key.deleted_at is None)


def _session_document(session: KeySession) -> Document:
    return dump(session, live=session.deleted_at is None)


def _from_document(document: Document) -> ApiKey:
    return load(ApiKey, document, scopes=tuple(Scope(scope) for scope in document["scopes"]))
