"""The tables that a MongoDB has, and their content in a form that can be compared."""

from dataclasses import fields
from typing import Any

from services.chassis.mongo import Mongo
from services.reporting.model.tables import CounterKey, Table, Tables
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.generations import collection_name


async def read_tables(mongo: Mongo, generation: int = 0) -> Tables:
    """Everything that a generation has."""
    tables = Tables()
    for kind in TABLE_CODECS:
        documents = await mongo.collection(collection_name(kind.collection, generation)).find().to_list(None)
        getattr(tables, kind.table).load(map(kind.decode, documents))
    rows = await mongo.collection(collection_name(COUNTERS, generation)).find().to_list(None)
    tables.counters.load(map(_counter, rows))
    return tables


def _counter(row: dict[str, Any]) -> tuple[CounterKey, dict[str, int]]:
    org_id: str = row.pop("org_id")
    return (org_id, row.pop("_id").removeprefix(f"{org_id}:")), row


def contents(tables: Tables) -> dict[str, dict[object, object]]:
    """Everything in the tables; counters without their zeros."""
    rows_by_table: dict[str, dict[object, object]] = {}
    for field in fields(tables):
        table: Table[object, object] = getattr(tables, field.name)
        rows_by_table[field.name] = {key: row for key, row in table.rows() if row != {}}
    counted = {key: {name: n for name, n in row.items() if n} for key, row in tables.counters.rows()}
    return rows_by_table | {"counters": {key: row for key, row in counted.items() if row}}
