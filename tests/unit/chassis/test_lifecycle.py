import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isnan
from pathlib import Path

import pytest
import trustme

from services.chassis import metrics
from services.chassis.lifecycle import Background, expires_at, serve, show_certificate_expiry
from services.chassis.settings import ProcessSettings
from tests.eventually import eventually
from tests.unit.chassis.samples import process_settings


@dataclass
class App:
    background: Background


class Service:
    """A service that notes what happens to it."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.background = Background()
        self.may_start = asyncio.Event()
        self.may_start.set()

    @asynccontextmanager
    async def start_app(self, _: ProcessSettings) -> AsyncIterator[App]:
        self.events.append("starting")
        try:
            async with self.background:
                await self.may_start.wait()
                self.events.append("running")
                yield App(self.background)
        finally:
            self.events.append("closed")


async def fail() -> None:
    raise ValueError("a part is broken")


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def process(service: Service) -> AsyncIterator["asyncio.Task[int]"]:
    task = asyncio.create_task(serve(service.start_app, process_settings()))
    yield task
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_the_service_with_exit_code_0(
    service: Service, process: "asyncio.Task[int]", number: signal.Signals
) -> None:
    await eventually(lambda: "running" in service.events)
    os.kill(os.getpid(), number)
    assert await process == 0
    assert service.events == ["starting", "running", "closed"]


async def test_a_signal_cancels_a_start_that_waits(service: Service) -> None:
    service.may_start.clear()
    process = asyncio.create_task(serve(service.start_app, process_settings()))
    await eventually(lambda: "starting" in service.events)
    os.kill(os.getpid(), signal.SIGTERM)
    assert await process == 0
    assert service.events == ["starting", "closed"]


async def test_a_dying_task_ends_the_process_with_exit_code_1(service: Service, process: "asyncio.Task[int]") -> None:
    await eventually(lambda: "running" in service.events)
    service.background.start("broken", fail())
    assert await process == 1
    assert service.events[-1] == "closed"


async def test_a_failed_start_exits_with_1() -> None:
    @asynccontextmanager
    async def start_app(_: ProcessSettings) -> AsyncIterator[App]:
        await fail()
        yield App(Background())

    assert await serve(start_app, process_settings()) == 1


async def test_a_task_may_end_without_ending_the_process() -> None:
    async def brief() -> None:
        pass

    async with Background() as background:
        await background.start("brief", brief())
        death = asyncio.create_task(background.death())
        background.start("broken", fail())
        assert str(await death) == "a part is broken"


async def test_an_unexpected_cancelled_error_is_a_death() -> None:
    async def cancelled_from_within() -> None:
        raise asyncio.CancelledError

    async with Background() as background:
        background.start("odd", cancelled_from_within())
        assert isinstance(await background.death(), RuntimeError)


async def test_a_task_is_stopped_before_it_is_cancelled() -> None:
    stop, events = asyncio.Event(), []

    async def part() -> None:
        await stop.wait()
        events.append("finished")

    async with Background() as background, background.run("part", part(), stop=stop.set):
        events.append("inside")
    assert events == ["inside", "finished"]


async def test_a_task_that_does_not_stop_is_cancelled_after_its_grace_period() -> None:
    ended = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Background() as background:
        async with background.run("stubborn", stubborn(), stop=lambda: None, grace=0.01):
            await asyncio.sleep(0)
        assert ended.is_set()


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again() -> None:
    """PyMongo does so while a change stream is being opened."""
    swallowed = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed.set()
        await asyncio.Event().wait()

    async with Background() as background:
        task = background.start("deaf", work())
        await asyncio.sleep(0)
    assert swallowed.is_set()
    assert task.done()


UNTIL = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture
def issued(tmp_path: Path) -> Path:
    """A certificate with its chain, and its key."""
    leaf = trustme.CA().issue_cert("catalog", not_after=UNTIL)
    for blob in leaf.cert_chain_pems:
        blob.write_to_path(tmp_path / "tls.crt", append=True)
    leaf.private_key_pem.write_to_path(tmp_path / "tls.key")
    return tmp_path


def test_the_expiry_of_each_certificate_is_shown(issued: Path) -> None:
    settings = ProcessSettings(
        service_token="0123456789abcdef",
        tls_certificate_file=issued / "tls.crt",
        tls_key_file=issued / "tls.key",
        tls_verify_clients=False,
    )
    show_certificate_expiry(settings)
    labels = {"certificate": "MOBILETEST_TLS_CERTIFICATE_FILE"}
    name = "mobiletest_certificate_expires_at_seconds"
    assert metrics.REGISTRY.get_sample_value(name, labels) == UNTIL.timestamp()
    (issued / "tls.crt").unlink()  # while Kubernetes replaces it, say
    shown = metrics.REGISTRY.get_sample_value(name, labels)
    assert shown is not None
    assert isnan(shown)


def test_a_file_without_a_certificate_has_no_expiry(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("nothing")
    assert isnan(expires_at(tmp_path / "tls.crt"))
