"""Runs attempts in which no model is asked."""

from collections.abc import Sequence
from typing import Any

from services.executor.automation.attempt import AttemptRunner
from services.executor.automation.attempt_request import AttemptRequest
from services.executor.model.attempts import AttemptResult
from services.executor.model.run_config import (
    FallbackTrigger,
    RunConfig,
)
from tests.fakes.devices import FakeDevice, FakeDevices

NEVER = RunConfig(fallback_trigger=FallbackTrigger.NEVER)


def plan(steps: Sequence[object], **fields: Any) -> AttemptRequest:
    return AttemptRequest(
        **{"run_id": "run", "attempt": 2, "platform": "android", "steps": list(steps), "step_seconds": 10, **fields}
    )


async def run(device: FakeDevice, *steps: object, config: RunConfig = NEVER, **ports: Any) -> AttemptResult:
    return await AttemptRunner(FakeDevices(device), **ports).run(plan(steps, config=config))


def statuses(result: AttemptResult) -> list[str]:
    return [f"{'  ' * step.depth}{step.kind} {step.status}" for step in result.steps]
