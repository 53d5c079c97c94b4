"""What reports say of failures is true: groups, storms, and what infrastructure did."""

from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import World
from tests.eventually import eventually

ONCE = {"execution_mode": {"retries": 0}}


def app_showing(text: str) -> bytes:
    """An app model of one screen with this text."""
    return f"""app_model: 1
app: {{id: com.example.truth}}
start: home
screens:
  home:
    elements:
      - {{type: text, text: {text}}}
""".encode()


async def upload(api: Api, app: Any, version: str, artifact: bytes) -> Any:
    return created(await api.upload(app["id"], artifact, version=version))


async def matrix(api: Api, app: Any) -> Any:
    return created(await api.get(f"/apps/{app['id']}/test_matrix"))


async def test_a_storm_does_not_count_against_its_tests(api: Api, world: World) -> None:
    app = await world.app()
    tests = [await world.test(app=app) for _ in range(5)]
    workflow = await world.workflow(*tests, run_config=ONCE)
    for version, shown in (("1", "Log in"), ("2", "Sorry"), ("3", "Log in"), ("4", "Log in")):
        build = await upload(api, app, version, app_showing(shown))
        await world.run(workflow)
        await world.reported(build, 5)

    async def settled() -> bool:
        rows = (await matrix(api, app))["tests"]
        assert [row["classification_detail"] for row in rows] == [
            "Passed 3 of 3 attempts over 3 builds; 1 attempt of an infrastructure storm left out."
        ] * 5
        assert {(row["classification"], row["flaky_score"]) for row in rows} == {("stable", 0)}
        return True

    await eventually(settled)


async def test_failures_that_read_the_same_are_one_group_whatever_else_was_on_the_screen(
    api: Api, world: World
) -> None:
    app, test = await world.app(), await world.test()
    build = await upload(api, app, "1", app_showing("Order 4711"))
    await world.attach(app, test)
    workflow = await world.workflow(test, run_config=ONCE)
    for count, timeout in enumerate((40, 60), start=1):
        step = {"extendedWaitUntil": {"visible": "Order 4712", "timeout": timeout}}
        created(await api.patch(f"/tests/{test['id']}", {"steps": ["launchApp", step]}))
        await world.run(workflow)
        await world.reported(build, count)
    (cell,) = (await matrix(api, app))["tests"][0]["cells"]
    (group,) = cell["failure_details"]
    assert (group["count"], group["step_index"], cell["test_version_number"]) == (2, 1, 3)
    assert group["reason"] == cell["top_failure_reason"]
    assert '"Order 4712"' in group["reason"]
    assert "Order 4711" not in group["reason"]
    assert "Order 4711" in group["sample_message"]


async def test_a_run_without_a_verdict_is_counted_but_does_not_affect_the_test(api: Api, world: World) -> None:
    app, build, test, workflow = await world.passing_app("1.0.0")
    await world.run(workflow)
    await world.reported(build, 1)
    broken = await upload(api, app, "2.0.0", b"app_model: 1\nstart: nowhere\n")
    await world.run(await world.workflow(test, run_config=ONCE))
    await world.reported(broken, 1)
    row = (await matrix(api, app))["tests"][0]
    newest, _ = row["cells"]
    counts = ("total_runs", "passed_runs", "failed_runs", "infra_failed_runs")
    assert [newest[name] for name in counts] == [1, 0, 0, 1]
    workspace = created(await api.get(f"/apps/{app['id']}/workspace"))
    assert (workspace["rolling_pass_rate"], workspace["build_health"][0]["pass_rate"]) == (1.0, None)
    (today,) = [point for point in workspace["execution_trend"] if point["executions"]]
    assert (today["executions"], today["passed"], today["failed"], today["infra_failed"]) == (2, 1, 0, 1)
    assert newest["failure_details"][0]["category"] == "artifact_invalid"
    assert row["classification_detail"] == "1 attempt with a verdict so far, of the 3 needed."
    item = created(await api.get(f"/apps/{app['id']}/coverage"))["items"][0]
    assert (item["last_status"], item["last_observed_build_version"]) == ("no_verdict", "1.0.0")
