"""Secrets as documents."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import asdict
from typing import Any

from services.catalog.model.secrets import EncryptedValue, Secret
from services.catalog.model.values import Page
from services.chassis.context import current
from services.chassis.mongo import Document, Mongo
from services.chassis.org_collection import OrgCollection

SECRETS = "secrets"


class MongoSecrets:
    """The port `Secrets` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._secrets = OrgCollection(mongo, SECRETS)

    async def put(self, secret: Secret) -> None:
        await self._secrets.put({"_id": _id(secret.org_id, secret.name), **asdict(secret)})

    async def named(self, names: Collection[str]) -> Sequence[Secret]:
        ids = [_id(current().org_id, name) for name in names]
        documents = await self._secrets.find({"_id": {"$in": ids}}).to_list(None)
        return [_from_document(document) for document in documents]

    async def page(self, page: Page) -> Sequence[Secret]:
        cursor = self._secrets.find().sort("name", 1).skip(page.offset).limit(page.size)
        return [_from_document(document) for document in await cursor.to_list(None)]

    async def count(self) -> int:
        return await self._secrets.count_documents()

    async def delete(self, name: str) -> None:
        await self._secrets.delete_one({"_id": _id(current().org_id, name)})


class MongoSecretRotation:
    """The secrets of all organisations, for encrypting them with another key."""

    def __init__(self, mongo: Mongo) -> None:
        self._secrets = mongo.collection(SECRETS)

    async def not_encrypted_with(self, key_id: str) -> AsyncIterator[Secret]:
        async for document in self._secrets.find({"value.key_id": {"$ne": key_id}}):
            yield _from_document(document)

    async def replace(self, before: Secret, value: EncryptedValue) -> None:
        """Change nothing if the secret has been set since it was read."""
        condition = {"_id": _id(before.org_id, before.name), "value.nonce": before.value.nonce}
        await self._secrets.update_one(condition, {"$set": {"value": asdict(value)}})


def _id(org_id: str, name: str) -> str:
    return f"{org_id}/{name}"


def _from_document(document: Document) -> Secret:
    fields: dict[str, Any] = {name: value for name, value in document.items() if name not in ("_id", "value")}
    return Secret(**fields, value=EncryptedValue(**document["value"]))
