"""The example workspace: every test on every build's model gives the verdict that the build was made for.

The step cache changes no verdict.
"""

from typing import Any

import pytest
import yaml

from examples.workspace import FOLDER as EXAMPLES
from examples.workspace import described_tests
from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.model.results import CacheOutcome, StepResult
from mobiletest_automation.ports import NoStepCache, StepCache
from mobiletest_automation.step_cache.cache import StoredStepCache
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from tests.fakes.flows import stored_steps
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.automation.attempts import NEVER, REFLECTING, ApprovingModel
from tests.unit.automation.devices.simulated import models

Row = dict[str, Any]

TESTS: list[Row] = [
    {**test, "platform": None, "steps": stored_steps(test["flow"])} if "flow" in test else test
    for test in described_tests()
]
APPS: list[Row] = yaml.safe_load((EXAMPLES / "apps.yaml").read_text())

# Of a test that fails; runs that pass are repeated with the cache.
RUNS = 2
RUNS_OF_FLAKY = 8
FLAKY = {None, "assertion_failed"}
# How tests end on builds on which they do not always pass: the category of the failure, or None where they pass.
ENDS: dict[tuple[str, str, str], set[str | None]] = {
    ("Android", "1.1.0", "Check out"): {"assertion_failed"},
    ("Android", "1.1.0", "Check out, in commands"): {"step_timeout"},
    ("iOS", "1.1.0", "Check out"): {"app_crash"},
    ("iOS", "1.1.0", "Check out, in commands"): {"app_crash"},
    ("Android", "1.2.0", "Add to cart"): FLAKY,
    ("iOS", "1.2.0", "Add to cart"): FLAKY,
}

CASES = [
    pytest.param(app, test, id=f"{app['platform']}-{test['name']}")
    for app in APPS
    for test in TESTS
    if test["platform"] in (None, app["platform"])
]


async def attempt(
    app: Row, build: Row, test: Row, run: int, cache: StepCache | None = None
) -> tuple[str | None, tuple[StepResult, ...]]:
    """The category of the failure, or None where the test passed; and the steps. With a cache, actions are stored."""
    request = AttemptRequest(
        run_id=f"r{run}",
        app=app["name"],
        attempt=1,
        platform=app["platform"].lower(),
        steps=test["steps"],
        build=models.build((EXAMPLES / build["file"]).read_text()),
        config=NEVER if cache is None else REFLECTING,
    )
    model = None if cache is None else ApprovingModel()
    result = await AttemptRunner(PooledDevices(DEFAULT_POOLS), cache=cache, model=model).run(request)
    return (str(result.failure.category) if result.failure is not None else None), result.steps


@pytest.mark.parametrize(("app", "test"), CASES)
async def test_each_test_on_each_build(app: Row, test: Row) -> None:
    for build in app["builds"]:
        expected = ENDS.get((app["platform"], build["version"], test["name"]), {None})
        runs = RUNS_OF_FLAKY if expected is FLAKY else 1 if expected == {None} else RUNS
        assert {(await attempt(app, build, test, run))[0] for run in range(runs)} == expected, build["version"]


@pytest.mark.parametrize(("app", "test"), CASES)
async def test_the_cache_changes_no_verdict(app: Row, test: Row) -> None:
    cache = StoredStepCache(FakeStepCacheStore())
    asked: list[CacheOutcome] = []
    for run, build in enumerate([*app["builds"][:3], app["builds"][2]]):
        ended, steps = await attempt(app, build, test, run, cache)
        expected = ENDS.get((app["platform"], build["version"], test["name"]), {None})
        if expected is FLAKY:
            expected = {(await attempt(app, build, test, run, NoStepCache()))[0]}
        assert ended in expected, (build["version"], run)
        asked += [step.cache for step in steps if step.cache is not None]
    assert not asked or CacheOutcome.HIT in asked


def test_the_workspace_is_consistent() -> None:
    assert len(TESTS) >= 10
    assert all(load_flow(test["steps"], root="steps").problems == () for test in TESTS)
    workflow = yaml.safe_load((EXAMPLES / "workflow.yaml").read_text())
    assert set(workflow["tests"]) == {test["name"] for test in TESTS}
    assert all((EXAMPLES / build["file"]).exists() for app in APPS for build in app["builds"])
