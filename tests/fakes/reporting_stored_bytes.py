"""The read models as the bytes that MongoDB keeps: what a fold must equal byte for byte.

Counters that came back to zero are left out, and the fields of a counter stand in order: they are written by
increments, which leave zeros behind and stand in the order of their arrival. Everything else is compared as it is.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import bson

from services.reporting.model.tables import Tables
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS, counter_id, document_id

Contents = dict[str, dict[str, bytes]]  # collection -> _id -> document


def contents(tables: Tables) -> Contents:
    """The documents of these tables."""
    documents: Contents = {}
    for kind in TABLE_CODECS:
        rows = getattr(tables, kind.table).rows()
        documents[kind.collection] = {
            document_id(key): bson.encode({"_id": document_id(key), **kind.encode(key, row)}) for key, row in rows
        }
    documents[COUNTERS] = counted(
        {"_id": counter_id(org_id, name), "org_id": org_id, **amounts}
        for (org_id, name), amounts in tables.counters.rows()
    )
    return documents


def counted(documents: Iterable[Mapping[str, Any]]) -> dict[str, bytes]:
    """Counters without what is zero; one that has nothing else is none."""
    counters: dict[str, bytes] = {}
    for document in documents:
        own = {"_id": document["_id"], "org_id": document["org_id"]}
        amounts = {name: amount for name, amount in sorted(document.items()) if name not in own and amount}
        if amounts:
            counters[document["_id"]] = bson.encode({**own, **amounts})
    return counters


def differences(actual: Mapping[str, Mapping[str, bytes]], expected: Mapping[str, Mapping[str, bytes]]) -> list[str]:
    """Each document that differs, is missing or should not be there."""
    told = []
    for collection in sorted(actual.keys() | expected.keys()):
        ours, theirs = actual.get(collection, {}), expected.get(collection, {})
        told += [
            f"{collection} {key}:\n  found    {_shown(ours.get(key))}\n  expected {_shown(theirs.get(key))}"
            for key in sorted(ours.keys() | theirs.keys())
            if ours.get(key) != theirs.get(key)
        ]
    return told


def _shown(document: bytes | None) -> object:
    return bson.decode(document) if document else None
