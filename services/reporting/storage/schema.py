"""Collections and indexes, in ordered migrations."""

from services.chassis.migrations import Migration
from services.chassis.mongo import Mongo
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.earlier_tests import complete_tests
from services.reporting.storage.generations import GENERATIONS, collection_name
from services.reporting.storage.indexes import INDEXES
from services.reporting.storage.upgrade import complete, drop_old_indexes, refuse_older


async def create_generation(mongo: Mongo, generation: int) -> None:
    """Collections exist before the first transaction, so that none has to create one."""
    existing = set(await mongo.database.list_collection_names())
    for name in (
        *(collection_name(kind.collection, generation) for kind in TABLE_CODECS),
        collection_name(COUNTERS, generation),
        GENERATIONS,
    ):
        if name not in existing:
            await mongo.database.create_collection(name)
    for name, indexes in INDEXES.items():
        await mongo.collection(collection_name(name, generation)).create_indexes(indexes)


async def _read_models(mongo: Mongo) -> None:
    await create_generation(mongo, 0)


async def _places(mongo: Mongo) -> None:
    await drop_old_indexes(mongo)
    await create_generation(mongo, 0)
    await refuse_older(mongo)
    await complete(mongo)


MIGRATIONS = [
    Migration("0001_read_models", _read_models),
    Migration("0002_places", _places),
    Migration("0003_copies_of_tests", complete_tests),
]
