"""The step cache changes no verdict: on every build the example tests end as they do without it, see test_examples."""

from pathlib import Path
from typing import Any

import pytest

from services.executor.automation.attempt import AttemptRunner
from services.executor.automation.attempt_request import AttemptRequest
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.devices.port import Build
from services.executor.automation.model_ports import Judgement, ScreenView
from services.executor.automation.ports import NoStepCache, StepCache
from services.executor.automation.step_cache.cache import StoredStepCache
from services.executor.model.attempts import AttemptResult, CacheOutcome
from services.executor.model.run_config import ExecutionMode, FallbackTrigger, RunConfig
from tests.fakes.models import FakeModel
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.executor.automation.test_examples import APPS, ENDS, FLAKY, TESTS

EXAMPLES = Path(__file__).parents[4] / "examples"
REFLECTING = RunConfig(fallback_trigger=FallbackTrigger.NEVER, execution_mode=ExecutionMode(enable_reflection=True))
CASES = [
    pytest.param(app, test, id=f"{app['platform']}-{test['name']}")
    for app in APPS
    for test in TESTS
    if test["platform"] in (None, app["platform"])
]


class ApprovingModel(FakeModel):
    """Judges that every step reached its aim, so that actions of the rules are stored."""

    async def judge(self, sentence: str, before: ScreenView, after: ScreenView) -> Judgement:
        return Judgement(reached=True, why="")


async def attempt(
    app: dict[str, Any], build: dict[str, str], test: dict[str, Any], run: int, cache: StepCache
) -> AttemptResult:
    content = (EXAMPLES / build["file"]).read_bytes()

    async def read(limit: int) -> bytes:
        return content[:limit]

    request = AttemptRequest(
        run_id=f"r{run}",
        app=app["name"],
        attempt=1,
        platform=app["platform"].lower(),
        steps=test["steps"],
        build=Build(app_name="Example Shop", read=read),
        config=REFLECTING,
    )
    return await AttemptRunner(PooledDevices.load(None), cache=cache, model=ApprovingModel()).run(request)


def category(result: AttemptResult) -> str | None:
    return str(result.failure.category) if result.failure is not None else None


@pytest.mark.parametrize(("app", "test"), CASES)
async def test_the_cache_changes_no_verdict(app: dict[str, Any], test: dict[str, Any]) -> None:
    cache = StoredStepCache(FakeStepCacheStore())
    outcomes: list[CacheOutcome | None] = []
    for run, build in enumerate([*app["builds"][:3], app["builds"][2]]):
        cached = await attempt(app, build, test, run, cache)
        expected = ENDS.get((app["platform"], build["version"], test["name"]), {None})
        if expected is FLAKY:
            expected = {category(await attempt(app, build, test, run, NoStepCache()))}
        assert category(cached) in expected, (build["version"], run)
        outcomes += [step.cache for step in cached.steps]
    asked = [outcome for outcome in outcomes if outcome is not None]
    assert not asked or CacheOutcome.HIT in asked
