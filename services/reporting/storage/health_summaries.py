"""Computed summaries of apps in MongoDB, each with the version that it was computed for."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from services.chassis.context import current
from services.chassis.mongo import Mongo
from services.chassis.org_collection import OrgCollection
from services.reporting.model.reports.app_health import AppHealth, HealthCounts
from services.reporting.model.reports.breakage import ComparedBuild
from services.reporting.model.snapshots import Outcome
from services.reporting.ports import StoredHealth
from services.reporting.storage.generations import ServingGeneration
from services.reporting.storage.subdocuments import Document, decode_fields, decode_optional, encode_fields

APP_HEALTH = "app_health"


class MongoHealthSummaries:
    """See ports.HealthSummaries. The generation is a part of the version: another one may say something else."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._serving = ServingGeneration(mongo)

    async def find(self, app_ids: Collection[str]) -> Mapping[str, StoredHealth]:
        generation = await self._serving.number()
        query = {"_id": {"$in": list(map(_id, app_ids))}, "generation": generation}
        documents = await self._summaries().find(query).to_list(None)
        return {document["app_id"]: _decode(document) for document in documents}

    async def save(self, stored: StoredHealth) -> None:
        generation = await self._serving.number()
        document = {"_id": _id(stored.health.app_id), "generation": generation, "version": stored.version}
        await self._summaries().put(document | _encode(stored.health))

    def _summaries(self) -> OrgCollection:
        return OrgCollection(self._mongo, APP_HEALTH)


def _id(app_id: str) -> str:
    return f"{current().org_id}:{app_id}"


def _encode(health: AppHealth) -> Document:
    build = encode_fields(health.build) if health.build else None
    return encode_fields(health) | {"build": build, "counts": encode_fields(health.counts)}


def _decode(document: Mapping[str, Any]) -> StoredHealth:
    last: datetime | None = document["last_run_at"]
    health = AppHealth(
        document["app_id"],
        decode_optional(ComparedBuild, document["build"]),
        decode_fields(HealthCounts, document["counts"]),
        last,
        document["last_execution_id"],
        Outcome(document["last_outcome"]) if document["last_outcome"] else None,
    )
    return StoredHealth(document["version"], health)
