"""A MongoDB database for each test, through the driver under test."""

from collections.abc import AsyncIterator

import pytest

from services.chassis.mongo import Driver, Mongo


@pytest.fixture
async def mongo(mongo_uri: str, mongo_database: str, mongo_driver: Driver) -> AsyncIterator[Mongo]:
    mongo = await Mongo.connect(mongo_uri, mongo_database, mongo_driver)
    yield mongo
    await mongo.close()
