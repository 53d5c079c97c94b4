"""The infrastructure fixtures; tests/infrastructure.py explains the sources. Missing servers fail tests in CI."""

import gc
import os
from collections.abc import Collection, Generator, Iterator
from typing import Any, NoReturn, cast
from uuid import uuid4

import hypothesis
import pytest
import structlog
from pymongo import MongoClient

from services.chassis.mongo import Driver
from tests.examples import examples
from tests.infrastructure import Unavailable, describe
from tests.shared_infrastructure import InfrastructureServer, SharedStack, request_part

hypothesis.settings.register_profile("mobiletest", deadline=None, max_examples=examples(100))  # machines are slow
hypothesis.settings.load_profile("mobiletest")

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),  # rich is slow
    ]
)

_LONG_ID = 100
_server = pytest.StashKey[InfrastructureServer]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--using", type=lambda names: set(names.split(",")), help="run only tests that use one of these fixtures"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        server = config.stash[_server] = InfrastructureServer()
        server.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    server = config.stash.get(_server, None)
    if server is not None:
        server.stop()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives until the end, so garbage collections need not visit it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of the shared stack run last, so that its services do not idle beside all other tests."""
    if (names := config.getoption("using")) is not None:
        config.hook.pytest_deselected(items=[item for item in items if names.isdisjoint(_fixtures(item))])
        items[:] = [item for item in items if not names.isdisjoint(_fixtures(item))]
    items.sort(key=lambda item: "stack" in _fixtures(item))


def _fixtures(item: pytest.Item) -> Collection[str]:
    return getattr(item, "fixturenames", ())


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names a long text by its length: some have 100,000 characters."""
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > _LONG_ID else None


def pytest_report_header() -> str:
    return f"infrastructure: {describe()}"


def get_part(part: str) -> Any:
    """A part of the infrastructure, or a skipped test; in CI a failed one."""
    try:
        return request_part(part)
    except Unavailable as reason:
        skip_or_fail(str(reason))


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test; in CI, where a skipped suite must not look like a green one, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def mongo_uri() -> str:
    """The URI of a MongoDB replica set that the whole run shares: use databases of your own.

    Clients poll it. Event loops of a session stand still while tests with loops of their own run, and PyMongo Async
    would take a heartbeat that it waited for meanwhile for a dead server, and cancel what others do there.
    """
    uri = str(get_part("mongo"))
    return f"{uri}{'&' if '?' in uri else '/?'}serverMonitoringMode=poll"


@pytest.fixture(scope="session")
def mongo_driver() -> Driver:
    """The driver under test: motor, or what MOBILETEST_MONGO_DRIVER says. `make drivers` runs the tests that use this
    fixture on pymongo.
    """
    return cast(Driver, os.environ.get("MOBILETEST_MONGO_DRIVER", "motor"))


@pytest.fixture(scope="session")
def mongo_client(mongo_uri: str) -> Iterator[MongoClient[dict[str, Any]]]:
    client: MongoClient[dict[str, Any]] = MongoClient(mongo_uri)
    with client:
        yield client


@pytest.fixture
def mongo_database(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """The name of a database that this test alone has; dropped afterwards."""
    name = f"test_{uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


@pytest.fixture(scope="session")
def kafka_bootstrap() -> str:
    """The bootstrap address of a broker that the whole run shares: use topics and groups of your own."""
    return str(get_part("kafka"))


@pytest.fixture
def topic_suffix() -> str:
    """Makes names of topics and groups fresh: `f"mobiletest.executor.v1.execution-events-{topic_suffix}"`."""
    return uuid4().hex[:12]


@pytest.fixture(scope="session")
def stack() -> SharedStack:
    """All services, running, shared by the whole run: work in an organisation of your own."""
    return SharedStack(**get_part("stack"))
