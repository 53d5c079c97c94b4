"""How many bytes an organisation stores, with the uploads under way: as reservations, or whole if they are in parts.

They are summed when an upload begins, so no counter can drift.
"""

from datetime import timedelta

from services.catalog.model.organisation_limits import ArtifactBytes
from services.catalog.storage.artifacts import ARTIFACTS
from services.catalog.storage.documents import IS_LIVE
from services.catalog.storage.part_uploads import PART_UPLOADS
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.mongo import Mongo, below
from services.chassis.org_collection import OrgCollection

RESERVATIONS = "upload_reservations"
# A reservation that is not renewed for so long belongs to a process that was killed.
LIFETIME = timedelta(minutes=10)


class MongoArtifactBytes:
    """The port `ArtifactBytesLedger` on MongoDB."""

    def __init__(self, mongo: Mongo, clock: Clock) -> None:
        self._artifacts = OrgCollection(mongo, ARTIFACTS)
        self._reservations = OrgCollection(mongo, RESERVATIONS)
        self._part_uploads = OrgCollection(mongo, PART_UPLOADS)
        self._clock = clock

    async def sum(self) -> ArtifactBytes:
        live = {"expires_at": {"$gt": self._clock.now()}}
        reserved = sum(document["bytes"] for document in await self._reservations.find(live).to_list(None))
        uploads = self._part_uploads.find(IS_LIVE | live, {"size": 1})
        reserved += sum(document["size"] for document in await uploads.to_list(None))
        in_use = {"$sum": {"$cond": [{"$gt": ["$uses", 0]}, "$size", 0]}}
        documents = await self._artifacts.aggregate(
            [
                {"$match": {"_id": below(context.current().org_id)}},
                {"$group": {"_id": None, "used": in_use, "stored": {"$sum": "$size"}}},
            ]
        )
        used, stored = (documents[0]["used"], documents[0]["stored"]) if documents else (0, 0)
        return ArtifactBytes(used + reserved, stored + reserved)

    async def reserve(self, upload_id: str, size: int) -> None:
        values = {"bytes": size, "expires_at": self._clock.now() + LIFETIME}
        await self._reservations.update_one({"_id": upload_id}, {"$set": values}, upsert=True)

    async def release(self, upload_id: str) -> None:
        await self._reservations.delete_one({"_id": upload_id})
