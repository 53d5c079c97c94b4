"""Steps per second of a second run, with and without the step cache on MongoDB: `python -m benchmarks.second_run`.

The tests of the example shop run on the simulated device, whose own time costs nothing. The rules carry out every
sentence, so that the cache has nothing to save, and must cost nothing either.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import uvloop

from deploy.local.mongod import mongod
from examples.workspace import content, described_tests
from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import Build
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig
from mobiletest_automation.ports import StepCache
from mobiletest_automation.step_cache.cache import StoredStepCache
from services.chassis.mongo import Mongo
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.storage.step_cache import MongoStepCache

ROUNDS = 15
TESTS: list[dict[str, Any]] = [t for t in described_tests() if "steps" in t and t.get("platform") != "iOS"]


class CountingStore(MongoStepCache):
    """Counts how often it is read."""

    reads = 0

    async def load(self, key: str) -> Any:
        self.reads += 1
        return await super().load(key)


async def run_all(cache: StepCache | None) -> int:
    """Run every test once; the number of steps."""
    shop = content("shop-android/1.0.0.yaml")

    async def read(limit: int) -> bytes:
        return shop[:limit]

    steps = 0
    for test in TESTS:
        request = AttemptRequest(
            run_id=test["name"],
            app="shop",
            attempt=1,
            platform="android",
            steps=test["steps"],
            build=Build(app_name="Example Shop", read=read),
            config=RunConfig(fallback_trigger=FallbackTrigger.NEVER),
        )
        result = await AttemptRunner(PooledDevices(DEFAULT_POOLS), cache=cache).run(request)
        assert result.failure is None, result.failure
        steps += len(result.steps)
    return steps


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with mongod(Path(folder)) as server:
            mongo = await Mongo.connect(server.uri, "second_run")
            store = CountingStore(mongo, days=30)
            cache = StoredStepCache(store)
            steps = await run_all(cache)
            store.reads = 0
            rates: dict[str, list[float]] = {"with the cache": [], "without": []}
            for _ in range(ROUNDS):
                for name, used in (("with the cache", cache), ("without", None)):
                    began = time.perf_counter()
                    await run_all(used)
                    rates[name].append(steps / (time.perf_counter() - began))
    print(f"{len(TESTS)} tests, {steps} steps, {store.reads / ROUNDS:.1f} reads of the cache in a second run")
    for name, measured in rates.items():
        print(f"{name}: {statistics.median(measured):,.0f} steps/s")


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
