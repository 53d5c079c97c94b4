"""The example workspace: every test on every build's model gives the verdict that the build was made for."""

from typing import Any

import pytest
import yaml

from examples.workspace import FOLDER as EXAMPLES
from examples.workspace import described_tests
from services.executor.automation.attempt import AttemptRunner
from services.executor.automation.attempt_request import AttemptRequest
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.devices.port import Build
from services.executor.model.run_config import FallbackTrigger, RunConfig
from services.flows.loader import load_flow
from tests.fakes.flows import stored_steps

TESTS: list[dict[str, Any]] = [
    {**test, "platform": None, "steps": stored_steps(test["flow"])} if "flow" in test else test
    for test in described_tests()
]
APPS: list[dict[str, Any]] = yaml.safe_load((EXAMPLES / "apps.yaml").read_text())

RUNS = 2
"""Of a test that fails; more runs that pass are in test_examples_with_cache."""
RUNS_OF_FLAKY = 8
FLAKY = {None, "assertion_failed"}
ENDS: dict[tuple[str, str, str], set[str | None]] = {
    ("Android", "1.1.0", "Check out"): {"assertion_failed"},
    ("Android", "1.1.0", "Check out, in commands"): {"step_timeout"},
    ("iOS", "1.1.0", "Check out"): {"app_crash"},
    ("iOS", "1.1.0", "Check out, in commands"): {"app_crash"},
    ("Android", "1.2.0", "Add to cart"): FLAKY,
    ("iOS", "1.2.0", "Add to cart"): FLAKY,
}
"""How tests end on builds on which they do not always pass: the category of the failure, or None where they pass."""

CELLS = [
    pytest.param(app["platform"], build, test, id=f"{app['platform']}-{build['version']}-{test['name']}")
    for app in APPS
    for build in app["builds"]
    for test in TESTS
    if test["platform"] in (None, app["platform"])
]


async def categories(platform: str, content: bytes, steps: list[Any], runs: int) -> list[str | None]:
    """How the test ends in this number of runs: the category of its failure, or None where it passed."""

    async def read(limit: int) -> bytes:
        return content[:limit]

    automation = AttemptRunner(PooledDevices.load(None))
    build = Build(app_name="Example Shop", read=read)
    config = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
    ended = []
    for run in range(runs):
        plan = AttemptRequest(
            run_id=f"r{run}", attempt=1, platform=platform.lower(), steps=steps, build=build, config=config
        )
        failure = (await automation.run(plan)).failure
        ended.append(str(failure.category) if failure is not None else None)
    return ended


def _content(name: str) -> bytes:
    return (EXAMPLES / name).read_bytes()


@pytest.mark.parametrize(("platform", "build", "test"), CELLS)
async def test_each_test_on_each_build(platform: str, build: dict[str, str], test: dict[str, Any]) -> None:
    expected = ENDS.get((platform, build["version"], test["name"]), {None})
    runs = RUNS_OF_FLAKY if expected is FLAKY else 1 if expected == {None} else RUNS
    assert set(await categories(platform, _content(build["file"]), test["steps"], runs)) == expected


def test_the_workspace_is_consistent() -> None:
    assert len(TESTS) >= 10
    assert all(load_flow(test["steps"], root="steps").problems == () for test in TESTS)
    workflow = yaml.safe_load((EXAMPLES / "workflow.yaml").read_text())
    assert set(workflow["tests"]) == {test["name"] for test in TESTS}
    assert all((EXAMPLES / build["file"]).exists() for app in APPS for build in app["builds"])
