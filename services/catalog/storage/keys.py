"""API keys and organisations as documents."""

from collections.abc import Sequence
from datetime import datetime

from services.catalog.model.keys import ApiKey, Organisation, Scope
from services.catalog.model.values import Page
from services.catalog.storage.documents import dump, load
from services.catalog.storage.tenant_rows import IS_LIVE, NEWEST_FIRST, TenantRows
from services.chassis.mongo import Document, Mongo

KEYS = "api_keys"
ORGANISATIONS = "organisations"


class MongoKeys:
    """The keys of the caller's organisation that are not deleted."""

    def __init__(self, rows: TenantRows) -> None:
        self._rows = rows

    async def get(self, key_id: str) -> ApiKey | None:
        document = await self._rows.one({"_id": key_id, **IS_LIVE})
        return _from_document(document) if document else None

    async def page(self, page: Page) -> Sequence[ApiKey]:
        return [_from_document(document) for document in await self._rows.page(IS_LIVE, NEWEST_FIRST, page)]

    async def count(self) -> int:
        return await self._rows.count(IS_LIVE)

    async def add(self, key: ApiKey) -> None:
        await self._rows.add(_to_document(key))

    async def replace(self, key: ApiKey) -> None:
        await self._rows.put(_to_document(key))


class MongoKeyRing:
    """The keys of all organisations. With `MongoOrganisations` the only place that reads without a caller."""

    def __init__(self, mongo: Mongo) -> None:
        self._keys = mongo.collection(KEYS)

    async def find(self, lookup: str) -> ApiKey | None:
        document: Document | None = await self._keys.find_one({"lookup": lookup, **IS_LIVE})
        return _from_document(document) if document else None

    async def used(self, key: ApiKey, at: datetime) -> None:
        await self._keys.update_one({"_id": key.id}, {"$max": {"last_used_at": at}})


class MongoOrganisations:
    """The tenants."""

    def __init__(self, mongo: Mongo) -> None:
        self._organisations = mongo.collection(ORGANISATIONS)

    async def add(self, organisation: Organisation) -> None:
        document = {"_id": organisation.id, "name": organisation.name, "created_at": organisation.created_at}
        await self._organisations.insert_one(document)


def _to_document(key: ApiKey) -> Document:
    return dump(key, scopes=[scope.value for scope in key.scopes], live=key.deleted_at is None)


def _from_document(document: Document) -> ApiKey:
    return load(ApiKey, document, scopes=tuple(Scope(scope) for scope in document["scopes"]))
