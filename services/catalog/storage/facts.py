"""Exports the catalog of all organisations page by page, for rebuilding read models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from services.catalog.ports import Fact
from services.catalog.storage import apps, attachments, builds, failures, tests
from services.chassis.errors import InvalidArgument
from services.chassis.mongo import Document, Mongo, Session

_SOURCES: Sequence[tuple[str, Callable[[Document], Fact]]] = (
    (apps.APPS, apps.from_document),
    (builds.BUILDS, builds.from_document),
    (tests.TESTS, tests.from_document),
    (attachments.ATTACHMENTS, attachments.from_document),
    (failures.FAILURE_TRIAGES, failures.from_document),
)
_NAMES = [name for name, _ in _SOURCES]


@dataclass(frozen=True, slots=True)
class FactsPage:
    """Facts, each with the page token of the position after it; an empty `token` means that this is the last page.

    `total` is how many there are, about.
    """

    facts: Sequence[tuple[str, Fact]]
    token: str
    total: int


class MongoFacts:
    """Apps, builds, tests, attachments and triages of failures of all organisations, also deleted and detached ones.

    Each page is read in a transaction. Its commit waits for the majority, so a primary that was replaced without
    knowing it yet cannot answer with the past: it contains everything that was published before the page was requested.
    """

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def page(self, token: str, limit: int) -> FactsPage:
        """At most `limit` facts after the token, all of one kind, perhaps none.

        Raises:
            InvalidArgument: invalid page token.
        """
        place, after = _parse_token(token)
        name, from_document = _SOURCES[place]

        async def read(session: Session) -> list[Document]:
            cursor = self._mongo.collection(name).find({"_id": {"$gt": after}}, session=session)
            documents: list[Document] = await cursor.sort("_id", 1).limit(limit).batch_size(limit).to_list(None)
            return documents

        documents = await self._mongo.transaction(read)
        facts = [(f"{name}:{document['_id']}", from_document(document)) for document in documents]
        return FactsPage(facts, _next_token(place, documents, limit), await self._total())

    async def _total(self) -> int:
        counts: list[Any] = [await self._mongo.collection(name).estimated_document_count() for name in _NAMES]
        return sum(counts)


def _parse_token(token: str) -> tuple[int, str]:
    """The collection, and the id after which to read."""
    name, _, after = token.partition(":")
    if token and name not in _NAMES:
        raise InvalidArgument("invalid page_token", reason="PAGE_TOKEN_INVALID")
    return (_NAMES.index(name), after) if token else (0, "")


def _next_token(place: int, documents: list[Document], limit: int) -> str:
    if len(documents) == limit:
        return f"{_NAMES[place]}:{documents[-1]['_id']}"
    return f"{_NAMES[place + 1]}:" if place + 1 < len(_NAMES) else ""
