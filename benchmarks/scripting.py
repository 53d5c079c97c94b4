"""Steps a second of flows without variables, with names of variables, with texts, and with JavaScript expressions.

`python -m benchmarks.scripting` runs 500 steps each, in this process, on the simulated device without waiting.
"""

import asyncio
from time import process_time

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices

ENV = {"env": {"NAME": "Ada", "N": "3"}}
FLOWS: dict[str, list[object]] = {
    "without variables": [ENV, *([{"assertTrue": "true"}, {"setClipboard": "x"}] * 250)],
    "names": [ENV, *([{"assertTrue": "${NAME}"}, {"setClipboard": "Hello ${NAME} and ${N}"}] * 250)],
    "texts": [ENV, *([{"assertTrue": "${NAME == 'Ada'}"}, {"setClipboard": "${NAME + '-' + N}"}] * 250)],
    "expressions": [ENV, *([{"assertTrue": "${N > 2}"}, {"setClipboard": "${NAME + (N - 1)}"}] * 250)],
}
ROUNDS = 5


async def cpu_seconds(steps: list[object]) -> float:
    """CPU time of one attempt, which must pass."""
    config = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
    request = AttemptRequest(run_id="benchmark", attempt=1, platform="android", steps=steps, config=config)
    began = process_time()
    result = await AttemptRunner(PooledDevices(DEFAULT_POOLS)).run(request)
    assert result.failure is None, result.failure
    return process_time() - began


async def main() -> None:
    for name, steps in FLOWS.items():
        first = await cpu_seconds(steps)
        best = min([await cpu_seconds(steps) for _ in range(ROUNDS)])
        count = len(steps) - 1
        print(f"{name}: {count / best:,.0f} steps/s, {1000 * best / count:.2f} ms of CPU a step; first {first:.2f} s")


if __name__ == "__main__":
    asyncio.run(main())
