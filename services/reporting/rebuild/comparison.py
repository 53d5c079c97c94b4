"""Two generations of a collection, document by document."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from google.protobuf.json_format import MessageToDict
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.mongo import Document, Mongo, Session
from services.reporting.rebuild.ports import ComparisonPage
from services.reporting.rebuild.state import Difference
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.generations import collection_name

COLLECTIONS = (*dict.fromkeys(kind.collection for kind in TABLE_CODECS), COUNTERS)
TEXT_LENGTH = 500

Pair = tuple[int, int]
"""The generation that serves, and the one that was recounted."""

_IGNORED_FIELDS: Mapping[str, Sequence[str]] = {
    "runs": ("revision",),
    "executions": ("revision",),
    "tests": ("revision",),
    "attachments": ("test_name",),
}
"""What may differ: executor and catalog count changes that they tell nobody, since nothing that is shown changes, and
an attachment has the name that its test had when it was told (reports show the test's own)."""


async def compare_page(mongo: Mongo, collection: str, generations: Pair, after: str, limit: int) -> ComparisonPage:
    """About `limit` documents with ids after this one, of both at one moment."""

    async def work(session: Session) -> tuple[list[Document], list[Document]]:
        query, order = {"_id": {"$gt": after}}, [("_id", 1)]
        serving, recounted = (_cursor(mongo, collection, g, query, session) for g in generations)
        return (
            await serving.sort(order).limit(limit).to_list(None),
            await recounted.sort(order).limit(limit).to_list(None),
        )

    serving, recounted = await mongo.snapshot(work)
    last = min((page[-1]["_id"] for page in (serving, recounted) if len(page) == limit), default="")
    pairs = _pairs(serving, recounted)
    seen = {key: pair for key, pair in pairs.items() if not last or key <= last}
    differing = [key for key, pair in seen.items() if _fields(collection, *pair)]
    return ComparisonPage(len(seen), differing, last)


async def find_differences(mongo: Mongo, collection: str, generations: Pair, ids: Sequence[str]) -> list[Difference]:
    """What differs between these documents, both at one moment."""

    async def work(session: Session) -> tuple[list[Document], list[Document]]:
        query = {"_id": {"$in": list(ids)}}
        serving, recounted = (_cursor(mongo, collection, g, query, session) for g in generations)
        return await serving.to_list(None), await recounted.to_list(None)

    pairs = _pairs(*await mongo.snapshot(work))
    return [
        Difference(collection, key, field, _text(before), _text(after))
        for key, pair in sorted(pairs.items())
        for field, before, after in _fields(collection, *pair)
    ]


def _cursor(mongo: Mongo, collection: str, generation: int, query: Document, session: Session) -> Any:
    return mongo.collection(collection_name(collection, generation)).find(query, session=session)


def _pairs(
    serving: Sequence[Document], recounted: Sequence[Document]
) -> dict[str, tuple[Document | None, Document | None]]:
    ours = {document["_id"]: document for document in serving}
    theirs = {document["_id"]: document for document in recounted}
    return {key: (ours.get(key), theirs.get(key)) for key in sorted(ours.keys() | theirs.keys())}


def _fields(
    collection: str, serving: Document | None, recounted: Document | None
) -> list[tuple[str, Document | Any, Document | Any]]:
    """(field, serving, recounted) of what differs; no field when the document is missing or too many."""
    if serving == recounted:
        return []
    before, after = _normal(collection, serving), _normal(collection, recounted)
    if before == after:
        return []
    if before is None or after is None:
        return [("", before, after)]
    names = sorted(before.keys() | after.keys())
    return [(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def _normal(collection: str, document: Document | None) -> Document | None:
    """The document without what may differ. Counters that are all 0 are as good as none."""
    if document is None:
        return None
    untold = ("_id", *_IGNORED_FIELDS.get(collection, ()))
    kept = {name: value for name, value in document.items() if name not in untold}
    if collection == COUNTERS:
        kept = {name: value for name, value in kept.items() if value != 0}
        return kept if kept.keys() - {"org_id"} else None
    if "shown" in kept:
        kept["shown"] = _shown(kept["shown"])
    if "tested" in kept:
        kept["tested"] = sorted(kept["tested"])
    return kept


def _shown(content: bytes) -> Document | str:
    """A run as lists show it. Links to artifacts that were deleted since are told nobody, so all of them may differ."""
    try:
        item = MessageToDict(reports_pb2.BuildRunItem.FromString(content), preserving_proto_field_name=True)
    except Exception:
        return repr(content)
    item.get("report_metadata", {}).pop("artifacts", None)
    return item


def _text(value: Any) -> str:
    """The value as JSON, cut."""
    return "" if value is None else orjson.dumps(value, default=repr).decode()[:TEXT_LENGTH]
