"""Leases: one owner at a time, judged by MongoDB's clock only."""

from pymongo.errors import DuplicateKeyError

from services.chassis.mongo import Mongo

LEASES = "_leases"


class Lease:
    """The lease `name`, for `owner`, which must be unique to the process."""

    def __init__(self, mongo: Mongo, name: str, owner: str, *, seconds: float) -> None:
        self._leases = mongo.collection(LEASES)
        self._name = name
        self._owner = owner
        self._milliseconds = int(seconds * 1000)

    async def acquire(self) -> bool:
        """Take or renew the lease; False while another owner has it. Call it again well before it runs out."""
        free = {"$or": [{"owner": self._owner}, {"$expr": {"$lte": ["$expires_at", "$$NOW"]}}]}
        expires_at = {"$add": ["$$NOW", self._milliseconds]}
        try:
            await self._leases.update_one(
                {"_id": self._name, **free}, [{"$set": {"owner": self._owner, "expires_at": expires_at}}], upsert=True
            )
        except DuplicateKeyError:
            return False
        return True

    async def release(self) -> None:
        """Give the lease up, if it is ours."""
        await self._leases.delete_one({"_id": self._name, "owner": self._owner})
