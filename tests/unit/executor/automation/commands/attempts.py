"""Runs commands on a scripted device."""

from typing import Any

from services.executor.automation.attempt import AttemptRunner
from services.executor.automation.attempt_request import AttemptRequest
from services.executor.automation.ports import FlowFiles
from services.executor.automation.screen.elements import Bounds, Element
from services.executor.model.attempts import AttemptResult
from services.executor.model.run_config import FallbackTrigger, RunConfig
from tests.fakes.devices import FakeDevice, FakeDevices, button

BUTTON = Bounds(100, 200, 80, 40)


async def run(device: FakeDevice, *steps: object, files: FlowFiles | None = None) -> AttemptResult:
    config = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
    plan = AttemptRequest(run_id="r", attempt=1, platform="android", steps=list(steps), config=config, step_seconds=5)
    return await AttemptRunner(FakeDevices(device)).run(plan, files=files)


def pay(**fields: Any) -> Element:
    return button("Pay", bounds=BUTTON, **fields)
