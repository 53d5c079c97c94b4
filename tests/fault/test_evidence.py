"""F30: an outage of the artifact store while runs end. Verdicts are not delayed, and all artifacts arrive later."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from deploy.local.stack import Stack
from tests.e2e.client import Api, created
from tests.e2e.world import ENDED, FAILING, World
from tests.eventually import eventually
from tests.fault.conftest import on_the_stack
from tests.fault.counting import record
from tests.fault.recount import runs_of

OUTAGE_SECONDS = float(os.environ.get("OUTAGE", "6"))


@contextmanager
def away(objects: Path) -> Iterator[None]:
    """Inside the block artifacts can be neither read nor written; builds can, so that runs can be executed."""
    runs, aside = objects / "runs", objects / "aside"
    runs.mkdir(exist_ok=True)
    runs.rename(aside)
    runs.write_text("a file where the folder should be")
    yield
    runs.unlink()
    aside.rename(runs)


async def failing_app(world: World) -> tuple[Any, Any]:
    """An app with three failing tests, whose attempts all store artifacts; (app, workflow)."""
    app = await world.app()
    await world.build(app, "1.0.0")
    tests = [await world.test(FAILING) for _ in range(3)]
    for test in tests:
        await world.attach(app, test)
    return app, await world.workflow(*tests)


async def with_artifacts(api: Api, runs: list[Any]) -> list[Any]:
    """The runs with the artifacts of their attempts."""
    return [created(await api.get(f"/executions/{run['execution_id']}/runs/{run['id']}")) for run in runs]


def artifacts_of(runs: list[Any]) -> list[Any]:
    return [artifact for run in runs for attempt in run["attempts"] for artifact in attempt["artifacts"]]


async def seconds_to_end(world: World, workflow: Any) -> float:
    began = monotonic()
    execution = await world.run(workflow)
    assert execution["status"] == "completed"
    return monotonic() - began


@on_the_stack
@pytest.mark.timeout(1800)
async def test_an_unavailable_store_delays_no_verdict_and_loses_no_artifact(
    own_stack: Stack, own_api: Api, own_world: World, state: Path
) -> None:
    """A worker is killed during the outage: its spooled artifacts survive."""
    app, workflow = await failing_app(own_world)
    before = await seconds_to_end(own_world, workflow)
    took: list[float] = []
    with away(state / "objects"):
        end = monotonic() + OUTAGE_SECONDS
        while monotonic() < end or len(took) < 3:
            took.append(await seconds_to_end(own_world, workflow))
        runs = await with_artifacts(own_api, await runs_of(own_api, app))
        refused = await own_api.get(artifacts_of(runs)[0]["url"])
        assert (refused.status, "Retry-After" in refused.headers) == (503, True)
        victim = random.Random(3).choice(["worker-1", "worker-2"])
        await own_stack.kill(victim)
        await own_stack.start(victim)
    assert all(run["status"] in ENDED and run["success"] is False for run in runs)
    artifacts = artifacts_of(runs)
    kinds = {artifact["kind"] for artifact in artifacts}
    assert {"screenshot", "tree"} <= kinds
    trees = [artifact for artifact in artifacts if artifact["kind"] == "tree"][::20]
    back = monotonic()

    async def there() -> bool:
        answers = [await own_api.call("GET", artifact["url"]) for artifact in trees]
        assert {answer.status for answer in answers} <= {200, 404}
        assert all(answer.status == 200 or "not stored yet" in answer.detail for answer in answers)
        return all(answer.status == 200 for answer in answers) and not list((state / "spool").glob("*.artifact"))

    await eventually(there, within=90, every=0.5)
    delivered = monotonic() - back
    complete = [len(await own_api.download(artifact["url"])) == artifact["size_bytes"] for artifact in artifacts]
    assert all(complete)
    record(
        "F30",
        "artifacts of runs that ended while the store was away",
        tried=len(artifacts),
        survived=sum(complete),
        outage_seconds=OUTAGE_SECONDS,
        executions=len(took) + 1,
        verdict_seconds_before=round(before, 2),
        verdict_seconds_during=round(max(took), 2),
        delivered_seconds_after=round(delivered, 1),
    )
