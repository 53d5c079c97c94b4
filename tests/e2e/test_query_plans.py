"""Each end-to-end test fails when a query has no index; these make the queries that no other test makes."""

from typing import Any

import pytest

from services.chassis.mongo import Mongo
from tests.e2e.client import Api, created
from tests.e2e.world import UNKNOWN, World
from tests.query_plans import QueryPlans
from tests.shared_infrastructure import SharedStack

LISTS: dict[str, list[dict[str, Any]]] = {
    "/apps": [{}, {"platform": "iOS"}, {"search": "a"}, {"search": "shop", "platform": "Android"}, {"page": 3}],
    "/apps/health": [{}, {"search": "a", "platform": "Android"}],
    "/failures": [{}, {"search": "a"}, {"app_id": UNKNOWN, "state": "known"}],
    "/flaky_tests": [{}],
    "/tests": [
        {},
        {"search": "o"},
        {"search": "login"},
        {"platform": "iOS"},
        {"tag": "smoke"},
        {"classification": "stable"},
        {"classification": "insufficient_data", "platform": "iOS", "search": "login", "tag": "smoke"},
        {"quarantined": "true"},
    ],
    "/workflows": [{}, {"search": "a"}, {"search": "nightly"}],
    "/questions": [{}],
    "/executions": [
        {},
        {"status": "completed"},
        {"workflow_id": UNKNOWN},
        {"app_id": UNKNOWN},
        {"source": "api"},
        {"branch": "main"},
        {"commit_sha": "4f2c1d9"},
        {"commit_sha": " 4F2C"},
        {"name": "a", "created_after": "2026-01-01T00:00:00Z", "sort": "oldest"},
        {"ci_run_id": "7"},
        {"started_by": "c"},
        {"rerun_of": UNKNOWN},
        {"superseded_by": UNKNOWN},
        *(
            {"result": result, "sort": "longest"}
            for result in ("passed", "failed", "no_verdict", "flaky", "cancelled", "running")
        ),
        {"pr_number": 7},
        {"status": "failed", "branch": "main", "source": "api"},
        {"status": "queued", "workflow_id": UNKNOWN, "app_id": UNKNOWN, "pr_number": 7},
    ],
}


@pytest.mark.parametrize("path", LISTS)
async def test_each_filter_of_a_list_has_an_index(api: Api, world: World, path: str) -> None:
    await world.passing_app()
    for query in LISTS[path]:
        created(await api.get(path, params=query))


async def test_branches_and_durations_of_an_app_have_an_index(api: Api, world: World) -> None:
    app, _, _, workflow = await world.passing_app()
    await world.run(workflow)
    for query in ({}, {"search": "m"}, {"kind": "pull_request"}, {"name": "main"}):
        created(await api.get(f"/apps/{app['id']}/branches", params=query))
    created(await api.get(f"/apps/{app['id']}/durations"))


async def test_screens_of_an_app_and_of_a_build_have_an_index(api: Api, world: World) -> None:
    app, build, _, workflow = await world.passing_app()
    await world.run(workflow)
    for query in ({}, {"build": build["id"]}):
        assert created(await api.get(f"/apps/{app['id']}/screens", params=query))["runs"] == 1


async def test_the_last_pass_of_a_variant_and_of_any_other_has_an_index(api: Api, world: World) -> None:
    _, _, _, workflow = await world.passing_app()
    for answer in (404, 200):
        execution = await world.run(workflow)
        run = await world.only_run(execution)
        path = f"/executions/{execution['id']}/runs/{run['id']}/last_pass"
        assert (await api.get(path)).status == answer


async def test_a_query_without_an_index_is_noticed(stack: SharedStack, query_plans: QueryPlans) -> None:
    mongo = await Mongo.connect(stack.mongo_uri, "executor")
    await mongo.collection("executions").find_one({"noticed": True})
    await mongo.close()
    assert any(row.startswith("executor.executions COLLSCAN") for row in query_plans.rows())
