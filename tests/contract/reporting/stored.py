"""The read models of a MongoDB as the bytes that are there."""

from collections.abc import Mapping
from typing import Any

from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from services.reporting.storage.documents import COUNTERS, KINDS
from services.reporting.storage.generations import named
from tests.fakes.reporting_bytes import Contents, counted


def stored(
    client: MongoClient[dict[str, Any]], database: str, query: Mapping[str, Any] | None = None, *, generation: int = 0
) -> Contents:
    """Every document of a generation that the query finds, all by default."""
    found: Contents = {}
    for kind in KINDS:
        collection = client[database].get_collection(named(kind.collection, generation))
        raw = collection.with_options(
            codec_options=collection.codec_options.with_options(document_class=RawBSONDocument)
        )
        found[kind.collection] = {document["_id"]: document.raw for document in raw.find(query)}
    found[COUNTERS] = counted(client[database][named(COUNTERS, generation)].find(query))
    return found
