"""An installation from before places in lists is brought up to date, whatever interrupts it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from mobiletest.reporting.v1 import reports_pb2
from pymongo import DESCENDING, IndexModel, ReplaceOne
from pymongo.errors import BulkWriteError

from services.chassis.migrations import MIGRATIONS as APPLIED
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.snapshots import RunSnapshot, TestSnapshot
from services.reporting.model.tables import Tables
from services.reporting.storage import MIGRATIONS, MongoProjections
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS, counter_id, document_id
from services.reporting.storage.schema import create_generation
from services.reporting.storage.upgrade import complete
from services.reporting.usecases import Projector
from tests.contract.reporting.conftest import MongoStore
from tests.contract.reporting.test_read_models import RULES, contents
from tests.examples import examples
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_strategies import snapshot_lists

EXAMPLES = settings(
    max_examples=examples(6),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NEW_FIELDS = {
    "tests": ("platform", "tags", "version", "created_at", "quarantine", "name_folded"),
    "cells": ("uploaded_at", "named"),
}
OLD_INDEXES = {
    "runs": [("org_id", 1), ("build_id", 1), ("listed_at", DESCENDING), ("_id", DESCENDING)],
    "builds": [("org_id", 1), ("app_id", 1), ("deleted", 1), ("uploaded_at", DESCENDING), ("_id", DESCENDING)],
}


class Died(Exception):
    """The process ended here."""


class Mortal(Mongo):
    """Dies when it has run so many transactions."""

    lives = 1 << 30

    async def transaction(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        self.lives -= 1
        if self.lives < 0:
            raise Died
        return await super().transaction(work)


@pytest.fixture
async def mongo(mongo_uri: str, mongo_database: str) -> AsyncIterator[Mortal]:
    mongo = await Mortal.connect(mongo_uri, mongo_database)
    assert isinstance(mongo, Mortal)
    yield mongo
    await mongo.close()


def as_told_then(one: Snapshot) -> Snapshot:
    """Without what older events do not tell, or older rows do not keep."""
    match one:
        case RunSnapshot():
            return replace(one, created_at=None, shown=shown(one))
        case TestSnapshot():
            return TestSnapshot(one.test_id, one.org_id, one.revision, one.deleted, one.name)
        case _:
            return one


def shown(run: RunSnapshot) -> bytes:
    """What lists show of a run, as far as its cell can be told from it."""
    item = reports_pb2.BuildRunItem(run_id=run.run_id)
    said = {"branch": run.branch, "commit_sha": run.commit_sha}
    item.metadata.update({name: value for name, value in said.items() if value is not None})
    if run.completed_at:
        item.completed_at.FromDatetime(run.completed_at)
        item.completed_at.nanos += 999_999  # events tell nanoseconds, and reporting keeps milliseconds
    return item.SerializeToString(deterministic=True)


async def install_old(mongo: Mortal, tables: Tables) -> None:
    """The documents, indexes and migrations of commit e559bbf."""
    mongo.lives = 1 << 30
    for name in await mongo.database.list_collection_names():
        await mongo.database.drop_collection(name)
    await mongo.collection(APPLIED).insert_one({"_id": "0001_read_models"})
    for name, keys in OLD_INDEXES.items():
        await mongo.collection(name).create_indexes([IndexModel(keys)])
    for kind in TABLE_CODECS:
        missing = NEW_FIELDS.get(kind.collection, ())
        for key, row in getattr(tables, kind.table).rows():
            document = {"_id": document_id(key), **kind.encode(key, row)}
            await mongo.collection(kind.collection).insert_one(
                {name: value for name, value in document.items() if name not in missing}
            )
    for (org_id, name), fields in tables.counters.rows():
        old = {field: amount for field, amount in fields.items() if not field[0].isdigit() and field != "listed"}
        if name.startswith("app:") and not name.endswith(":builds"):
            old = fields
        if old:
            await mongo.collection(COUNTERS).insert_one({"_id": counter_id(org_id, name), "org_id": org_id, **old})


def expected(told: list[Snapshot]) -> dict[str, dict[object, object]]:
    return known_builds(contents(recount(told, RULES)))


def known_builds(found: dict[str, dict[object, object]]) -> dict[str, dict[object, object]]:
    """Cells without when their build was uploaded, which only the catalog's builds tell."""
    cells = {key: replace(cell, uploaded_at=None) for key, cell in found["cells"].items()}  # type: ignore[type-var]
    return {**found, "cells": dict(cells)}


@EXAMPLES
@given(told=snapshot_lists())
async def test_what_is_upgraded_equals_a_recount(mongo: Mortal, told: list[Snapshot]) -> None:
    told = [as_told_then(one) for one in told]
    await install_old(mongo, recount(told, RULES))
    await migrate(mongo, MIGRATIONS)
    assert known_builds(contents(await MongoStore(mongo).tables())) == expected(told)


@EXAMPLES
@given(told=snapshot_lists())
async def test_dying_in_between_doubles_nothing(mongo: Mortal, told: list[Snapshot]) -> None:
    told = [as_told_then(one) for one in told]
    await install_old(mongo, recount(told, RULES))
    for lives in (0, 1, 3):
        mongo.lives = lives
        try:
            await migrate(mongo, MIGRATIONS)
        except Died:
            continue
    mongo.lives = 1 << 30
    await migrate(mongo, MIGRATIONS)
    assert known_builds(contents(await MongoStore(mongo).tables())) == expected(told)


@EXAMPLES
@given(told=snapshot_lists())
async def test_a_slow_process_overwrites_nothing_that_was_folded_meanwhile(mongo: Mortal, told: list[Snapshot]) -> None:
    told = [as_told_then(one) for one in told]
    half = len(told) // 2
    await install_old(mongo, recount(told[:half], RULES))
    await migrate(mongo, MIGRATIONS)
    await Projector(MongoProjections(mongo), RULES).apply_events(Batch.of(told))
    await complete(mongo)
    assert known_builds(contents(await MongoStore(mongo).tables())) == expected(told)


@EXAMPLES
@given(told=snapshot_lists())
async def test_cells_know_when_a_known_build_was_uploaded(mongo: Mortal, told: list[Snapshot]) -> None:
    told = [as_told_then(one) for one in told]
    tables = recount(told, RULES)
    await install_old(mongo, tables)
    await migrate(mongo, MIGRATIONS)
    cells = dict((await MongoStore(mongo).tables()).cells.rows())
    known = [key for key, _ in tables.cells.rows() if tables.builds.get(key[2])]
    assert [cells[key] for key in known] == [tables.cells.get(key) for key in known]


async def test_indexes_are_those_of_a_new_installation(mongo: Mortal) -> None:
    await create_generation(mongo, 0)
    new = {name: await mongo.collection(name).index_information() for name in OLD_INDEXES}
    await install_old(mongo, Tables())
    await migrate(mongo, MIGRATIONS)
    assert {name: await mongo.collection(name).index_information() for name in OLD_INDEXES} == new


async def test_a_cell_that_every_run_left_is_gone(mongo: Mortal) -> None:
    await install_old(mongo, Tables())
    await mongo.collection("cells").insert_one({"_id": "a:t:b", "last": None, "active": {}})
    await migrate(mongo, MIGRATIONS)
    assert await mongo.collection("cells").find().to_list(None) == []


@pytest.mark.parametrize("collection", list(NEW_FIELDS))
async def test_a_process_of_the_older_version_folds_nothing_more(mongo: Mortal, collection: str) -> None:
    """A rolling update leaves it for a while. Newer ones could not read its rows, and no list would count its runs."""
    await install_old(mongo, Tables())
    await migrate(mongo, MIGRATIONS)

    async def fold(session: Any) -> None:
        run = ReplaceOne({"_id": "run"}, {"org_id": "org"}, upsert=True)
        await mongo.collection("runs").bulk_write([run], session=session)
        row = ReplaceOne({"_id": "a:t:b"}, {"org_id": "org", "name": "Test"}, upsert=True)
        await mongo.collection(collection).bulk_write([row], session=session)

    with pytest.raises(BulkWriteError, match="failed validation"):
        await mongo.transaction(fold)
    assert await mongo.collection("runs").find().to_list(None) == []


async def test_an_up_to_date_installation_is_left_alone(mongo: Mortal) -> None:
    await migrate(mongo, MIGRATIONS)
    mongo.lives = 0
    await complete(mongo)
