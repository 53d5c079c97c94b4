"""The life of a process: start, run until a signal or until a background task dies, shut down gracefully."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

import uvloop

from services.chassis import logs, metrics
from services.chassis.settings import PREFIX, ProcessSettings, load

CANCEL_AGAIN_SECONDS = 1.0
# Hardly any objects are in cycles: with the default of 700 a busy process spends a tenth of its time on them.
COLLECT_EVERY = (50_000, 20, 20)

log = logs.get(__name__)

_expires_at = metrics.gauge(
    "mobiletest_certificate_expires_at_seconds", "Unix time at which a certificate expires", ["certificate"]
)

S = TypeVar("S", bound=ProcessSettings)


class Background:
    """The background tasks of a process. When one of them dies, the process ends.

    A context manager, which cancels the running tasks at its end.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._dead: asyncio.Future[BaseException] | None = None

    async def __aenter__(self) -> "Background":
        self._dead = asyncio.get_running_loop().create_future()
        return self

    async def __aexit__(self, *_: object) -> None:
        await _cancel(*self._tasks)

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` until it returns, the process ends or the task is cancelled."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    @asynccontextmanager
    async def run(
        self, name: str, work: Coroutine[Any, Any, None], *, stop: Callable[[], None] | None = None, grace: float = 10.0
    ) -> AsyncIterator[None]:
        """Run `work` inside the block. At its end call `stop`, wait up to `grace` seconds, then cancel."""
        task = self.start(name, work)
        try:
            yield
        finally:
            if stop is not None:
                stop()
                await asyncio.wait([task], timeout=grace)
            await _cancel(task)

    async def death(self) -> BaseException:
        """Wait for the first task that dies; returns its error."""
        if self._dead is None:
            raise RuntimeError("Background is not entered")
        return await asyncio.shield(self._dead)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = _cause_of_death(task)
        if error is None:
            return
        log.error("background_task_died", task=task.get_name(), exc_info=error)
        if self._dead is not None and not self._dead.done():
            self._dead.set_result(error)


def _cause_of_death(task: asyncio.Task[None]) -> BaseException | None:
    if not task.cancelled():
        return task.exception()
    if task.cancelling():
        return None
    return RuntimeError("the task raised CancelledError without having been cancelled")


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    """Cancel repeatedly until all have ended: PyMongo swallows a cancellation while it opens a change stream."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_SECONDS)


class RunningService(Protocol):
    """What the `start_app` of a service yields."""

    @property
    def background(self) -> Background: ...


@dataclass(frozen=True, slots=True)
class GrpcApp:
    """A running service; `grpc_address` is empty if it serves no calls."""

    grpc_address: str
    admin_address: str
    background: Background


StartApp = Callable[[S], AbstractAsyncContextManager[RunningService]]


def main(start_app: StartApp[S], settings_class: type[S]) -> NoReturn:
    """Run a service as this process. Exits 0 after a stop, 1 after a failure, 2 for wrong settings."""
    settings = load(settings_class)
    logs.configure(settings)
    metrics.describe_process(settings.version, settings.commit)
    show_certificate_expiry(settings)
    gc.set_threshold(*COLLECT_EVERY)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(serve(start_app, settings))
    raise SystemExit(code)


class _Stop:
    """Handles signals: the first stops a running service or cancels a starting one; the second cancels."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.started = False
        self._work: asyncio.Task[int] | None = None

    def listen(self, work: asyncio.Task[int]) -> None:
        self._work = work
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._received, number.name)

    def _received(self, name: str) -> None:
        log.info("signal", signal=name)
        if self._work is not None and (self.asked.is_set() or not self.started):
            self._work.cancel()
        self.asked.set()


async def serve(start_app: StartApp[S], settings: S) -> int:
    """Run the service until SIGTERM, SIGINT or the death of a part; gives the exit code.

    A signal during the start (waiting for MongoDB, say) cancels it; a second one cancels the shutdown.
    """
    stop = _Stop()
    work = asyncio.create_task(_run_until_stopped(stop, start_app, settings), name="service")
    stop.listen(work)
    try:
        return await work
    except asyncio.CancelledError:
        log.warning("stopped_at_once")
        return 0 if stop.asked.is_set() else 1
    except Exception:
        log.exception("service_failed")
        return 1


async def _run_until_stopped(stop: _Stop, start_app: StartApp[S], settings: S) -> int:
    async with start_app(settings) as app:
        stop.started = True
        log.info("started")
        gc.collect()
        gc.freeze()  # objects of the start live on: exclude them from collections
        died = await _first(app.background.death(), stop.asked.wait())
        log.info("stopping")
    log.info("stopped")
    return 1 if died else 0


async def _first(death: Coroutine[Any, Any, object], stopped: Coroutine[Any, Any, object]) -> bool:
    """Wait for either; True when it was the death."""
    lag = metrics.measure_loop_lag("main")
    tasks = [asyncio.create_task(work) for work in (death, stopped, lag)]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    return tasks[0] in done


def show_certificate_expiry(settings: ProcessSettings) -> None:
    """Show the certificates whose files the settings name, by the variable that names them."""
    for name in type(settings).model_fields:
        path = getattr(settings, name)
        if name.endswith("_certificate_file") and path is not None:
            _expires_at.labels(PREFIX + name.upper()).set_function(partial(expires_at, path))


def expires_at(path: Path) -> float:
    """The Unix time at which the first certificate of a PEM file expires; NaN when it cannot be read."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()
    except (OSError, ValueError):
        return nan
