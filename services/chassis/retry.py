"""Retrying what fails for a passing reason: a dependency that is down, a lost race."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from structlog.typing import FilteringBoundLogger

from services.chassis.errors import Aborted, DeadlineExceeded, Unavailable
from services.chassis.events import TransientError
from services.chassis.mongo_errors import as_unavailable, is_unencodable

T = TypeVar("T")
IsTransient = Callable[[Exception], bool]

_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def is_transient(error: Exception) -> bool:
    """Whether the same work may succeed later: TransientError, a dependency that is down, a lost race."""
    if isinstance(error, TransientError | Unavailable | Aborted | DeadlineExceeded):
        return True
    return as_unavailable(error) is not None


def is_bug(error: Exception) -> bool:
    """Whether this is the error of code that met an unexpected value, rather than of a dependency."""
    if is_unencodable(error):
        return True
    return isinstance(error, _BUGS) and not isinstance(error, OSError)  # ssl.SSLCertVerificationError is both


def backoff_seconds(attempt: int, most: float = 30.0) -> float:
    """The pause after the `attempt`-th failure (1, 2, ...): 0.1 s doubling up to `most`, with jitter of a quarter."""
    return float(min(most, 0.05 * 2 ** min(attempt, 20)) * random.uniform(0.75, 1.25))  # noqa: S311 (jitter)


@contextmanager
def log_transient(
    log: FilteringBoundLogger, event: str, *, transient: IsTransient = is_transient, **fields: object
) -> Iterator[None]:
    """Log a transient error inside the block as a warning and suppress it; every other error passes."""
    try:
        yield
    except Exception as error:
        if not transient(error):
            raise
        log.warning(event, error=repr(error), **fields)


async def run_every(
    seconds: float,
    work: Callable[[], Awaitable[object]],
    *,
    log: FilteringBoundLogger,
    event: str,
    transient: IsTransient = is_transient,
) -> None:
    """Do `work` until cancelled, pausing `seconds` in between; a transient error is logged as `event`."""
    while True:
        with log_transient(log, event, transient=transient):
            await work()
        await asyncio.sleep(seconds)


async def retry_transient(
    call: Callable[[], Awaitable[T]],
    *,
    log: FilteringBoundLogger,
    event: str,
    attempts: int | None = None,
    until: float | None = None,
    pause: Callable[[int], float] = backoff_seconds,
    transient: IsTransient = is_transient,
    **fields: object,
) -> T:
    """The result of `call`, which is repeated after each transient error; each is logged as the warning `event`.

    The error itself is raised when it is not transient, was the last of `attempts` or came at `until` (a time of
    `monotonic()`) or later. `pause(attempt)` gives the seconds to wait after the attempt.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            return await call()
        except Exception as error:
            over = attempt == attempts or (until is not None and monotonic() >= until)
            if over or not transient(error):
                raise
            log.warning(event, error=repr(error), attempt=attempt, **fields)
        await asyncio.sleep(pause(attempt))
