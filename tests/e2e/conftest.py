"""End-to-end fixtures: each test works through REST in an organisation of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from functools import cache

import pytest
from pymongo import MongoClient

from deploy.local.stack import Stack
from services.catalog.commands import bootstrap_organisation
from services.catalog.usecases.keys import IssuedKey
from services.chassis.mongo import Mongo
from tests.e2e.client import Api
from tests.e2e.world import World
from tests.query_plans import QueryPlans
from tests.shared_infrastructure import SharedStack


@cache
def _operator_loop() -> asyncio.AbstractEventLoop:
    """A loop in a thread, for the whole run: a client of MongoDB belongs to one loop, and each test has its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="operator", daemon=True).start()
    return loop


@cache
def _catalog(mongo_uri: str) -> Mongo:
    """The catalog's database, opened once for all organisations."""
    return asyncio.run_coroutine_threadsafe(Mongo.connect(mongo_uri, "catalog"), _operator_loop()).result()


async def new_organisation_key(stack: SharedStack | Stack, name: str) -> IssuedKey:
    """The first key of a new organisation, made as `python -m services.catalog bootstrap` makes it."""
    work = bootstrap_organisation(_catalog(stack.mongo_uri), name)
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _operator_loop()))


async def fresh_key(stack: SharedStack | Stack, name: str) -> str:
    """The key of a new organisation with every scope."""
    return (await new_organisation_key(stack, name)).value


@pytest.fixture
async def api(stack: SharedStack) -> AsyncIterator[Api]:
    """A client of a fresh organisation, with every scope."""
    async with Api(stack.url, await fresh_key(stack, "Test")) as api:
        yield api


@pytest.fixture
async def foreign(stack: SharedStack) -> AsyncIterator[Api]:
    """A client of another organisation."""
    async with Api(stack.url, await fresh_key(stack, "Foreign")) as api:
        yield api


@pytest.fixture
async def anonymous(stack: SharedStack) -> AsyncIterator[Api]:
    """A client without a key."""
    async with Api(stack.url, None) as api:
        yield api


@pytest.fixture
def world(api: Api) -> World:
    """Makes apps, builds, tests and workflows in the organisation of `api`."""
    return World(api)


@pytest.fixture(scope="session")
def query_plans(stack: SharedStack) -> Iterator[QueryPlans]:
    with MongoClient(stack.mongo_uri) as client:
        yield QueryPlans(client)


@pytest.fixture(autouse=True)
def _queries_have_indexes(request: pytest.FixtureRequest) -> Iterator[None]:
    """The query may be of a test that ran at the same moment in another process."""
    plans: QueryPlans | None = request.getfixturevalue("query_plans") if "stack" in request.fixturenames else None
    yield
    if plans is not None:
        assert plans.unexpected() == [], "queries without an index"
