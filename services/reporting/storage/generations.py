"""Generations of the read models: one serves, another may be built beside it.

The collections of generation 0 have their plain names, those of generation n the suffix `.g<n>`. A document says which
one serves and which one is being built. Every fold reads it in its transaction and folds into both, so whatever a fold
applied before that was begun is in the history that the new one is built from, and whatever comes after is in both.
"""

from dataclasses import dataclass
from time import monotonic

from services.chassis.mongo import Mongo, Session

GENERATIONS = "_generations"
CONTROL = "read_models"
FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Generations:
    """Which generation serves, and which one is being built, if one is."""

    serving: int = 0
    building: int | None = None

    @property
    def folded(self) -> tuple[int, ...]:
        """The ones that events are folded into."""
        return (self.serving,) if self.building is None else (self.serving, self.building)


def named(collection: str, generation: int) -> str:
    """The name of a collection of a generation."""
    return f"{collection}.g{generation}" if generation else collection


async def read(mongo: Mongo, session: Session = None) -> Generations:
    """The generations as they are now, or as the transaction sees them."""
    document = await mongo.collection(GENERATIONS).find_one({"_id": CONTROL}, session=session)
    return Generations(document["serving"], document["building"]) if document else Generations()


class Serving:
    """The generation that serves, as it was at most a second ago."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._known = 0
        self._read_at = float("-inf")

    async def generation(self) -> int:
        """Its number. A generation is dropped only long after all have turned from it."""
        began = monotonic()
        if began - self._read_at > FRESH_SECONDS:
            self._known = (await read(self._mongo)).serving
            self._read_at = began
        return self._known
