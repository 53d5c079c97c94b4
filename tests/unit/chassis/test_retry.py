from collections.abc import Callable
from time import monotonic

import pytest
from pymongo.errors import AutoReconnect
from structlog.testing import capture_logs

from services.chassis import logs
from services.chassis.errors import Aborted, InvalidArgument, Unavailable
from services.chassis.events import TransientError
from services.chassis.retry import backoff_seconds, is_transient, log_transient, retry_transient, run_every


class Stop(BaseException):
    """Ends an endless loop, as a cancellation does."""


class Calls:
    """Raises the errors one after another, then returns "done"."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.count = 0

    async def __call__(self) -> str:
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def no_pause(_: int) -> float:
    return 0.0


log = logs.get(__name__)


@pytest.mark.parametrize("error", [TransientError("later"), Unavailable("x"), Aborted("x"), AutoReconnect("x")])
def test_outages_and_lost_races_are_transient(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize("error", [InvalidArgument("x"), ValueError("x")])
def test_other_errors_are_not_transient(error: Exception) -> None:
    assert not is_transient(error)


def test_backoff_doubles_up_to_its_limit() -> None:
    assert 0.07 < backoff_seconds(1) < 0.13
    assert 0.15 < backoff_seconds(2) < 0.26
    assert backoff_seconds(50) <= 37.5
    assert backoff_seconds(50, most=2.0) <= 2.5


def test_a_transient_error_is_logged_and_suppressed() -> None:
    with capture_logs() as lines, log_transient(log, "job_failed", run_id="r"):
        raise Unavailable("away")
    assert [(line["event"], line["log_level"], line["run_id"]) for line in lines] == [("job_failed", "warning", "r")]


def test_any_other_error_passes() -> None:
    with pytest.raises(ValueError, match="bug"), log_transient(log, "job_failed"):
        raise ValueError("bug")


async def test_a_call_is_repeated_after_transient_errors() -> None:
    calls = Calls(Unavailable("1"), Unavailable("2"))
    with capture_logs() as lines:
        assert await retry_transient(calls, log=log, event="call_failed", pause=no_pause) == "done"
    assert [(line["event"], line["attempt"]) for line in lines] == [("call_failed", 1), ("call_failed", 2)]


@pytest.mark.parametrize(
    ("options", "count"), [({"attempts": 3}, 3), ({"until": monotonic()}, 1)], ids=["attempts", "deadline"]
)
async def test_the_last_error_is_raised_when_the_limit_is_reached(options: dict[str, float], count: int) -> None:
    calls = Calls(*(Unavailable(str(number)) for number in range(9)))
    with pytest.raises(Unavailable, match=str(count - 1)):
        await retry_transient(calls, log=log, event="call_failed", pause=no_pause, **options)  # type: ignore[arg-type]
    assert calls.count == count


async def test_an_error_that_is_not_transient_is_not_retried() -> None:
    calls = Calls(ValueError("bug"))
    with pytest.raises(ValueError, match="bug"):
        await retry_transient(calls, log=log, event="call_failed", pause=no_pause)
    assert calls.count == 1


async def test_what_counts_as_transient_can_be_chosen() -> None:
    chosen: Callable[[Exception], bool] = lambda error: isinstance(error, ValueError)  # noqa: E731
    calls = Calls(ValueError("passes"))
    assert await retry_transient(calls, log=log, event="call_failed", pause=no_pause, transient=chosen) == "done"


async def test_a_periodic_job_continues_after_a_transient_error() -> None:
    calls = Calls(Unavailable("away"), Stop())
    with pytest.raises(Stop):
        await run_every(0.0, calls, log=log, event="job_failed")
    assert calls.count == 2


async def test_a_bug_ends_a_periodic_job() -> None:
    with pytest.raises(ValueError, match="bug"):
        await run_every(0.0, Calls(ValueError("bug")), log=log, event="job_failed")
