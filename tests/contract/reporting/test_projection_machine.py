"""The state machine of the fold on a real MongoDB: the documents that are stored are those of a recount."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from pymongo import MongoClient

from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.reporting.model.flaky import FlakyRules
from services.reporting.model.projection import Rules
from services.reporting.ports import Projections
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.schema import MIGRATIONS
from tests.contract.reporting.projections import stored
from tests.examples import examples
from tests.fakes.reporting_projection_machine import ProjectionMachine
from tests.fakes.reporting_stored_bytes import Contents

RULES = Rules(flaky=FlakyRules(window=3))
EXAMPLES = settings(
    max_examples=examples(20),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class Kept:
    """The read models in a database."""

    def __init__(self, mongo: Mongo, client: MongoClient[dict[str, Any]], database: str) -> None:
        self.folds: Projections = MongoProjections(mongo)
        self._client, self._database = client, database

    async def contents(self) -> Contents:
        return stored(self._client, self._database)

    async def clear(self) -> None:
        for name in (*(kind.collection for kind in TABLE_CODECS), COUNTERS):
            self._client[self._database][name].delete_many({})


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_stored_documents_always_equal_a_recount(
    runner: asyncio.Runner, mongo_uri: str, mongo_database: str, mongo_client: MongoClient[dict[str, Any]]
) -> None:
    mongo = runner.run(Mongo.connect(mongo_uri, mongo_database))
    try:
        runner.run(migrate(mongo, MIGRATIONS))
        kept = Kept(mongo, mongo_client, mongo_database)
        run_state_machine_as_test(lambda: ProjectionMachine(kept, runner, RULES), settings=EXAMPLES)  # type: ignore[no-untyped-call]
    finally:
        runner.run(mongo.close())
