"""Generations of the read models: one serves, another may be built beside it.

The collections of generation 0 have their plain names, those of generation n the suffix `.g<n>`; no number is used
twice. A document says which one serves and which one is being built. Every fold reads it in its transaction and folds
into both.

Why the one that is built misses nothing: an event is published after the change that it tells of was committed, by a
majority, and folded after that. Take any fold. Either its transaction sees that a generation is being built, then it
folds into both. Or it began before that was written; it may commit later, but the change that it tells of was
committed before it began, so before the history is read, which is read only once the writing was acknowledged. And
the history is read so that nothing that was committed by a majority before is missed (see the facts of executor and
catalog). Folding the same thing twice, or an older snapshot after a newer one, changes nothing.
"""

import re
from dataclasses import dataclass
from time import monotonic
from typing import Any

from services.chassis.errors import Unavailable
from services.chassis.mongo import Mongo, Session

GENERATIONS = "_generations"
CONTROL = "read_models"
FRESH_SECONDS = 1.0
ANSWER_SECONDS = 20.0
DROP_SECONDS = 60.0
"""A generation that served is dropped so long after the swap. What a lookup takes for the serving one was so
FRESH_SECONDS before, by a primary that may have been replaced without knowing it, for as long as an election takes
(10 s), and no answer is given ANSWER_SECONDS after the call began."""

_GENERATION = re.compile(r"(.+)\.g([0-9]+)")


@dataclass(frozen=True, slots=True)
class Generations:
    """Which generation serves, and which one is being built, if one is."""

    serving: int = 0
    building: int | None = None

    @property
    def folded(self) -> tuple[int, ...]:
        """The ones that events are folded into."""
        return (self.serving,) if self.building is None else (self.serving, self.building)


def collection_name(collection: str, generation: int) -> str:
    """The name of a collection of a generation."""
    return f"{collection}.g{generation}" if generation else collection


def split_collection_name(name: str) -> tuple[str, int]:
    """The inverse of `named`."""
    found = _GENERATION.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, 0)


async def read_generations(mongo: Mongo, session: Session = None) -> Generations:
    """The generations as they are now, or as the transaction sees them."""
    document = await mongo.collection(GENERATIONS).find_one({"_id": CONTROL}, session=session)
    return Generations(document["serving"], document["building"]) if document else Generations()


async def write_generations(mongo: Mongo, generations: Generations, session: Session) -> None:
    """Say which one serves and which one is being built; every fold that begins afterwards does as it says."""
    said = {"serving": generations.serving, "building": generations.building}
    await mongo.collection(GENERATIONS).update_one({"_id": CONTROL}, {"$set": said}, upsert=True, session=session)


class ServingGeneration:
    """The generation that serves, as it was at most a second ago."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._known = 0
        self._read_at = float("-inf")

    async def generation(self) -> int:
        """Its number. A generation is dropped only long after all have turned from it."""
        began = monotonic()
        if began - self._read_at > FRESH_SECONDS:
            self._known = (await read_generations(self._mongo)).serving
            self._read_at = began
        return self._known


class DeadlineGuard:
    """A servicer whose answers are given in time or not at all.

    A process that was stopped in the middle of a call might go on when the generation that it reads is gone, and find
    nothing there. It must not say that there is nothing.
    """

    def __init__(self, servicer: object, seconds: float = ANSWER_SECONDS) -> None:
        self._servicer = servicer
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        answer: Any = getattr(self._servicer, name)

        async def timely(request: Any, context: Any) -> Any:
            began = monotonic()
            answered = await answer(request, context)
            if monotonic() - began > self._seconds:
                raise Unavailable("The answer took too long, try again", reason="ANSWER_TOO_LATE", retry_after=1.0)
            return answered

        return timely
