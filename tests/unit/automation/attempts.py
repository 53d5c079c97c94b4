"""Runs attempts on scripted devices, and says how they ended."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import Device, DeviceFailure
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import ExecutionMode, FallbackTrigger, RunConfig
from mobiletest_automation.model_ports import Judgement, ModelProvider, ScreenView
from mobiletest_automation.ports import (
    AcceptedBaselines,
    EvidenceStore,
    FlowFiles,
    Human,
    OnProgress,
    ScreenStore,
    StepCache,
)
from mobiletest_automation.screen.elements import Bounds, Element
from tests.fakes.devices import FakeDevices, button
from tests.fakes.models import FakeModel

NEVER = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
REFLECTING = RunConfig(fallback_trigger=FallbackTrigger.NEVER, execution_mode=ExecutionMode(enable_reflection=True))
PAY = button("Pay")


def pay(**fields: Any) -> Element:
    """A button of which the place matters."""
    return button("Pay", bounds=Bounds(100, 200, 80, 40), **fields)


def plan(*steps: object, **fields: Any) -> AttemptRequest:
    """A request in which no model is asked."""
    planned = {"run_id": "run", "attempt": 1, "platform": "android", "steps": list(steps), "step_seconds": 10}
    return AttemptRequest(**{**planned, "config": NEVER, **fields})


async def run(
    device: Device,
    *steps: object,
    model: ModelProvider | None = None,
    cache: StepCache | None = None,
    evidence: EvidenceStore | None = None,
    human: Human | None = None,
    files: FlowFiles | None = None,
    baselines: AcceptedBaselines | None = None,
    screens: ScreenStore | None = None,
    progress: OnProgress | None = None,
    **fields: Any,
) -> AttemptResult:
    runner = AttemptRunner(FakeDevices(device), model=model, cache=cache)
    return await runner.run(
        plan(*steps, **fields),
        evidence=evidence,
        human=human,
        files=files,
        baselines=baselines,
        screens=screens,
        progress=progress,
    )


async def run_with_model(device: Device, *steps: object, **fields: Any) -> AttemptResult:
    """An attempt that may ask a model."""
    return await run(device, *steps, **{"config": RunConfig(), "ask_model": True, **fields})


def failure_of(result: AttemptResult) -> Failure:
    assert result.failure is not None
    return result.failure


def category(result: AttemptResult) -> Category | None:
    return result.failure.category if result.failure else None


def statuses(result: AttemptResult) -> list[str]:
    return [f"{'  ' * step.depth}{step.kind} {step.status}" for step in result.steps]


def model_costs(result: AttemptResult) -> list[tuple[int, int]]:
    """Calls of a model and their tokens, of each step."""
    return [(step.model_calls, step.model_tokens) for step in result.steps]


@contextmanager
def fails(category: Category, match: str | None = None) -> Iterator[None]:
    """The device fails in this block, with a message in which the pattern `match` is found."""
    with pytest.raises(DeviceFailure, match=match) as raised:
        yield
    assert raised.value.category is category


class ApprovingModel(FakeModel):
    """Judges that every step reached its aim, so that actions of the rules are stored."""

    async def judge(self, sentence: str, before: ScreenView, after: ScreenView) -> Judgement:
        return Judgement(reached=True, why="")


class SentFiles(dict[str, bytes]):
    """The files that were sent along, by their paths."""

    async def read(self, path: str) -> bytes:
        return self[path]


class StoppedClock:
    """The clock of this event loop: its timeouts end when the test lets time pass, however busy the machine is."""

    def __init__(self) -> None:
        self._now = asyncio.get_running_loop().time()
        asyncio.get_running_loop().time = lambda: self._now  # type: ignore[method-assign]

    def pass_time(self, seconds: float) -> None:
        self._now += seconds
