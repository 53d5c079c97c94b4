"""How many calls and tokens of language models organisations have used each day: one document per day."""

from datetime import UTC, datetime, time, timedelta

from pymongo.errors import DuplicateKeyError, PyMongoError

from services.chassis.mongo import Document, Mongo
from services.chassis.mongo_errors import as_unavailable
from services.executor.model.organisation_limits import ModelDay, ModelUse, OrganisationLimits
from services.executor.storage.schema import MODEL_USAGE

KEPT = timedelta(days=35)


class MongoModelUsage:
    """The port `ModelUsageLedger` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._usage = mongo.collection(MODEL_USAGE)

    async def take(self, account: ModelDay, wanted: ModelUse, limits: OrganisationLimits) -> ModelUse:
        try:
            return await self._take(account, wanted, limits)
        except PyMongoError as error:
            raise as_unavailable(error) or error from error

    async def _take(self, account: ModelDay, wanted: ModelUse, limits: OrganisationLimits) -> ModelUse:
        taken = {
            "calls": _raised("calls", wanted.calls, limits.model_calls_per_day),
            "tokens": _raised("tokens", wanted.tokens, limits.model_tokens_per_day),
        }
        midnight = datetime.combine(account.day, time(), UTC)
        update = [{"$set": {"org_id": account.org_id, "expires_at": midnight + KEPT, **taken}}]
        try:
            before: Document | None = await self._usage.find_one_and_update(_key(account), update, upsert=True)
        except DuplicateKeyError:  # another process made the document in the same moment
            before = await self._usage.find_one_and_update(_key(account), update)
        earlier = _use(before)
        return ModelUse(
            _granted(earlier.calls, wanted.calls, limits.model_calls_per_day),
            _granted(earlier.tokens, wanted.tokens, limits.model_tokens_per_day),
        )

    async def give_back(self, account: ModelDay, unused: ModelUse) -> None:
        change = {"$inc": {"calls": -unused.calls, "tokens": -unused.tokens}}
        await self._usage.update_one(_key(account), change)

    async def used(self, account: ModelDay) -> ModelUse:
        return _use(await self._usage.find_one(_key(account)))


def _key(account: ModelDay) -> Document:
    return {"_id": f"{account.org_id}/{account.day.isoformat()}"}


def _use(document: Document | None) -> ModelUse:
    return ModelUse(document["calls"], document["tokens"]) if document is not None else ModelUse()


def _raised(field: str, wanted: int, limit: int | None) -> Document:
    """The field raised by what is wanted, at most to the limit, and never lowered."""
    now = {"$ifNull": [f"${field}", 0]}
    after: Document = {"$add": [now, wanted]}
    return after if limit is None else {"$max": [now, {"$min": [limit, after]}]}


def _granted(earlier: int, wanted: int, limit: int | None) -> int:
    return wanted if limit is None else max(0, min(wanted, limit - earlier))
