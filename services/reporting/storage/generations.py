"""Generations of the read models: one serves lookups, another may be built beside it.

The collections of generation 0 have plain names, those of generation n the suffix `.g<n>`; numbers are never reused.
One document says which generation serves and which is being built. Every fold reads it in its transaction and writes
to both.

Why the new generation misses no event: an event is published, and folded, after the change that it describes was
committed by a majority. Take any fold. If its transaction sees that a generation is being built, it writes to both.
Otherwise it began before that was recorded; it may commit later, but the change that it describes was committed
before, so it is in the history, which is read only after the record was acknowledged. And the history is read in a way
that misses nothing that was committed by a majority before (see the facts of executor and catalog). Folding an event
twice, or an older snapshot after a newer one, changes nothing.
"""

import re
from dataclasses import dataclass
from time import monotonic

from services.chassis.mongo import Collection, Mongo, Session
from services.chassis.org_collection import OrgCollection

GENERATIONS = "_generations"
READ_MODELS = "read_models"
# How long a lookup may use the serving generation that it last read.
FRESH_SECONDS = 1.0

_SUFFIXED = re.compile(r"(.+)\.g([0-9]+)")


@dataclass(frozen=True, slots=True)
class Generations:
    """Which generation serves, and which one is being built, if any."""

    serving: int = 0
    building: int | None = None

    @property
    def written(self) -> tuple[int, ...]:
        """The ones that events are folded into."""
        return (self.serving,) if self.building is None else (self.serving, self.building)


def collection_name(collection: str, generation: int) -> str:
    """The name of a generation's collection."""
    return f"{collection}.g{generation}" if generation else collection


def split_collection_name(name: str) -> tuple[str, int]:
    """The inverse of `collection_name`."""
    match = _SUFFIXED.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 0)


async def read_generations(mongo: Mongo, session: Session = None) -> Generations:
    """The generations as they are now, or as the transaction sees them."""
    document = await mongo.collection(GENERATIONS).find_one({"_id": READ_MODELS}, session=session)
    return Generations(document["serving"], document["building"]) if document else Generations()


async def write_generations(mongo: Mongo, generations: Generations, session: Session) -> None:
    """Record which generation serves and which is being built; folds that begin afterwards follow it."""
    fields = {"serving": generations.serving, "building": generations.building}
    await mongo.collection(GENERATIONS).update_one({"_id": READ_MODELS}, {"$set": fields}, upsert=True, session=session)


class ServingGeneration:
    """The collections of the generation that serves, as of at most FRESH_SECONDS ago.

    A generation is dropped only long after every process has stopped using it.
    """

    def __init__(self, mongo: Mongo, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._mongo = mongo
        self._fresh_seconds = fresh_seconds
        self._number = 0
        self._read_at = float("-inf")

    async def number(self) -> int:
        now = monotonic()
        if now - self._read_at > self._fresh_seconds:
            self._number = (await read_generations(self._mongo)).serving
            self._read_at = now
        return self._number

    async def collection(self, name: str) -> Collection:
        """The collection with the documents of all organisations."""
        return self._mongo.collection(collection_name(name, await self.number()))

    async def org_collection(self, name: str) -> OrgCollection:
        """The collection narrowed to the organisation of the caller."""
        return OrgCollection(self._mongo, collection_name(name, await self.number()))
