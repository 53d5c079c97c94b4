"""Runs sentences as attempts that may ask a model."""

from typing import Any

from services.executor.automation.attempt import AttemptRunner
from services.executor.automation.attempt_request import AttemptRequest
from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import Category
from services.executor.model.run_config import (
    RunConfig,
)
from tests.fakes.devices import FakeDevice, FakeDevices, button

PAY = button("Pay")
ASKING = RunConfig()


async def run(
    device: FakeDevice, *steps: object, config: RunConfig = ASKING, ask: bool = True, **ports: Any
) -> AttemptResult:
    plan = AttemptRequest(
        run_id="run", attempt=1, platform="android", steps=list(steps), config=config, step_seconds=10, ask_model=ask
    )
    return await AttemptRunner(FakeDevices(device), **ports).run(plan)


def category(result: AttemptResult) -> Category | None:
    return result.failure.category if result.failure else None


def counts(result: AttemptResult) -> list[tuple[int, int]]:
    return [(step.model_calls, step.model_tokens) for step in result.steps]
