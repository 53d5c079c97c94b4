"""The catalog of all organisations, page by page, for whoever rebuilds what was derived from it."""

from collections.abc import Callable, Sequence
from typing import Any

from services.catalog.model.facts import Fact
from services.catalog.ports.facts import FactsPage
from services.catalog.storage import apps, attachments, builds, tests
from services.chassis.errors import InvalidArgument
from services.chassis.mongo import Document, Mongo, Session

_READ: Sequence[tuple[str, Callable[[Document], Fact]]] = (
    (apps.APPS, apps.from_document),
    (builds.BUILDS, builds.from_document),
    (tests.TESTS, tests.from_document),
    (attachments.ATTACHMENTS, attachments.from_document),
)
_NAMES = [name for name, _ in _READ]


class MongoFacts:
    """The port `Facts`. What was deleted or detached is still here, marked as such, so it is told too.

    Each page is read in a transaction. Its commit waits for the majority, so a primary that was replaced without
    knowing it yet cannot answer with the past: whatever was told before a page was asked for is in it.
    """

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def page(self, token: str, limit: int) -> FactsPage:
        place, after = _place(token)
        name, from_document = _READ[place]

        async def read(session: Session) -> list[Document]:
            cursor = self._mongo.collection(name).find({"_id": {"$gt": after}}, session=session)
            found: list[Document] = await cursor.sort("_id", 1).limit(limit).batch_size(limit).to_list(None)
            return found

        documents = await self._mongo.transaction(read)
        facts = [(f"{name}:{document['_id']}", from_document(document)) for document in documents]
        return FactsPage(facts, _after(place, documents, limit), await self._total())

    async def _total(self) -> int:
        counts: list[Any] = [await self._mongo.collection(name).estimated_document_count() for name in _NAMES]
        return sum(counts)


def _place(token: str) -> tuple[int, str]:
    """The collection, and the id after which to read."""
    name, _, after = token.partition(":")
    if token and name not in _NAMES:
        raise InvalidArgument("page_token is none that was given", reason="PAGE_TOKEN_INVALID")
    return (_NAMES.index(name), after) if token else (0, "")


def _after(place: int, documents: list[Document], limit: int) -> str:
    if len(documents) == limit:
        return f"{_NAMES[place]}:{documents[-1]['_id']}"
    return f"{_NAMES[place + 1]}:" if place + 1 < len(_NAMES) else ""
