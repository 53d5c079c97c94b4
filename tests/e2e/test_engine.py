"""Superseding, rerunning and priorities, as a CI system meets them: through REST only."""

from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import FAILING, World
from tests.eventually import eventually

PULL = {"X-CI-Repository": "shop", "X-CI-Branch": "fix", "X-CI-PR-Number": "7"}


async def test_a_running_one_is_cancelled_within_seconds_and_names_its_successor(api: Api, world: World) -> None:
    workflow = await world.slow_workflow(minutes=5)
    earlier = await world.start(workflow, PULL)
    await eventually(lambda: world.stands(earlier["id"], "running"))
    newer = await world.start(workflow, PULL, cancel_previous=True)
    execution = await world.ended(earlier["id"])  # of five minutes
    assert (execution["status"], execution["superseded_by"]) == ("cancelled", newer["id"])
    assert execution["failure"] == {
        "category": "cancelled_superseded",
        "message": f"Superseded by execution {newer['id']}.",
    }
    [run] = created(await api.get(f"/executions/{earlier['id']}/runs"))["items"]
    assert run["failure"]["category"] == "cancelled_superseded"
    survivor = created(await api.get(f"/executions/{newer['id']}"))
    assert (survivor["superseded_by"], survivor["completed_at"]) == (None, None)
    superseded = created(await api.get("/executions", params={"superseded_by": newer["id"]}))
    assert [each["id"] for each in superseded["items"]] == [earlier["id"]]
    await api.post(f"/executions/{newer['id']}/cancel")


async def mixed(world: World) -> tuple[Any, Any]:
    """A build, and an ended execution of a passing and a failing test on it."""
    app, build, passing, _ = await world.passing_app("1.0.0")
    failing = await world.test(FAILING, app=app)
    workflow = await world.workflow(passing, failing)
    started = await world.start(workflow, PULL, priority=4)
    return build, await world.ended(started["id"])


async def test_one_run_is_repeated_as_it_was(api: Api, world: World) -> None:
    """On its app and build, although the test is attached to others and a newer build exists."""
    apps = [await world.app(), await world.app(), await world.app("iOS")]
    test = await world.test(FAILING)
    for app in apps:
        await world.build(app, "1.0.0")
        await world.attach(app, test)
    config = {"android_build": {"app_id": apps[1]["id"]}, "ios_build": {"app_id": apps[2]["id"]}}
    workflow = await world.workflow(test)
    started = await world.start(workflow, PULL, build_config=config, run_config={"env": {"CITY": "Rome"}})
    earlier = await world.ended(started["id"])
    await world.build(apps[1], "2.0.0")
    listed = created(await api.get(f"/executions/{earlier['id']}/runs"))["items"]
    [run] = [each for each in listed if each["platform"] == "Android"]
    answer = await api.post(f"/executions/{earlier['id']}/rerun", {"run_ids": [run["id"]]})
    again = await world.ended(answer.body["id"])
    assert (again["ci"], again["run_config"], again["workflow_id"]) == (
        earlier["ci"],
        earlier["run_config"],
        workflow["id"],
    )
    repeated, same = await world.only_run(again), ("test_id", "test_version_number", "app_id", "build_id", "platform")
    assert [repeated[key] for key in same] == [run[key] for key in same]
    unknown = await api.post(f"/executions/{earlier['id']}/rerun", {"run_ids": [repeated["id"]]})
    assert (unknown.status, unknown.locations()) == (422, [["body", "run_ids", 0]])


async def test_repeats_the_same_versions_on_the_same_builds(api: Api, world: World) -> None:
    build, earlier = await mixed(world)
    runs = created(await api.get(f"/executions/{earlier['id']}/runs"))["items"]
    created(await api.patch(f"/tests/{runs[0]['test_id']}", {"steps": FAILING}))
    answer = await api.post(f"/executions/{earlier['id']}/rerun")
    assert answer.status == 202
    assert answer.headers["Location"] == f"/api/v1/executions/{answer.body['id']}"
    assert set(answer.body) == {"status", "message", "id", "task_id"}
    again = await world.ended(answer.body["id"])
    assert (again["source"], again["rerun_of"], again["priority"]) == ("rerun", earlier["id"], 4)
    assert (again["ci"], again["run_config"]) == (earlier["ci"], earlier["run_config"])
    assert again["counts"] == earlier["counts"]
    repeated = created(await api.get(f"/executions/{again['id']}/runs"))["items"]
    same = ("test_id", "test_version_number", "build_id", "app_id", "platform", "success")
    assert [[run[key] for key in same] for run in repeated] == [[run[key] for key in same] for run in runs]
    await world.reported(build, 4)
    matrix = created(await api.get(f"/apps/{runs[0]['app_id']}/test_matrix"))
    assert sorted(row["test_id"] for row in matrix["tests"]) == sorted(run["test_id"] for run in runs)
    assert [[cell["total_runs"] for cell in row["cells"]] for row in matrix["tests"]] == [[2], [2]]
