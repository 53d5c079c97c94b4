"""The step cache in MongoDB: one document per sentence, which expires when it is unused.

An organisation has a limited number of sentences, counted once a minute; while there are as many, no new one is cached.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic

from mobiletest_automation.screen.fingerprint import ScreenFingerprint
from mobiletest_automation.step_cache.entries import SCREENS_LIMIT, CachedSentence, CacheEntry
from services.chassis.limit_refusals import refusals
from services.chassis.mongo import Document, Mongo
from services.executor.storage.records import from_document, to_document
from services.executor.storage.schema import STEP_CACHE

# Of one organisation.
SENTENCES_LIMIT = 100_000
COUNT_SECONDS = 60.0
MAX_ORGANISATIONS = 10_000
# Using a document extends its life; that is written at most this often.
RENEWAL = timedelta(days=1)


class MongoStepCache:
    """The port `StepCacheStore`. `_id` is a hash; of sentences only those of plans are stored, of typed texts none."""

    def __init__(self, mongo: Mongo, days: float, *, limit: int = SENTENCES_LIMIT) -> None:
        """`days` is how long a document lives after its last use, `limit` how many an organisation has."""
        self._sentences = mongo.collection(STEP_CACHE)
        self._life = timedelta(days=days)
        self._limit = limit
        # How many sentences an organisation has, with those added since, and when they are counted again.
        self._counted: dict[str, tuple[int, float]] = {}

    async def load(self, key: str) -> CachedSentence | None:
        entry = await self._sentences.find_one({"_id": key})
        if entry is None:
            return None
        if self._is_old(entry["expires_at"]):
            await self._sentences.update_one({"_id": key}, [{"$set": self._expiry}])
        entries = tuple(from_document(CacheEntry, document) for document in entry.get("entries", ()))
        return CachedSentence(entries, tuple(entry.get("plan", ())))

    async def add(self, key: str, org_id: str, entry: CacheEntry) -> None:
        document = {"$literal": to_document(entry)}
        screen = {"$literal": to_document(entry.screen)}
        others = {"$filter": {"input": {"$ifNull": ["$entries", []]}, "cond": {"$ne": ["$$this.screen", screen]}}}
        kept = {"$slice": [{"$concatArrays": [[document], others]}, SCREENS_LIMIT]}
        await self._write(key, org_id, {"entries": kept})

    async def set_plan(self, key: str, org_id: str, plan: Sequence[str]) -> None:
        await self._write(key, org_id, {"plan": {"$literal": list(plan)}})

    async def remove(self, key: str, screens: Sequence[ScreenFingerprint]) -> None:
        gone = {"entries": {"screen": {"$in": [to_document(screen) for screen in screens]}}}
        await self._sentences.update_one({"_id": key}, {"$pull": gone, "$unset": {"plan": ""}})

    async def _write(self, key: str, org_id: str, fields: Document) -> None:
        change = [{"$set": {"org_id": {"$literal": org_id}, **self._expiry, **fields}}]
        count = await self._count(org_id)
        written = await self._sentences.update_one({"_id": key}, change, upsert=count < self._limit)
        if written.upserted_id is not None:
            known, until = self._counted.get(org_id, (count, 0.0))
            self._counted[org_id] = known + 1, until
        elif not written.matched_count:
            refusals.labels("cached_sentences").inc()

    async def _count(self, org_id: str) -> int:
        known = self._counted.get(org_id)
        if known is None or monotonic() >= known[1]:
            count = await self._sentences.count_documents({"org_id": org_id}, limit=self._limit)
            if len(self._counted) >= MAX_ORGANISATIONS:
                self._counted.clear()
            known = self._counted[org_id] = count, monotonic() + COUNT_SECONDS
        return known[0]

    @property
    def _expiry(self) -> Document:
        return {"expires_at": {"$add": ["$$NOW", self._life // timedelta(milliseconds=1)]}}

    def _is_old(self, expires_at: datetime) -> bool:
        """Whether it was last used long ago, by this machine's clock: a few minutes of difference do not matter."""
        return expires_at - datetime.now(UTC) < self._life - min(RENEWAL, self._life / 2)
