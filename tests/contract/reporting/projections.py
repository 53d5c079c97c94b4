"""The read models of a MongoDB as the bytes that are there."""

from collections.abc import Mapping
from typing import Any

from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.generations import collection_name
from tests.fakes.reporting_stored_bytes import Contents, counted


def stored(
    client: MongoClient[dict[str, Any]], database: str, query: Mapping[str, Any] | None = None, *, generation: int = 0
) -> Contents:
    """Every document of a generation that the query finds, all by default."""
    documents: Contents = {}
    for kind in TABLE_CODECS:
        collection = client[database].get_collection(collection_name(kind.collection, generation))
        raw = collection.with_options(
            codec_options=collection.codec_options.with_options(document_class=RawBSONDocument)
        )
        documents[kind.collection] = {document["_id"]: document.raw for document in raw.find(query)}
    documents[COUNTERS] = counted(client[database][collection_name(COUNTERS, generation)].find(query))
    return documents
