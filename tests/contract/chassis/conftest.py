"""Everything that stands on MongoDB is tested under both drivers."""

from collections.abc import AsyncIterator
from typing import Literal

import pytest

from services.chassis.mongo import Mongo

Driver = Literal["motor", "pymongo"]


@pytest.fixture(params=["motor", "pymongo"])
def driver(request: pytest.FixtureRequest) -> Driver:
    chosen: Driver = request.param
    return chosen


@pytest.fixture
async def mongo(mongo_uri: str, mongo_database: str, driver: Driver) -> AsyncIterator[Mongo]:
    mongo = await Mongo.connect(mongo_uri, mongo_database, driver)
    yield mongo
    await mongo.close()
